"""debug_query: read a session's timeline, or its totals."""

from __future__ import annotations

from typing import Any, get_args

from strobe.limits import ANSWER_BYTES
from strobe.mcp import results
from strobe.mcp.registry import Context, Tool
from strobe.mcp.schema import Boolean, Integer, Record, Text
from strobe.mcp.tools import ended_json, event_json, poll_json
from strobe.mcp.tools.parameters import SESSION_ID
from strobe.model import EventFilter, EventPage, EventType, Loss, ReturnMatch, TextMatch, Totals

_DEFAULT_LIMIT = 50
_ENVELOPE_BYTES = 1500  # everything of an answer but its events or groups

_EQUALS, _CONTAINS = Text(), Text()
_TIME = Text(description='ns since session start, or before the newest event: "-5s", "-1m", "-500ms"', numbers=True)

_PARAMETERS = Record(
    fields={
        "sessionId": SESSION_ID,
        "eventType": Text(choices=get_args(EventType)),
        "function": Record(
            fields={"equals": _EQUALS, "contains": _CONTAINS, "matches": Text(description="regex (RE2)")},
            description="by demangled name",
        ),
        "sourceFile": Record(fields={"equals": _EQUALS, "contains": _CONTAINS}),
        "returnValue": Record(fields={"equals": Text(description="as shown", numbers=True), "isNull": Boolean()}),
        "threadName": Record(fields={"contains": _CONTAINS}),
        "pid": Integer(low=1),
        "timeFrom": _TIME,
        "timeTo": Text(description="as timeFrom", numbers=True),
        "minDurationNs": Integer(description="0 or more", low=0),
        "limit": Integer(description="1 to 500", low=1, high=500, default=_DEFAULT_LIMIT),
        "offset": Integer(description="0 or more", low=0, default=0),
        "afterEventId": Text(description="only events after this one: a cursor", min_length=1),
        "verbose": Boolean(description="adds arguments, thread, depth, parentEventId …", default=False),
        "groupBy": Text(description="exact totals per group instead of events", choices=("function", "thread", "file")),
    },
    required=("sessionId",),
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    session = context.sessions().get(arguments["sessionId"])
    wanted = event_filter(arguments)
    budget = (results.ASKED_BYTES if "limit" in arguments else ANSWER_BYTES) - _ENVELOPE_BYTES
    going_on = session.going_on()
    note = ended_json.of(session.ended())  # before the query: where it had ended then, the answer is complete
    note |= {} if going_on is None else {"note": going_on}
    if session.failures:
        note["warnings"] = list(session.failures)
    if "groupBy" in arguments:
        totals = session.totals(wanted, arguments["groupBy"])
        answer = _groups(totals, session.loss(), arguments["groupBy"], wanted, budget)
        if not totals:
            answer["absence"] = session.absence(wanted)
        return answer | note
    if wanted.event_type == "variable_snapshot" and (polls := poll_json.of_session(session)):
        note |= {"polls": polls}
        budget -= len(results.encode(polls))
    return _events(session.query(wanted), wanted, arguments.get("verbose", False), budget) | note


def event_filter(arguments: dict[str, Any]) -> EventFilter:
    """The filter that checked arguments stand for."""
    return EventFilter(
        event_type=arguments.get("eventType"),
        function=_match(arguments, "function"),
        source_file=_match(arguments, "sourceFile"),
        return_value=_returned(arguments.get("returnValue")),
        thread_name=_match(arguments, "threadName"),
        pid=arguments.get("pid"),
        time_from=_time(arguments.get("timeFrom")),
        time_to=_time(arguments.get("timeTo")),
        min_duration_ns=arguments.get("minDurationNs"),
        after_event_id=arguments.get("afterEventId"),
        limit=arguments.get("limit", _DEFAULT_LIMIT),
        offset=arguments.get("offset", 0),
    )


def _match(arguments: dict[str, Any], name: str) -> TextMatch | None:
    given = arguments.get(name)
    if given is None:
        return None
    return TextMatch(given.get("equals"), given.get("contains"), given.get("matches"))


def _returned(given: dict[str, Any] | None) -> ReturnMatch | None:
    return None if given is None else ReturnMatch(given.get("equals"), given.get("isNull"))


def _time(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text


def _events(page: EventPage, wanted: EventFilter, verbose: bool, budget: int) -> dict[str, Any]:
    text_limit = budget // 4 if verbose else budget // 8
    events = [event_json.event(item, verbose, text_limit, budget // 2) for item in page.events]
    shown = results.fitting(events, budget)
    answer: dict[str, Any] = _cut(shown, len(events))
    answer |= {
        "events": events[:shown],
        "totalCount": page.total_count,
        "hasMore": page.has_more or shown < len(events),
    }
    if answer["hasMore"]:
        answer |= {"cursor": page.events[shown - 1].id, "nextOffset": wanted.offset + shown}
    if len(page.pids) > 1:
        answer["pids"] = page.pids
    answer |= event_json.loss(page.loss)
    if page.absence is not None:
        answer["absence"] = page.absence
    return answer


def _groups(totals: list[Totals], loss: Loss, group_by: str, wanted: EventFilter, budget: int) -> dict[str, Any]:
    page = totals[wanted.offset : wanted.offset + wanted.limit]
    groups = [event_json.group(item, group_by) for item in page]
    shown = results.fitting(groups, budget)
    end = wanted.offset + shown
    answer: dict[str, Any] = _cut(shown, len(groups))
    answer |= {"groups": groups[:shown], "totalGroups": len(totals), "hasMore": end < len(totals)}
    if answer["hasMore"]:
        answer["nextOffset"] = end
    return answer | event_json.loss(loss)


def _cut(shown: int, asked: int) -> dict[str, Any]:
    """At the beginning of the answer: who pages by the limit asked for would skip what did not fit."""
    if shown == asked:
        return {}
    return {"truncated": True, "shown": shown}


TOOL = Tool(
    name="debug_query",
    title="Query the timeline",
    description="Read what a session recorded, oldest first: calls, output, snapshots of variables, with filters; or "
    "totals with groupBy (count, total, min, mean, p50, p99, max). Works while it runs and after, when `ended` says "
    "how the program ended (exitCode or signal). `truncated`: the answer was full at 12 KB, or 48 KB where limit is "
    "given; `cursor` goes on as afterEventId, nextOffset as offset. `absence` says whether an empty answer proves that "
    "nothing happened.",
    parameters=_PARAMETERS,
    run=run,
    read_only=True,
    destructive=False,
    idempotent=True,
    answer={"ended": ended_json.SCHEMA},
)
