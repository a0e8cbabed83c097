"""debug_query's `join`: with each event another one, before or behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strobe.errors import failure
from strobe.mcp import results
from strobe.mcp.answers import event_json, folding, totals_json
from strobe.mcp.results import bounded
from strobe.mcp.schema import Array, Boolean, Record, Text
from strobe.mcp.tools.parameters import Expressions
from strobe.model import EventFilter, EventPage, not_looked_at

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.questions.joining import Join, Joined, Other

_OTHER_BYTES = 400  # of the other event, where no values of it are asked for
_EACH_PAIR = (
    " {:,} pairs were compared one by one, as `on` has nothing that is equal in both events: `x == $other.y` beside "
    "the condition is looked up."
)
_ELSE = ("groupBy", "around", "compare", "compareFrom", "compareTo", "heap", "address", "format", "afterEventId")

PARAMETERS = Record(
    fields={
        "before": Text(),
        "after": Text(),
        "on": Expressions(description="condition; $other.x: the other's"),
        "anyThread": Boolean(),
        "select": Array(items=Text(), max_items=16),
        "missing": Boolean(description="those without"),
    },
    description="each event with the newest one before it (or next after it) in its thread for which a condition "
    "holds: {before: \"$label == 'moved'\", on: 'key == $other.node'}",
)


def of(session: Session, arguments: dict[str, Any], wanted: EventFilter, budget: int) -> dict[str, Any]:
    """The answer. Raises bad_value for what does not go together."""
    join = _asked(arguments)
    found, doubts = session.joined(wanted, join)
    page = _page(session, found, wanted, join)
    shown, said = _shown(page, arguments, budget)
    side = "after" if join.is_after else "before"
    most = min(event_json.EVENT_BYTES, budget // (2 * max(1, len(join.select))))
    for one, own in zip(shown, found.others, strict=True):
        one[side] = None if own is None else _other(own, join, most, arguments.get("verbose", False))
    if errors := folding.once([None if own is None else own.errors for own in found.others]):
        said |= {f"{side}Errors": errors}
    last: dict[str, Any] = {"totalCount": page.total_count, "hasMore": False}
    last |= {"paired": found.paired, "unpaired": found.unpaired, "others": found.candidates}
    if found.unknown:
        last |= {"undecided": found.unknown, "undecidedWhy": results.clipped(found.unknown_why, 200)}
    last |= not_returned(found)
    if found.without_value:
        last["noValue"] = found.without_value
    if doubts:
        last["othersMissing"] = bounded(doubts)
    if found.absence is not None:
        last["othersAbsence"] = found.absence
    last |= totals_json.loss(page.loss)
    room = budget - len(results.encode(results.plain(said | last)))
    is_turned = wanted.newest_first and "last" in arguments
    name, pairs = "events", shown
    fitting = results.fitting(pairs, room)
    if fitting < len(pairs):
        name, pairs, told = _folded(shown, wanted, join, side, f"{session.id}-")
        said |= {"common": said.get("common", {}) | told.pop("common")} if "common" in told else {}
        said |= told
        fitting = results.fitting(pairs, room - len(results.encode(results.plain(told))))
    answer: dict[str, Any] = {} if fitting == len(pairs) else {"truncated": True, "shown": fitting}
    if found.found.unchecked_after is not None:
        answer["note"] = not_looked_at(found.found.unchecked_after, wanted.newest_first)
        if found.tried:
            answer["note"] += _EACH_PAIR.format(found.tried)
    if wanted.offset + fitting < page.total_count:
        answer["nextOffset"] = wanted.offset + fitting
        last["hasMore"] = True
    return answer | said | {name: pairs[:fitting][::-1] if is_turned else pairs[:fitting]} | last


def not_returned(found: Joined) -> dict[str, Any]:
    """Of both sides: calls that are left out, as they have no return."""
    said: dict[str, Any] = {}
    if (own := found.found.unreturned) is not None:
        said |= totals_json.not_returned(own.count, own.why)
    if (others := found.of_others.unreturned) is not None:
        said |= {"othersNotReturned": others.count, "othersNotReturnedWhy": others.why}
    return said


def _folded(
    shown: list[dict[str, Any]], wanted: EventFilter, join: Join, side: str, begin: str
) -> tuple[str, list[Any], dict[str, Any]]:
    """What the pairs are called, the pairs without what all have alike, and what that is: `columns` with rows where
    only values are asked for. `begin`: of ids."""
    if wanted.select and join.select:
        own, others = dict.fromkeys(wanted.select), dict.fromkeys(join.select)
        columns = ["id", *own, f"{side}.id", *(f"{side}.{name}" for name in others)]
        rows = [_cells(one, wanted, join, side, len(begin)) for one in shown]
        return "rows", rows, {"idsBegin": begin, "columns": columns}
    told: dict[str, Any] = {}
    if not wanted.select:
        common, shown = folding.without_common(shown)
        told |= {"common": common} if common else {}
    if not join.select:
        common, rest = folding.without_common([one[side] for one in shown if one[side] is not None])
        told |= {f"common{side.title()}": common} if common else {}
        left = iter(rest)
        shown = [one if one[side] is None else {**one, side: next(left)} for one in shown]
    return "events", shown, told


def _cells(one: dict[str, Any], wanted: EventFilter, join: Join, side: str, begin: int) -> list[Any]:
    """A pair as a row: ids without what all of them begin with, and null for what is not there."""
    other = one[side] or {"id": None, "values": {}}
    ids = [None if event["id"] is None else event["id"][begin:] for event in (one, other)]
    own = [one["values"].get(name) for name in dict.fromkeys(wanted.select)]
    return [ids[0], *own, ids[1], *(other["values"].get(name) for name in dict.fromkeys(join.select))]


def _asked(arguments: dict[str, Any]) -> Join:
    from strobe.session.questions.joining import Join

    given = arguments["join"]
    if ("before" in given) == ("after" in given):
        found = "both" if "before" in given else "neither"
        facts = {"reason": "the other event is before or after", "valid": "before or after, a condition"}
        raise failure("bad_value", field="join", value=found, **facts)
    for name in _ELSE:
        if name in arguments:
            facts = {
                "reason": "it does not go together with join",
                "valid": "where, select, limit, offset, last, order",
            }
            raise failure("bad_value", field=name, value=str(arguments[name])[:80], **facts)
    is_after = "after" in given
    return Join(
        given["after" if is_after else "before"],
        tuple(given.get("on", ())),
        is_after,
        given.get("anyThread", False),
        tuple(given.get("select", ())),
        given.get("missing", False),
    )


def _page(session: Session, found: Joined, wanted: EventFilter, join: Join) -> EventPage:
    total = found.unpaired + (0 if join.missing else found.paired)
    own = set(wanted.select)
    return EventPage(
        found.found.events,
        total,
        wanted.offset + len(found.found.events) < total,
        session.timeline.loss(),
        [],
        values=[{name: item for name, item in one.items() if name in own} for one in found.found.values],
        errors=[{name: text for name, text in one.items() if name in own} for one in found.found.errors],
    )


def _shown(page: EventPage, arguments: dict[str, Any], budget: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    if selected := arguments.get("select"):
        return event_json.selected(page, 2 * len(selected), budget)
    return event_json.page(page, arguments.get("verbose", False), budget // 2)


def _other(other: Other, join: Join, most: int, verbose: bool) -> dict[str, Any]:
    if not join.select:
        return event_json.bounded_event(other.event, verbose, _OTHER_BYTES)
    return event_json.with_values(other.event, other.values, most)
