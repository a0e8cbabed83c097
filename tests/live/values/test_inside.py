"""`inside`: events within calls of a function. What is right follows from the parents of all events. The program is
nested_calls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import strobe
from strobe.model import Event, EventFilter, Inside, TextMatch

SECONDS = 60.0
TIMES = 40
Build = Callable[..., Path]


@pytest.fixture
def run(build_program: Build) -> Iterator[strobe.ProgramSession]:
    program = build_program("nested_calls", "-g", "-O0", "-pthread")
    with strobe.launch([str(program), str(TIMES)], trace=["nest::**"], sampling="off") as running:
        running.wait(timeout=SECONDS)
        yield running


def within(events: list[Event], function: str, is_chosen: Callable[[Event, Event | None], bool]) -> set[str]:
    """Ids of the events below calls of that function, by their parents."""
    enters = {event.id: event for event in events if event.event_type == "function_enter"}
    exits = {event.parent_event_id: event for event in events if event.event_type == "function_exit"}
    chosen = {key for key, event in enters.items() if event.function == function and is_chosen(event, exits.get(key))}
    found = set()
    for event in events:
        above = event.parent_event_id
        if event.event_type == "function_exit" and above is not None:
            above = enters[above].parent_event_id
        while above is not None and above not in chosen:
            above = enters[above].parent_event_id
        if above is not None:
            found.add(event.id)
    return found


def asked(run: strobe.ProgramSession, function: str, where: str | None = None, **more: object) -> set[str]:
    wanted = EventFilter(inside=Inside(TextMatch(equals=function), where), limit=10_000, **more)  # type: ignore[arg-type]
    return {event.id for event in run.query(wanted).events}


@pytest.mark.parametrize("function", ["nest::outer", "nest::walk", "nest::guarded", "nest::inner", "nest::leaf"])
def test_events_within_all_calls_nested_recursive_and_left(run: strobe.ProgramSession, function: str) -> None:
    events = list(run.events())
    expected = within(events, function, lambda enter, exit_: True)
    assert asked(run, function) == expected
    assert (function == "nest::leaf") == (not expected)


def test_events_within_calls_that_returned_so(run: strobe.ProgramSession) -> None:
    events = list(run.events())
    for number in range(3):
        expected = within(
            events, "nest::outer", lambda enter, exit_, n=number: exit_ is not None and exit_.return_value == n
        )
        assert asked(run, "nest::outer", f"$return == {number}") == expected
        assert len(expected) > 20
    by_both = within(
        events,
        "nest::walk",
        lambda enter, exit_: exit_ is not None and enter.arguments[0].value == 2 and exit_.return_value > 3,  # type: ignore[index,operator]
    )
    assert asked(run, "nest::walk", "depth == 2 && $return > 3") == by_both != set()


def test_a_condition_on_arguments_knows_calls_that_did_not_return(run: strobe.ProgramSession) -> None:
    events = list(run.events())
    thrown = within(events, "nest::outer", lambda enter, exit_: enter.arguments[0].value % 7 == 3)  # type: ignore[index,operator]
    assert asked(run, "nest::outer", "value % 7 == 3") == thrown != set()
    page = run.query(EventFilter(inside=Inside(TextMatch(equals="nest::outer"), "$return >= 0"), limit=1))
    left = 2 * sum(at % 7 == 3 for at in range(TIMES))
    assert page.inside == {"calls": 2 * TIMES - left, "notReturned": left}


def test_other_conditions_hold_as_well(run: strobe.ProgramSession) -> None:
    events = {event.id: event for event in run.events()}
    inside = within(list(events.values()), "nest::walk", lambda enter, exit_: True)
    leaves = {key for key in inside if events[key].function == "nest::leaf" and events[key].return_value == 3}
    assert asked(run, "nest::walk", where=None, return_value=None) == inside
    wanted = EventFilter(inside=Inside(TextMatch(equals="nest::walk")), where="$return == 3", limit=10_000)
    found = run.query(replace_function(wanted, "nest::leaf"))
    assert {event.id for event in found.events} == leaves != set()
    by_caller = replace_function(EventFilter(inside=wanted.inside, limit=10_000), "nest::leaf", "nest::walk")
    every = {key for key in inside if events[key].function == "nest::leaf"}
    assert {event.id for event in run.query(by_caller).events} == every
    newest = run.query(EventFilter(inside=wanted.inside, newest_first=True, limit=5)).events
    assert [event.id for event in newest] == sorted(inside, key=number_of)[::-1][:5]
    nothing = run.query(EventFilter(inside=Inside(TextMatch(equals="nest::walk"), "depth == 99")))
    assert nothing.absence is not None and nothing.absence.startswith("No recorded call with depth == 99")


def number_of(key: str) -> int:
    return int(key.rpartition("-")[2])


def replace_function(wanted: EventFilter, function: str, caller: str | None = None) -> EventFilter:
    from strobe.dataclass import replace

    by = None if caller is None else TextMatch(equals=caller)
    return replace(wanted, function=TextMatch(equals=function), caller=by)


def test_a_call_whose_entry_was_evicted_is_said(build_program: Build, strobe_home: Path) -> None:
    strobe_home.mkdir(mode=0o700)
    (strobe_home / "settings.json").write_text(json.dumps({"events.maxPerSession": 1000}))
    program = build_program("nested_calls", "-g", "-O0", "-pthread")
    with strobe.launch([str(program), "60000", "one"], trace=["nest::**"], sampling="off") as run:
        run.wait(timeout=SECONDS)
        assert run.loss.evicted
        events = list(run.events())
        page = run.query(EventFilter(inside=Inside(TextMatch(equals="nest::many")), limit=10_000))
        last = max(number_of(event.id) for event in events if event.function == "nest::many")
        expected = {event.id for event in events if number_of(event.id) < last}
        assert page.total_count == len(expected)
        assert {event.id for event in page.events} <= expected
        assert page.inside == {"calls": 1, "entryEvicted": 1}
        behind = [event for event in events if number_of(event.id) > last]
        assert [event.function for event in behind if event.event_type == "function_enter"] == ["nest::leaf"]


def test_the_command_line_asks_the_same(build_program: Build) -> None:
    program = build_program("nested_calls", "-g", "-O0", "-pthread")
    with strobe.launch([str(program), str(TIMES)], trace=["nest::**"], sampling="off", keep=True) as run:
        run.wait(timeout=SECONDS)
        expected = asked(run, "nest::outer", "$return == 1")
        session = run.id
    command = [sys.executable, "-m", "strobe.cli.main", "query", session, "--limit", "10000", "--json"]
    asking = ["--inside", "nest::outer", "--inside-where", "$return == 1"]
    shown = subprocess.run([*command, *asking], check=True, capture_output=True, text=True, timeout=SECONDS).stdout
    found = json.loads(shown)
    assert {event["id"] for event in found["events"]} == expected
    assert found["inside"]["calls"] > 10
    refused = subprocess.run([*command, "--inside", "nest::outr"], capture_output=True, text=True, timeout=SECONDS)
    assert refused.returncode != 0 and "nest::outer" in refused.stderr
