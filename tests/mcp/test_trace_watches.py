"""Watches and deep arguments over MCP: on a running session, and staged for the next launch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.wait import wait_until

ROOT = str(Path(__file__).parents[1] / "programs")
Build = Callable[..., Path]


def ended(wire: Wire, session_id: str) -> None:
    def is_over() -> bool:
        sessions = wire.good("debug_list_sessions")["sessions"]
        return all(item["status"] != "running" for item in sessions if item["sessionId"] == session_id)

    wait_until(is_over, "the program's end")


def calls(wire: Wire, session_id: str, function: str) -> list[dict[str, Any]]:
    answer = wire.good("debug_query", sessionId=session_id, function={"equals": function}, verbose=True)
    events: list[dict[str, Any]] = answer["events"]
    return events


def test_staged_watches_hold_from_main_on(wire: Wire, build_program: Build) -> None:
    watches = {"add": [{"variable": "gTempo"}, {"expr": "1 + 1", "label": "sum"}, {"variable": "gLevel"}]}
    staged = wire.good("debug_trace", projectRoot=ROOT, add=["play"], watches=watches)
    assert (staged["mode"], staged["activeWatches"]) == ("pending", ["gTempo", "sum", "gLevel"])
    staged = wire.good("debug_trace", projectRoot=ROOT, watches={"remove": ["gLevel", "none"]})
    assert staged["activeWatches"] == ["gTempo", "sum"]
    assert any("'none' was not staged" in text for text in staged["warnings"])
    launched = wire.good("debug_launch", command=str(build_program("watched", "-O0")), projectRoot=ROOT)
    ended(wire, launched["sessionId"])
    enter, leave, *_ = calls(wire, launched["sessionId"], "play")
    assert (enter["watchValues"], leave["watchValues"]) == ({"gTempo": 120, "sum": 2}, {"gTempo": 125, "sum": 2})
    node = enter["arguments"][0]["value"]  # 3 deep unless something else is said
    assert (node["to"]["value"], node["to"]["next"]["to"]["next"]["to"]["name"]) == (1, "made")


def test_a_launch_says_which_staged_watches_are_not_read(wire: Wire, build_program: Build) -> None:
    """A short program has ended before anybody could ask."""
    watches = {"add": [{"variable": "nothing->name", "on": ["play"]}, {"expr": "1 +"}, {"variable": "gTempo"}]}
    wire.good("debug_trace", projectRoot=ROOT, add=["play"], watches=watches)
    launched = wire.good("debug_launch", command=str(build_program("watched", "-O0")), projectRoot=ROOT)
    found = sorted(text for text in launched["warnings"] if text.startswith("Watch "))
    assert len(found) == 2
    assert found[-1].startswith("Watch 'nothing->name' was not added: Variable 'nothing' not found")
    assert found[0].startswith("Watch '1 +' was not added: ") and "SyntaxError" in found[0]
    ended(wire, launched["sessionId"])


def test_scripts_say_whose_times_they_are_part_of(wire: Wire, build_program: Build) -> None:
    wire.good("debug_trace", projectRoot=ROOT, add=["play"], watches={"add": [{"expr": "1 + 1", "label": "sum"}]})
    launched = wire.good("debug_launch", command=str(build_program("watched", "-O0")), projectRoot=ROOT)
    assert any(text.startswith("Watches in JavaScript (sum) take microseconds") for text in launched["warnings"])
    ended(wire, launched["sessionId"])


def test_a_running_session(wire: Wire, build_program: Build) -> None:
    command = str(build_program("watched", "-O0"))
    launched = wire.good("debug_launch", command=command, args=["loop"], projectRoot=ROOT)
    session_id = launched["sessionId"]
    watches = {"add": [{"variable": "gCounter", "on": ["step"]}, {"variable": "gNone"}]}
    answer = wire.good("debug_trace", sessionId=session_id, add=["step"], watches=watches, serializationDepth=1)
    assert answer["activeWatches"] == ["gCounter"]
    assert any("Variable 'gNone' not found in debug symbols" in text for text in answer["warnings"])

    def seen() -> dict[str, Any] | None:
        return next((event for event in calls(wire, session_id, "step") if event["eventType"] == "function_exit"), None)

    event = wait_until(seen, "a step")
    assert event is not None
    assert event["watchValues"]["gCounter"] == event["returnValue"]
    assert "WATCH_FAILED" in wire.bad("debug_trace", sessionId=session_id, watches={"add": [{"variable": "gNone"}]})
    assert wire.good("debug_trace", sessionId=session_id, watches={"remove": ["gCounter"]})["activeWatches"] == []
    wire.good("debug_stop", sessionId=session_id)


@pytest.mark.parametrize(
    ("watch", "text"),
    [
        ({"variable": "g", "expr": "1"}, "exactly one is needed"),
        ({"variable": "g", "type": "i32"}, "'watches.add[0].type' is not a parameter here"),
        ({"address": "0x10", "type": "i24"}, "it is not one of the values"),
        ({"variable": ""}, "it is too short"),
        ({"variable": "g" * 257}, "it has 257 characters"),
        ({"expr": "1", "on": ["@nonsense"]}, "INVALID_PATTERN"),
        ({"variable": "g", "label": ""}, "it is too short"),
    ],
)
def test_bad_ones(wire: Wire, watch: dict[str, Any], text: str) -> None:
    assert text in wire.bad("debug_trace", projectRoot=ROOT, watches={"add": [watch]})


@pytest.mark.parametrize(("count", "is_good"), [(31, True), (32, True), (33, False)])
def test_32_watches_at_most(wire: Wire, count: int, is_good: bool) -> None:
    watches = {"add": [{"variable": "gTempo", "label": str(number)} for number in range(count)]}
    if is_good:
        assert len(wire.good("debug_trace", projectRoot=ROOT, watches=watches)["activeWatches"]) == count
    else:
        assert "watches.add" in wire.bad("debug_trace", projectRoot=ROOT, watches=watches)


@pytest.mark.parametrize(("depth", "is_good"), [(0, False), (1, True), (10, True), (11, False)])
def test_depths(wire: Wire, depth: int, is_good: bool) -> None:
    if is_good:
        wire.good("debug_trace", projectRoot=ROOT, add=["play"], serializationDepth=depth)
    else:
        assert "'serializationDepth' is" in wire.bad(
            "debug_trace", projectRoot=ROOT, add=["play"], serializationDepth=depth
        )
