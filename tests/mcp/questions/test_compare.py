"""Two runs, or two intervals, side by side. The program is bins: the same in every run but for its limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS

Run = Callable[..., str]
COUNT = 100
PLENTY = 100_000
BYTES = 8_000


@pytest.fixture
def run(wire: Wire, build_program: Callable[..., Path]) -> Run:
    """The session of a run that has ended."""
    program = build_program("bins", "-O1", "-pthread")

    def ran(limit: int, count: int = COUNT, **more: Any) -> str:
        more = {"trace": ["bins::*"], "sampling": "off", "projectRoot": str(PROGRAMS)} | more
        answer = wire.good(
            "debug_launch",
            command=str(program),
            args=[str(limit), str(count)],
            wait={"until": "exit", "timeoutMs": 40_000},
            **more,
        )
        assert answer["ended"] == {"exitCode": 0, "reason": "exit"}
        return str(answer["sessionId"])

    return ran


def compared(wire: Wire, here: str, there: str, **more: Any) -> dict[str, Any]:
    found = wire.good("debug_query", sessionId=here, compare=there, **more)
    assert len(orjson.dumps(found)) <= BYTES
    return found


def test_two_equal_runs_do_not_differ(wire: Wire, run: Run) -> None:
    found = compared(wire, run(PLENTY), run(PLENTY))
    assert found["calls"] == [] and found["firstDivergence"] is None and found["values"] == []
    assert found["comparedThreads"] == 2
    assert found["equalEvents"] == 2 * (1 + 3 * COUNT) + 2 * COUNT
    assert found["sameCounts"] == 5  # reject is not called


def test_the_first_call_that_differs(wire: Wire, run: Run) -> None:
    """Weights are 1 + 7n mod 10, twice: 110 for each ten items. With 1,000 the 91st item is the first that finds no
    room; with 500 the 46th or so."""
    plenty, tight = run(PLENTY), run(500)
    used, first = 0, 0
    for number in range(COUNT):
        weight = 2 * (1 + number * 7 % 10)
        if used + weight > 500:
            first = number
            break
        used += weight
    found = compared(wire, tight, plenty)
    rejected = next(one for one in found["calls"] if one["function"] == "bins::reject")
    assert rejected["there"] == 0 and rejected["here"] > 0
    divergence = found["firstDivergence"]
    assert divergence["equalBefore"] == 1 + 6 * first + 4
    assert divergence["within"] == ["bins::fill"]
    assert (divergence["here"]["function"], divergence["there"]["function"]) == ("bins::reject", "bins::put")
    assert divergence["here"]["arguments"][0]["value"]["to"]["number"] == first
    assert [event["function"] for event in divergence["before"]] == ["bins::weigh", "bins::fits", "bins::fits"]
    values = {(one["function"], one["what"]): one for one in found["values"]}
    assert values.keys() == {("bins::fits", "limit"), ("bins::fill", "limit"), ("bins::fits", "$return")}
    limit = values["bins::fits", "limit"]
    assert (limit["here"]["value"], limit["there"]["value"]) == (500, PLENTY)
    assert limit["differs"] == limit["of"] == first + 1
    result = values["bins::fits", "$return"]
    assert (result["here"]["value"], result["there"]["value"], result["differs"], result["of"]) == (
        False,
        True,
        1,
        first + 1,
    )


def test_one_run_that_ends_earlier(wire: Wire, run: Run) -> None:
    long, short = run(PLENTY), run(PLENTY, COUNT // 2)
    found = compared(wire, short, long)
    assert {one["function"]: (one["here"], one["there"]) for one in found["calls"]} == {
        f"bins::{name}": (COUNT // 2, COUNT) for name in ("weigh", "fits", "put", "tick")
    }
    ends = [found["firstDivergence"], *found["otherDivergences"]]
    assert {one["thread"].split()[0] for one in ends} == {"bins", "clock"}
    clock = next(one for one in ends if one["thread"].startswith("clock"))
    assert clock["here"] == "no more events" and clock["equalBefore"] == COUNT


def test_two_intervals_of_one_session(wire: Wire, run: Run) -> None:
    session = run(500)
    rejected = wire.good("debug_query", sessionId=session, function={"equals": "bins::reject"}, limit=1)["events"][0]
    only = {
        "threadId": wire.good("debug_query", sessionId=session, function={"equals": "bins::fill"}, verbose=True)[
            "events"
        ][0]["threadId"]
    }
    found = compared(wire, session, session, to=rejected["id"], compareFrom=rejected["id"], **only)
    calls = {one["function"]: (one["here"], one["there"]) for one in found["calls"]}
    assert calls["bins::put"][0] > calls["bins::put"][1]
    assert calls["bins::reject"][0] == 1 < calls["bins::reject"][1]
    text = wire.bad("debug_query", sessionId=session, compare=session)
    assert "the same events" in text and "compareFrom" in text


def test_what_is_traced_on_one_side_only_is_said_and_not_compared(wire: Wire, run: Run) -> None:
    found = compared(wire, run(PLENTY), run(PLENTY, trace=["bins::fill", "bins::put"]))
    assert found["tracedOnlyHere"] == ["bins::fits", "bins::reject", "bins::tick", "bins::weigh"]
    assert found["firstDivergence"] is None
    assert found["equalEvents"] == 2 + 2 * COUNT


def test_events_that_are_missing_are_no_difference(wire: Wire, run: Run, tmp_path: Path) -> None:
    (tmp_path / "project" / ".strobe").mkdir(parents=True)
    (tmp_path / "project" / ".strobe" / "settings.json").write_text('{"events.maxPerSession": 1000}')
    whole, evicted = run(PLENTY, 4 * COUNT), run(PLENTY, 50 * COUNT, projectRoot=str(tmp_path / "project"))
    found = compared(wire, whole, evicted)
    assert f"{evicted}: " in found["note"] and "were evicted" in found["note"]
    assert "firstDivergence" not in found
    assert {(one["here"], one["there"]) for one in found["calls"]} == {(4 * COUNT, 50 * COUNT)}


def test_counts_by_two_expressions(wire: Wire, run: Run) -> None:
    session = run(500)
    fits = {"equals": "bins::fits"}
    found = wire.good(
        "debug_query", sessionId=session, function=fits, eventType="function_exit", groupBy=["return", "weight"]
    )
    assert {one["value"].keys() == {"$return", "weight"} for one in found["groups"]} == {True}
    assert sum(one["count"] for one in found["groups"]) == COUNT
    one = wire.good("debug_query", sessionId=session, function=fits, eventType="function_exit", groupBy="$return")
    counts = {group["value"]: group["count"] for group in one["groups"]}
    by_weight = {group["value"]["weight"] for group in found["groups"] if group["value"]["$return"]}
    assert counts[True] + counts[False] == COUNT and by_weight == set(range(2, 22, 2))
    assert all(0 < group["p99Ns"] <= group["maxNs"] <= group["totalNs"] for group in one["groups"])
    text = wire.bad("debug_query", sessionId=session, groupBy="weight,, limit")
    assert "an expression is missing" in text


@pytest.mark.parametrize("tokens", [500, 1_000, 2_000, 8_000])
def test_an_answer_has_the_size_that_is_asked_for(wire: Wire, run: Run, tokens: int) -> None:
    session = run(PLENTY, 500)
    found = wire.good("debug_query", sessionId=session, limit=500, verbose=True, maxTokens=tokens)
    size = len(orjson.dumps(found))
    assert (tokens < 1_000 or 2 * tokens < size) and size <= 4 * tokens
    assert found["truncated"] and found["nextOffset"] == len(found["events"])
