"""`strobe query`: the structured query over one session, as debug_query gives it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar, get_args

import click

from strobe.cli import completion
from strobe.cli.output.event_line import what_happened
from strobe.cli.output.joined_events import joined_lines
from strobe.cli.output.json_form import dumps, event_json, loss_json, totals_json
from strobe.cli.output.progress import announced
from strobe.cli.output.tables import table, totals_table
from strobe.dataclass import replace
from strobe.errors import StrobeError
from strobe.mcp.answers import ended_json, poll_json
from strobe.mcp.answers import totals_json as wire_totals
from strobe.model import Event, EventFilter, EventPage, EventType, GroupBy, Inside, TextMatch, not_looked_at
from strobe.report import snapshots, wording
from strobe.report.palette import Palette
from strobe.session import Session, SessionManager
from strobe.session.answers import Ending
from strobe.session.probes.text_form import expressions_of
from strobe.session.questions import is_one

if TYPE_CHECKING:
    from strobe.session.questions.joining import Join

_TYPES: tuple[EventType, ...] = get_args(EventType)
KINDS = {"function_enter": "enter", "function_exit": "exit", "variable_snapshot": "values"}
_T = TypeVar("_T")
_AROUND = 10  # events on each side, of the thread and of others
_GROUPS: tuple[GroupBy, ...] = ("function", "thread", "file")


def _moment(_: click.Context, param: click.Parameter, text: str | None) -> int | str | None:
    return None if text is None else _read(wording.parse_moment, text, param)


def _duration(_: click.Context, param: click.Parameter, text: str | None) -> int | None:
    return None if text is None else _read(wording.parse_ns, text, param)


def _read(parse: Callable[[str, str], _T], text: str, param: click.Parameter) -> _T:
    try:
        return parse(text, param.opts[0])
    except StrobeError as error:
        raise click.BadParameter(error.sentences, param=param) from error


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.option("--function", metavar="NAME", help="Functions of exactly this name.")
@click.option("--contains", metavar="TEXT", help="Functions whose name contains TEXT.")
@click.option("--matches", metavar="REGEX", help="Functions whose name matches a regular expression (RE2).")
@click.option("--file", "source_file", metavar="TEXT", help="Functions whose source file contains TEXT.")
@click.option("--type", "event_type", type=click.Choice(_TYPES), help="Only events of this type.")
@click.option("--thread", metavar="TEXT", help="Threads whose name contains TEXT.")
@click.option(
    "--from",
    "time_from",
    callback=_moment,
    metavar="TIME",
    help="From this time: 20ms after the start, or -5s before the end.",
)
@click.option("--to", "time_to", callback=_moment, metavar="TIME", help="Up to this time.")
@click.option("--min-duration", callback=_duration, metavar="TIME", help="Calls that took this long or longer: 500us.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0)
@click.option("--after", metavar="EVENT_ID", help="Events after this one.")
@click.option(
    "--where", metavar="EXPRESSION", help="Events for which it holds: \"cents < 0 && $threadName == 'till-3'\"."
)
@click.option("--select", multiple=True, metavar="EXPRESSION", help="Only this value of each event; may be repeated.")
@click.option("--inside", metavar="FUNCTION", help="Only within calls of this function (a name or pattern).")
@click.option(
    "--inside-where", metavar="EXPRESSION", help="Of --inside, only calls for which this holds: '$return == 0'."
)
@click.option("--caller", metavar="TEXT", help="Calls made by functions whose name contains TEXT.")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Calls below N traced ones.")
@click.option("--desc", is_flag=True, help="The newest first.")
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="The newest N events.")
@click.option(
    "--around", metavar="EVENT_ID", help="What happened before and after this event, in its thread and others."
)
@click.option(
    "--join-before",
    metavar="EXPRESSION",
    help="With each event the newest one before it in its thread for which this holds: '$label == \"moved\"'.",
)
@click.option("--join-after", metavar="EXPRESSION", help="The same, the next one behind it.")
@click.option(
    "--join-on",
    multiple=True,
    metavar="EXPRESSIONS",
    help="A condition on both, the other one's values with $other: 'key == $other.key && $other.cents < 0'; or what "
    "both have alike: 'key', or 'key == node->key', on the right of the other one. May be repeated.",
)
@click.option("--join-select", multiple=True, metavar="EXPRESSION", help="This value of the other one.")
@click.option("--join-any-thread", is_flag=True, help="The other one may be of another thread.")
@click.option("--join-missing", is_flag=True, help="Only events that have no other one.")
@click.option(
    "--group-by",
    metavar="GROUP",
    shell_complete=completion.groups,
    help="Totals instead of events: function, thread, file; or an expression: how many events have which value.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def query(
    session_id: str,
    function: str | None,
    contains: str | None,
    matches: str | None,
    source_file: str | None,
    event_type: EventType | None,
    thread: str | None,
    time_from: int | str | None,
    time_to: int | str | None,
    min_duration: int | None,
    limit: int,
    offset: int,
    after: str | None,
    where: str | None,
    select: tuple[str, ...],
    inside: str | None,
    inside_where: str | None,
    caller: str | None,
    depth: int | None,
    desc: bool,
    last: int | None,
    around: str | None,
    join_before: str | None,
    join_after: str | None,
    join_on: tuple[str, ...],
    join_select: tuple[str, ...],
    join_any_thread: bool,
    join_missing: bool,
    group_by: str | None,
    as_json: bool,
) -> None:
    """Read the events of SESSION in order of time, or with --group-by its totals.

    `strobe sessions` lists what there is. Times count from the start of the session.
    """
    join = _joined(join_before, join_after, join_on, join_any_thread, join_select, join_missing)
    if join is not None and (around is not None or group_by is not None or after is not None):
        raise click.UsageError("--join-before and --join-after do not go with --around, --group-by or --after")
    named = TextMatch(function, contains, matches) if function or contains or matches else None
    wanted = EventFilter(
        event_type=event_type,
        function=named,
        source_file=TextMatch(contains=source_file) if source_file else None,
        thread_name=TextMatch(contains=thread) if thread else None,
        time_from=time_from,
        time_to=time_to,
        min_duration_ns=min_duration,
        after_event_id=after,
        where=where,
        select=select,
        caller=TextMatch(contains=caller) if caller else None,
        depth=depth,
        newest_first=desc or last is not None,
        limit=last or limit,
        offset=offset,
    )
    with closing(SessionManager()) as manager, announced("searching"):
        session = manager.get(session_id)
        ended = session.ended()  # before the query: what ended then is complete
        if inside is not None:
            wanted = replace(wanted, inside=Inside(TextMatch(one_of=_named(session, inside)), inside_where))
        if join is not None:
            lines = joined_lines(session, wanted, join, last is not None, as_json)
        elif around is not None:
            lines = _around(session, around, wanted, as_json)
        elif group_by is not None:
            lines = _grouped(session, wanted, group_by, ended, as_json)
        else:
            lines = events_lines(session, wanted, ended, last is not None, as_json)
    for line in lines:
        click.echo(line)


def _joined(
    before: str | None, after: str | None, on: tuple[str, ...], any_thread: bool, select: tuple[str, ...], missing: bool
) -> Join | None:
    if before is None and after is None:
        if on or select or any_thread or missing:
            raise click.UsageError("--join-before or --join-after says which other events are meant")
        return None
    if before is not None and after is not None:
        raise click.UsageError("the other event is before or after: --join-before or --join-after")
    from strobe.session.questions.joining import Join

    pairs = tuple(expression for text in on for expression in expressions_of(text))
    return Join(before or after or "", pairs, after is not None, any_thread, select, missing)


def _grouped(session: Session, wanted: EventFilter, group_by: str, ended: Ending | None, as_json: bool) -> list[str]:
    if group_by in _GROUPS and not is_one(wanted):
        return _totals(session, wanted, group_by, ended, as_json)
    counted, found = session.counts(wanted, *expressions_of(group_by))
    shown = counted[: wanted.limit]
    if as_json:
        groups = [{"value": item.value, "count": item.count, "first": item.first, "last": item.last} for item in shown]
        facts = {"groups": groups, "checked": found.checked, "held": found.held, "undecided": found.undecided}
        if (left_out := found.unreturned) is not None:
            facts |= wire_totals.not_returned(left_out.count, left_out.why)
        if found.unchecked_after is not None:
            facts = {"uncheckedAfter": found.unchecked_after, **facts}
        if found.absence is not None:
            facts["absence"] = found.absence
        return [dumps(facts | ended_json.of(ended), indent=True)]
    rows = [(f"{item.count:,}", dumps(item.value), item.first) for item in shown]
    lines = table(("count", "value", "first event"), rows, Palette.of(sys.stdout)) if rows else []
    if found.absence is not None:
        lines = [found.absence]
    undecided = [f"of {found.undecided:,} not known: {found.undecided_why}"] if found.undecided else []
    unchecked = [] if found.unchecked_after is None else [not_looked_at(found.unchecked_after)]
    if found.unreturned is not None:
        undecided.append(wording.not_returned(found.unreturned.count, found.unreturned.why))
    return [*unchecked, *lines, f"{wording.counted(found.held, 'event')} of {found.checked:,} checked", *undecided]


def _around(session: Session, event: str, wanted: EventFilter, as_json: bool) -> list[str]:
    found = session.around(event, replace(wanted, limit=min(wanted.limit, _AROUND)))
    own = found.pop("event")
    if as_json:
        sides = {
            name: {
                "before": [event_json(one) | values for one, values in _with_selected(before)][::-1],
                "after": [event_json(one) | values for one, values in _with_selected(after)],
            }
            for name, (before, after) in found.items()
        }
        return [dumps({"event": event_json(own), **sides}, indent=True)]
    pages = [page for sides in found.values() for page in sides]
    every: list[tuple[Event, dict[str, dict[str, object]]]] = [
        (own, {}),
        *(one for page in pages for one in _with_selected(page)),
    ]
    every.sort(key=lambda one: int(one[0].id.rpartition("-")[2]))
    cells = [[_cell(values.get("selected", {}), item) for item in wanted.select] for _, values in every]
    rows = [(*_row(one), *selected) for (one, _), selected in zip(every, cells, strict=True)]
    return table(("time", "thread", "event", "what", *wanted.select), rows, Palette.of(sys.stdout))


def _with_selected(page: EventPage) -> list[tuple[Event, dict[str, dict[str, object]]]]:
    values = page.values or [{} for _ in page.events]
    return [(one, {"selected": own} if own else {}) for one, own in zip(page.events, values, strict=True)]


def _totals(session: Session, wanted: EventFilter, group_by: GroupBy, ended: Ending | None, as_json: bool) -> list[str]:
    groups = session.timeline.totals(wanted, group_by)
    absence = None if groups else session.timeline.absence(wanted)
    if as_json:
        document: dict[str, object] = {"groups": [totals_json(group, group_by) for group in groups]}
        document |= ended_json.of(ended) | ({} if absence is None else {"absence": absence})
        return [dumps(document, indent=True)]
    lines = totals_table(groups, group_by, Palette.of(sys.stdout)) if absence is None else [absence]
    return lines + _ended_lines(ended)


def _ended_lines(ended: Ending | None) -> list[str]:
    return [] if ended is None else [f"the program has ended: {ended.how}"]


def events_lines(
    session: Session, wanted: EventFilter, ended: Ending | None, is_last: bool, as_json: bool
) -> list[str]:
    """The lines of a page: a table, or JSON. `is_last`: the newest were asked for, to be shown oldest first."""
    page = session.query(wanted)
    cursor = page.cursor(wanted, len(page.events)) if page.has_more else None
    unchecked = page.unchecked(wanted)
    if is_last:
        page = _turned(page)
    polls = poll_json.of_session(session) if wanted.event_type == "variable_snapshot" else []
    if as_json:
        return [dumps(_page_json(page) | ended_json.of(ended) | ({"polls": polls} if polls else {}), indent=True)]
    palette = Palette.of(sys.stdout)
    if page.values is None:
        rows = [_row(event) for event in page.events]
        heads: tuple[str, ...] = ("time", "thread", "event", "what")
        if page.places is not None:
            heads = (*heads, "where it is")
            rows = [(*row, ", ".join(places)) for row, places in zip(rows, page.places, strict=True)]
        lines = table(heads, rows, palette) if rows else []
    else:
        cells = [[_cell(values, item) for item in wanted.select] for values in page.values]
        lines = table(wanted.select, cells, palette) if cells else []
    lines = [*lines, *_below(page, cursor), *_ended_lines(ended)]
    lines += [snapshots.poll_line(poll) for poll in reversed(polls)]
    return lines if unchecked is None else [unchecked, *lines]


def _named(session: Session, text: str) -> frozenset[str]:
    """Raises bad_value where no traced function is called so."""
    names = session.names_of(text)
    if not names:
        raise session.no_such_function("inside", text)
    return names


def _turned(page: EventPage) -> EventPage:
    """Oldest first."""
    values = None if page.values is None else page.values[::-1]
    errors = None if page.errors is None else page.errors[::-1]
    places = None if page.places is None else page.places[::-1]
    return replace(page, events=page.events[::-1], values=values, errors=errors, places=places)


def _cell(values: dict[str, object], expression: str) -> str:
    return wording.one_line(dumps(values[expression])) if expression in values else "?"


def _row(event: Event) -> tuple[str, ...]:
    kind = KINDS.get(event.event_type, event.event_type)
    thread = wording.one_line(f"{event.thread_name} {event.thread_id}") if event.thread_id else ""
    return (wording.moment(event.timestamp_ns), thread, kind, what_happened(event))


def _below(page: EventPage, cursor: str | None) -> list[str]:
    """How much there is, how to see the rest, and what is missing."""
    lines = [f"{wording.counted(page.total_count, 'event')} match"]
    if page.checked is not None:
        lines[0] += f" of {page.checked:,} checked"
    if page.callers_unrecorded:
        lines.append(
            f"of the calls that --caller names {page.callers_unrecorded:,} have no event: they may have called more"
        )
    if page.inside is not None:
        lines.append(f"inside: {dumps(page.inside)}")
    if page.undecided:
        lines.append(f"of {page.undecided:,} not known: {page.undecided_why}")
    if page.not_returned_why:
        lines.append(wording.not_returned(page.not_returned, page.not_returned_why))
    if cursor is not None:
        lines[0] += f", {len(page.events):,} shown; go on with --after {cursor}"
    if page.absence:
        lines.append(page.absence)
    return lines + wording.loss_lines(page.loss)


def _page_json(page: EventPage) -> dict[str, object]:
    events = [event_json(event) for event in page.events]
    for one, places in zip(events, page.places or (), strict=False):
        one["places"] = places
    document: dict[str, object] = {
        "events": events,
        "totalCount": page.total_count,
        "hasMore": page.has_more,
        "loss": loss_json(page.loss),
    }
    if page.values is not None:
        document["events"] = [
            {"id": event.id, "values": values} for event, values in zip(page.events, page.values, strict=True)
        ]
    if page.inside is not None:
        document["inside"] = page.inside
    if page.callers_unrecorded:
        document["callersNotRecorded"] = page.callers_unrecorded
    if page.checked is not None:
        document |= {"checked": page.checked, "undecided": page.undecided}
    document |= wire_totals.not_returned(page.not_returned, page.not_returned_why)
    if page.unchecked_after is not None:
        document = {"uncheckedAfter": page.unchecked_after, **document}
    if page.unchecked_before is not None:
        document = {"uncheckedBefore": page.unchecked_before, **document}
    return document if page.absence is None else document | {"absence": page.absence}
