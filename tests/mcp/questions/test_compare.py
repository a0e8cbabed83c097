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


@pytest.fixture
def tills(wire: Wire, build_program: Callable[..., Path]) -> Run:
    """The session of a run of tills that has ended, or waits."""
    program = build_program("tills", "-O1", "-pthread")

    def ran(*words: str, **more: Any) -> str:
        until = {"until": "output", "match": "posted"} if words[:1] == ("goes-on",) else {"until": "exit"}
        more = {"trace": ["tills::*"], "sampling": "off", "projectRoot": str(PROGRAMS)} | more
        answer = wire.good(
            "debug_launch", command=str(program), args=list(words), wait=until | {"timeoutMs": 40_000}, **more
        )
        return str(answer["sessionId"])

    return ran


def test_a_text_that_looks_like_an_address_is_compared(wire: Wire, tills: Run) -> None:
    found = compared(wire, tills("", "1"), tills("code", "1"))
    values = {(one["function"], one["what"]): one for one in found["values"]}
    assert values.keys() == {("tills::charge", name) for name in ("code", "$return")} | {("tills::post", "$return")}
    code = values["tills::charge", "code"]
    assert (code["here"]["value"], code["there"]["value"], code["differs"]) == ("0x10", "0x1234", 1)


def test_depth_is_that_among_what_both_sides_trace(wire: Wire, tills: Run) -> None:
    every, inner = tills("", "1"), tills("", "1", trace=["tills::post", "tills::charge"])
    found = compared(wire, every, inner)
    assert found["tracedOnlyHere"] == ["tills::audit", "tills::work"]
    assert found["calls"] == [] and found["firstDivergence"] is None
    assert found["equalEvents"] == 40
    differs = compared(wire, tills("audits", "1"), inner)  # of what is traced there nothing does
    assert differs["firstDivergence"] is None


def test_threads_are_paired_by_their_names(wire: Wire, tills: Run) -> None:
    found = compared(wire, tills("", "3"), tills("", "3", "0"))
    assert (found["comparedThreads"], found["firstDivergence"]) == (3, None)
    assert "note" not in found
    fewer = compared(wire, tills("", "3"), tills("", "2"))
    assert [name.split()[0] for name in fewer["threadsOnlyHere"]] == ["till-2"]


def test_conditions_hold_for_what_is_compared(wire: Wire, tills: Run) -> None:
    here, there = tills("", "1"), tills("audits", "1")
    assert compared(wire, here, there)["firstDivergence"]["there"]["function"] == "tills::audit"
    found = compared(wire, here, there, where="number < 5")
    assert (found["events"], found["firstDivergence"], found["equalEvents"]) == ([], None, 5)
    found = compared(wire, here, there, where="number == 5")
    assert found["events"] == [{"function": "tills::audit", "here": 0, "there": 1}]
    found = compared(wire, here, there, inside={"function": "tills::post", "where": "number == 4"})
    assert (found["firstDivergence"], found["equalEvents"]) == (None, 2)
    found = compared(wire, here, there, inside={"function": "tills::post", "where": "number == 5"})
    assert found["firstDivergence"]["there"]["function"] == "tills::audit"


def test_where_nothing_is_compared_that_is_said(wire: Wire, tills: Run) -> None:
    here, there = tills("", "1"), tills("", "1")
    for asked in ({"threadId": 1}, {"where": "number == 99"}, {"timeFrom": 0, "timeTo": 1}):
        found = compared(wire, here, there, **asked)
        assert (found["firstDivergence"], found["equalEvents"]) == (None, 0)
        assert f"{here}: " in found["note"] and "No event was compared" in found["note"]


def test_a_program_that_runs_on_may_have_more_events(wire: Wire, tills: Run) -> None:
    ended, running = tills("audits", "1"), tills("goes-on", "1")
    last = wire.good("debug_query", sessionId=running, function={"equals": "tills::work"}, order="desc", limit=1)
    found = compared(wire, ended, running, compareTo=last["events"][0]["id"])
    assert found["firstDivergence"]["here"]["function"] == "tills::audit"
    first = wire.good("debug_query", sessionId=running, function={"equals": "tills::post"}, limit=5)["events"][4]["id"]
    found = compared(wire, running, ended, to=first)
    assert found["firstDivergence"]["here"] == "no more events so far"
    wire.good("debug_stop", sessionId=running)


def test_calls_that_have_not_ended_are_not_slower(wire: Wire, tills: Run) -> None:
    ended, running = (tills(how, "8", trace=["main"]) for how in ("", "goes-on"))
    (main,) = wire.good("debug_query", sessionId=ended, groupBy="function")["groups"]
    assert main["totalNs"] > 100_000  # else it is never said
    assert "slower" not in compared(wire, ended, running)
    wire.good("debug_stop", sessionId=running)


def test_what_a_condition_left_out_and_what_came_later_is_said(wire: Wire, tills: Run) -> None:
    here, there = tills("", "1"), tills("", "1", where="number > 5")
    assert f"{there}: conditions of traces or probes did not hold" in compared(wire, here, there)["note"]
    late = tills("goes-on", "1", trace=["tills::post"])
    wire.good("debug_trace", sessionId=late, add=["tills::work"])
    found = compared(wire, here, late)
    assert f"{late}: not recorded for the whole time: tills::work." in found["note"]
    wire.good("debug_stop", sessionId=late)


def test_what_says_nothing_here_is_refused(wire: Wire, tills: Run) -> None:
    here, there = tills("", "1"), tills("", "1")
    event = wire.good("debug_query", sessionId=here, limit=1)["events"][0]["id"]
    for wrong in ({"groupBy": "function"}, {"last": 5}, {"select": ["number"]}, {"format": "tree"}):
        text = wire.bad("debug_query", sessionId=here, compare=there, **wrong)
        assert f"'{next(iter(wrong))}' is given" in text
    assert "'compareFrom' is " in wire.bad("debug_query", sessionId=here, compare=there, compareFrom=event)
    assert "'compareTo' is 5 ms" in wire.bad("debug_query", sessionId=here, compare=there, compareTo="5 ms")
    assert "nothing is compared" in wire.bad("debug_query", sessionId=here, compareFrom=event)


def test_an_interval_of_which_events_were_evicted_is_no_sequence(wire: Wire, run: Run, tmp_path: Path) -> None:
    (tmp_path / "project" / ".strobe").mkdir(parents=True)
    (tmp_path / "project" / ".strobe" / "settings.json").write_text('{"events.maxPerSession": 1000}')
    evicted = run(PLENTY, 50 * COUNT, projectRoot=str(tmp_path / "project"))
    found = compared(wire, evicted, evicted, timeFrom=0, compareFrom="1")
    assert "were evicted, up to " in found["note"] and "firstDivergence" not in found
    kept = wire.good("debug_query", sessionId=evicted, last=40, maxTokens=12_000)["events"]
    found = compared(wire, evicted, evicted, **{"from": kept[0]["id"]}, compareFrom=kept[20]["id"])
    assert found["firstDivergence"] is not None


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
