"""`join`: with each event the newest one before it, or the next one behind it, that has the same values."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeAlias

from strobe.dataclass import dataclass, field, replace
from strobe.errors import failure
from strobe.expressions.parser import parse
from strobe.expressions.syntax import Binary, Expression, ExpressionError
from strobe.model import Event, EventFilter
from strobe.session.questions.question import Found, Question
from strobe.timeline.moments import NUMBER_MAX, event_id
from strobe.timeline.scan import Seen, Tally

SECONDS = 22.0  # that events are looked at
_MOST_HELD = 500_000  # events that wait for another one, or for which others may ask
_NOT_SEEN = "the next one may be among events that were not looked at"
_OTHER_SIGNS = ("||", "!=", "<", "<=", ">", ">=")

Ask: TypeAlias = Callable[[EventFilter], Question]
Keyed: TypeAlias = tuple[int, bool, Seen, object]  # number, whether it is one of the others, itself, values


@dataclass(frozen=True, slots=True)
class Join:
    """`other`: a condition, which the other events fulfil; the newest one before the event is looked for, with
    `is_after` the next one behind it, of the same thread unless `any_thread`. `on`: "EXPRESSION == EXPRESSION", of the
    event on the left, of the other one on the right, several with && between them; one expression is both. `select`:
    of the other one. `missing`: only events that have none."""

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
    of which it is not known, for the reason `unknown_why`."""

    found: Found
    others: list[Other | None] = field(default_factory=list)
    paired: int = 0
    unpaired: int = 0
    candidates: int = 0
    unknown: int = 0
    unknown_why: str = ""
    asked: EventFilter = field(default_factory=EventFilter)
    other_filter: EventFilter = field(default_factory=EventFilter)
    of_others: Found = field(default_factory=Found)
    absence: str | None = None


def joined(ask: Ask, wanted: EventFilter, join: Join, until: int) -> Joined:
    """Raises expression_wrong, bad_value, and as Question."""
    sides = [side for text in join.on for side in _sides(text)]
    lefts, rights = [left for left, _ in sides], [right for _, right in sides]
    first = ask(replace(wanted, select=(*lefts, *wanted.select)))
    asked = _of_others(wanted, join, rights)
    second = ask(asked)
    answer = Joined(Found(), asked=asked, other_filter=second.wanted)
    found, of_others = answer.found, answer.of_others
    tallies = [Tally(time.monotonic() + SECONDS) for _ in range(2)]
    own = first.keyed(until, found, tallies[0], lefts, not join.any_thread)
    others = second.keyed(until, of_others, tallies[1], rights, not join.any_thread)
    with closing(own), closing(others):  # what they have counted so far
        # an event is none of those before itself, nor behind itself
        both = heapq.merge(_side(own, False), _side(others, True), key=lambda one: (one[0], one[1] != join.is_after))
        rows, stopped_at = _Pairing(join, wanted, answer).run(both, tallies)
    answer.unknown += found.undecided + of_others.undecided
    answer.unknown_why = answer.unknown_why or found.undecided_why or of_others.undecided_why
    found.unchecked_after = None
    if stopped_at is not None:
        found.unchecked_after = event_id(first.session_id, stopped_at)
    for row in rows[wanted.offset : wanted.offset + wanted.limit]:
        first.add(found, row.event)
        answer.others.append(None if row.other is None else _other(second, row.other, join))
    return answer


def _of_others(wanted: EventFilter, join: Join, rights: list[str]) -> EventFilter:
    """None of those that lie behind all events, or before them. Times before the newest event are not gone by: there
    may be a newer one when they are read the second time."""
    chosen = EventFilter(where=join.other, select=(*rights, *join.select))
    if join.is_after:
        time_from = wanted.time_from if isinstance(wanted.time_from, int) else None
        return replace(chosen, from_event=wanted.from_event, time_from=time_from)
    time_to = wanted.time_to if isinstance(wanted.time_to, int) else None
    return replace(chosen, to_event=wanted.to_event, time_to=time_to)


def _side(keyed: Iterator[tuple[Seen, object]], is_other: bool) -> Iterator[Keyed]:
    return ((one.number, is_other, one, key) for one, key in keyed)


@dataclass(eq=False, slots=True)
class _Row:
    event: Seen
    other: Seen | None = None


class _Pairing:
    """Of both sides in the order of their numbers. What is kept are as many events as a page asks for."""

    def __init__(self, join: Join, wanted: EventFilter, answer: Joined) -> None:
        self._join, self._answer = join, answer
        self._newest_first = wanted.newest_first
        self._size = min(wanted.offset + wanted.limit, NUMBER_MAX)
        self._kept: deque[_Row] = deque(maxlen=self._size)
        self._latest: dict[object, Seen] = {}
        self._waiting: dict[object, list[_Row]] = {}  # for the next one
        self._held = 0

    def run(self, both: Iterator[Keyed], tallies: list[Tally]) -> tuple[list[_Row], int | None]:
        """Those of the page and before it, in the order that is asked for; and the number up to which both sides were
        looked at, where that is not the end."""
        take = self._next if self._join.is_after else self._newest
        number = 0
        for number, is_other, one, key in both:
            if any(tally.stopped_at is not None and number > tally.stopped_at for tally in tallies):
                break  # of one side there may be more before it
            self._answer.candidates += is_other
            take(is_other, one, key)
            if self._held >= _MOST_HELD:
                tallies[0].stopped_at = number
                break
        stopped_at = min((tally.stopped_at for tally in tallies if tally.stopped_at is not None), default=None)
        self._left_over(stopped_at is not None)
        return list(self._kept)[::-1] if self._newest_first else list(self._kept), stopped_at

    def _newest(self, is_other: bool, one: Seen, key: object) -> None:
        if is_other:
            self._held += key not in self._latest
            self._latest[key] = one
            return
        other = self._latest.get(key)
        self._answer.paired += other is not None
        self._answer.unpaired += other is None
        if other is None or not self._join.missing:
            self._keep(_Row(one, other))

    def _next(self, is_other: bool, one: Seen, key: object) -> None:
        if not is_other:
            row = _Row(one)
            self._waiting.setdefault(key, []).append(row)
            self._held += 1
            if not self._join.missing:
                self._keep(row)
            return
        rows = self._waiting.pop(key, ())
        for row in rows:
            row.other = one
        self._held -= len(rows)
        self._answer.paired += len(rows)

    def _left_over(self, is_partial: bool) -> None:
        """What still waits has no next one, if all were looked at."""
        rows = sorted((row for rows in self._waiting.values() for row in rows), key=lambda row: row.event.number)
        if is_partial and rows:
            self._answer.unknown += len(rows)
            self._answer.unknown_why = _NOT_SEEN
            self._kept = deque((row for row in self._kept if row.other is not None), maxlen=self._size)
            return
        self._answer.unpaired += len(rows)
        if self._join.missing:
            for row in rows:
                self._keep(row)

    def _keep(self, row: _Row) -> None:
        if self._newest_first or len(self._kept) < self._size:
            self._kept.append(row)


def _other(second: Question, one: Seen, join: Join) -> Other:
    found = Found()
    second.add(found, one)
    values, errors = (
        {name: item for name, item in whole[0].items() if name in join.select} for whole in (found.values, found.errors)
    )
    return Other(found.events[0], values, errors)


def _sides(text: str) -> list[tuple[str, str]]:
    """Of each `==` what is on its left and right. Raises expression_wrong, bad_value."""
    text = text.strip()
    try:
        tree = parse(text)
    except ExpressionError as error:
        facts = {"field": text[:200], "at": error.at + 1, "near": error.near(text), "reason": error.reason}
        raise failure("expression_wrong", **facts, hint="Valid: key == node.") from error
    inner = _within_brackets(text)
    if isinstance(inner, Binary) and inner.sign in ("==", "&&"):
        return _sides(text[1:-1])
    if not isinstance(tree, Binary) or inner is not None:
        return [(text, text)]
    left, right = text[: tree.at], text[tree.at + len(tree.sign) :]
    if tree.sign == "&&":
        return [*_sides(left), *_sides(right)]
    if tree.sign in _OTHER_SIGNS:
        valid = "key == node; in brackets, (cents < 0), whether it holds is to be the same for both"
        raise failure("bad_value", field="join.on", value=text[:80], reason="it is no ==", valid=valid)
    return [(left.strip(), right.strip())] if tree.sign == "==" else [(text, text)]


def _within_brackets(text: str) -> Expression | None:
    """The expression, of one that stands in brackets as a whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return None
    try:
        return parse(text[1:-1])
    except ExpressionError:
        return None
