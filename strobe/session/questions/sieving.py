"""Events for which a condition holds, found by the native sieve: what it leaves open is evaluated here.

Windows of time are looked at one after the other, from the end that is asked for, so that what was not looked at for
lack of time is what lies behind, in that order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from strobe import _abi, _core
from strobe.dataclass import dataclass
from strobe.expressions.names import Known
from strobe.expressions.syntax import Expression
from strobe.model import RECORD_KINDS
from strobe.session.questions.program import Program
from strobe.timeline.events import HOST_COLUMNS
from strobe.timeline.moments import NUMBER_MAX
from strobe.timeline.reader import SessionReader
from strobe.timeline.scan import Row, Seen, Sight
from strobe.timeline.selection import Selection, id_blob, number_bounds, return_tests, select

EVERY = NUMBER_MAX
LOOKED_AT = 2_000  # rows between two looks at the clock; those that are evaluated, at least
LEAST_S = 1.0  # for which these go on even if a look should be over: one may take a second
_BOTH = 1 << _abi.RECORD_ENTER | 1 << _abi.RECORD_EXIT
_WORD32 = (1 << 32) - 1  # no thread has this id, and no call this depth
_HOLDS, _UNDECIDED = 1, 2  # of a Window's rows


@dataclass(slots=True)
class Sifted:
    """What a look has come to so far: `checked` events; of those that the sieve has decided `held` and `undecided`.
    `stopped_at`: the last one's number that was looked at, where the time was over before the end."""

    deadline: float
    checked: int = 0
    held: int = 0
    undecided: int = 0
    stopped_at: int | None = None
    has_reason: bool = False  # why events are undecided is known


@dataclass(slots=True)
class Candidate:
    """`holds` None: that is to be evaluated; where `is_counted` it is undecided, and only why is to be known."""

    seen: Seen
    holds: bool | None
    is_counted: bool = False


class Sieving:
    """The events up to a number that `sight` selects. None of its questions is about who has called."""

    def __init__(
        self,
        reader: SessionReader,
        sight: Sight,
        until: int,
        condition: Expression | None,
        known: Known,
        labels: frozenset[str],
        backwards: bool,
        spans: bytes | None = None,
    ) -> None:
        """`backwards`: the newest events first; `spans`: only within them, as of _core.call_spans."""
        self._reader = reader
        self._backwards = backwards
        self._selection = select(reader, sight.wanted, until)
        self._has_hosts = self._selection.hosts is not None and sight.wanted.depth is None and spans is None
        program = None if condition is None else _program(reader, sight, condition, known, labels, self._selection)
        self._sieve = _sieve(reader, sight, until, program, self._selection, spans)

    def candidates(self, sifted: Sifted, room: Callable[[], int]) -> Iterator[Candidate]:
        """Events of which it has to be evaluated whether it holds, and the first ones for which it does: as many as
        `room` says at each window."""
        begins = self._sieve.windows()
        windows = list(zip(begins, [*(begin - 1 for begin in begins[1:]), NUMBER_MAX], strict=True))
        for low, high in reversed(windows) if self._backwards else windows:
            window = self._sieve.look(low, high, room(), newest=self._backwards, reason=not sifted.has_reason)
            hosts = self._hosts(low, high)
            yield from self._of_window(sifted, window, hosts, low, high)
            if sifted.stopped_at is not None:
                return
            self._count(sifted, window, len(hosts))
            is_last = low == 0 if self._backwards else high == NUMBER_MAX
            if not is_last and time.monotonic() > sifted.deadline:
                sifted.stopped_at = low if self._backwards else high
                return

    def parent_of(self, number: int) -> int | None:
        """Number of the parent of a call's event."""
        return self._sieve.parent_of(number)

    def _of_window(
        self, sifted: Sifted, window: _core.Window, hosts: list[Row], low: int, high: int
    ) -> Iterator[Candidate]:
        latest = max(sifted.deadline, time.monotonic() + LEAST_S)
        for looked, one in enumerate(self._rows(window, hosts), 1):
            yield one
            is_due = looked % LOOKED_AT == 0
            if (is_due or one.holds is None) and time.monotonic() > (sifted.deadline if is_due else latest):
                number = sifted.stopped_at = one.seen.number
                low, high = (number, high) if self._backwards else (low, number)
                part = self._sieve.look(low, high, 0, newest=self._backwards, reason=False)
                self._count(sifted, part, sum(low <= int(host[0]) <= high for host in hosts))
                return

    def _rows(self, window: _core.Window, hosts: list[Row]) -> Iterator[Candidate]:
        """Calls and the host's events in the order that is asked for."""
        sign = -1 if self._backwards else 1
        left = iter(hosts)
        host = next(left, None)
        for verdict, row, entry in self._calls(window):
            while host is not None and sign * int(host[0]) < sign * row[0]:
                yield Candidate(Seen(host, True), None)
                host = next(left, None)
            yield Candidate(Seen(row, False, entry), True if verdict == _HOLDS else None, verdict == _UNDECIDED)
        while host is not None:
            yield Candidate(Seen(host, True), None)
            host = next(left, None)

    def _calls(self, window: _core.Window) -> Iterator[tuple[int, Row, Row | None]]:
        for first in range(0, len(window), LOOKED_AT):
            if not self._backwards:
                yield from window.rows(first, LOOKED_AT)
                continue
            end = len(window) - first
            begin = max(0, end - LOOKED_AT)
            yield from reversed(window.rows(begin, end - begin))

    def _hosts(self, low: int, high: int) -> list[Row]:
        hosts = self._selection.hosts
        if not self._has_hosts or hosts is None:
            return []
        order = "desc" if self._backwards else "asc"
        statement = (
            f"select {HOST_COLUMNS} from host_events where {hosts.sql()} and number between ? and ?"
            f" order by number {order}"
        )
        return list(self._reader.rows(statement, (*hosts.values, low, high)))

    @staticmethod
    def _count(sifted: Sifted, window: _core.Window, hosts: int) -> None:
        sifted.checked += window.checked + hosts
        sifted.held += window.held
        sifted.undecided += window.undecided


def can_sieve(reader: SessionReader, sight: Sight) -> bool:
    """Whether the native sieve can look at what is selected: who has called is not known there."""
    if sight.callers or sight.wanted.caller is not None:
        return False
    selection = select(reader, sight.wanted)
    return selection.calls is not None and selection.passes is None


def _program(
    reader: SessionReader,
    sight: Sight,
    condition: Expression,
    known: Known,
    labels: frozenset[str],
    selection: Selection,
) -> _core.Condition:
    descriptions = reader.store.extras(reader.session_id)
    program = Program(condition, known, labels, reader.threads().values(), sight.entries, descriptions)
    functions = reader.functions()
    kind = sight.wanted.event_type
    for function_id in functions if selection.functions is None else selection.functions:
        symbol = functions.get(function_id)
        if symbol is None:
            continue
        if kind != "function_exit":
            program.add(function_id, symbol, True)
        if kind not in ("function_enter", "probe") and not symbol.is_probe:
            program.add(function_id, symbol, False)
    return program.condition


def _sieve(
    reader: SessionReader,
    sight: Sight,
    until: int,
    condition: _core.Condition | None,
    selection: Selection,
    spans: bytes | None,
) -> _core.Sieve:
    wanted = sight.wanted
    low, high = number_bounds(reader, wanted, until)
    returns = None if wanted.return_value is None else return_tests(reader, wanted.return_value)
    reader.path()  # where the segment lies by now
    return _core.Sieve(
        reader.segment,
        condition,
        address=wanted.address,
        kinds=_BOTH if wanted.event_type is None else 1 << RECORD_KINDS[wanted.event_type],
        functions=None if selection.functions is None else id_blob(selection.functions),
        threads=None if selection.threads is None else id_blob(selection.threads),
        tid=_bounded(selection.tid, _WORD32),
        depth=_bounded(wanted.depth, _WORD32),
        from_ns=selection.from_ns,
        to_ns=selection.to_ns,
        min_duration_ns=_bounded(wanted.min_duration_ns, NUMBER_MAX),
        returns=returns,
        spans=spans,
        from_number=low,
        to_number=max(0, high),
        with_entries=sight.entries,
    )


def _bounded(number: int | None, most: int) -> int | None:
    return None if number is None else min(number, most)
