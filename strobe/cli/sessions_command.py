"""`strobe sessions`: what is running or kept, of this and of every other Strobe process of the home."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from strobe.cli.output.json_form import dumps, session_json
from strobe.cli.output.tables import table
from strobe.model import SessionSummary
from strobe.report.palette import Palette
from strobe.session import SessionManager


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_context
def sessions(ctx: click.Context, as_json: bool) -> None:
    """List the sessions that run or were kept, or delete some."""
    if ctx.invoked_subcommand is None:
        _show(as_json)


@sessions.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def list_sessions(as_json: bool) -> None:
    """List the sessions, newest first (the same as `strobe sessions`)."""
    _show(as_json)


@sessions.command()
@click.argument("session_ids", nargs=-1, required=True, metavar="SESSION...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def delete(session_ids: tuple[str, ...], as_json: bool) -> None:
    """Delete kept sessions and free their files."""
    with closing(SessionManager()) as manager:
        for session_id in session_ids:
            manager.delete(session_id)
    click.echo(dumps({"deleted": session_ids}, indent=True) if as_json else f"deleted {', '.join(session_ids)}")


def _show(as_json: bool) -> None:
    with closing(SessionManager()) as manager:
        found = manager.list()
    if as_json:
        click.echo(dumps({"sessions": [session_json(summary) for summary in found]}, indent=True))
    elif not found:
        click.echo("no sessions; start one with: strobe run --keep -- PROGRAM")
    else:
        palette = Palette.of(sys.stdout)
        headings = ("session", "status", "pid", "started", "program")
        for line in table(headings, [_row(summary) for summary in found], palette):
            click.echo(line)


def _row(summary: SessionSummary) -> tuple[str, ...]:
    started = summary.started_at.replace("T", " ")[:19]
    return (summary.session_id, _status(summary), str(summary.pid), started, summary.binary_path)


def _status(summary: SessionSummary) -> str:
    if summary.children:
        return f"recording children {', '.join(map(str, summary.children))}"
    if summary.signal is not None:
        return f"{summary.status} ({summary.signal})"
    if summary.exit_code is not None:
        return f"{summary.status} ({summary.exit_code})"
    if summary.status == "exited":
        return "exited (unknown)"
    return summary.status
