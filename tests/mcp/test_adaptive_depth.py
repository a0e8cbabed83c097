"""How deep arguments are recorded where nobody has asked for a depth. The program is large."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS

import strobe

ROOT = str(PROGRAMS)
TIMES, FIRST, THREADS = 300, 100, 2
Build = Callable[..., Path]


@pytest.fixture
def program(build_program: Build) -> Path:
    return build_program("large", "-g", "-O1", "-pthread")


def launched(wire: Wire, program: Path, **more: Any) -> dict[str, Any]:
    asked = {
        "command": str(program),
        "args": [str(TIMES)],
        "projectRoot": ROOT,
        "trace": ["use", "get"],
        "sampling": "off",
        "wait": {"until": "exit", "timeoutMs": 40_000},
    }
    return wire.good("debug_launch", **(asked | more))


def having(wire: Wire, answer: dict[str, Any], expression: str, **more: Any) -> dict[Any, int]:
    """How many events have which value of it."""
    found = wire.good("debug_query", sessionId=answer["sessionId"], groupBy=expression, **more)
    return {group["value"]: group["count"] for group in found["groups"]}


def test_large_structures_are_recorded_at_the_first_calls_of_each_thread(wire: Wire, program: Path) -> None:
    answer = launched(wire, program)
    (said,) = [text for text in answer["warnings"] if "first 100 calls" in text]
    assert "use" in said and "get" in said and "Ask for a depth" in said
    assert {group["function"]: group["count"] for group in answer["totals"]} == {"use": 600, "get": 600}
    use = {"function": {"equals": "use"}, "eventType": "function_enter"}
    assert having(wire, answer, "has(at->used)", **use) == {True: THREADS * FIRST, False: THREADS * (TIMES - FIRST)}
    assert having(wire, answer, "of->b", **use) == {2: THREADS * TIMES}
    assert having(wire, answer, "of->a == (number ? number - 1 : 1)", **use) == {True: THREADS * TIMES}
    assert having(wire, answer, "has($return->used)", function={"equals": "get"}, eventType="function_exit") == {
        True: THREADS * FIRST,
        False: THREADS * (TIMES - FIRST),
    }
    asked = wire.good("debug_query", sessionId=answer["sessionId"], where="at->used == 250", **use)
    assert (asked["totalCount"], asked["undecided"]) == (0, THREADS * (TIMES - FIRST))
    assert "trace with a depth" in asked["undecidedWhy"]


def test_who_asks_for_a_depth_has_it_at_each_call(wire: Wire, program: Path) -> None:
    answer = launched(wire, program, depth=1)
    assert not any("first 100 calls" in text for text in answer.get("warnings", ()))
    use = {"function": {"equals": "use"}, "eventType": "function_enter"}
    assert having(wire, answer, "has(at->used)", **use) == {True: THREADS * TIMES}
    with strobe.launch([str(program), str(TIMES)], trace=["use"], depth=1, sampling="off") as run:
        run.wait(timeout=40)
        calls = run.calls("use")
        assert len(calls) == THREADS * TIMES
        found: list[Any] = [call.arguments["at"] for call in calls]
        assert all(at.parts is not None for at in found)


def test_calls_that_a_condition_chooses_are_recorded_as_the_first_ones(wire: Wire, program: Path) -> None:
    answer = launched(wire, program, where="number > 200")
    use = {"function": {"equals": "use"}, "eventType": "function_enter"}
    assert having(wire, answer, "has(at->used)", **use) == {True: THREADS * (TIMES - 201)}


def test_events_that_are_large_are_told_before_and_after(wire: Wire, program: Path, tmp_path: Path) -> None:
    (tmp_path / ".strobe").mkdir()
    (tmp_path / ".strobe" / "settings.json").write_text('{"events.maxPerSession": 4000}')
    answer = launched(wire, program, projectRoot=str(tmp_path), depth=3)
    (said,) = [text for text in answer["warnings"] if "an event may take so many bytes" in text]
    forecast = int(said.partition("bytes: ")[2].split()[1].rstrip(",.").replace(",", ""))
    assert "use" in said
    page = wire.good("debug_query", sessionId=answer["sessionId"])
    assert page["eventsDropped"] > 0
    size = int(page["eventsDroppedFor"].partition("takes ")[2].partition(" bytes")[0].replace(",", ""))
    # calls give what their pointers lead to, returns the result alone
    assert 100 < size <= forecast + 64
