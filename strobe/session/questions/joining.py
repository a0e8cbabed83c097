"""`join`: with each event the newest one before it, or the next one behind it, that has the same values."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from strobe.dataclass import dataclass, field, replace
from strobe.errors import failure
from strobe.expressions.parser import parse
from strobe.expressions.syntax import Binary, ExpressionError
from strobe.model import Event, EventFilter
from strobe.session.questions.question import Found, Question
from strobe.timeline.moments import event_id
from strobe.timeline.scan import Seen, Tally

SECONDS = 11.0  # that each of the two sides may be looked at
_MOST_OTHERS = 2_000_000  # events of the other side
_SIDES = "=="

Ask: TypeAlias = Callable[[EventFilter], Question]


@dataclass(frozen=True, slots=True)
class Join:
    """`other`: a condition, which the other events fulfil; the newest one before the event is looked for, with
    `is_after` the next one behind it, of the same thread unless `any_thread`. `on`: "EXPRESSION == EXPRESSION", of the
    event on the left, of the other one on the right; one expression is both. `select`: of the other one. `missing`:
    only events that have none."""

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
    `unpaired` events there were in all, `candidates` other ones; `other_filter` selects these. `unknown`: events of
    either side whose values are not known, for the reason `unknown_why`."""

    found: Found
    others: list[Other | None] = field(default_factory=list)
    paired: int = 0
    unpaired: int = 0
    candidates: int = 0
    unknown: int = 0
    unknown_why: str = ""
    other_filter: EventFilter = field(default_factory=EventFilter)


def joined(ask: Ask, wanted: EventFilter, join: Join, until: int) -> Joined:
    """Raises expression_wrong, bad_value, and as Question."""
    sides = [_sides(text) for text in join.on]
    first = ask(replace(wanted, select=(*(left for left, _ in sides), *wanted.select)))
    other_filter = EventFilter(where=join.other, select=(*(right for _, right in sides), *join.select))
    second = ask(other_filter)
    answer = Joined(Found(), other_filter=second.wanted)
    numbers, until = _others(second, join, [right for _, right in sides], until, answer)
    size = wanted.offset + wanted.limit
    kept: deque[tuple[Seen, int | None]] = deque(maxlen=size)
    tally = Tally(time.monotonic() + SECONDS)
    found = answer.found
    for one, key in first.keyed(until, found, tally, [left for left, _ in sides]):
        own = numbers.get((None if join.any_thread else _thread(one), key), ())
        place = bisect_right(own, one.number) if join.is_after else bisect_left(own, one.number) - 1
        other = own[place] if 0 <= place < len(own) else None
        answer.paired += other is not None
        answer.unpaired += other is None
        if (not join.missing or other is None) and (wanted.newest_first or len(kept) < size):
            kept.append((one, other))
    answer.unknown += found.undecided
    answer.unknown_why = answer.unknown_why or found.undecided_why
    rows = list(kept)[::-1] if wanted.newest_first else list(kept)
    for one, other in rows[wanted.offset :]:
        first.add(found, one)
        answer.others.append(None if other is None else _other(ask, join, event_id(first.session_id, other), until))
    return answer


def _others(
    second: Question, join: Join, by: Sequence[str], until: int, answer: Joined
) -> tuple[dict[tuple[object, object], list[int]], int]:
    """Their numbers, ascending, by thread and values; and up to which number all are known."""
    numbers: dict[tuple[object, object], list[int]] = {}
    found = Found()
    tally = Tally(time.monotonic() + SECONDS)
    for one, key in second.keyed(until, found, tally, by):
        answer.candidates += 1
        if answer.candidates > _MOST_OTHERS:
            reason = f"more than {_MOST_OTHERS:,} events fulfil it"
            raise failure("bad_value", field="join", value=join.other, reason=reason, valid="a narrower condition")
        numbers.setdefault((None if join.any_thread else _thread(one), key), []).append(one.number)
    answer.unknown, answer.unknown_why = found.undecided, found.undecided_why
    if tally.stopped_at is not None:
        answer.found.unchecked_after = event_id(second.session_id, tally.stopped_at)
        return numbers, min(until, tally.stopped_at)
    return numbers, until


def _other(ask: Ask, join: Join, own: str, until: int) -> Other:
    wanted = EventFilter(from_event=own, to_event=own)
    (event,) = ask(wanted).page(until).events
    if not join.select:
        return Other(event, {}, {})
    found = ask(replace(wanted, event_type=event.event_type, select=join.select)).page(until)
    return Other(event, found.values[0], found.errors[0])


def _thread(one: Seen) -> object:
    """Of a call's event or a probe's; what is the program's is of no thread."""
    return None if one.is_host else (one.row[4], one.row[5])


def _sides(text: str) -> tuple[str, str]:
    """Raises expression_wrong."""
    try:
        tree = parse(text)
    except ExpressionError as error:
        facts = {"field": text[:200], "at": error.at + 1, "near": error.near(text), "reason": error.reason}
        raise failure("expression_wrong", **facts, hint="Valid: key == node.") from error
    if not isinstance(tree, Binary) or tree.sign != _SIDES:
        return text.strip(), text.strip()
    return text[: tree.at].strip(), text[tree.at + len(_SIDES) :].strip()
