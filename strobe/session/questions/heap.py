"""What the program holds of what it has allocated, by the stacks that allocated it: of the recorded calls of @heap.

A block is allocated when one of these calls returns it, and is the outermost one's once that has returned (`new` calls
malloc: one block): of a `new` that an exception has left, what malloc gave is still held. It is freed when a call that
is given it begins, be it within another one (`new` calls a handler that frees a reserve). Nothing is guessed: what was
evicted, or not recorded, may have freed what is older, so only blocks count that were allocated since; how many others
there are is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from strobe.dataclass import dataclass, field
from strobe.model import Event, EventFilter, TextMatch
from strobe.session.session import Session
from strobe.symbols.select.allocators import ALLOCATORS, OPERATOR

_PAGE = 10_000
SIZES = {"malloc": (0,), "calloc": (0, 1), "realloc": (1,), "reallocarray": (1, 2), "aligned_alloc": (1,)} | {
    "memalign": (1,),
    "valloc": (0,),
    "pvalloc": (0,),
    "operator new": (0,),
}
MOVES = ("realloc", "reallocarray")
FREES = ("free", "cfree", "operator delete")
_NEVER = 2**63  # ns
UNKNOWN_PLACE = "posix_memalign"  # which writes the address to memory
_ANY_OPERATOR = re.compile(r"_Z[nd][wla]")
_LIBRARY = re.compile(r"(?:[\w ]+[ *&])?(?:std|__gnu_cxx)::|operator (?:new|delete)|_?_?libc_")
Stack = tuple[str, ...]


@dataclass(slots=True)
class Block:
    """Memory that was allocated. `event`: the id of the call's return."""

    address: int
    size: int
    time_ns: int
    stack: Stack
    event: str


@dataclass(slots=True)
class _Call:
    """One that has not returned yet. `given`: blocks that calls within it have returned; `moves`: what it is given to
    make larger or smaller."""

    entry: Event
    given: list[Block] = field(default_factory=list)
    moves: Block | None = None


@dataclass(slots=True)
class Group:
    """What one stack holds at the end of the time asked for, and how that differs from its beginning."""

    stack: Stack
    blocks: int = 0
    size: int = 0
    grown_blocks: int = 0
    grown_size: int = 0
    newest: Block | None = None


@dataclass(slots=True)
class HeapReport:
    """`groups`: those that hold most first, or with `from_ns` those that have grown most. `size` in bytes.
    `notes`: what is not certain, a sentence each."""

    from_ns: int | None
    to_ns: int | None
    blocks: int
    size: int
    groups: list[Group]
    notes: list[str] = field(default_factory=list)


def heap_report(session: Session, from_ns: int | None = None, to_ns: int | None = None) -> HeapReport:
    """Live blocks at `to_ns` since session start, or now, by stack; with `from_ns` what has grown since then. Raises as
    Session.query."""
    followed = _Followed(session.pid)
    earlier: list[Block] | None = None
    for event in _events(session, to_ns):
        if earlier is None and from_ns is not None and event.timestamp_ns > from_ns:
            earlier = list(followed.live.values())
        followed.add(event)
    # not before: while they were read the program has gone on, and events were evicted that free what was read of
    doubts = _doubts(session, to_ns)
    since = doubts.since_ns
    before = _by_stack(followed.live.values() if earlier is None else earlier, since)
    groups: dict[Stack, Group] = {}
    for block in _certain(followed.live.values(), since):
        group = groups.setdefault(block.stack, Group(block.stack))
        group.blocks += 1
        group.size += block.size
        group.newest = block
    if from_ns is not None:
        for stack in groups.keys() | before.keys():
            group = groups.setdefault(stack, Group(stack))
            blocks, size = before.get(stack, (0, 0))
            group.grown_blocks, group.grown_size = group.blocks - blocks, group.size - size
    ordered = sorted(
        groups.values(), key=lambda one: (one.grown_size, one.size) if from_ns is not None else (one.size, one.blocks)
    )[::-1]
    blocks, size = sum(one.blocks for one in ordered), sum(one.size for one in ordered)
    return HeapReport(from_ns, to_ns, blocks, size, ordered, followed.notes(doubts, from_ns, to_ns))


def _certain(blocks: Iterable[Block], since: int | None) -> list[Block]:
    """In the order in which they were allocated."""
    return [one for one in blocks if since is None or one.time_ns >= since]


def _by_stack(blocks: Iterable[Block], since: int | None) -> dict[Stack, tuple[int, int]]:
    found: dict[Stack, tuple[int, int]] = {}
    for block in _certain(blocks, since):
        count, size = found.get(block.stack, (0, 0))
        found[block.stack] = count + 1, size + block.size
    return found


def shown_stack(stack: Sequence[str], most: int = 8) -> list[str]:
    """Without the library's own frames above the program's, where there are others."""
    own = next((at for at, text in enumerate(stack) if not _LIBRARY.match(text)), 0)
    return list(stack[own : own + most])


@dataclass(frozen=True, slots=True)
class _Doubts:
    """`since_ns`: only of blocks that were allocated since then it is known that nothing has freed them. `why`: a
    clause each. `notes`: what else is not certain."""

    since_ns: int | None = None
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _doubts(session: Session, to_ns: int | None) -> _Doubts:
    loss = session.timeline.loss()
    names = heap_names(session)
    frees = frozenset(name for name in names if is_free(name))
    since: list[int] = []
    why, notes = [], []
    if loss.evicted and loss.evicted_until_ns is not None:
        since.append(loss.evicted_until_ns)
        why.append(f"{loss.evicted:,} events were evicted, up to {loss.evicted_until_ns} ns")
    gap = session.timeline.last_gap(EventFilter(function=TextMatch(one_of=frees), time_to=to_ns)) if frees else None
    if gap is not None:
        since.append(gap[1])
        why.append(f"what frees was not traced from {gap[0]} to {gap[1]} ns")
    if loss.lost or loss.sampled_out:
        notes.append(
            f"{loss.lost + loss.sampled_out:,} events found no room, or were sampled out: some of these blocks "
            "may have been freed."
        )
    totals = session.timeline.totals(EventFilter(function=TextMatch(one_of=names)), "function") if names else []
    if unheld := sum(one.unheld for one in totals if one.key in frees):
        since.append(_NEVER)
        why.append(f"{unheld:,} calls that free were left out by the condition of their trace")
    if unheld := sum(one.unheld for one in totals if one.key not in frees):
        notes.append(f"{unheld:,} allocations were left out by the condition of their trace.")
    if missed := sum(one.exits_missed for one in totals if not is_free(one.key) or one.key in MOVES):
        notes.append(
            f"{missed:,} returns of allocating calls were not seen, as on stacks of the program's own (coroutines): "
            "what these gave is left out."
        )
    return _Doubts(max(since, default=None), tuple(why), tuple(notes))


def is_free(name: str) -> bool:
    """Or what may be one."""
    return name in FREES or name in MOVES or name.startswith("operator delete")


def heap_names(session: Session) -> frozenset[str]:
    """Of the traced functions those that give or take memory."""
    named = session.timeline.traced_names()
    return frozenset(name for name in named if name in ALLOCATORS or name.startswith("operator "))


def _events(session: Session, to_ns: int | None) -> Iterable[Event]:
    names = heap_names(session)
    if not names:
        return
    function = TextMatch(one_of=names)
    wanted = EventFilter(function=function, time_to=to_ns, limit=_PAGE)
    while True:
        page = session.query(wanted)
        yield from page.events
        if not page.has_more or not page.events:
            return
        after = page.events[-1].id
        wanted = EventFilter(function=function, time_to=to_ns, limit=_PAGE, after_event_id=after)


class _Followed:
    """What the calls so far have allocated and not freed."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._open: dict[int, list[_Call]] = {}  # by thread, the outermost first; also those left without return
        self.live: dict[int, Block] = {}
        self._calls = 0
        self._of_others = 0
        self._unplaced = 0
        self._without_entry = 0
        self._without_arguments = 0

    def add(self, event: Event) -> None:
        if event.pid != self._pid:
            self._of_others += 1
            return
        calls = self._open.setdefault(event.thread_id, [])
        depth = event.depth or 0
        if event.event_type == "function_enter":
            while calls and (calls[-1].entry.depth or 0) >= depth:  # it was left without return
                calls.pop()
            calls.append(self._begun(event))
            return
        while calls and (calls[-1].entry.depth or 0) > depth:
            calls.pop()
        if not calls or calls[-1].entry.depth != depth or calls[-1].entry.function != event.function:
            self._without_entry += _kind(event) in SIZES
            return
        call = calls.pop()
        given = self._ended(call, event)
        if calls:
            calls[-1].given += given

    def _begun(self, entry: Event) -> _Call:
        self._calls += 1
        kind = _kind(entry)
        self._without_arguments += entry.arguments is None and (kind in SIZES or kind in FREES)
        if kind in FREES:
            self.live.pop(_number(entry, 0) or 0, None)
        return _Call(entry, moves=self.live.get(_number(entry, 0) or 0) if kind in MOVES else None)

    def _ended(self, call: _Call, leave: Event) -> list[Block]:
        """What it has given to its caller."""
        entry = call.entry
        kind = _kind(entry)
        if kind == UNKNOWN_PLACE:
            self._unplaced += 1
        elif kind not in SIZES:  # what it has allocated, as its own lists, is held
            return call.given
        for one in call.given:
            if self.live.get(one.address) is one:
                del self.live[one.address]
        if kind == UNKNOWN_PLACE:
            return []
        address, size = _value(leave.return_value), 1
        for index in SIZES[kind]:
            size *= _number(entry, index) or 0
        if call.moves is not None and (address or not size) and self.live.get(call.moves.address) is call.moves:
            del self.live[call.moves.address]
        if not address:
            return []
        block = self.live[address] = Block(address, size, leave.timestamp_ns, entry.stack or (), leave.id)
        return [block]

    def notes(self, doubts: _Doubts, from_ns: int | None, to_ns: int | None) -> list[str]:
        found = []
        since = doubts.since_ns
        if not self._calls:
            until = "" if to_ns is None else " up to then"
            found.append(f"No allocation was recorded{until}: trace @heap from the launch on.")
        if since is not None:
            older = sum(one.time_ns < since for one in self.live.values())
            found.append(
                f"{'; '.join(doubts.why)}: blocks that were allocated before are left out ({older:,} of them may still "
                "be held), as what has freed them is not known."
            )
            if from_ns is not None and from_ns < since:
                found.append("What was held at the first of the two times is not known any more: growth is since then.")
        found += doubts.notes
        if self._without_arguments:
            found.append(
                f"{self._without_arguments:,} calls that allocate or free were recorded without arguments, as their "
                "library has no debug information: their blocks are not known. Install it (Debian: libc6-dbg)."
            )
        if self._without_entry:
            found.append(
                f"{self._without_entry:,} returns could not be put to their calls, as in handlers that have "
                "interrupted one: what these gave is left out."
            )
        if self._unplaced:
            found.append(
                f"{self._unplaced:,} blocks of posix_memalign are not followed: their addresses are not known."
            )
        if self._of_others:
            found.append(f"{self._of_others:,} events of forked children are left out.")
        return found


def _kind(event: Event) -> str:
    return heap_kind(event.function or "", event.function_raw)


def heap_kind(name: str, raw_name: str | None) -> str:
    """The function, of operators without their form: a key of SIZES, or one of FREES, if it gives or takes memory. Of
    those that are given the place the raw name."""
    found = OPERATOR.match(raw_name or "")
    if found is not None:
        return "operator new" if found["new"] else "operator delete"
    return raw_name if raw_name is not None and _ANY_OPERATOR.match(raw_name) else name


def _number(event: Event, index: int) -> int | None:
    arguments = event.arguments or ()
    return _value(arguments[index].value) if index < len(arguments) else None


def _value(value: object) -> int | None:
    """Of a number or an address, as it is shown, or with what it leads to."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.startswith("0x"):
        return int(value, 16)
    address = getattr(value, "address", None)
    return address if isinstance(address, int) else None
