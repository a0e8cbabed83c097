"""`strobe history`: what a session recorded of one address."""

from __future__ import annotations

from contextlib import closing

import click

from strobe.cli.output.progress import announced
from strobe.cli.query_command import events_lines
from strobe.model import EventFilter
from strobe.session import SessionManager

_MOST = (1 << 64) - 1


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
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--after", metavar="EVENT_ID", help="Events after this one.")
@click.option("--desc", is_flag=True, help="The newest first.")
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="The newest N events.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def history(
    session_id: str,
    address: int,
    where: str | None,
    limit: int,
    after: str | None,
    desc: bool,
    last: int | None,
    as_json: bool,
) -> None:
    """Events of SESSION that ADDRESS is found in, in order of time, each with the place.

    It is an argument, a result, a pointer in what these lead to or in a watch, or it lies in memory that was recorded
    there: trace with a depth for that.
    """
    wanted = EventFilter(
        address=address,
        where=where,
        after_event_id=after,
        newest_first=desc or last is not None,
        limit=last or limit,
    )
    with closing(SessionManager()) as manager, announced("searching"):
        session = manager.get(session_id)
        lines = events_lines(session, wanted, session.ended(), last is not None, as_json)
    for line in lines:
        click.echo(line)
