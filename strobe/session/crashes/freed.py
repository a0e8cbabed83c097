"""Which pointers of a crash lead into memory that was freed, by the recorded calls of @heap.

The newest block that covers an address decides: one that was handed out again is not freed. A free counts once its
call has returned. What may have got the block without being recorded is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.model import Event, EventFilter, FunctionSymbol, TextMatch
from strobe.session.answers import counted
from strobe.session.crashes.pointers import Pointer
from strobe.session.questions.heap import (
    FREES,
    MOVES,
    SIZES,
    UNKNOWN_PLACE,
    heap_kind,
    heap_names,
    is_free,
    shown_stack,
)
from strobe.timeline.decode.captured import words_of
from strobe.timeline.events import EventDecoder, newest_rows
from strobe.timeline.scan import Row

if TYPE_CHECKING:
    from strobe.session.session import Session
    from strobe.timeline.reader import SessionReader

MOST = 4  # blocks that are told of
_NAMED = 3  # pointers to one block
_PAGE = 20_000  # rows
_SECONDS = 3.0  # that are looked through at most
_NUMBER, _TIME, _KIND, _FUNCTION, _THREAD, _WORDS, _PARENT = 0, 1, 2, 3, 4, 9, 11
_SIGN = 1 << 64
_NEEDED = frozenset({"malloc", "free"})  # without which nothing is known: new and delete call them
_GIVING = ("calloc", "realloc")  # what else the C library always has
_MAPPED = 128 * 1024  # bytes, from which on blocks may be mapped apart


@dataclass(slots=True)
class _Block:
    """`free`: the row of the entry of the call that has freed it; None where it is not freed. `number`: of the event
    that has handed it out, -1 of one that is not known."""

    address: int
    size: int | None
    number: int
    entry: Row | None
    free: Row | None


@dataclass(slots=True)
class _Handed:
    """A return that has given a block, of which the size is not known yet."""

    address: int
    number: int
    free: Row | None


def freed(
    session: Session,
    pointers: Sequence[Pointer],
    crash_ns: int,
    filled: Callable[[Event], Event],
) -> list[str] | None:
    """A line for each block that was freed and that some of the pointers lead into, in the order of the pointers, and
    one each for what is not certain and for a search that was cut. None where @heap was not traced, or only a part that
    tells nothing. Raises as Session.query.

    `crash_ns`: when, since session start; `filled`: an event with its stack."""
    names = heap_names(session)
    if not names >= _NEEDED:
        return None
    reader, until = session.timeline.reading()
    addresses = list(dict.fromkeys(one.address for one in pointers))
    search = _Search(reader, names, session.pid, until)
    blocks = search.blocks(addresses)
    by_block: dict[tuple[int, int], list[Pointer]] = {}
    known: dict[tuple[int, int], _Block] = {}
    for pointer in pointers:
        block = blocks.get(pointer.address)
        if block is not None and block.free is not None:
            key = (block.address, block.number)
            known.setdefault(key, block)
            by_block.setdefault(key, []).append(pointer)
    shown = list(by_block)[:MOST]
    decoder = EventDecoder(reader)
    words = _Words(decoder, filled, crash_ns)
    found = [words.line(known[key], by_block[key]) for key in shown]
    if len(by_block) > MOST:
        found.append(f"… {len(by_block) - MOST} more such blocks")
    first_ns = min((known[key].free[_TIME] for key in shown), default=0)  # type: ignore[index]
    largest = max((known[key].size or 0 for key in shown), default=0)
    if why := _doubts(session, names, int(first_ns), search.unsized, largest) if found else []:
        found.append(f"not certain, as such memory may have been handed out again: {'; '.join(why)}")
    if search.is_cut:
        found.append(f"not known of all pointers: the search was cut after {_SECONDS:g} s")
    return found


class _Search:
    """Looks through what was recorded, the newest first, until of each address it is known what it is in."""

    def __init__(self, reader: SessionReader, names: frozenset[str], pid: int, until: int) -> None:
        self._reader, self._names, self._until = reader, names, until
        self._functions = reader.functions()
        self._kinds = {number: heap_kind(one.name, one.raw_name) for number, one in self._functions.items()}
        self._own = {index for index, thread in reader.threads().items() if thread.pid == pid}
        self._open: set[int] = set()
        self.unsized = 0  # allocations
        self.is_cut = False
        self._found: dict[int, _Block] = {}
        self._returned: dict[int, Row] = {}  # by the number of the entry
        self._handed: dict[int, _Handed] = {}  # the same
        self._frees: dict[int, Row] = {}  # by address: the entry of the oldest call that is not yet some block's

    def blocks(self, addresses: Sequence[int]) -> dict[int, _Block]:
        """By address; none of one that is in no block that is known of."""
        self._open = set(addresses)
        over = time.monotonic() + _SECONDS
        wanted = EventFilter(function=TextMatch(one_of=self._names))
        offset = 0
        while self._open and time.monotonic() < over:
            rows = newest_rows(self._reader, wanted, self._until, _PAGE, offset)
            for row in reversed(rows):
                if row[_THREAD] in self._own:
                    self._add(row)
            self._open -= {address for address, block in self._found.items() if not self._is_newer_open(block)}
            offset += len(rows)
            if len(rows) < _PAGE:
                self._without_allocation()
                break
        else:
            self.is_cut = bool(self._open)
        return self._found

    def _add(self, row: Row) -> None:
        kind = self._kinds.get(row[_FUNCTION], "")
        if row[_KIND] != _abi.RECORD_ENTER:
            if row[_PARENT] is None:
                return
            self._returned[row[_PARENT]] = row
            address = _returned(row)
            if kind in SIZES and address:
                self._handed[row[_PARENT]] = _Handed(address, row[_NUMBER], self._frees.pop(address, None))
            return
        leave = self._returned.pop(row[_NUMBER], None)
        handed = self._handed.pop(row[_NUMBER], None)
        symbol = self._functions[row[_FUNCTION]]
        words = words_of(row[_WORDS] or b"")
        if handed is not None:
            self._cover(row, handed, _size(kind, symbol, words))
        if leave is None or (kind not in FREES and kind not in MOVES):
            return
        if kind in MOVES and not _returned(leave) and _size(kind, symbol, words) != 0:
            return  # there was no room: it has its memory still
        if address := _argument(symbol, words, 0):
            # in place of a later one, which calls this one (delete), or has freed it again: the C library, too, frees
            # what a thread had kept of freed blocks when that ends
            self._frees[address] = row

    def _cover(self, entry: Row, handed: _Handed, size: int | None) -> None:
        self.unsized += size is None
        for address in self._open:
            if 0 <= address - handed.address < max(1, size or 0):
                known = self._found.get(address)
                if known is None or known.number < handed.number:
                    self._found[address] = _Block(handed.address, size, handed.number, entry, handed.free)

    def _is_newer_open(self, block: _Block) -> bool:
        """Whether a later block whose size is not known yet may cover it."""
        return any(one.number > block.number for one in self._handed.values())

    def _without_allocation(self) -> None:
        """Of blocks that were allocated before anything was recorded the first byte is known."""
        for address in self._open - self._found.keys():
            if (free := self._frees.get(address)) is not None:
                self._found[address] = _Block(address, None, -1, None, free)


class _Words:
    """Blocks as text."""

    def __init__(self, decoder: EventDecoder, filled: Callable[[Event], Event], crash_ns: int) -> None:
        self._decoder, self._filled, self._crash_ns = decoder, filled, crash_ns

    def line(self, block: _Block, pointers: Sequence[Pointer]) -> str:
        """ "this (frame 0) leads 8 bytes into a block of 40 bytes at 0x… that was freed in drop pool.cpp:12 by thread
        4711 (worker) 1.2 ms before; allocated in make pool.cpp:7"."""
        assert block.free is not None
        free = self._filled(self._decoder.call(block.free))
        by_offset: dict[int, list[str]] = {}
        for one in pointers:
            by_offset.setdefault(one.address - block.address, []).append(one.text)
        what = "a block" if block.size is None else f"a block of {block.size} bytes"
        if list(by_offset) == [0]:
            leads = f"{_who(by_offset[0])} to {what}"
        else:
            clauses = [f"{_who(names)} {offset} bytes" for offset, names in list(by_offset.items())[:_NAMED]]
            leads = f"{', '.join(clauses)} into {what}"
            if len(by_offset) > _NAMED:
                leads += f" (and others, {len(by_offset) - _NAMED} more offsets)"
        by = " (realloc)" if heap_kind(free.function or "", free.function_raw) in MOVES else ""
        thread = f"thread {free.thread_id}" + (f" ({free.thread_name})" if free.thread_name else "")
        before = _duration(self._crash_ns - free.timestamp_ns)
        text = f"{leads} at {block.address:#x} that was freed{by}{_in(free)} by {thread} {before} before"
        if block.entry is None:
            return f"{text}; its allocation was not recorded"
        return f"{text}; allocated{_in(self._filled(self._decoder.call(block.entry)))}"


def _who(texts: Sequence[str]) -> str:
    """ "this (frame 0) and item (frame 1) lead"."""
    names = list(dict.fromkeys(texts))
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return f"{' and '.join([*names[:_NAMED], *more])} {'leads' if len(names) == 1 else 'lead'}"


def _in(event: Event) -> str:
    frame = next(iter(shown_stack(event.stack or (), 1)), None)
    return "" if frame is None else f" in {frame}"


def _duration(nanoseconds: int) -> str:
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"


def _returned(row: Row) -> int | None:
    words = words_of(row[_WORDS] or b"")
    return words[0] if words else None


def _argument(symbol: FunctionSymbol, words: Sequence[int], index: int) -> int | None:
    """None where its value was not recorded as a word."""
    parameters = symbol.parameters
    if parameters is None or index >= len(parameters):
        return None
    if any(len(one.captures) != 1 or one.captures[0].is_text for one in parameters[: index + 1]):
        return None
    return words[index] if index < len(words) else None


def _size(kind: str, symbol: FunctionSymbol, words: Sequence[int]) -> int | None:
    size = 1
    for index in SIZES[kind]:
        factor = _argument(symbol, words, index)
        if factor is None:
            return None
        size *= factor
    return size


def _doubts(session: Session, names: frozenset[str], since_ns: int, unsized: int, largest: int) -> list[str]:
    """Why one of the blocks may have been handed out again all the same. `since_ns`: when the first was freed;
    `largest`: bytes of the largest."""
    allocating = frozenset(name for name in names if not is_free(name) or name in MOVES)
    loss, why = session.timeline.loss(), []
    if missing := loss.lost + loss.sampled_out:
        why.append(f"{counted(missing, 'event')} lost or sampled out")
    if loss.evicted and (loss.evicted_until_ns is None or loss.evicted_until_ns > since_ns):
        until = "" if loss.evicted_until_ns is None else f", up to {loss.evicted_until_ns} ns"
        why.append(f"{counted(loss.evicted, 'event')} evicted{until}")
    if missing_names := [name for name in _GIVING if name not in names]:
        why.append(f"{' and '.join(missing_names)} not traced")
    totals = session.timeline.totals(EventFilter(function=TextMatch(one_of=allocating)), "function")
    if unheld := sum(one.unheld for one in totals):
        why.append(f"{counted(unheld, 'allocation')} left out by the condition of their trace")
    if missed := sum(one.exits_missed for one in totals):
        why.append(f"{counted(missed, 'return')} of allocating calls not seen")
    if unplaced := sum(one.count for one in totals if one.key == UNKNOWN_PLACE):
        why.append(f"{counted(unplaced, 'block')} of {UNKNOWN_PLACE} not followed")
    gap = session.timeline.last_gap(EventFilter(function=TextMatch(one_of=allocating)))
    if gap is not None and gap[1] > since_ns:
        why.append(f"what allocates was not traced from {gap[0]} to {gap[1]} ns")
    if unsized:
        why.append(f"of {counted(unsized, 'allocation')} the size was not recorded")
    if largest >= _MAPPED:
        why.append("blocks of 128 KB or more may have been unmapped, and other memory mapped there")
    return why
