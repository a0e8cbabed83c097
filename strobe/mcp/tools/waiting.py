"""`wait` of debug_launch and debug_trace: what is waited for, and what is answered then, in 8 KB at most."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from strobe.dataclass import replace
from strobe.errors import SessionStopped, failure
from strobe.limits import WAIT_ANSWER_BYTES, WAIT_MS
from strobe.mcp import results
from strobe.mcp.answers import ended_json, event_json, totals_json
from strobe.mcp.answers.folding import folded_event
from strobe.mcp.results import bounded, shortened
from strobe.mcp.schema import Integer, Record, Text
from strobe.mcp.tool import Context
from strobe.model import Event, EventFilter, TextMatch
from strobe.report.lengths import by_length
from strobe.values.model import Problem

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.answers import Ending
    from strobe.session.waiting import Wait, Waited
    from strobe.timeline.totals import Totals

_DEFAULT_MS = 10_000
_NAME = re.compile(r"[\w:~*@.<>,]+")
_ANSWER_S = 2.0  # kept of a call's time for the answer
PARAMETERS = Record(
    fields={
        "until": Text(choices=("exit", "event", "output", "time")),
        "match": Text(
            description="of output: text of one line; of event: a traced function, by name or pattern, or an "
            "expression as where of debug_query; default: any",
            min_length=1,
            max_length=1000,
        ),
        "timeoutMs": Integer(description=f"{WAIT_MS[0]} to {WAIT_MS[1]} (10000)", low=WAIT_MS[0], high=WAIT_MS[1]),
    },
    required=("until",),
    description="answer when that has happened, the program has ended, or at the time-out: `ended` says which",
)

ANY_CALL = EventFilter(function=TextMatch(contains=""))
ANY_OUTPUT = EventFilter(text="")
_LINES, _LINES_CHARACTERS = 20, 1_200
_FEWEST_LINES = 2
_OUTPUT_CUT = "only the last lines"
_FRAMES_SHOWN = 8
_STACKS_SHOWN, _THREADS_NAMED = 6, 4  # of threads that wait
_LINE_CHARACTERS = 300
_BUSIEST = 10
_RARE = 8
_ODD, _ODD_S = 5, 0.7  # calls that are shown, and for how long they are looked for
_LOOKED_AT = 50  # events at each end, to find those with watches
_FIRST, _LAST = 2, 3
_FEW_PROBED, _FEW_PROBED_BYTES = 24, 4_500  # events of probes that are all shown
_MISSING_IN = 1_000  # newest events of probes, among which values that are not there are counted
_VALUE_CHARACTERS = 120
_EVENT_CHARACTERS = 600
_NOT_CERTAIN = "they may have been called all the same; absence of debug_query says why, of one by its name"
_NAME_CHARACTERS = 160
_STACK = 16
_CRASH_STACK = 1_500  # characters


def check(asked: dict[str, Any] | None, anyway: bool = False) -> Callable[[Session], None]:
    """What raises, before the program of a launch runs, where no event can be what is waited for."""

    def checked(session: Session) -> None:
        if asked is not None and not anyway:
            _wanted(session, asked)

    return checked


def wait(session: Session, asked: dict[str, Any], after: int, context: Context) -> dict[str, Any]:
    """Waits, and the fields that the answer has because of it. Raises as `waited`."""
    return answer_of(*waited(session, asked, after, context), context)


def waited(session: Session, asked: dict[str, Any], after: int, context: Context) -> tuple[Session, Waited]:
    """Waits. `after`: number of the last event that does not count. The session is another object where another client
    has stopped it meanwhile. Raises as `_wanted`; session_not_found where that one did not keep it."""
    from strobe.session.waiting import wait_for

    began = time.monotonic()
    try:
        return session, wait_for(session, _wait(session, asked, context), after, context.settled)
    except SessionStopped:
        kept = context.sessions().get(session.id)  # which has ended
        found = wait_for(kept, _wait(kept, asked, context), after, context.settled)
        return kept, replace(found, seconds=time.monotonic() - began)


def longest(asked: dict[str, Any], context: Context) -> float:
    """For how many seconds it is waited at most."""
    left = context.answer_by - time.monotonic() - _ANSWER_S
    seconds: float = asked.get("timeoutMs", _DEFAULT_MS) / 1000
    return max(0.0, min(seconds, left))


def fitted(answer: dict[str, Any]) -> dict[str, Any]:
    """The whole answer, made to fit: what says least goes first."""
    for step in _SHORTER:
        if len(results.encode(results.plain(answer))) <= WAIT_ANSWER_BYTES:
            break
        step(answer)
    return answer


def _wait(session: Session, asked: dict[str, Any], context: Context) -> Wait:
    from strobe.session.waiting import Wait

    return Wait(asked["until"], longest(asked, context), _wanted(session, asked))


def _wanted(session: Session, asked: dict[str, Any]) -> EventFilter | None:
    """Raises bad_value for a function that is not traced, and for a match of what has none."""
    until, match = asked["until"], asked.get("match")
    if until in ("exit", "time"):
        if match is not None:
            valid = 'until "event" or "output"'
            raise failure("bad_value", field="wait.match", value=repr(match), reason=f"{until} has none", valid=valid)
        return None
    if until == "output":
        return EventFilter(text=match or "")
    if match is None:
        return ANY_CALL
    if names := session.names_of(match):
        return EventFilter(function=TextMatch(one_of=names))
    _check_expression(session, match)
    return EventFilter(where=match)


def _check_expression(session: Session, match: str) -> None:
    """Raises bad_value where it is rather the name of a function, and expression_wrong."""
    if _NAME.fullmatch(match):
        raise session.no_such_function("wait.match", match)
    session.check(EventFilter(where=match))


def answer_of(session: Session, waited: Waited, context: Context) -> dict[str, Any]:
    """What has happened until the wait was over. Raises session_not_found as `waited`."""
    try:
        return _answer_of(session, waited)
    except SessionStopped:
        return _answer_of(context.sessions().get(session.id), waited)


def _answer_of(session: Session, waited: Waited) -> dict[str, Any]:
    ended: Ending | None = session.ended()
    how = {"stillRunning": True} if ended is None else {**ended_json.of(ended)["ended"]}
    how.pop("crash", None)  # below, and more
    answer: dict[str, Any] = {
        "ended": {**how, "reason": _reason(waited.reason, ended)},
        "waitedMs": round(waited.seconds * 1000),
    }
    if going_on := session.going_on():
        answer["note"] = going_on
    if waited.event is not None:
        answer["event"] = _event(waited.event)
    if crash := session.last(EventFilter(event_type="crash"), 1):
        answer["crash"] = _crash(session, crash[-1])
    recorded = _output(session) | _probes(session) | _calls(session)
    if ended is None and (waited.reason == "time-out" or (waited.reason == "time" and _is_silent(recorded))):
        answer |= _threads(session)
    answer |= recorded
    answer["loss"] = totals_json.loss(session.timeline.loss())
    answer["cursor"] = waited.cursor
    return answer


def _reason(reason: str, ended: Ending | None) -> str:
    """Why the wait is over: of the program's end, which of its ends that was."""
    if reason != "exit" or ended is None or ended.exit_code is not None:
        return reason
    return "signal" if ended.signal is not None else ended.how


def _is_silent(recorded: dict[str, Any]) -> bool:
    return not any(recorded.get(name) for name in ("output", "probeTotals", "totals"))


def _threads(session: Session) -> dict[str, Any]:
    """Where the threads of a program are that has not done what was waited for; those with one stack once."""
    by_stack: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    found, left = session.thread_stacks()
    for one in found:
        stack = tuple(_short(frame) for frame in one.stack[:_FRAMES_SHOWN])
        if len(one.stack) > _FRAMES_SHOWN:
            stack += ("…",)
        by_stack.setdefault(("running" if one.is_running else "waiting", stack), []).append(
            f"{one.name} {one.thread_id}"
        )
    shown = [{how: names[:_THREADS_NAMED], "stack": list(stack)} for (how, stack), names in by_stack.items()]
    answer: dict[str, Any] = {"threads": shown[:_STACKS_SHOWN]} if shown else {}
    return answer | ({"threadsNotLookedAt": left} if left else {})


def _output(session: Session) -> dict[str, Any]:
    lines = _said_once_that_they_are_no_text(session.last(ANY_OUTPUT, _LINES + 1))
    texts = [results.clipped((line.text or "").rstrip("\r\n"), _LINE_CHARACTERS) for line in lines]
    count = characters = 0
    for text in reversed(texts[-_LINES:]):
        characters += len(text)
        if count >= _FEWEST_LINES and characters > _LINES_CHARACTERS:
            break
        count += 1
    shown = (
        [{line.event_type: text} for line, text in zip(lines[-count:], texts[-count:], strict=True)] if count else []
    )
    return {"output": shown} | ({"outputCut": _OUTPUT_CUT} if len(lines) > count else {})


def _said_once_that_they_are_no_text(lines: Sequence[Event]) -> list[Event]:
    """Lines of one stream that follow each other and are no text as one."""
    found: list[Event] = []
    for line in lines:
        text = line.text or ""
        if (
            found
            and line.event_type == found[-1].event_type
            and _is_no_text(text)
            and _is_no_text(found[-1].text or "")
        ):
            found[-1] = replace(found[-1], text=(found[-1].text or "") + text)
        else:
            found.append(line)
    return [replace(line, text=results.readable(line.text or "")) for line in found]


def _is_no_text(text: str) -> bool:
    return results.readable(text) is not text


def _probes(session: Session) -> dict[str, Any]:
    """How often each was reached, and the events: all where they are few, else the first and last ones."""
    totals = session.timeline.probe_totals()
    if not totals:
        return {}
    begin = session.query(EventFilter(event_type="probe", limit=_FEW_PROBED + 1)).events
    events = [_event(event) for event in begin]
    _say_stacks_once(events)
    if len(events) > _FEW_PROBED or len(results.encode(results.plain(events))) > _FEW_PROBED_BYTES:
        end = [_event(event) for event in session.last(EventFilter(event_type="probe"), _LAST)]
        events = events[:_FIRST]
        known = {event["id"] for event in events}
        events += [event for event in end if event["id"] not in known]
        _say_stacks_once(events)
    first = max(_FIRST, len(events) - _LAST)
    answer: dict[str, Any] = {"first": events[:first], "last": events[first:]}
    if left := sum(one.recorded for one in totals) - len(events):
        answer["notShown"] = left
    missing = _without_value(session)
    shown = {"probeTotals": [totals_json.probe_totals(one) for one in totals], "probeEvents": answer}
    return shown | ({"noValue": missing} if missing else {})


def _say_stacks_once(events: Sequence[dict[str, Any]]) -> None:
    """Of those that are the same: at the first one."""
    seen: dict[tuple[str, ...], str] = {}
    for event in events:
        if isinstance(stack := event.get("stack"), list):
            first = seen.setdefault(tuple(map(str, stack)), event["id"])
            if first != event["id"]:
                event["stack"] = f"as {first}"


def _say_stacks_again(kept: list[dict[str, Any]], before: Sequence[dict[str, Any]]) -> None:
    """Where they are said at an event that is left out."""
    stacks = {f"as {event['id']}": event["stack"] for event in before if isinstance(event.get("stack"), list)}
    ids = {f"as {event['id']}" for event in kept}
    for number, event in enumerate(kept):
        said = event.get("stack")
        if isinstance(said, str) and said in stacks and said not in ids:
            kept[number] = event | {"stack": stacks[said]}
    _say_stacks_once(kept)


def _without_value(session: Session) -> dict[str, dict[str, str]]:
    """By probe and by what was to be shown: why it was not there, and how often."""
    events = session.last(EventFilter(event_type="probe"), _MISSING_IN)
    seen = Counter(event.label or "" for event in events)
    reached = {one.label: one.recorded for one in session.timeline.probe_totals()}
    texts: dict[str, dict[str, Counter[str]]] = {}
    for event in events:
        for name, value in (event.watch_values or {}).items():
            if isinstance(value, Problem):
                texts.setdefault(event.label or "", {}).setdefault(name, Counter())[str(value)] += 1
    return {
        label: {
            name: "; ".join(
                f"{text} ({count} of {'the last ' if reached.get(label, 0) > seen[label] else ''}{seen[label]} events)"
                for text, count in found.most_common(2)
            )
            for name, found in names.items()
        }
        for label, names in texts.items()
    }


def _calls(session: Session) -> dict[str, Any]:
    """Totals and events; or why there are none."""
    if not session.timeline.traced_names():
        return {}
    totals = session.timeline.totals(EventFilter(), "function")
    if not totals:
        return {"totals": [], "absence": session.timeline.absence(EventFilter())}
    answer: dict[str, Any] = {"totals": [_total(item) for item in totals[:_BUSIEST]]}
    rest = totals[_BUSIEST:]
    if rest:
        answer["totalFunctions"] = len(totals)
        answer["rare"] = {_name(item.key): item.count for item in reversed(rest[-_RARE:])}
    called = {item.key for item in totals}
    if silent := [name for name in session.timeline.traced_names() if name not in called]:
        for key, names in zip(("notCalled", "noCallSeen"), session.timeline.not_called(silent), strict=True):
            if names:
                answer[key] = {"count": len(names), "functions": [_name(name) for name in names[:_RARE]]}
        if "noCallSeen" in answer:
            answer["noCallSeen"]["why"] = _NOT_CERTAIN
    return answer | _odd(session, totals) | _events(session)


def _odd(session: Session, totals: Sequence[Totals]) -> dict[str, Any]:
    """Calls that are unlike the others of their function."""
    from strobe.session.questions.odd import odd_calls

    found = odd_calls(session, totals, _ODD, _ODD_S)
    shown = [
        {
            "what": f"{_name(one.function)}: {one.what}",
            "calls": f"{one.count} of {one.of}" + ("" if one.is_all else " that are known"),
            "event": one.event.id,
            "first": _whole_call(session, one.event),
        }
        for one in found
    ]
    return {"odd": shown} if shown else {}


def _whole_call(session: Session, event: Event) -> str:
    """A call with its arguments, and of a return with the result."""
    if event.event_type == "function_enter":
        return _call(event)
    entry = None
    if event.parent_event_id is not None:
        entry, _ = session.first(ANY_CALL, int(event.parent_event_id.rpartition("-")[2]) - 1)
    known = entry is not None and entry.id == event.parent_event_id
    call = _call(entry) if known and entry is not None else f"{event.function}(…)"
    return call if event.return_value is None else f"{call} = {_shown(event.return_value)}"


def _shown(value: Any) -> str:
    from strobe.values.decode import text

    return results.clipped(text.shown(value), _VALUE_CHARACTERS)


def _events(session: Session) -> dict[str, Any]:
    """The first and the last ones; of those with watches where there are any."""
    has_probes = session.timeline.probe_totals() != []  # probeEvents has the others
    first = [
        event
        for event in session.query(replace(ANY_CALL, limit=_LOOKED_AT)).events
        if not has_probes or _is_call(event)
    ]
    last = [event for event in session.last(ANY_CALL, _LOOKED_AT) if not has_probes or _is_call(event)]
    watched = any(event.watch_values for event in (*first, *last))
    beginning = list(islice((event for event in first if event.watch_values or not watched), _FIRST))
    known = {event.id for event in beginning}
    end = [event for event in last if (event.watch_values or not watched) and event.id not in known][-_LAST:]
    return {"events": {"first": [_event(event) for event in beginning], "last": [_event(event) for event in end]}}


def _crash(session: Session, event: Event) -> dict[str, Any]:
    """Where it was, and the traced calls that the thread was in, innermost first; of others where it is not known which
    thread it was."""
    values = event_json.crash_values(event.values or {}, _CRASH_STACK)
    if event.thread_name:
        values["threadName"] = event.thread_name
    return values if "threadId" in values else values | {"openCalls": _open_calls(session)}


def _is_call(event: Event) -> bool:
    return event.event_type != "probe"


def _open_calls(session: Session) -> list[dict[str, Any]]:
    """Traced calls that had not returned, innermost last, of the threads that did something last."""
    newest: dict[int, Event] = {event.thread_id: event for event in session.last(ANY_CALL, _LOOKED_AT)}
    found = []
    for event in sorted(newest.values(), key=lambda one: one.timestamp_ns, reverse=True)[:_FIRST]:
        calls = _ancestors(session, event)
        found.append({"threadId": event.thread_id, "threadName": event.thread_name, "calls": calls})
    return found


def _ancestors(session: Session, event: Event) -> list[str]:
    calls = [_call(event)] if event.event_type == "function_enter" else []
    parent = event.parent_event_id
    if event.event_type == "function_exit" and parent is not None:  # of the call that has returned
        entry, _ = session.first(ANY_CALL, int(parent.rpartition("-")[2]) - 1)
        parent = None if entry is None or entry.id != parent else entry.parent_event_id
    while parent is not None and len(calls) < _STACK:
        found, _ = session.first(ANY_CALL, int(parent.rpartition("-")[2]) - 1)
        if found is None or found.id != parent:  # evicted
            break
        calls.append(_call(found))
        parent = found.parent_event_id
    return calls[::-1]


def _call(event: Event) -> str:
    values = ", ".join(f"{item.name}={_shown(item.value)}" for item in by_length(event.arguments or ()))
    return results.clipped(f"{event.function}({values})", _EVENT_CHARACTERS)


def _event(event: Event) -> dict[str, Any]:
    """What a call or a line of output said, with its values shortened."""
    shown = folded_event(event_json.event(event, True, _LINE_CHARACTERS, _EVENT_CHARACTERS))
    arguments = {item["name"]: _short(item["value"]) for item in shown.get("arguments") or ()}
    watches = {name: _short(value) for name, value in (shown.get("watchValues") or {}).items()}
    returned = {"returnValue": _short(shown["returnValue"])} if "returnValue" in shown else {}
    kept = ("id", "timestampNs", "eventType", "function", "durationNs", "text", "label", "values", "threadName")
    answer = {name: shown[name] for name in kept if name in shown}
    if event.event_type == "probe":
        answer["values"] = {name: _short(value) for name, value in answer.get("values", {}).items()}
    if "function" in answer:
        answer["function"] = _name(answer["function"])
    return (
        answer
        | ({"arguments": arguments} if arguments else {})
        | returned
        | ({"watchValues": watches} if watches else {})
        | ({"stack": [_short(frame) for frame in shown["stack"][:_FRAMES_SHOWN]]} if "stack" in shown else {})
    )


def _short(value: Any) -> Any:
    """As it is, or its first characters."""
    return results.clipped_value(value, _VALUE_CHARACTERS)


def _total(item: Totals) -> dict[str, Any]:
    group = totals_json.group(item, "function")
    left_out = ("minNs", "meanNs", "p50Ns", "p99Ns")
    return {name: value for name, value in group.items() if name not in left_out} | {"function": _name(item.key)}


def _name(name: str) -> str:
    return results.clipped(shortened(name, _NAME_CHARACTERS), _NAME_CHARACTERS)


def _keep(name: str, count: int) -> Callable[[dict[str, Any]], None]:
    def step(answer: dict[str, Any]) -> None:
        found = answer.get(name)
        if name == "output" and isinstance(found, list) and len(found) > count:
            answer |= {name: found[-count:], "outputCut": _OUTPUT_CUT}
        elif isinstance(found, list):
            answer[name] = found[:count]
        elif isinstance(found, dict):
            answer[name] = dict(islice(found.items(), count))

    return step


def _fewer_warnings(answer: dict[str, Any]) -> None:
    if "warnings" in answer:
        answer["warnings"] = [results.clipped(text, _LINE_CHARACTERS) for text in bounded(answer["warnings"])[:5]]


def _fewer_events(answer: dict[str, Any]) -> None:
    events = answer.get("events")
    if events is not None:
        answer["events"] = {"first": events["first"][:1], "last": events["last"][-1:]}


def _fewer_probed(answer: dict[str, Any]) -> None:
    if (events := answer.get("probeEvents")) is not None:
        left = events.get("notShown", 0) + len(events["first"]) - _FIRST
        if left > events.get("notShown", 0):
            first = events["first"][:_FIRST]
            kept = [*first, *events["last"]]
            _say_stacks_again(kept, events["first"])
            answer["probeEvents"] = events | {"first": first, "last": kept[len(first) :], "notShown": left}


def _drop(*names: str) -> Callable[[dict[str, Any]], None]:
    def step(answer: dict[str, Any]) -> None:
        for name in names:
            answer.pop(name, None)

    return step


_SHORTER: Sequence[Callable[[dict[str, Any]], None]] = (
    _keep("activePatterns", 10),
    _keep("pendingPatternsApplied", 10),
    _fewer_warnings,
    _fewer_events,
    _keep("output", 8),
    _keep("rare", 3),
    _keep("odd", 3),
    _keep("threads", 3),
    _drop("notCalled", "noCallSeen"),
    _fewer_probed,
    _keep("totals", 5),
    _keep("probeTotals", 20),
    _keep("noValue", 5),
    _drop("events", "activePatterns", "pendingPatternsApplied", "activeWatches"),
    _keep("output", 2),
    _keep("warnings", 2),
    _drop("rare", "nextSteps"),
)
