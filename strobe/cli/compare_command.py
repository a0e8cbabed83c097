"""`strobe compare`: in what two runs differ."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

import click

from strobe.cli.output.json_form import dumps
from strobe.cli.output.progress import announced
from strobe.cli.output.tables import table
from strobe.mcp.answers import compare_json
from strobe.model import EventFilter, TextMatch
from strobe.report import wording
from strobe.report.palette import Palette
from strobe.session import SessionManager

Json = dict[str, Any]


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.argument("other_id", metavar="OTHER")
@click.option("--contains", metavar="TEXT", help="Only functions whose name contains TEXT.")
@click.option("--where", metavar="EXPRESSION", help="Only events for which it holds: '$threadName == 'main''.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def compare(session_id: str, other_id: str, contains: str | None, where: str | None, as_json: bool) -> None:
    """Show how SESSION differs from OTHER: functions that were called more often, the first call that differs in each
    thread, and values that differ in otherwise equal calls.

    Times, addresses and thread ids are ignored. Threads are paired by their names and order.
    """
    wanted = EventFilter(function=None if contains is None else TextMatch(contains=contains), where=where)
    with closing(SessionManager()) as manager, announced("comparing"):
        session, other = manager.get(session_id), manager.get(other_id)
        found = compare_json.of(session, other, wanted, wanted)
    for line in [dumps(found, indent=True)] if as_json else _lines(found, Palette.of(sys.stdout)):
        click.echo(line)


def _lines(found: Json, palette: Palette) -> list[str]:
    lines = [f"here: {found['here']}, there: {found['there']}"]
    what = "calls" if "calls" in found else "events"  # where each was looked at
    if rows := [(f"{one['here']:,}", f"{one['there']:,}", one["function"]) for one in found[what]]:
        lines += ["", *table(("here", "there", f"{what} of"), rows, palette, frozenset({0, 1}))]
        lines += _more(found, what)
    verb = "was" if found["sameCounts"] == 1 else "were"
    said = f"{verb} called equally often" if what == "calls" else "with equally many events"
    lines.append(f"{wording.counted(found['sameCounts'], 'function')} {said}")
    for name in ("tracedOnly", "threadsOnly"):
        for side in ("Here", "There"):
            if names := found.get(name + side):
                what = "traced" if name == "tracedOnly" else "thread"
                lines.append(f"{what} {side.lower()} alone: {', '.join(names)}")
                lines += _more(found, name + side)
    if rows := [
        (f"{one['meanNsHere']:,}", f"{one['meanNsThere']:,}", one["function"]) for one in found.get("slower", ())
    ]:
        lines += ["", *table(("ns here", "ns there", "mean time of"), rows, palette, frozenset({0, 1}))]
    if "firstDivergence" in found:
        lines += ["", *_sequence(found)]
    values = [
        (
            _value(one["here"]),
            _value(one["there"]),
            f"{one['differs']:,} of {one['of']:,}",
            one["what"],
            one["function"],
        )
        for one in found.get("values", ())
    ]
    if values:
        lines += ["", *table(("here", "there", "differs", "what", "of"), values, palette), *_more(found, "values")]
    return [*lines, *([found["note"]] if "note" in found else [])]


def _more(found: Json, name: str) -> list[str]:
    return [f"… {found[name + 'More']} more"] if f"{name}More" in found else []


def _sequence(found: Json) -> list[str]:
    first = found["firstDivergence"]
    if first is None:
        threads, events = (
            wording.counted(found[name], of) for name, of in (("comparedThreads", "thread"), ("equalEvents", "event"))
        )
        return [f"the same calls in {threads}, {events}"]
    where = f"{first['thread']}, there {first['threadThere']}" if "threadThere" in first else first["thread"]
    lines = [f"the first call that differs, in {where}, after {first['equalBefore']:,} equal events:"]
    lines += [f"  {side:5}  {_event(first[side])}" for side in ("here", "there")]
    if "within" in first:
        lines.append(f"  within {' > '.join(first['within'])}")
    lines += [f"  before {_event(event)}" for event in first["before"]]
    for one in found.get("otherDivergences", ()):
        sides = ", ".join(f"{side}: {_event(one[side])}" for side in ("here", "there"))
        lines.append(f"in {one['thread']}, after {one['equalBefore']:,} equal events: {sides}")
    return lines + _more(found, "otherDivergences")


def _event(event: Json | str) -> str:
    if isinstance(event, str):
        return event
    name = event.get("label") or event.get("function", "")
    if event.get("eventType") == "function_exit":
        return (
            f"{event['id']}  {name} = {dumps(event['returnValue'])}"
            if "returnValue" in event
            else f"{event['id']}  {name} returned"
        )
    if "arguments" not in event:  # it may have some
        return f"{event['id']}  {name}"
    given = ", ".join(f"{one['name']}={dumps(one['value'])}" for one in event["arguments"])
    return f"{event['id']}  {name}({given})"


def _value(side: Json) -> str:
    return dumps(side["value"])
