"""debug_query: read a session's timeline, or its totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast, get_args

from strobe.dataclass import replace
from strobe.errors import StrobeError, failure
from strobe.mcp import results
from strobe.mcp.answers import (
    compare_json,
    ended_json,
    event_json,
    folding,
    heap_json,
    history_json,
    join_json,
    poll_json,
    totals_json,
    tree_json,
)
from strobe.mcp.results import bounded
from strobe.mcp.schema import Array, Boolean, Integer, Record, Text
from strobe.mcp.tool import Context, Tool
from strobe.mcp.tools.parameters import SESSION_ID, Address, Expressions
from strobe.model import (
    CALL_EVENTS,
    Event,
    EventFilter,
    EventPage,
    EventType,
    GroupBy,
    Inside,
    Loss,
    ReturnMatch,
    TextMatch,
    not_looked_at,
)
from strobe.timeline.moments import before_newest_ns

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.questions import Counted

_DEFAULT_LIMIT = 50
_HEAP_STACKS = 5
_TREE_EVENTS = 5_000  # that are folded to lines, at most
_AROUND = 5  # events on each side, of the thread and of others
_ENVELOPE_BYTES = 1500  # everything of an answer but its events or groups
_MAX_TOKENS = 2_000
_TOKEN_BYTES = 4
_ASKED_FOR = frozenset(
    ("limit", "offset", "afterEventId", "order", "last", "verbose", "select", "format")
)  # of the events of an address, which are counted else
_NOT_COMPARED = ("groupBy", "around", "heap", "select", "order", "last", "offset", "afterEventId", "format")
_TOTALS = ("function", "thread", "file")

_EQUALS, _CONTAINS = Text(), Text()
_TIME = Text(description='ns since session start, or before the newest event: "-5s", "-1m", "-500ms"', numbers=True)
_EXPRESSION = Text(min_length=1, max_length=1000)

_PARAMETERS = Record(
    fields={
        "sessionId": SESSION_ID,
        "where": Text(
            description="events for which this holds: cents < 0 && $threadName == 'till-3'. C operators; arguments "
            "(at the return too), members, [i], watch labels, $return $duration $thread $time $depth $function "
            "$caller $label (of a probe), text (of output); contains startswith endswith matches; any/all/count(x in "
            "v: …), "
            "size(v)",
            min_length=1,
            max_length=1000,
        ),
        "address": Address(
            description="0x…: where it appears (arguments, results, memory they point to), how often, first and "
            "last; with limit, last, select … the events"
        ),
        "select": Array(items=_EXPRESSION, max_items=16, description="only these values of each event, 4 KB each"),
        "inside": Record(
            fields={"function": Text(min_length=1, max_length=1000), "where": _EXPRESSION},
            required=("function",),
            description="only what happened between entry and return of this function's calls (name or pattern); "
            "with where, only of calls for which it holds ($return == 0)",
        ),
        "join": join_json.PARAMETERS,
        "heap": Record(
            fields={
                "from": Integer(description="ns since session start, 0 or more: only what has grown since then", low=0),
                "to": Integer(description="at this time, 0 or more; default: now", low=0),
                "top": Integer(description="1 to 50 stacks", low=1, high=50, default=_HEAP_STACKS),
            },
            description="for a session that traces @heap: memory that was allocated and not freed, by stack",
        ),
        "eventType": Text(choices=get_args(EventType)),
        "function": Record(
            fields={"equals": _EQUALS, "contains": _CONTAINS, "matches": Text(description="regex (RE2)")},
            description="by demangled name",
        ),
        "caller": Record(fields={"equals": _EQUALS, "contains": _CONTAINS}, description="traced function that called"),
        "sourceFile": Record(fields={"equals": _EQUALS, "contains": _CONTAINS}),
        "returnValue": Record(fields={"equals": Text(description="as shown", numbers=True), "isNull": Boolean()}),
        "threadName": Record(fields={"contains": _CONTAINS}),
        "threadId": Integer(low=1),
        "depth": Integer(low=0),
        "pid": Integer(low=1),
        "timeFrom": _TIME,
        "timeTo": Text(description="as timeFrom", numbers=True),
        "minDurationNs": Integer(description="0 or more", low=0),
        "order": Text(choices=("asc", "desc")),
        "last": Integer(description="1 to 500: the newest ones", low=1, high=500),
        "around": Text(description="event id: what happened before and after it, in its thread and in others"),
        "from": Text(description="event id, included"),
        "to": Text(description="event id, included"),
        "limit": Integer(description="1 to 500", low=1, high=500, default=_DEFAULT_LIMIT),
        "offset": Integer(description="0 or more", low=0, default=0),
        "afterEventId": Text(description="a cursor: continues after this event, in the order asked for", min_length=1),
        "format": Text(
            choices=("rows", "folded", "tree"),
            description="folded: repeated events once, with a count; tree: a line for each call with arguments, "
            "result and time, loops folded",
        ),
        "verbose": Boolean(description="adds arguments, thread, depth, parentEventId …", default=False),
        "groupBy": Expressions(
            description="instead of events: function, thread or file for exact totals; or expressions, separated by "
            "commas (cents < 0, $caller): how many events have which values",
            min_length=1,
            max_length=1000,
        ),
        "compare": Text(
            description="instead of events: another session, with the same filter: functions called more often, the "
            "first call that differs in each thread, values that differ",
            min_length=1,
        ),
        "compareFrom": Text(description="with compare: start there at this time or event id", numbers=True),
        "compareTo": Text(description="with compare: end there at this one", numbers=True),
        "maxTokens": Integer(
            description="500 to 12000: size of the answer; 4 characters each",
            low=500,
            high=12_000,
            default=_MAX_TOKENS,
        ),
    },
    required=("sessionId",),
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """A page of events, or what is asked of them in its place; within `maxTokens`. Raises as Session.query."""
    session = context.sessions().get(arguments["sessionId"])
    wanted = event_filter(arguments)
    if "inside" in arguments:
        wanted = replace(wanted, inside=_inside(session, arguments["inside"], arguments.get("format") == "tree"))
    wanted, said_first = _as_recorded(session, wanted)
    budget = arguments.get("maxTokens", _MAX_TOKENS) * _TOKEN_BYTES - _ENVELOPE_BYTES
    going_on = session.going_on()
    note = ended_json.of(session.ended())  # before the query: where it had ended then, the answer is complete
    notes = [text for text in (going_on, said_first) if text is not None]
    note |= {"note": " ".join(notes)} if notes else {}
    if session.failures:
        note["warnings"] = bounded(list(session.failures))
    if "join" in arguments:
        return _with_note(join_json.of(session, arguments, wanted, budget), note)
    if "compare" in arguments:
        _check_compared(arguments)
        other = context.sessions().get(arguments["compare"])
        of_other = _of_other(wanted, session, other, arguments.get("compareFrom"), arguments.get("compareTo"))
        return _with_note(compare_json.of(session, other, wanted, of_other), note)
    for name in ("compareFrom", "compareTo"):
        if name in arguments:
            given = arguments[name]
            raise failure("bad_value", field=name, value=given, reason="nothing is compared", valid="compare, too")
    if "heap" in arguments:
        asked = arguments["heap"]
        return _with_note(
            heap_json.of(session, asked.get("from"), asked.get("to"), asked.get("top", _HEAP_STACKS)), note
        )
    if "groupBy" in arguments:
        return _with_note(_grouped(session, wanted, arguments["groupBy"], budget), note)
    if "around" in arguments:
        return _around(session, arguments, wanted, budget) | note
    if wanted.event_type == "variable_snapshot" and (polls := poll_json.of_session(session)):
        note |= {"polls": polls}
        budget -= len(results.encode(polls))
    if wanted.address is not None and not _ASKED_FOR.intersection(arguments):
        return _with_note(history_json.of(session, wanted), note)
    is_tree = arguments.get("format") == "tree"
    if is_tree:
        if wanted.select or arguments.get("order") == "desc":
            valid = "order asc, or last; and no select"
            raise failure("bad_value", field="format", value="tree", reason="a tree is in order of time", valid=valid)
        wanted = replace(wanted, limit=arguments.get("last") or arguments.get("limit", _TREE_EVENTS))
    page = session.query(wanted)
    if wanted.address is not None:
        page = replace(page, events=[history_json.with_stack(session, event) for event in page.events])
    if is_tree:
        return _with_note(_tree(session, page, wanted, "last" in arguments, budget), note)
    if wanted.select:
        shown, said = event_json.selected(page, len(wanted.select), budget)
    else:
        shown, said = event_json.page(page, arguments.get("verbose", False), budget)
    budget -= len(results.encode(results.plain(said)))
    entries = [(one, 1) for one in shown]
    if arguments.get("format") == "folded":
        # as they are shown: by time where the newest are asked for
        entries = folding.repeats(shown[::-1])[::-1] if "last" in arguments else folding.repeats(shown)
    return _with_note(_events(page, wanted, entries, said, "last" in arguments, budget), note)


def _tree(session: Session, page: EventPage, wanted: EventFilter, is_last: bool, budget: int) -> dict[str, Any]:
    several = len({event.thread_id for event in page.events if event.event_type in CALL_EVENTS}) > 1
    several = several or len(session.timeline.totals(EventFilter(), "thread")) > 1
    blocks, same = tree_json.blocks(page.events[::-1] if is_last else page.events, _has_returns(page, wanted), several)
    said = {"same": same} if same else {}
    budget -= len(results.encode(results.plain(said)))
    answer = _events(page, wanted, blocks[::-1] if is_last else blocks, said, is_last, budget, "tree")
    answer["tree"] = [line for block in answer["tree"] for line in block]
    return answer


def _has_returns(page: EventPage, wanted: EventFilter) -> bool:
    """Whether the return of each call that is there is there, too, unless it comes later, or it has not returned."""
    asked = (wanted.event_type, wanted.where, wanted.return_value, wanted.min_duration_ns, wanted.address)
    return all(one is None for one in asked) and not page.loss.lost


def _with_note(answer: dict[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    notes = [one["note"] for one in (answer, note) if "note" in one]
    return answer | note | ({"note": " ".join(notes)} if notes else {})


def event_filter(arguments: dict[str, Any]) -> EventFilter:
    """The filter that checked arguments stand for."""
    last = arguments.get("last")
    return EventFilter(
        event_type=arguments.get("eventType"),
        function=_match(arguments, "function"),
        source_file=_match(arguments, "sourceFile"),
        return_value=_returned(arguments.get("returnValue")),
        thread_name=_match(arguments, "threadName"),
        pid=arguments.get("pid"),
        thread_id=arguments.get("threadId"),
        time_from=_time(arguments.get("timeFrom")),
        time_to=_time(arguments.get("timeTo")),
        min_duration_ns=arguments.get("minDurationNs"),
        after_event_id=arguments.get("afterEventId"),
        where=arguments.get("where"),
        address=arguments.get("address"),
        select=tuple(arguments.get("select", ())),
        depth=arguments.get("depth"),
        caller=_match(arguments, "caller"),
        from_event=arguments.get("from"),
        to_event=arguments.get("to"),
        newest_first=last is not None or arguments.get("order") == "desc",
        limit=last or arguments.get("limit", _DEFAULT_LIMIT),
        offset=arguments.get("offset", 0),
    )


def _check_compared(arguments: dict[str, Any]) -> None:
    """Raises bad_value for what would say nothing of what is compared."""
    for name in _NOT_COMPARED:
        if name in arguments:
            valid = "what selects events: function, where, inside, timeFrom, ..."
            raise failure("bad_value", field=name, value="given", reason="compare answers in its own form", valid=valid)


def _of_other(wanted: EventFilter, session: Session, other: Session, begin: str | None, end: str | None) -> EventFilter:
    """The filter for what is compared with: its interval is its own, and event ids are of one session."""
    if session.id != other.id:
        wanted = replace(wanted, from_event=None, to_event=None)
    if begin is not None or end is not None:
        wanted = replace(wanted, time_from=None, time_to=None, from_event=None, to_event=None)
    if begin is not None:
        is_event = _is_event("compareFrom", begin, other)
        wanted = replace(wanted, from_event=begin) if is_event else replace(wanted, time_from=_time(begin))
    if end is not None:
        is_event = _is_event("compareTo", end, other)
        wanted = replace(wanted, to_event=end) if is_event else replace(wanted, time_to=_time(end))
    return wanted


def _is_event(field: str, text: str, other: Session) -> bool:
    """Whether it is an event id, and no time. Raises bad_value for one that is neither."""
    if text.startswith(f"{other.id}-"):
        return True
    if not text.isdecimal():
        try:
            before_newest_ns(field, text)
        except StrobeError as error:
            valid = f"an event id of {other.id}, ns since its start, or a time before its newest event such as -5s"
            raise failure("bad_value", field=field, value=text, reason="it is no point there", valid=valid) from error
    return False


def _as_recorded(session: Session, wanted: EventFilter) -> tuple[EventFilter, str | None]:
    """With the name under which calls of the function are recorded, where its code is that of another one; and what is
    to be said of that."""
    asked = wanted.function
    if asked is None or asked.equals is None or (name := session.same_code().get(asked.equals)) is None:
        return wanted, None
    if asked.equals in session.timeline.traced_names():  # another function is called so as well
        return wanted, None
    text = f"{asked.equals} has the same code as {name}: calls of both are recorded as {name}."
    return replace(wanted, function=replace(asked, equals=name)), text


def _inside(session: Session, given: dict[str, Any], is_whole: bool) -> Inside:
    """`is_whole`: with the calls themselves. Raises bad_value where no traced function is called so."""
    names = session.names_of(given["function"])
    if not names:
        raise session.no_such_function("inside.function", given["function"])
    return Inside(TextMatch(one_of=names), given.get("where"), is_whole)


def _match(arguments: dict[str, Any], name: str) -> TextMatch | None:
    given = arguments.get(name)
    if given is None:
        return None
    return TextMatch(given.get("equals"), given.get("contains"), given.get("matches"))


def _returned(given: dict[str, Any] | None) -> ReturnMatch | None:
    return None if given is None else ReturnMatch(given.get("equals"), given.get("isNull"))


def _time(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text


def _events(
    page: EventPage,
    wanted: EventFilter,
    entries: Sequence[tuple[Any, int]],
    said: dict[str, Any],
    is_last: bool,
    budget: int,
    name: str = "events",
) -> dict[str, Any]:
    """`entries`: each with how many events it stands for, called `name` in the answer. `said`: of all of them."""
    events = [one for one, _ in entries]
    fitting = results.fitting(events, budget)
    shown = sum(count for _, count in entries[:fitting])
    answer: dict[str, Any] = _cut(shown, len(page.events))
    if (unchecked := page.unchecked(wanted)) is not None:
        answer["note"] = unchecked
    has_more = page.has_more or shown < len(page.events)
    if has_more and (cursor := page.cursor(wanted, shown)) is not None:
        answer["nextCursor"] = cursor
        if unchecked is None:
            answer["nextOffset"] = wanted.offset + shown
    answer |= said
    answer[name] = events[:fitting][::-1] if is_last else events[:fitting]
    answer |= {"totalCount": page.total_count, "hasMore": has_more}
    if page.inside is not None:
        answer["inside"] = page.inside
    if page.callers_unrecorded:
        answer["callersNotRecorded"] = page.callers_unrecorded
    if page.checked is not None:
        answer |= {"checked": page.checked, "held": page.total_count}
        if page.undecided:
            answer |= {"undecided": page.undecided, "undecidedWhy": results.clipped(page.undecided_why, 200)}
    answer |= totals_json.not_returned(page.not_returned, page.not_returned_why)
    if len(page.pids) > 1:
        answer["pids"] = page.pids
    answer |= totals_json.loss(page.loss)
    if page.absence is not None:
        answer["absence"] = page.absence
    return answer


def _around(session: Session, arguments: dict[str, Any], wanted: EventFilter, budget: int) -> dict[str, Any]:
    """Where it is too much, those nearest to the event."""
    verbose = arguments.get("verbose", False)
    count = min(arguments.get("limit", _AROUND), _DEFAULT_LIMIT)
    found = session.around(arguments["around"], replace(wanted, limit=count, offset=0))
    answer: dict[str, Any] = {"event": event_json.bounded_event(found.pop("event"), True, budget // 4)}
    most = max(1, (budget - budget // 4) // (2 * len(found)))
    for name, (before, after) in found.items():
        earlier, later = (_side(page, verbose, min(most, 2 * event_json.EVENT_BYTES)) for page in (before, after))
        answer[name] = {
            "before": earlier[: results.fitting(earlier, most)][::-1],
            "after": later[: results.fitting(later, most)],
        }
    return answer | totals_json.loss(session.timeline.loss())


def _side(page: EventPage, verbose: bool, most: int) -> list[dict[str, Any]]:
    if page.values is None:
        shown = [event_json.bounded_event(item, verbose, most) for item in page.events]
    else:
        shown = [
            event_json.with_values(item, values, most) for item, values in zip(page.events, page.values, strict=True)
        ]
    if verbose is False:
        _with_threads(shown, page.events)
    return shown


def _with_threads(shown: list[dict[str, Any]], events: list[Event]) -> None:
    for one, event in zip(shown, events, strict=True):
        if event.thread_id:
            one["thread"] = f"{event.thread_name} {event.thread_id}"


def _grouped(session: Session, wanted: EventFilter, group_by: list[str], budget: int) -> dict[str, Any]:
    from strobe.session.questions import is_one

    is_exact = not is_one(wanted)
    if len(group_by) == 1 and group_by[0] in _TOTALS and is_exact:
        kind = cast("GroupBy", group_by[0])
        totals = session.timeline.totals(wanted, kind)
        answer = _groups([totals_json.group(item, kind) for item in totals], session.timeline.loss(), wanted, budget)
        return answer if totals else answer | {"absence": session.timeline.absence(wanted)}
    counted, found = session.counts(wanted, *group_by)
    groups = [_count(item) for item in counted]
    answer = {} if found.unchecked_after is None else {"note": not_looked_at(found.unchecked_after)}
    if found.inside is not None:
        answer["inside"] = found.inside.facts()
    answer |= _groups(groups, session.timeline.loss(), wanted, budget) | {"checked": found.checked, "held": found.held}
    if found.undecided:
        answer |= {"undecided": found.undecided, "undecidedWhy": results.clipped(found.undecided_why, 200)}
    if (left_out := found.unreturned) is not None:
        answer |= totals_json.not_returned(left_out.count, left_out.why)
    return answer if found.absence is None else answer | {"absence": found.absence}


def _count(item: Counted) -> dict[str, Any]:
    times = {"totalNs": item.total_ns, "p99Ns": item.p99_ns, "maxNs": item.max_ns} if item.total_ns else {}
    answer = {
        "value": results.clipped_value(item.value, event_json.EVENT_BYTES),
        "count": item.count,
        **times,
        "first": item.first,
    }
    return answer if item.count == 1 else answer | {"last": item.last}


def _groups(groups: list[dict[str, Any]], loss: Loss, wanted: EventFilter, budget: int) -> dict[str, Any]:
    page = groups[wanted.offset : wanted.offset + wanted.limit]
    shown = results.fitting(page, budget)
    end = wanted.offset + shown
    answer: dict[str, Any] = _cut(shown, len(page))
    answer |= {"groups": page[:shown], "totalGroups": len(groups), "hasMore": end < len(groups)}
    if answer["hasMore"]:
        answer["nextOffset"] = end
    return answer | totals_json.loss(loss)


def _cut(shown: int, asked: int) -> dict[str, Any]:
    """At the beginning of the answer: who pages by the limit asked for would skip what did not fit."""
    if shown == asked:
        return {}
    return {
        "truncated": True,
        "shown": shown,
    }


TOOL = Tool(
    name="debug_query",
    title="Query the timeline",
    description="What a session recorded: calls, output, probes, snapshots of variables, with filters, conditions on "
    "values (where), only the values asked for (select); or totals with groupBy. While it runs and after; `ended` "
    "says how it ended. `truncated`: the answer (maxTokens) was full; nextCursor goes on as afterEventId. "
    "totalCount is of all that match. `absence`: whether an empty answer proves that nothing happened.",
    parameters=_PARAMETERS,
    run=run,
    read_only=True,
    destructive=False,
    idempotent=True,
    answer={"ended": ended_json.SCHEMA},
)
