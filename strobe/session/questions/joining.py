"""`join`: with each event the newest one before it, or the next one behind it, that has the same values, or for which
a condition on both holds."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeAlias

from strobe.dataclass import dataclass, field, replace
from strobe.expressions.evaluation import Undecided
from strobe.model import Event, EventFilter
from strobe.session.questions.found import Found
from strobe.session.questions.pair_condition import PairTest, Values, pair_condition
from strobe.session.questions.question import Part, Question
from strobe.session.questions.unreturned import unreturned
from strobe.timeline.moments import NUMBER_MAX, event_id
from strobe.timeline.scan import Seen, Tally

SECONDS = 22.0  # that events are looked at
_MOST_HELD = 500_000  # events that wait for another one, or for which others may ask
_NOT_SEEN = "the next one may be among events that were not looked at"
_TRIED = 1_000  # pairs between two looks at the clock
_SPARE = 1_000  # events that are kept beyond the page, as some of it may turn out to be undecided

Ask: TypeAlias = Callable[[EventFilter, Sequence[Part]], Question]
Keyed: TypeAlias = tuple[int, bool, Seen, object, Values]  # number, whether it is one of the others, itself, keys


@dataclass(frozen=True, slots=True)
class Join:
    """`other`: a condition, which the other events fulfil; the newest one before the event is looked for, with
    `is_after` the next one behind it, of the same thread unless `any_thread`. `on`: as pair_condition has it.
    `select`: of the other one. `missing`: only events that have none."""

    other: str
    on: tuple[str, ...] = ()
    is_after: bool = False
    any_thread: bool = False
    select: tuple[str, ...] = ()
    missing: bool = False


@dataclass(slots=True)
class Other:
    """Of one event: `event` and its `values` and `errors`, by expression, as Found has them."""

    event: Event
    values: dict[str, object]
    errors: dict[str, str]


@dataclass(slots=True)
class Joined:
    """`found`: the page, of which `others` has the other event of each, None where there is none. `paired` and
    `unpaired` events there were in all, `candidates` other ones; `asked` asks for these, `other_filter` selects them,
    `of_others` is what the look at them has found, `absence` says why there are none. `unknown`: events of either side
    of which it is not known, for the reason `unknown_why`. `tried`: pairs that were compared where nothing has to be
    equal in both, 0 where something has. `without_value`: in sentences, which of them never have what `on` is about."""

    found: Found
    others: list[Other | None] = field(default_factory=list)
    paired: int = 0
    unpaired: int = 0
    candidates: int = 0
    unknown: int = 0
    unknown_why: str = ""
    tried: int = 0
    without_value: list[str] = field(default_factory=list)
    asked: EventFilter = field(default_factory=EventFilter)
    other_filter: EventFilter = field(default_factory=EventFilter)
    of_others: Found = field(default_factory=Found)
    absence: str | None = None


def joined(ask: Ask, wanted: EventFilter, join: Join, until: int) -> Joined:
    """Raises expression_wrong, bad_value, and as Question."""
    on = pair_condition(join.on)
    asked = _of_others(wanted, join)
    second = ask(asked, on.other_parts())
    first = ask(wanted, on.own_parts(second.known))
    answer = Joined(Found(), asked=asked, other_filter=second.wanted)
    found, of_others = answer.found, answer.of_others
    tallies = [Tally(time.monotonic() + SECONDS) for _ in range(2)]
    in_thread = not (join.any_thread or on.is_of_threads)
    own = first.keyed(until, found, tallies[0], len(on.own_keys), in_thread)
    others = second.keyed(until, of_others, tallies[1], len(on.other_keys), in_thread)
    test = PairTest(on, first.context, join.is_after)
    with closing(own), closing(others):  # what they have counted so far
        # an event is none of those before itself, nor behind itself
        both = heapq.merge(_side(own, False), _side(others, True), key=lambda one: (one[0], one[1] != join.is_after))
        pairing = _Pairing(join, wanted, answer, test)
        rows, stopped_at = pairing.run(both, tallies)
    found.unreturned, of_others.unreturned = unreturned(first, until), unreturned(second, until)
    answer.tried = 0 if on.own_keys else pairing.tried
    answer.unknown += found.undecided + of_others.undecided
    answer.unknown_why = answer.unknown_why or found.undecided_why or of_others.undecided_why
    answer.without_value = _without_value(found, of_others, test)
    found.unchecked_after = None
    if stopped_at is not None:
        found.unchecked_after = event_id(first.session_id, stopped_at)
    for row in rows[wanted.offset : wanted.offset + wanted.limit]:
        first.add(found, row.event)
        answer.others.append(None if row.other is None else _other(second, row.other))
    return answer


def _of_others(wanted: EventFilter, join: Join) -> EventFilter:
    """None of those that lie behind all events, or before them. Times before the newest event are not gone by: there
    may be a newer one when they are read the second time."""
    chosen = EventFilter(where=join.other, select=join.select)
    if join.is_after:
        time_from = wanted.time_from if isinstance(wanted.time_from, int) else None
        return replace(chosen, from_event=wanted.from_event, time_from=time_from)
    time_to = wanted.time_to if isinstance(wanted.time_to, int) else None
    return replace(chosen, to_event=wanted.to_event, time_to=time_to)


def _without_value(own: Found, others: Found, test: PairTest) -> list[str]:
    left_out = ((own, "events are left out"), (others, "other events are left out"))
    said = [f"{one.absent:,} {what}: {one.absent_why}." for one, what in left_out if one.absent]
    pairs = f"`on` does not hold for {test.absent:,} pairs, as there is no such value: {test.absent_why}."
    return [*said, pairs] if test.absent else said


def _side(keyed: Iterator[tuple[Seen, object, Values]], is_other: bool) -> Iterator[Keyed]:
    return ((one.number, is_other, one, key, values) for one, key, values in keyed)


@dataclass(eq=False, slots=True)
class _Row:
    event: Seen
    values: Values = ()
    other: Seen | None = None
    is_unknown: bool = False


class _TimeOver(Exception):
    """The event that is looked at was not compared with all others."""


class _Pairing:
    """Of both sides in the order of their numbers. What is kept are as many events as a page asks for."""

    def __init__(self, join: Join, wanted: EventFilter, answer: Joined, test: PairTest) -> None:
        self._join, self._answer, self._test = join, answer, test
        self._newest_first = wanted.newest_first
        self._size = min(wanted.offset + wanted.limit, NUMBER_MAX)
        self._room = min(self._size + _SPARE, NUMBER_MAX) if test and join.is_after else self._size
        self._kept: deque[_Row] = deque(maxlen=self._room)
        self._others: dict[object, list[tuple[Seen, Values]]] = {}  # without conditions the newest ones alone
        self._waiting: dict[object, list[_Row]] = {}  # for the next one
        self._alone: list[_Row] = []  # that have no next one, where these are asked for
        self._held = 0
        self.tried = 0
        self._deadline = time.monotonic() + SECONDS

    def run(self, both: Iterator[Keyed], tallies: list[Tally]) -> tuple[list[_Row], int | None]:
        """Those of the page and before it, in the order that is asked for; and the number up to which both sides were
        looked at, where that is not the end."""
        take = self._next if self._join.is_after else self._newest
        last = 0
        for number, is_other, one, key, values in both:
            if any(tally.stopped_at is not None and number > tally.stopped_at for tally in tallies):
                break  # of one side there may be more before it
            self._answer.candidates += is_other
            try:
                take(is_other, one, key, values)
            except _TimeOver:
                tallies[0].stopped_at = last
                break
            last = number
            if self._held >= _MOST_HELD:
                tallies[0].stopped_at = number
                break
        stopped_at = min((tally.stopped_at for tally in tallies if tally.stopped_at is not None), default=None)
        self._left_over(stopped_at is not None)
        kept = [row for row in self._kept if not row.is_unknown]
        return (kept[::-1] if self._newest_first else kept)[: self._size], stopped_at

    def _newest(self, is_other: bool, one: Seen, key: object, values: Values) -> None:
        if is_other:
            own = self._others.setdefault(key, [])
            if own and not self._test:
                own.clear()
                self._held -= 1
            own.append((one, values))
            self._held += 1
            return
        row = _Row(one)
        for other, its in reversed(self._others.get(key, ())):
            if self._fits(row, values, its):
                row.other = other
            if row.other is not None or row.is_unknown or self._test.is_over:
                break
        if row.is_unknown:
            return
        self._answer.paired += row.other is not None
        self._answer.unpaired += row.other is None
        if row.other is None or not self._join.missing:
            self._keep(row)

    def _next(self, is_other: bool, one: Seen, key: object, values: Values) -> None:
        if not is_other:
            row = _Row(one, values)
            self._waiting.setdefault(key, []).append(row)
            self._held += 1
            if not self._join.missing:
                self._keep(row)
            return
        rows = self._waiting.pop(key, [])
        left: list[_Row] = []
        alone = len(self._alone)
        for row in rows:
            if self._fits(row, row.values, values):
                row.other = one
                self._answer.paired += 1
            elif self._test.is_over:
                self._answer.unpaired += 1
                if self._join.missing:
                    self._alone.append(row)
            elif not row.is_unknown:
                left.append(row)
        self._held += len(self._alone) - alone - len(rows) + len(left)
        if left:
            self._waiting[key] = left

    def _fits(self, row: _Row, own: Values, other: Values) -> bool:
        """Whether the conditions hold for both. Raises _TimeOver."""
        if not self._test:
            return True
        self.tried += 1
        if self.tried % _TRIED == 0 and time.monotonic() > self._deadline:
            raise _TimeOver
        try:
            return self._test.holds(own, other)
        except Undecided as error:  # it may be this one
            row.is_unknown = True
            self._answer.unknown += 1
            self._answer.unknown_why = self._answer.unknown_why or str(error)
            return False

    def _left_over(self, is_partial: bool) -> None:
        """What still waits has no next one, if all were looked at."""
        waiting = [row for rows in self._waiting.values() for row in rows]
        if is_partial and waiting:
            self._answer.unknown += len(waiting)
            self._answer.unknown_why = _NOT_SEEN
            for row in waiting:
                row.is_unknown = True
        else:
            self._answer.unpaired += len(waiting)
            self._alone += waiting
        if self._join.missing:
            for row in sorted(self._alone, key=lambda row: row.event.number):
                self._keep(row)

    def _keep(self, row: _Row) -> None:
        if self._newest_first or len(self._kept) < self._room:
            self._kept.append(row)


def _other(second: Question, one: Seen) -> Other:
    found = Found()
    second.add(found, one)
    return Other(found.events[0], found.values[0], found.errors[0])
