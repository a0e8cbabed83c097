"""Two runs, or two intervals of one, on one screen: counts that differ, the first call and the values that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from strobe.dataclass import replace
from strobe.errors import failure
from strobe.mcp import results
from strobe.mcp.answers import ended_json, event_json
from strobe.model import EventFilter, TextMatch

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.questions.compare import Compared, Different, Divergence
    from strobe.timeline.totals import Totals

_EVENT_BYTES = 700
_COUNTS = 15
_SLOWER = 5
_SLOWER_TIMES = 2  # of the mean time, from which on a function is said to be slower
_SLOWER_NS = 100_000  # in all, at least
_DIFFERENT = 12
_DIVERGENCES = 5
_VALUE_CHARACTERS = 200
_NAMES = 10
_FEW = 5  # names in a sentence
_ANSWER_BYTES = 11_500

Json = dict[str, Any]


def of(session: Session, other: Session, wanted: EventFilter, of_other: EventFilter) -> Json:
    """`here` and `there` stand for the two. Raises bad_value for what compares a thing with itself, and as
    Session.query."""
    if session.id == other.id and of_other == wanted:
        raise failure(
            "bad_value",
            field="compare",
            value=session.id,
            reason="these are the same events of the same session",
            valid="another session; or this one with compareFrom and compareTo",
        )
    running = [one.ended() is None for one in (session, other)]
    sides = [(session, wanted), (other, of_other)]
    answer: Json = {"here": session.id, "there": other.id}
    if session.id != other.id and (ended := ended_json.of(other.ended())):
        answer["endedThere"] = ended.get("ended")
    alone = session.traced_alone(other, wanted, of_other)
    answer |= _counted(sides, frozenset(name for names in alone for name in names))
    for names, side in zip(alone, ("Here", "There"), strict=True):
        answer |= _listed(f"tracedOnly{side}", names)
    notes = answer.pop("notes") + list(dict.fromkeys(said for one in sides for said in _partly(*one)))
    why_not = list(dict.fromkeys(said for one in sides if (said := _missing(*one))))
    if why_not:
        notes.append(f"The sequences of calls were not compared. {' '.join(why_not)}")
    else:
        found = session.compare(other, wanted, of_other)
        answer |= _sequence(found, running)
        notes += _doubts(found, sides)
    return _bounded(answer | ({"note": " ".join(notes)} if notes else {}))


def _missing(session: Session, wanted: EventFilter) -> str:
    """Why the events are no sequence; empty where they are."""
    loss = session.timeline.loss()
    why = ""
    if loss.sampled_out:
        why = f'{loss.sampled_out} events were left out by sampling: sampling "off" keeps them.'
    elif session.timeline.evicted_in(wanted):
        until = "" if loss.evicted_until_ns is None else f", up to {loss.evicted_until_ns} ns"
        why = f"{loss.evicted} events were evicted{until}: trace less, or compare an interval after that."
    elif loss.lost:
        why = f"{loss.lost} events were lost."
    return why and f"{session.id}: {why}"


def _partly(session: Session, wanted: EventFilter) -> Iterator[str]:
    """What of the calls the events leave out on purpose."""
    if names := session.timeline.partly_recorded(wanted):
        listed = ", ".join(results.clipped(name, 100) for name in names[:_FEW])
        more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
        yield f"{session.id}: not recorded for the whole time: {listed}{more}."
    if unheld := sum(one.unheld for one in session.timeline.function_losses()):
        yield f"{session.id}: conditions of traces or probes did not hold {unheld} times, of which there are no events."


def _doubts(found: Compared, sides: Sequence[tuple[Session, EventFilter]]) -> list[str]:
    """What to know of the sequences."""
    said = []
    for (session, _), undecided in zip(sides, found.undecided, strict=True):
        if undecided:
            said.append(f"{session.id}: of {undecided} events it is not known whether the condition holds.")
    if not found.equal and not found.divergences:
        said.append("No event was compared: that there is no difference says nothing.")
    if found.by_order and found.divergences:
        said.append(
            "Some threads were paired by the order in which they began, as their names are alike: what differs may be "
            "that order."
        )
    if found.stopped:
        said.append("There was no time for all events: what is said holds for those that were compared.")
    return said


def _bounded(answer: Json) -> Json:
    """Without the last values and counts, where there is no room for them."""
    for name in ("values", "otherDivergences", "calls", "events"):
        while len(answer.get(name, ())) > 1 and len(results.encode(results.plain(answer))) > _ANSWER_BYTES:
            answer[name].pop()
            answer[f"{name}More"] = answer.get(f"{name}More", 0) + 1
    return answer


def _counted(sides: Sequence[tuple[Session, EventFilter]], alone: frozenset[str]) -> Json:
    """How often functions were called, and how long they took; where events are looked at one by one, of how many that
    holds. `alone`: those that only one side has. `notes`: what to know of it."""
    from strobe.session.questions import is_one

    if is_one(sides[0][1]):
        return _counted_events(sides, alone)
    here, there = ({one.key: one for one in session.timeline.totals(wanted, "function")} for session, wanted in sides)
    notes = [
        f"{session.id}: {session.timeline.absence(wanted)}"
        for (session, wanted), totals in zip(sides, (here, there), strict=True)
        if not totals
    ]
    if not all(one.exact for one in (*here.values(), *there.values())) and any(
        session.timeline.loss().sampled_out or session.timeline.evicted_in(wanted) for session, wanted in sides
    ):
        notes.append("Counts are of calls whose events were kept.")
    counts = [{name: one.count for name, one in side.items() if name not in alone} for side in (here, there)]
    return _counts("calls", *counts) | _times(here, there) | {"notes": notes}


def _counted_events(sides: Sequence[tuple[Session, EventFilter]], alone: frozenset[str]) -> Json:
    counts, notes = [], []
    for session, wanted in sides:
        only_calls = replace(wanted, function=wanted.function or TextMatch(contains=""))
        groups, found = session.counts(only_calls, "$function")
        counts.append({str(one.value): one.count for one in groups if one.value not in alone})
        if found.absence is not None:
            notes.append(f"{session.id}: {found.absence}")
        if found.unchecked_after is not None:
            notes.append(f"{session.id}: there was no time to count all events.")
    return _counts("events", *counts) | {"notes": notes}


def _counts(what: str, here: dict[str, int], there: dict[str, int]) -> Json:
    """Functions that were not called equally often: those on one side alone first, then by how much they differ.
    `what`: is counted, calls or events."""
    found = []
    for name in {**here, **there}:
        one, other = here.get(name, 0), there.get(name, 0)
        if one != other:
            row = {"function": results.clipped(name, 160), "here": one, "there": other}
            found.append((min(one, other) / max(one, other), row))
    found.sort(key=lambda item: (item[0], item[1]["function"]))
    answer: Json = {what: [row for _, row in found[:_COUNTS]]}
    if len(found) > _COUNTS:
        answer[f"{what}More"] = len(found) - _COUNTS
    return answer | {"sameCounts": len(here.keys() | there.keys()) - len(found)}


def _times(here: dict[str, Totals], there: dict[str, Totals]) -> Json:
    """Functions that took longer here or there, call by call."""
    found = []
    for name in here.keys() & there.keys():
        one, other = here[name], there[name]
        if not one.completed or not other.completed:
            continue  # how long one takes is not known
        quick, slow = sorted((one, other), key=lambda item: item.mean_ns)
        if slow.mean_ns >= _SLOWER_TIMES * max(1, quick.mean_ns) and slow.total_ns >= _SLOWER_NS:
            row = {"function": results.clipped(name, 160), "meanNsHere": one.mean_ns, "meanNsThere": other.mean_ns}
            found.append((slow.total_ns, row))
    found.sort(key=lambda item: -item[0])
    return {"slower": [row for _, row in found[:_SLOWER]]} if found else {}


def _sequence(found: Compared, running: Sequence[bool]) -> Json:
    """`running`: by side, whether its program runs on."""
    answer: Json = {"comparedThreads": found.threads, "equalEvents": found.equal}
    for names, side in zip(found.alone, ("Here", "There"), strict=True):
        answer |= _listed(f"threadsOnly{side}", names)
    divergences = found.divergences
    answer["firstDivergence"] = _divergence(divergences[0], running) if divergences else None
    if len(divergences) > 1:
        answer["otherDivergences"] = [_short(one, running) for one in divergences[1 : 1 + _DIVERGENCES]]
    if len(divergences) > 1 + _DIVERGENCES:
        answer["otherDivergencesMore"] = len(divergences) - 1 - _DIVERGENCES
    answer["values"] = [_different(one) for one in found.different[:_DIFFERENT]]
    if len(found.different) > _DIFFERENT:
        answer["valuesMore"] = len(found.different) - _DIFFERENT
    return answer


def _listed(name: str, items: Sequence[str]) -> Json:
    """The first ones, and how many more there are."""
    if not items:
        return {}
    more = {f"{name}More": len(items) - _NAMES} if len(items) > _NAMES else {}
    return {name: [results.clipped(item, 160) for item in items[:_NAMES]]} | more


def _no_more(is_running: bool) -> str:
    return "no more events so far" if is_running else "no more events"


def _divergence(one: Divergence, running: Sequence[bool]) -> Json:
    shown: Json = {"thread": one.thread}
    if one.other_thread != one.thread:
        shown["threadThere"] = one.other_thread
    shown["equalBefore"] = one.equal
    if one.within:
        shown["within"] = [results.clipped(name, 100) for name in one.within[-_NAMES:]]
    for side, event, is_running in zip(("here", "there"), (one.one, one.other), running, strict=True):
        shown[side] = (
            _no_more(is_running)
            if event is None
            else event_json.bounded_event(_without_depth(event), True, _EVENT_BYTES)
        )
    shown["before"] = [event_json.bounded_event(event, False, _EVENT_BYTES // 2) for event in one.before]
    return shown


def _without_depth(event: Any) -> Any:
    return replace(event, function_raw=None, return_type=None)


def _short(one: Divergence, running: Sequence[bool]) -> Json:
    names = {
        side: _no_more(is_running)
        if event is None
        else {"id": event.id, "function": results.clipped(event.label or event.function or "", 160)}
        for side, event, is_running in zip(("here", "there"), (one.one, one.other), running, strict=True)
    }
    return {"thread": one.thread, "equalBefore": one.equal, **names}


def _different(one: Different) -> Json:
    sides = {
        side: {"id": event, "value": _value(value)}
        for side, (event, value) in (("here", one.one), ("there", one.other))
    }
    return {
        "function": results.clipped(one.function, 160),
        "what": results.clipped(one.what, 160),
        **sides,
        "differs": one.count,
        "of": one.of,
    }


def _value(value: Any) -> Any:
    encoded = results.encode(results.plain(value))
    return value if len(encoded) <= _VALUE_CHARACTERS else results.clipped(encoded, _VALUE_CHARACTERS)
