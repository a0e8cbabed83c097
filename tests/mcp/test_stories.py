"""Five more mistakes, each explained in six calls at most and 16 KB of answers in all: no source is read before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.asked import Asked
from support.mcp_wire import Wire
from support.programs import line_of


@pytest.fixture(params=["-O0", "-O1"])
def asked(wire: Wire, build_program: Callable[..., Path], request: pytest.FixtureRequest) -> Asked:
    return Asked(wire, build_program("more_bugs", request.param, "-pthread"), 6, 16 << 10)


def test_a_crash_far_from_its_cause(asked: Asked) -> None:
    """The first answer says where and why; the probe, that the list has got one node shorter each time."""
    crash = asked.launch("crash", trace=["@usercode"])["crash"]
    assert (crash["function"], crash["reason"], crash["stack"][1:]) == (
        "take_last",
        "read of 0x8",
        [f"crash more_bugs.cpp:{line_of('more_bugs.cpp', 'Node* last = take_last')}", crash["stack"][2]],
    )
    assert crash["variables"][0]["values"]["before"] == crash["variables"][0]["values"]["head"]
    shown = asked.launch(
        "crash",
        probes=[{"at": "take_last", "show": ["head->number", "count(n in chain(head, ->next): n->number > 0)"]}],
    )
    counts = [one["values"]["count(n in chain(head, ->next): n->number > 0)"] for one in shown["probeEvents"]["first"]]
    last = [
        one["values"]["count(n in chain(head, ->next): n->number > 0)"] for one in shown["probeEvents"].get("last", [])
    ]
    assert (counts + last)[-1] == 1
    assert (counts + last)[0] == 5


def test_one_call_of_thousands_is_slow(asked: Asked) -> None:
    """What is odd stands in the first answer: the one name that is not found takes the time of 4,096."""
    answer = asked.launch("slow", trace=["has_name", "hash_of"])
    (odd,) = (one for one in answer["odd"] if one["what"] == "has_name: $return == 0")
    assert odd["calls"] == "1 of 3000"
    assert 'name="guest"' in odd["first"]
    shown = asked.query(function={"equals": "has_name"}, where="$return == 0", select=["name", "$duration"])
    (event,) = shown["events"]
    assert event["values"]["name"] == "guest"
    groups = asked.query(function={"equals": "has_name"}, groupBy="$return")["groups"]
    times = {one["value"]: one["totalNs"] / one["count"] for one in groups}
    assert times[False] > 10 * times[True]


def test_a_branch_falls_through(asked: Asked) -> None:
    asked.launch("branch", trace=["fee_of"])
    groups = asked.query(groupBy="kind, $return", where="kind != CARD")["groups"]
    values = [(one["value"]["kind"], one["value"]["$return"], one["count"]) for one in groups]
    assert values == [("CASH(0)", 0, 134), ("VOUCHER(2)", 25, 133)]
    probe = {"at": "fee_of:return", "where": "$return == 25", "show": ["kind", "cents"], "limit": 1}
    answer = asked.launch("branch", probes=[probe])
    assert answer["probeTotals"][0]["held"] == 133
    assert answer["probeEvents"]["first"][0]["values"] == {"kind": "VOUCHER(2)", "cents": 102}


def test_an_error_is_swallowed(asked: Asked) -> None:
    """The one failed write of 1,600 is odd; the call around it returns 0."""
    answer = asked.launch("swallowed", trace=["save", "write_block", "close_file"])
    (odd,) = (one for one in answer["odd"] if one["what"].startswith("write_block: $return"))
    assert odd["calls"] == "1 of 1600"
    assert odd["first"].endswith(" = -28")
    around = asked.query(around=odd["event"])["thread"]["after"]
    after = [(one["function"], one.get("returnValue")) for one in around if one["eventType"] == "function_exit"]
    assert after[:2] == [("close_file", 0), ("save", 0)]
    saved = asked.query(function={"equals": "save"}, where="number == 77 && $return == 0")["events"]
    assert [one["eventType"] for one in saved] == ["function_exit"]


def test_two_threads_wait_for_each_other(asked: Asked) -> None:
    """Each asks for the lock that the other has: arguments say who holds it."""
    wait = {"until": "time", "timeoutMs": 2000}
    answer = asked.launch("deadlock", trace=["hold", "let_go"], wait=wait)
    assert answer["ended"]["stillRunning"] is True
    assert answer["notCalled"]["functions"] == ["let_go"]
    events = asked.query(function={"equals": "hold"}, eventType="function_enter", verbose=True)["events"]
    waits = [one for one in events if "locked by" in one["arguments"][0]["value"]["to"]["lock"]]
    by_name = {one["threadName"]: one for one in waits}
    threads = {name: one["threadId"] for name, one in by_name.items()}
    wanted = {name: one["arguments"][0]["value"]["to"] for name, one in by_name.items()}
    assert wanted["to-right"]["lock"] == f"locked by thread {threads['to-left']}"
    assert wanted["to-left"]["lock"] == f"locked by thread {threads['to-right']}"
    assert (wanted["to-right"]["name"], wanted["to-left"]["name"]) == ("right", "left")
    asked.ask("debug_stop", sessionId=asked.session)
