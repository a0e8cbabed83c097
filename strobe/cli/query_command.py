"""`strobe query`: the structured query over one session, as debug_query gives it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar, get_args

import click

from strobe.cli.output import snapshots, wording
from strobe.cli.output.json_form import dumps, event_json, loss_json, totals_json
from strobe.cli.output.palette import Palette
from strobe.cli.output.progress import announced
from strobe.cli.output.tables import table, totals_table
from strobe.errors import StrobeError
from strobe.mcp.tools import ended_json, poll_json
from strobe.model import Event, EventFilter, EventPage, EventType, GroupBy, TextMatch
from strobe.session import Session, SessionManager
from strobe.session.answers import Ending

_TYPES: tuple[EventType, ...] = get_args(EventType)
_SHORT = {"function_enter": "enter", "function_exit": "exit", "variable_snapshot": "values"}
_T = TypeVar("_T")
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
@click.option("--group-by", type=click.Choice(_GROUPS), help="Totals instead of events.")
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
    group_by: GroupBy | None,
    as_json: bool,
) -> None:
    """Read the events of SESSION in order of time, or with --group-by its totals.

    `strobe sessions` lists what there is. Times count from the start of the session.
    """
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
        limit=limit,
        offset=offset,
    )
    with closing(SessionManager()) as manager, announced("searching"):
        session = manager.get(session_id)
        ended = session.ended()  # before the query: what ended then is complete
        lines = (
            _totals(session, wanted, group_by, ended, as_json) if group_by else _events(session, wanted, ended, as_json)
        )
    for line in lines:
        click.echo(line)


def _totals(session: Session, wanted: EventFilter, group_by: GroupBy, ended: Ending | None, as_json: bool) -> list[str]:
    groups = session.totals(wanted, group_by)
    absence = None if groups else session.absence(wanted)
    if as_json:
        document: dict[str, object] = {"groups": [totals_json(group, group_by) for group in groups]}
        document |= ended_json.of(ended) | ({} if absence is None else {"absence": absence})
        return [dumps(document, indent=True)]
    lines = totals_table(groups, group_by, Palette.of(sys.stdout)) if absence is None else [absence]
    return lines + _ended_lines(ended)


def _ended_lines(ended: Ending | None) -> list[str]:
    return [] if ended is None else [f"the program has ended: {ended.how}"]


def _events(session: Session, wanted: EventFilter, ended: Ending | None, as_json: bool) -> list[str]:
    page = session.query(wanted)
    polls = poll_json.of_session(session) if wanted.event_type == "variable_snapshot" else []
    if as_json:
        return [dumps(_page_json(page) | ended_json.of(ended) | ({"polls": polls} if polls else {}), indent=True)]
    palette = Palette.of(sys.stdout)
    rows = [_row(event) for event in page.events]
    lines = table(("time", "thread", "event", "what"), rows, palette) if rows else []
    return [*lines, *_below(page), *_ended_lines(ended), *(snapshots.poll_line(poll) for poll in reversed(polls))]


def _row(event: Event) -> tuple[str, ...]:
    kind = _SHORT.get(event.event_type, event.event_type)
    thread = f"{event.thread_name} {event.thread_id}" if event.thread_id else ""
    return (wording.moment(event.timestamp_ns), thread, kind, _what(event))


def _what(event: Event) -> str:
    if event.event_type == "function_enter":
        return f"{event.function}({wording.arguments(event.arguments)}){wording.watches(event.watch_values)}"
    if event.event_type == "function_exit":
        result = "" if event.return_value is None else f" = {wording.value(event.return_value)}"
        time = wording.duration(event.duration_ns or 0)
        return f"{event.function}{result}  {time}{wording.watches(event.watch_values)}"
    return wording.one_line(event.text or "") if event.values is None else snapshots.line(event)


def _below(page: EventPage) -> list[str]:
    """How much there is, how to see the rest, and what is missing."""
    lines = [f"{wording.counted(page.total_count, 'event')} match"]
    if page.has_more and page.events:
        lines[0] += f", {len(page.events):,} shown; go on with --after {page.events[-1].id}"
    if page.absence:
        lines.append(page.absence)
    return lines + wording.loss_lines(page.loss)


def _page_json(page: EventPage) -> dict[str, object]:
    document: dict[str, object] = {
        "events": [event_json(event) for event in page.events],
        "totalCount": page.total_count,
        "hasMore": page.has_more,
        "loss": loss_json(page.loss),
    }
    return document if page.absence is None else document | {"absence": page.absence}
