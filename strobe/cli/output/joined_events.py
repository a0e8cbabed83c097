"""How `strobe query --join-before` shows pairs of events: a line for each, with the other one in columns of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from strobe.cli.output.event_line import what_happened
from strobe.cli.output.json_form import dumps, event_json
from strobe.cli.output.tables import table
from strobe.mcp.answers import join_json as wire_joined
from strobe.model import Event, EventFilter, not_looked_at
from strobe.report import wording
from strobe.report.palette import Palette
from strobe.session import Session

if TYPE_CHECKING:
    from strobe.session.questions.joining import Join, Joined, Other

_NONE = "none"


def joined_lines(session: Session, wanted: EventFilter, join: Join, is_last: bool, as_json: bool) -> list[str]:
    """A table, or JSON as debug_query has it. `is_last`: the newest were asked for, to be shown oldest first. Raises as
    Session.joined."""
    found, doubts = session.joined(wanted, join)
    pairs = list(zip(found.found.events, found.found.values or ({},) * len(found.others), found.others, strict=True))
    pairs = pairs[::-1] if is_last else pairs
    side = "after" if join.is_after else "before"
    if as_json:
        events = [_json(event, values, other, wanted, join, side) for event, values, other in pairs]
        facts = {"paired": found.paired, "unpaired": found.unpaired, "others": found.candidates}
        unknown = {"undecided": found.unknown, "undecidedWhy": found.unknown_why} if found.unknown else {}
        missing: dict[str, Any] = {"noValue": found.without_value} if found.without_value else {}
        missing |= wire_joined.not_returned(found)
        missing |= {"othersMissing": doubts} if doubts else {}
        missing |= {} if found.absence is None else {"othersAbsence": found.absence}
        return [dumps({"events": events, **facts, **unknown, **missing}, indent=True)]
    heads = (*(wanted.select or ("time", "thread", "what")), *(f"{side}: {name}" for name in join.select or ("what",)))
    rows = [(*_own(event, values, wanted), *_others(other, join)) for event, values, other in pairs]
    lines = table(heads, rows, Palette.of(sys.stdout)) if rows else []
    return [*_unchecked(found, wanted), *lines, *_below(found, side, doubts)]


def _own(event: Event, values: dict[str, Any], wanted: EventFilter) -> tuple[str, ...]:
    if wanted.select:
        return _cells(values, wanted.select)
    thread = f"{event.thread_name} {event.thread_id}" if event.thread_id else ""
    return (wording.moment(event.timestamp_ns), thread, what_happened(event))


def _others(other: Other | None, join: Join) -> tuple[str, ...]:
    if other is None:
        return (_NONE, *("" for _ in join.select[1:]))
    return _cells(other.values, join.select) if join.select else (what_happened(other.event),)


def _cells(values: dict[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(wording.one_line(dumps(values[name])) if name in values else "?" for name in names)


def _json(
    event: Event, values: dict[str, Any], other: Other | None, wanted: EventFilter, join: Join, side: str
) -> dict[str, Any]:
    own = {name: values[name] for name in wanted.select if name in values}
    shown = {"id": event.id, "values": own} if wanted.select else event_json(event)
    if other is None:
        return shown | {side: None}
    found = {"id": other.event.id, "values": other.values} if join.select else event_json(other.event)
    return shown | {side: found}


def _unchecked(found: Joined, wanted: EventFilter) -> list[str]:
    after = found.found.unchecked_after
    return [] if after is None else [not_looked_at(after, wanted.newest_first)]


def _below(found: Joined, side: str, doubts: list[str]) -> list[str]:
    counts = f"{wording.counted(found.paired, 'event')} with one {side}, {found.unpaired:,} without"
    lines = [f"{counts}, of {found.candidates:,} that fulfil the condition"]
    if found.unknown:
        lines.append(f"of {found.unknown:,} not known: {found.unknown_why}")
    for one, which in ((found.found, ""), (found.of_others, f" (of those {side})")):
        if (left_out := one.unreturned) is not None:
            lines.append(wording.not_returned(left_out.count, left_out.why) + which)
    lines += found.without_value
    if found.absence is not None:
        lines.append(f"no such event: {found.absence}")
    return [*lines, *(f"there may be others that were not recorded: {one}" for one in doubts)]
