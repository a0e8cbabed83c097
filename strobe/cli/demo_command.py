"""`strobe demo`: the guided tour."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from strobe.cli.output.json_form import dumps, event_json, totals_json
from strobe.cli.output.progress import announced
from strobe.cli.output.tables import totals_table
from strobe.demo import tour
from strobe.demo.tour import Finding, Offence
from strobe.model import Event
from strobe.report import wording
from strobe.report.calltree import CallTree
from strobe.report.palette import Palette

_TREE_LINES = 12


@click.command()
@click.option("--json", "as_json", is_flag=True, help="What was found, as one JSON document.")
def demo(as_json: bool) -> None:
    """Find a bug that no print statement shows, in ten seconds."""
    with announced("running the demo's program"):
        found = tour.explore()
    if as_json:
        click.echo(dumps(_as_json(found), indent=True))
        return
    for line in _tour(found, Palette.of(sys.stdout)):
        click.echo(line)


def _tour(found: Finding, palette: Palette) -> Iterator[str]:
    yield palette.heading("1. A program with a bug: a shop with three tills, each of them a thread")
    yield from (f"   | {line}" for line in found.output.splitlines())
    yield f"   Every customer was served and nothing failed. It ends with status {found.exit_code}: the books lie."
    yield f"   Its sources: {tour.FOLDER}"
    yield ""
    yield palette.heading(f"2. Every call of its own functions (@usercode), {found.calls:,} of them; the first ones")
    yield from _indented(_tree(found.first_events, palette)[:_TREE_LINES])
    yield "   ..."
    yield ""
    yield palette.heading("3. How often and how long, exactly")
    yield from _indented(totals_table(found.totals, "function", palette))
    yield ""
    yield palette.heading("4. Which of these calls is not like the others?")
    for offence in found.offences:
        yield from _indented(_explained(offence, palette))
    if not found.offences:
        yield "   None was found."
    yield ""
    yield f"Found in {found.seconds:.1f} s. Now with a program of yours:  strobe run -- PROGRAM"


def _explained(offence: Offence, palette: Palette) -> Iterator[str]:
    rule, call = offence.rule, offence.call
    every = rule.holds + 1
    yield f"In {rule.holds:,} of {every:,} calls of {rule.caller}, {rule.receiver} was given as '{rule.argument}' what"
    yield f"{rule.giver} had returned. The other one, in thread {call.thread} at {wording.moment(call.start_ns)}:"
    yield ""
    yield from _indented(_tree(offence.events, palette))
    yield ""
    yield palette.warning(f"{offence.returned:,} was returned, {offence.given:,} arrived: {_difference(offence)}.")
    line = tour.source_line(offence.receiver)
    if line is not None:
        yield f"{Path(offence.receiver.source_file or '').name}:{offence.receiver.line}:  {palette.value(line)}"


def _difference(offence: Offence) -> str:
    """By how much, and where that is a power of two, which width of an integer makes it."""
    difference = abs(offence.returned - offence.given)
    bits = difference.bit_length() - 1
    if difference != 1 << bits or bits not in (8, 16, 32):
        return f"they differ by {difference:,}"
    return f"they differ by {difference:,}, so it was cut to {bits} bits"


def _tree(events: Iterable[Event], palette: Palette) -> list[str]:
    lines = CallTree(palette).feed(events)
    return textwrap.dedent("\n".join(lines)).splitlines()


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"   {line}" for line in lines)


def _as_json(found: Finding) -> dict[str, object]:
    return {
        "output": found.output,
        "exitCode": found.exit_code,
        "calls": found.calls,
        "seconds": found.seconds,
        "totals": [totals_json(group, "function") for group in found.totals],
        "offences": [_offence_json(offence) for offence in found.offences],
    }


def _offence_json(offence: Offence) -> dict[str, object]:
    rule = offence.rule
    return {
        "caller": rule.caller,
        "giver": rule.giver,
        "receiver": rule.receiver,
        "argument": rule.argument,
        "callsThatKeepTheRule": rule.holds,
        "returned": offence.returned,
        "given": offence.given,
        "threadName": offence.call.thread,
        "eventId": offence.call.id,
        "events": [event_json(event) for event in offence.events],
    }
