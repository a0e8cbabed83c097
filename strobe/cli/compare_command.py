"""`strobe compare`: in what two runs differ."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

import click

from strobe.cli.output.json_form import dumps
from strobe.cli.output.progress import announced
from strobe.cli.output.tables import table
from strobe.mcp.tools import compare_json
from strobe.model import EventFilter, TextMatch
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
    """In what SESSION differs from OTHER: functions that were called more often, the first call that differs in each
    thread, and values that differ in calls that are otherwise alike.

    Times, addresses and thread ids are left aside. Threads are compared in pairs, by their names and order.
    """
    wanted = EventFilter(function=None if contains is None else TextMatch(contains=contains), where=where)
    with closing(SessionManager()) as manager, announced("comparing"):
        session, other = manager.get(session_id), manager.get(other_id)
        found = compare_json.of(session, other, wanted, wanted)
    for line in [dumps(found, indent=True)] if as_json else _lines(found, Palette.of(sys.stdout)):
        click.echo(line)


def _lines(found: Json, palette: Palette) -> list[str]:
    lines = [f"here: {found['here']}, there: {found['there']}"]
    if rows := [(f"{one['here']:,}", f"{one['there']:,}", one["function"]) for one in found["calls"]]:
        more = [f"… {found['callsMore']} more"] if "callsMore" in found else []
        lines += ["", *table(("here", "there", "calls of"), rows, palette, frozenset({0, 1})), *more]
    lines.append(f"{found['sameCounts']} functions were called equally often")
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
        more = [f"… {found['valuesMore']} more"] if "valuesMore" in found else []
        lines += ["", *table(("here", "there", "differs", "what", "of"), values, palette), *more]
    return [*lines, *([found["note"]] if "note" in found else [])]


def _sequence(found: Json) -> list[str]:
    lines = []
    for name, said in (("threadsOnly", "thread"), ("tracedOnly", "traced")):
        for side in ("Here", "There"):
            if names := found.get(name + side):
                lines.append(f"{said} {side.lower()} alone: {', '.join(names)}")
    first = found["firstDivergence"]
    if first is None:
        return [*lines, f"the same calls in {found['comparedThreads']} threads, {found['equalEvents']:,} events"]
    lines.append(f"the first call that differs, in {first['thread']}, after {first['equalBefore']:,} equal events:")
    lines += [f"  {side:5}  {_event(first[side])}" for side in ("here", "there")]
    if "within" in first:
        lines.append(f"  within {' > '.join(first['within'])}")
    lines += [f"  before {_event(event)}" for event in first["before"]]
    for one in found.get("otherDivergences", ()):
        sides = ", ".join(f"{side}: {_event(one[side])}" for side in ("here", "there"))
        lines.append(f"in {one['thread']}, after {one['equalBefore']:,} equal events: {sides}")
    return lines


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
    given = ", ".join(f"{one['name']}={dumps(one['value'])}" for one in event.get("arguments", ()))
    return f"{event['id']}  {name}({given})"


def _value(side: Json) -> str:
    return dumps(side["value"])
