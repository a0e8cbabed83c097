"""Two runs, or two intervals of one, on one screen: counts that differ, the first call and the values that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strobe.dataclass import replace
from strobe.errors import failure
from strobe.mcp import results
from strobe.mcp.tools import ended_json, event_json
from strobe.model import EventFilter, Loss, Totals

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.questions.compare import Compared, Different, Divergence

_EVENT_BYTES = 700
_COUNTS = 15
_SLOWER = 5
_SLOWER_TIMES = 2  # of the mean time, from which on a function is said to be slower
_SLOWER_NS = 100_000  # in all, at least
_DIFFERENT = 12
_DIVERGENCES = 5
_VALUE_CHARACTERS = 200
_NAMES = 10

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
    here = {one.key: one for one in session.totals(wanted, "function")}
    there = {one.key: one for one in other.totals(of_other, "function")}
    answer: Json = {"here": session.id, "there": other.id}
    if session.id != other.id and (ended := ended_json.of(other.ended())):
        answer["endedThere"] = ended.get("ended")
    counted = _counts(here, there)
    answer["calls"] = counted[:_COUNTS]
    if len(counted) > _COUNTS:
        answer["callsMore"] = len(counted) - _COUNTS
    answer["sameCounts"] = len(here.keys() | there.keys()) - len(counted)
    answer |= _times(here, there)
    why_not = [
        f"{session_id}: {missing}"
        for session_id, missing in (
            (session.id, _missing(session.loss(), wanted)),
            (other.id, _missing(other.loss(), of_other)),
        )
        if missing
    ]
    if why_not:
        return answer | {"note": f"The sequences of calls were not compared. {' '.join(dict.fromkeys(why_not))}"}
    return answer | _sequence(session.compare(other, wanted, of_other))


def _missing(loss: Loss, wanted: EventFilter) -> str:
    """Why the events are no sequence; empty where they are."""
    if loss.sampled_out:
        return f'{loss.sampled_out} events were left out by sampling: sampling "off" keeps them.'
    if loss.evicted and wanted.from_event is None and wanted.time_from is None:
        return f"{loss.evicted} events were evicted, the first ones: trace less, or compare an interval (from, to)."
    return f"{loss.lost} events were lost." if loss.lost else ""


def _counts(here: dict[str, Totals], there: dict[str, Totals]) -> list[Json]:
    """Functions that were not called equally often: those on one side alone first, then by how much they differ."""
    found = []
    for name in {**here, **there}:
        one, other = (side[name].count if name in side else 0 for side in (here, there))
        if one != other:
            found.append(
                (
                    min(one, other) / max(one, other),
                    {"function": results.clipped(name, 160), "here": one, "there": other},
                )
            )
    return [told for _, told in sorted(found, key=lambda item: (item[0], item[1]["function"]))]


def _times(here: dict[str, Totals], there: dict[str, Totals]) -> Json:
    """Functions that took longer here or there, call by call."""
    found = []
    for name in here.keys() & there.keys():
        one, other = here[name], there[name]
        quick, slow = sorted((one, other), key=lambda item: item.mean_ns)
        if slow.mean_ns >= _SLOWER_TIMES * max(1, quick.mean_ns) and slow.total_ns >= _SLOWER_NS:
            told = {"function": results.clipped(name, 160), "meanNsHere": one.mean_ns, "meanNsThere": other.mean_ns}
            found.append((slow.total_ns, told))
    found.sort(key=lambda item: -item[0])
    return {"slower": [told for _, told in found[:_SLOWER]]} if found else {}


def _sequence(found: Compared) -> Json:
    answer: Json = {"comparedThreads": found.threads, "equalEvents": found.equal}
    for names, said in zip((found.alone, found.untraced), ("threadsOnly", "tracedOnly"), strict=True):
        for of_side, side in zip(names, ("Here", "There"), strict=True):
            if of_side:
                answer[said + side] = [results.clipped(name, 160) for name in of_side[:_NAMES]]
    divergences = found.divergences
    answer["firstDivergence"] = _divergence(divergences[0]) if divergences else None
    if len(divergences) > 1:
        answer["otherDivergences"] = [_short(one) for one in divergences[1 : 1 + _DIVERGENCES]]
    answer["values"] = [_different(one) for one in found.different[:_DIFFERENT]]
    if len(found.different) > _DIFFERENT:
        answer["valuesMore"] = len(found.different) - _DIFFERENT
    if found.stopped:
        answer["note"] = "There was no time for all events: what is said holds for those that were compared."
    return answer


def _divergence(one: Divergence) -> Json:
    told: Json = {"thread": one.thread}
    if one.other_thread != one.thread:
        told["threadThere"] = one.other_thread
    told["equalBefore"] = one.equal
    if one.within:
        told["within"] = [results.clipped(name, 100) for name in one.within[-_NAMES:]]
    for side, event in (("here", one.one), ("there", one.other)):
        told[side] = (
            "no more events" if event is None else event_json.bounded_event(_without_depth(event), True, _EVENT_BYTES)
        )
    told["before"] = [event_json.bounded_event(event, False, _EVENT_BYTES // 2) for event in one.before]
    return told


def _without_depth(event: Any) -> Any:
    return replace(event, function_raw=None, return_type=None)


def _short(one: Divergence) -> Json:
    names = {
        side: "no more events"
        if event is None
        else {"id": event.id, "function": results.clipped(event.label or event.function or "", 160)}
        for side, event in (("here", one.one), ("there", one.other))
    }
    return {"thread": one.thread, "equalBefore": one.equal, **names}


def _different(one: Different) -> Json:
    sides = {
        side: {"id": event, "value": _value(value)}
        for side, (event, value) in (("here", one.one), ("there", one.other))
    }
    return {
        "function": results.clipped(one.function, 160),
        "what": one.what,
        **sides,
        "differs": one.count,
        "of": one.of,
    }


def _value(value: Any) -> Any:
    encoded = results.encode(results.plain(value))
    return value if len(encoded) <= _VALUE_CHARACTERS else results.clipped(encoded, _VALUE_CHARACTERS)
