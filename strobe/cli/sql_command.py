"""`strobe sql`: plain SQL over one session."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from strobe.cli.output.json_form import dumps
from strobe.cli.output.progress import announced
from strobe.cli.output.tables import table
from strobe.limits import SQL_SECONDS
from strobe.report.palette import Palette
from strobe.session import SessionManager


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.argument("statement")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=SQL_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Give up after this time.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document: a list with one object per row.")
def sql(session_id: str, statement: str, timeout: float, as_json: bool) -> None:
    """Run STATEMENT, read-only, on SESSION. Ctrl-C ends it.

    There is one view, `events`; its columns are in docs/events.md. For example:

    \b
    strobe sql SESSION "select function, count(*) from events group by 1 order by 2 desc"
    """
    with closing(SessionManager()) as manager, announced("running the statement"):
        columns, rows = manager.get(session_id).sql(statement, timeout)
    if as_json:
        click.echo(dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=True))
        return
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    for line in table(columns, cells, Palette.of(sys.stdout)):
        click.echo(line)
