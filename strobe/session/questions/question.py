"""Questions about what was recorded that only the values answer: `where`, `select`, and counts by an expression."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError, failure
from strobe.expressions.evaluation import Undecided, compiled
from strobe.expressions.names import SPECIAL, Known, check_names
from strobe.expressions.normal import Absent, Normal, Pointer, comparable, truth
from strobe.expressions.parser import parse, without_blanks
from strobe.expressions.syntax import Expression, ExpressionError, WatchLabel
from strobe.model import Event, EventFilter
from strobe.session.questions.contexts import EventContext, known_names
from strobe.session.questions.found import Counted, Found, Touched
from strobe.session.questions.inside import Within, calls_of, spans
from strobe.session.questions.narrowing import AT_RETURNS, Names, narrowed, sight_of
from strobe.session.questions.sieving import EVERY, Sieving, Sifted, can_sieve
from strobe.session.questions.touches import places_in_call, places_in_snapshot
from strobe.timeline.host_absence import is_asked
from strobe.timeline.moments import NUMBER_MAX, event_id, event_number
from strobe.timeline.reader import SessionReader
from strobe.timeline.scan import Progress, Seen, Tally, seen
from strobe.timeline.selection import check_page, select
from strobe.values.decode.normal_form import as_json

SECONDS = 25.0  # that one question may look at events
_FIRST_SECONDS = 1.0  # for the first event alone, where the condition held for none
_GROUPS = 100_000
_NEWEST = 3  # events of an address
_INDEX = re.compile(r"\[\d+\]|\bat 0x[0-9a-f]+|\bin 0x[0-9a-f]+")
_EVERY_INDEX = "[…]"

Value: TypeAlias = Normal | Undecided


@dataclass(frozen=True, slots=True)
class Part:
    """A value that is asked for beside those that are shown. `tree`: what of the `text` it is; None: all of it, read as
    one of `select`. `is_needed`: an event without it is of no use. `elsewhere`: what may be named in another way, with
    that way: `$other.`."""

    text: str
    tree: Expression | None = None
    is_needed: bool = True
    elsewhere: tuple[Known, str] | None = None


def group_expression(text: str) -> str:
    """By what events are counted: what `caller`, `return`, `arg:NAME` or `watch:LABEL` stand for; else the text."""
    words = {"function": "$function", "thread": "$thread", "file": "$file", "caller": "$caller", "return": "$return"}
    return words.get(text) or text.removeprefix("arg:").removeprefix("watch:")


def is_one(wanted: EventFilter) -> bool:
    """Whether the events have to be looked at one by one."""
    return is_asked(wanted)


def why_none(
    found: Found, absence: Callable[[], str], doubts: Callable[[], list[str]], address: int | None = None
) -> str:
    """What it says that the condition held for none, or that none has the address. `absence`: what is known where there
    was nothing to check; `doubts`: why not all events were there to check."""
    if not found.checked:
        nothing = absence()
        looked = "No event that the other conditions select can have what is asked for."
        return nothing if nothing.startswith("It was not called") else f"{looked} {nothing}"
    parts = [f"It held for none of {found.checked} checked events."]
    if address is not None:
        parts = [
            f"{address:#x} is in none of {found.checked} checked events: nor in what was recorded behind pointers."
        ]
    if found.undecided:
        parts.append(f"Of {found.undecided} of them it is not known: {found.undecided_why}.")
    if found.absent:
        parts.append(f"Already the first one cannot have what is asked for: {found.absent_why}.")
    if found.unchecked_after is not None or found.unchecked_before is not None:
        parts.append("Others were not looked at: there was no time.")
    if others := doubts():
        parts += ["This does not prove that it did not happen.", *others]
    return " ".join(parts)


def _every() -> int:
    return EVERY


class Question:
    """One filter, with the expressions whose values are asked for. Raises expression_wrong, and as `select`."""

    def __init__(
        self,
        reader: SessionReader,
        wanted: EventFilter,
        filled: Callable[[Event], Event],
        labels: frozenset[str],
        progress: Progress | None = None,
        parts: Sequence[Part] = (),
        is_of_groups: bool = False,
    ) -> None:
        """`filled`: an event with what its pointers lead to; `labels` of watches and polled variables; `progress`: as
        Sight has it; `parts`: for `keyed`; `is_of_groups`: for `groups`, where an event needs all that is selected;
        else it is shown with what it has."""
        check_page(wanted)
        self.reader, self._wanted = reader, wanted
        self._filled, self._labels = filled, labels
        self._inside: tuple[int, Within] | None = None
        self._calls()  # raises what is wrong with it
        self.expressions = list(dict.fromkeys(wanted.select))
        trees = [_selected(text, labels) for text in self.expressions]
        condition = None if wanted.where is None else _parsed(wanted.where)
        narrower = wanted if condition is None else narrowed(wanted, condition)
        known = known_names(reader, select(reader, narrower).functions, labels)
        asked = Names()
        for text, tree in zip(self.expressions, trees, strict=True):
            found = _checked(text, tree, known)
            asked.add(found)
            if is_of_groups:
                asked.needed |= found.names
            else:
                asked.alternatives.append(found)
        if condition is not None:
            found = _checked(wanted.where or "", condition, known)
            asked.add(found)
            asked.of_condition |= found.names
        of_parts = [(part, _selected(part.text, labels) if part.tree is None else part.tree) for part in parts]
        for part, tree in of_parts:
            found = _checked(part.text, tree, known, part.elsewhere)
            asked.add(found)
            if part.is_needed:
                asked.needed |= found.names
        self._parts = [_compiled(part.text, tree) for part, tree in of_parts]
        self.context = EventContext(reader, filled, labels, known)
        self._condition, self.known = condition, known
        self._sieving: Sieving | None = None
        self.evaluate = None if condition is None else _compiled(wanted.where or "", condition)
        self._selected = [_compiled(text, tree) for text, tree in zip(self.expressions, trees, strict=True)]
        self.sight = sight_of(reader, wanted, condition, asked, known, progress)
        self._is_sieved = can_sieve(reader, self.sight)
        # calls without a return are left out, which who asks for returns knows
        self.picks_returns = narrower.event_type is None and self.sight.wanted.event_type == "function_exit"

    @property
    def wanted(self) -> EventFilter:
        """The filter, without calls of functions that cannot have what is asked for, and of probes without others."""
        looked_at = self.sight.wanted
        if looked_at.event_type == "probe":
            return replace(self._wanted, event_type="probe", function=looked_at.function)
        return replace(self._wanted, function_ids=looked_at.function_ids, text=looked_at.text)

    def page(self, until: int) -> Found:
        """A page of the events for which it holds, in the order that is asked for."""
        wanted, found = self._wanted, Found()
        size = min(wanted.offset + wanted.limit, NUMBER_MAX)
        is_turned = wanted.newest_first and not self._is_sieved  # then they come oldest first all the same
        kept: deque[Seen] = deque(maxlen=size)
        for one in self._held(found, until, None, lambda: size - len(kept), wanted.newest_first):
            if is_turned or len(kept) < size:
                kept.append(one)
        rows = list(kept)
        if is_turned:
            rows.reverse()
        for one in rows[wanted.offset :]:
            self.add(found, one)
        if found.checked and not found.held and not found.undecided:
            self._note_absent(found, until)
        return found

    def _note_absent(self, found: Found, until: int) -> None:
        """Whether the first event that was checked is of a sort that never has what the condition is about."""
        if self.evaluate is None or self._wanted.inside is not None:
            return
        sight = replace(self.sight, fails=None, progress=None)
        for one in seen(self.reader, sight, until, Tally(time.monotonic() + _FIRST_SECONDS)):
            try:
                self.evaluate(self.context.see(one))
            except Absent as error:
                found.absent, found.absent_why = 1, str(error)
            except Undecided:
                pass
            return

    def first(self, until: int, deadline: float | None = None) -> tuple[Event | None, int]:
        """The first event up to this number for which it holds, and up to which number was looked: to the end, or as
        far as there was time. `deadline`: by time.monotonic()."""
        tally = Tally(time.monotonic() + SECONDS if deadline is None else deadline)
        for one in self._held(Found(), until, tally, lambda: 1):
            return self._event(one), one.number
        looked = until if tally.stopped_at is None else tally.stopped_at
        if (progress := self.sight.progress) is not None:
            progress.until = max(looked, progress.until or 0)
            progress.is_whole = tally.stopped_at is None
        return None, looked

    def groups(self, until: int) -> tuple[list[Counted], Found]:
        """How many events have which values of the expressions, most first. Raises bad_value."""
        groups: dict[str, Counted] = {}
        found = Found()
        for one in self._held(found, until):
            context = self.context.see(one)
            try:
                values = [as_json(_one_of_group(evaluate(context)), context.raw) for evaluate in self._selected]
            except Absent:
                continue
            except Undecided as error:
                _note_undecided(found, error)
                continue
            key = repr(values)
            group = groups.get(key)
            if group is None:
                if len(groups) >= _GROUPS:
                    facts = {"value": ", ".join(self.expressions), "reason": "there are too many values"}
                    raise failure("bad_value", field="groupBy", **facts, valid="expressions with fewer values")
                value = values[0] if len(values) == 1 else dict(zip(self.expressions, values, strict=True))
                group = groups[key] = Counted(value, first=context.id)
            _count(group, one, context.id)
        return sorted(groups.values(), key=lambda group: -group.count), found

    def held(self, found: Found, until: int, tally: Tally) -> Iterator[Seen]:
        """The events for which it holds, the oldest first. `found`: where they are counted."""
        return self._held(found, until, tally)

    def touched(self, until: int) -> tuple[list[Touched], Found]:
        """Where the address is found, by first time; of the events themselves the first and the last ones."""
        found = Found()
        groups: dict[tuple[str, str, tuple[str, ...]], Touched] = {}
        newest: deque[tuple[Event, list[str]]] = deque(maxlen=_NEWEST)
        for one in self._held(found, until):
            places, event = self._places(one), self.context.see(one).event()
            name = event.label or event.function or ""
            key = (event.event_type, name, tuple(dict.fromkeys(_INDEX.sub(_EVERY_INDEX, place) for place in places)))
            group = groups.get(key)
            if group is None:
                if len(groups) >= _GROUPS:
                    continue
                groups[key] = Touched(event.event_type, name, key[2], event, event)
            else:
                group.count, group.last = group.count + 1, event
            if not found.events:
                found.events, found.places = [event], [places]
            else:
                newest.append((event, places))
        found.events += [event for event, _ in newest]
        found.places += [places for _, places in newest]
        return list(groups.values()), found

    def numbers(self, until: int) -> tuple[list[int], Found]:
        """Of the events for which it holds, ascending."""
        found = Found()
        return sorted(one.number for one in self._held(found, until)), found

    def _calls(self) -> tuple[Question, bool] | None:
        """By which events the calls are chosen that the filter asks the inside of, and whether these are returns. None
        where all calls are. Raises expression_wrong."""
        inside = self._wanted.inside
        if inside is None or inside.where is None:
            return None
        labels = self._labels
        by_entry = calls_of(inside, by_exit=False)
        known = known_names(self.reader, select(self.reader, by_entry).functions, labels)
        by_exit = bool(_checked(inside.where, _parsed(inside.where), known).names & AT_RETURNS)
        return Question(self.reader, calls_of(inside, by_exit), self._filled, labels), by_exit

    def within(self, until: int) -> Within | None:
        """When the calls ran that the filter asks the inside of; None where it does not."""
        if self._wanted.inside is None:
            return None
        if self._inside is None or self._inside[0] != until:
            chosen = self._calls()
            if chosen is None:
                within = spans(self.reader, self._wanted.inside, None, False, until)
            else:
                numbers, of_calls = chosen[0].numbers(until)
                within = spans(self.reader, self._wanted.inside, numbers, chosen[1], until)
                within.undecided, within.undecided_why = of_calls.undecided, of_calls.undecided_why
                within.unchecked = of_calls.unchecked_after is not None
            self._inside = until, within
        return self._inside[1]

    def _held(
        self,
        found: Found,
        until: int,
        tally: Tally | None = None,
        room: Callable[[], int] = _every,
        backwards: bool = False,
    ) -> Iterator[Seen]:
        """Events for which it holds; `found` counts them all, though no more than `room` may be given."""
        within = found.inside = self.within(until)
        tally = tally or Tally(time.monotonic() + SECONDS)
        if self._is_sieved:
            yield from self._sifted(found, until, tally, room, backwards, within)
        else:
            yield from self._evaluated(found, until, tally, within)
        if tally.stopped_at is None:
            return
        if backwards and self._is_sieved:
            found.unchecked_before = event_id(self.reader.session_id, tally.stopped_at)
        else:
            found.unchecked_after = event_id(self.reader.session_id, max(tally.stopped_at, self._asked_after()))

    def _sifted(
        self,
        found: Found,
        until: int,
        tally: Tally,
        room: Callable[[], int],
        backwards: bool,
        within: Within | None,
    ) -> Iterator[Seen]:
        rows = None if within is None else within.rows
        self._sieving = Sieving(
            self.reader, self.sight, until, self._condition, self.known, self._labels, backwards, rows
        )
        sifted = Sifted(tally.deadline)
        try:
            for one in self._sieving.candidates(sifted, room):
                if one.holds is None:
                    holds = self._holds(found, one.seen, one.is_counted)
                    sifted.has_reason = bool(found.undecided_why)
                    found.held += holds
                    if not holds:
                        continue
                yield one.seen
        finally:  # also for who has seen enough
            found.checked += sifted.checked
            found.held += sifted.held
            found.undecided += sifted.undecided
            tally.stopped_at = sifted.stopped_at

    def _evaluated(self, found: Found, until: int, tally: Tally, within: Within | None) -> Iterator[Seen]:
        """Oldest first."""
        for one in seen(self.reader, self.sight, until, tally):
            if within is not None and (one.is_host or not within.holds(one.row[4], one.row[5], one.number)):
                continue
            found.checked += 1
            if self._holds(found, one):
                found.held += 1
                yield one
        found.checked += tally.failed

    def _holds(self, found: Found, one: Seen, is_counted: bool = False) -> bool:
        """`is_counted`: where it is undecided, it is counted already."""
        if self._wanted.address is not None and not self._places(one):
            return False
        if self.evaluate is None:
            return True
        try:
            return truth(self.evaluate(self.context.see(one)))
        except Absent:
            return False
        except Undecided as error:
            found.undecided += not is_counted
            found.undecided_why = found.undecided_why or str(error)
            return False

    def _asked_after(self) -> int:
        """The cursor, of who goes forward; what led to events is looked for from before it."""
        after = self._wanted.after_event_id
        is_backward = after is None or self._wanted.newest_first
        return 0 if is_backward else event_number(self.reader.session_id, str(after))

    def keyed(
        self, until: int, found: Found, tally: Tally, keys: int, in_thread: bool
    ) -> Generator[tuple[Seen, object, tuple[Value, ...]], None, None]:
        """Events for which it holds, oldest first; with the first `keys` of the parts in a form in which equal ones are
        the same, with `in_thread` the thread is one of them; and with the other parts, or why they are not known.
        Events of which the keys are not known are counted as undecided, those that never have them as absent."""
        by, others = self._parts[:keys], self._parts[keys:]
        for one in self._held(found, until, tally):
            context = self.context.see(one)
            try:
                thread = context.one_thread() if in_thread else None
                key = thread, *(comparable(evaluate(context)) for evaluate in by)
            except Absent as error:
                found.absent += 1
                found.absent_why = found.absent_why or str(error)
                continue
            except Undecided as error:
                _note_undecided(found, error)
                continue
            yield one, key, tuple(_value(evaluate, context) for evaluate in others)

    @property
    def session_id(self) -> str:
        """Of whose events it asks."""
        return self.reader.session_id

    def add(self, found: Found, one: Seen) -> None:
        """An event of the page, with the values that are asked for."""
        found.events.append(self._event(one))
        if self._wanted.address is not None:
            found.places.append(self._places(one))
        context = self.context.see(one)
        values: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for text, evaluate in zip(self.expressions, self._selected, strict=True):
            try:
                values[text] = as_json(evaluate(context), context.raw)
            except (Absent, Undecided) as error:
                errors[text] = str(error)
        found.values.append(values)
        found.errors.append(errors)

    def _places(self, one: Seen) -> list[str]:
        """Where in the event the address is found."""
        address = self._wanted.address or 0
        event = self.context.see(one).event()
        if one.is_host:
            return places_in_snapshot(address, event)
        symbol = self.reader.functions().get(one.row[3])
        return places_in_call(address, one.row, event, symbol, self._descriptions)

    @cached_property
    def _descriptions(self) -> dict[int, str]:
        return self.reader.store.extras(self.reader.session_id)

    def _event(self, one: Seen) -> Event:
        event = self.context.see(one).event()
        if self._sieving is None or one.is_host:
            return event
        parent = self._sieving.parent_of(one.number)  # rows of a sieve are without it
        return replace(event, parent_event_id=None if parent is None else event_id(self.reader.session_id, parent))


def _value(evaluate: Callable[[EventContext], Normal], context: EventContext) -> Value:
    try:
        return evaluate(context)
    except Undecided as error:
        return type(error)(str(error))  # without what it was raised in


def _note_undecided(found: Found, error: Undecided) -> None:
    found.undecided += 1
    found.undecided_why = found.undecided_why or str(error)


def _one_of_group(value: Normal) -> Normal:
    """Of a pointer the address alone: what it leads to is another each time."""
    if isinstance(value, Pointer) and value.address is not None:
        return Pointer(value.address, value.name)
    return value


def _count(group: Counted, one: Seen, event_id: str) -> None:
    group.count += 1
    group.last = event_id
    duration = None if one.is_host else one.row[7]
    if duration is not None:
        took = int(duration)
        group.total_ns += took
        group.max_ns = max(group.max_ns, took)
        least = max(0, took.bit_length() - 5)
        rounded = ((took >> least) + 1 << least) - 1 if least else took
        group.durations[rounded] = group.durations.get(rounded, 0) + 1


def _selected(text: str, labels: frozenset[str]) -> Expression:
    """What is written as the text of a watch or of a value of a probe is that one, as is said of them: also an address
    or another thing that cannot be asked of events. A name alone may be an argument."""
    if text.strip() in SPECIAL:  # `$return` is also that of calls
        return _parsed(text)
    label = next((label for label in labels if without_blanks(label) == without_blanks(text)), None)
    return _parsed(text) if label is None or text.isidentifier() else WatchLabel(0, label)


def _parsed(text: str) -> Expression:
    try:
        return parse(text)
    except ExpressionError as error:
        raise _wrong(text, error) from error


def _checked(text: str, tree: Expression, known: Known, elsewhere: tuple[Known, str] | None = None) -> Any:
    try:
        return check_names(tree, known)
    except ExpressionError as error:
        name = text[error.at : error.at + error.length]
        if elsewhere is not None and name in elsewhere[0].arguments | elsewhere[0].watches:
            error.hint = f"{elsewhere[1]}{name}, of the other event"
        raise _wrong(text, error) from error


def _compiled(text: str, tree: Expression) -> Callable[[EventContext], Normal]:
    try:
        return compiled(tree)
    except ExpressionError as error:
        raise _wrong(text, error) from error


def _wrong(text: str, error: ExpressionError) -> StrobeError:
    hint = f"Nearest, or valid: {error.hint}." if error.hint else "The language: docs/expressions.md."
    return failure(
        "expression_wrong", field=text[:200], at=error.at + 1, near=error.near(text), reason=error.reason, hint=hint
    )
