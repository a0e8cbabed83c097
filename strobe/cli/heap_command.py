"""`strobe heap`: what a program held of what it had allocated, by the stacks that allocated it."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import click

from strobe.cli.output.json_form import dumps
from strobe.cli.output.progress import announced
from strobe.session import SessionManager

_TIME = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)?")
_NS = {None: 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def _time(_: click.Context, param: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"'{text}' is no time such as 1.5s, 200ms or 1500000", param=param)
    return int(float(found[1]) * _NS[found[2]])


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.option("--from", "from_ns", metavar="TIME", callback=_time, help="What has grown since: 1.5s, 200ms, or ns.")
@click.option(
    "--to", "to_ns", metavar="TIME", callback=_time, help="At this time since the session began; default: now."
)
@click.option("--top", type=click.IntRange(1, 1000), default=10, show_default=True, help="So many stacks.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def heap(session_id: str, from_ns: int | None, to_ns: int | None, top: int, as_json: bool) -> None:
    """Show memory that the program of SESSION has allocated and not freed, by stack, largest first.

    Trace @heap from the launch on: `strobe run -t @heap --keep ./server`.
    """
    from strobe.mcp.answers.heap_json import heap_json
    from strobe.session.questions.heap import heap_report

    with closing(SessionManager()) as manager, announced("following allocations"):
        report = heap_json(heap_report(manager.get(session_id), from_ns, to_ns), top)
    if as_json:
        click.echo(dumps(report, indent=True))
        return
    for line in _lines(report):
        click.echo(line)


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"{report['bytes']:,} bytes in {report['blocks']:,} blocks, of {report['stacks']:,} stacks"]
    for group in report["top"]:
        grown = f"{group['grownBytes']:+,} bytes since, " if "grownBytes" in group else ""
        lines += ["", f"{grown}{group['bytes']:,} bytes in {group['blocks']:,} blocks"]
        lines += [f"    {frame}" for frame in group["stack"]]
        if "newest" in group:
            newest = group["newest"]
            lines.append(f"    the newest: {newest['address']}, {newest['bytes']:,} bytes, event {newest['event']}")
    return [*lines, *(f"note: {note}" for note in report.get("notes", ()))]
