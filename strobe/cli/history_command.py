"""`strobe history`: what a session recorded of one address."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from strobe.cli.output.progress import announced
from strobe.cli.output.tables import table
from strobe.cli.query_command import KINDS, events_lines
from strobe.model import EventFilter, not_looked_at
from strobe.report import wording
from strobe.report.palette import Palette
from strobe.session import Session, SessionManager

_MOST = (1 << 64) - 1
_LISTED = 50


def _address(_: click.Context, param: click.Parameter, text: str) -> int:
    try:
        address = int(text, 16 if text[:2] in ("0x", "0X") else 10)
    except ValueError:
        address = -1
    if not 0 < address <= _MOST:
        raise click.BadParameter(f"'{text}' is no address such as 0x5581c0de10", param=param)
    return address


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.argument("address", metavar="ADDRESS", callback=_address)
@click.option("--where", metavar="EXPRESSION", help="Only events for which it holds: '$return == 0'.")
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="N", help="The events themselves, N at most.")
@click.option("--after", metavar="EVENT_ID", help="Events after this one.")
@click.option("--desc", is_flag=True, help="The newest first.")
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="The newest N events.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def history(
    session_id: str,
    address: int,
    where: str | None,
    limit: int | None,
    after: str | None,
    desc: bool,
    last: int | None,
    as_json: bool,
) -> None:
    """Show in which events of SESSION the ADDRESS appears and as what: how often, first and last.

    It may be an argument, a result, a pointer in a structure behind these or in a watch, or lie in memory that was
    recorded there (trace with a depth for that). With --limit, --after, --desc, --last or --json the events are listed.
    """
    is_listed = as_json or desc or not (limit is None and after is None and last is None)
    wanted = EventFilter(
        address=address,
        where=where,
        after_event_id=after,
        newest_first=desc or last is not None,
        limit=last or limit or _LISTED,
    )
    with closing(SessionManager()) as manager, announced("searching"):
        session = manager.get(session_id)
        lines = [] if is_listed else _summary(session, wanted)
        lines = lines or events_lines(session, wanted, session.ended(), last is not None, as_json)
    for line in lines:
        click.echo(line)


def _summary(session: Session, wanted: EventFilter) -> list[str]:
    """A line for each function and place; none where the address is found nowhere."""
    touched, found = session.history(wanted)
    if not touched:
        return []
    rows = []
    for one in touched:
        last = wording.moment(one.last.timestamp_ns) if one.count > 1 else ""
        kind = KINDS.get(one.event_type, one.event_type)
        rows.append(
            (f"{one.count:,}", wording.moment(one.first.timestamp_ns), last, kind, one.name, ", ".join(one.places))
        )
    lines = table(
        ("events", "first", "last", "event", "function", "where it is"), rows, Palette.of(sys.stdout), frozenset({0})
    )
    lines.append(f"{wording.counted(found.held, 'event')} of {found.checked:,} checked; --limit N lists them")
    if found.undecided:
        lines.append(f"of {found.undecided:,} not known: {found.undecided_why}")
    if found.unchecked_after is not None:
        lines.insert(0, not_looked_at(found.unchecked_after))
    return lines + wording.loss_lines(session.timeline.loss())
