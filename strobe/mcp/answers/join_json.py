"""debug_query's `join`: with each event another one, before or behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strobe.errors import failure
from strobe.mcp import results
from strobe.mcp.answers import event_json, totals_json
from strobe.mcp.results import bounded
from strobe.mcp.schema import Array, Boolean, Record, Text
from strobe.mcp.tools.parameters import Expressions
from strobe.model import EventFilter, EventPage, not_looked_at

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.questions.joining import Join, Joined, Other

_OTHER_BYTES = 400  # of the other event, where no values of it are asked for
_ELSE = ("groupBy", "around", "compare", "compareFrom", "compareTo", "heap", "address", "format", "afterEventId")

PARAMETERS = Record(
    fields={
        "before": Text(),
        "after": Text(),
        "on": Expressions(description="its == the other's; several: commas"),
        "anyThread": Boolean(),
        "select": Array(items=Text(), max_items=16),
        "missing": Boolean(description="those without"),
    },
    description="each event with the newest one before it (or next after it) in its thread for which a condition "
    "holds: {before: \"$label == 'moved'\", on: 'key == node'}",
)


def of(session: Session, arguments: dict[str, Any], wanted: EventFilter, budget: int) -> dict[str, Any]:
    """The answer. Raises bad_value for what does not go together."""
    join = _asked(arguments)
    found, doubts = session.joined(wanted, join)
    page = _page(session, found, wanted, join)
    shown, said = _shown(page, arguments, budget)
    side = "after" if join.is_after else "before"
    for one, own in zip(shown, found.others, strict=True):
        one[side] = None if own is None else _other(own, join, arguments.get("verbose", False))
    fitting = results.fitting(shown, budget - len(results.encode(results.plain(said))))
    answer: dict[str, Any] = {} if fitting == len(shown) else {"truncated": True, "shown": fitting}
    if found.found.unchecked_after is not None:
        answer["note"] = not_looked_at(found.found.unchecked_after, wanted.newest_first)
    has_more = wanted.offset + fitting < page.total_count
    if has_more:
        answer["nextOffset"] = wanted.offset + fitting
    events = shown[:fitting]
    answer |= said | {"events": events[::-1] if wanted.newest_first and "last" in arguments else events}
    answer |= {"totalCount": page.total_count, "hasMore": has_more}
    answer |= {"paired": found.paired, "unpaired": found.unpaired, "others": found.candidates}
    if found.unknown:
        answer |= {"undecided": found.unknown, "undecidedWhy": results.clipped(found.unknown_why, 200)}
    if doubts:
        answer["othersMissing"] = bounded(doubts)
    if found.absence is not None:
        answer["othersAbsence"] = found.absence
    return answer | totals_json.loss(page.loss)


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
        return event_json.selected(page, len(selected), budget)
    return event_json.page(page, arguments.get("verbose", False), budget // 2)


def _other(other: Other, join: Join, verbose: bool) -> dict[str, Any]:
    if not join.select:
        return event_json.bounded_event(other.event, verbose, _OTHER_BYTES)
    shown = {
        "id": other.event.id,
        "values": {name: results.clipped_value(item, event_json.EVENT_BYTES) for name, item in other.values.items()},
    }
    return shown | ({"errors": other.errors} if other.errors else {})
