"""`wait`: one call that launches, waits and answers what happened. The program is ledger."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS, line_of
from support.wait import wait_until

ROOT = str(PROGRAMS)
ANSWER_BYTES = 8_000
Build = Callable[..., Path]


@pytest.fixture
def ledger(build_program: Build) -> Path:
    return build_program("ledger", "-O1")


def launched(wire: Wire, program: Path, *args: str, **more: Any) -> dict[str, Any]:
    answer = wire.good("debug_launch", command=str(program), args=list(args), projectRoot=ROOT, **more)
    if "wait" in more:
        assert len(orjson.dumps(answer)) <= ANSWER_BYTES
    return answer


def tell(answer: dict[str, Any]) -> None:
    os.kill(answer["pid"], signal.SIGUSR1)


def counts(answer: dict[str, Any]) -> dict[str, int]:
    return {group["function"]: group["count"] for group in answer["totals"]}


def test_what_may_have_been_called_is_not_said_not_to_have_been(wire: Wire, build_program: Build) -> None:
    """Callers of `second` call `first`, which has the same code."""
    program = build_program("folded_jump", "-O2", compiler="gcc")
    answer = launched(wire, program, trace=["first", "second"], wait={"until": "exit"})
    assert counts(answer) == {"first": 3} and "notCalled" not in answer
    assert answer["noCallSeen"].items() >= {"count": 1, "functions": ["second"]}.items()


def test_one_call_launches_waits_and_answers(wire: Wire, ledger: Path) -> None:
    watches = [{"variable": "shop::booked"}]
    answer = launched(wire, ledger, "100", trace=["shop::*"], watches=watches, sampling="off", wait={"until": "exit"})
    assert answer["ended"] == {"exitCode": 3, "reason": "exit"}
    assert answer["output"] == [{"stdout": "open"}, {"stdout": "rate 4.0"}, {"stdout": "booked 300"}]
    assert counts(answer) == {"shop::allowed": 300, "shop::book": 300, "shop::till": 3, "shop::rate": 1}
    assert answer["notCalled"] == {"count": 1, "functions": ["shop::fail"]}
    first, last = answer["events"]["first"][0], answer["events"]["last"][-1]
    assert (first["function"], first["threadName"], first["watchValues"]) == (
        "shop::till",
        first["threadName"],
        {"shop::booked": 0},
    )
    assert (last["function"], last["eventType"], last["watchValues"]) == (
        "shop::rate",
        "function_exit",
        {"shop::booked": 300},
    )
    assert (last["returnValue"], answer["loss"]) == (4.0, {"eventsDropped": 0})
    nothing = wire.good("debug_query", sessionId=answer["sessionId"], afterEventId=answer["cursor"])
    assert (nothing["events"], nothing["ended"]) == ([], {"exitCode": 3})


def test_a_crash_is_told_with_the_calls_that_were_open(wire: Wire, ledger: Path) -> None:
    answer = launched(wire, ledger, "5", "crash", trace=["main", "shop::*"], wait={"until": "exit"})
    assert answer["ended"] == {"signal": "SIGABRT", "reason": "signal"}
    crash = answer["crash"]
    assert (crash["threadName"], crash["signal"], crash["reason"]) == ("ledger", "SIGABRT", "abort was called")
    assert [one["call"].partition("(")[0] for one in crash["calls"]] == ["shop::fail", "main"]
    assert crash["calls"][0]["call"] == 'shop::fail(why="drawer is stuck")'
    source = Path(crash["file"]).read_text().splitlines()
    assert (crash["function"], "abort()" in source[crash["line"] - 1]) == ("shop::fail", True)
    told = wire.good("debug_query", sessionId=answer["sessionId"], eventType="crash")
    assert [event["values"]["pc"] for event in told["events"]] == [crash["pc"]]
    assert told["ended"] == {"signal": "SIGABRT", "crash": told["events"][0]["text"]}
    assert {"stderr": "failed: drawer is stuck"} in answer["output"]


def test_output_ends_the_wait_and_the_cursor_goes_on(wire: Wire, ledger: Path) -> None:
    wait = {"until": "output", "match": "booked", "timeoutMs": 40_000}
    answer = launched(wire, ledger, "50", "serve", trace=["shop::book"], wait=wait)
    assert answer["ended"] == {"stillRunning": True, "reason": "output"}
    assert (answer["event"]["text"], answer["event"]["id"]) == ("booked 150\n", answer["cursor"])
    own = answer["sessionId"]
    calls = {"sessionId": own, "eventType": "function_enter", "verbose": True, "limit": 3}
    later = wait_until(lambda: wire.good("debug_query", **calls, afterEventId=answer["cursor"])["events"])
    assert [argument["value"] for argument in later[0]["arguments"]][1:] == [7, "milk"]


def test_an_event_ends_it_also_on_a_running_session(wire: Wire, ledger: Path) -> None:
    own = launched(wire, ledger, "1", "serve")["sessionId"]
    wait = {"until": "event", "match": "shop::allowed", "timeoutMs": 40_000}
    answer = wire.good("debug_trace", sessionId=own, add=["shop::*"], wait=wait)
    assert answer["ended"] == {"stillRunning": True, "reason": "event"}
    assert answer["event"]["function"] == "shop::allowed"
    assert answer["event"]["arguments"] == {"kind": "SALE(1)", "cents": 7}
    assert (answer["mode"], answer["hookedFunctions"]) == ("runtime", 5)
    again = wire.good("debug_trace", sessionId=own, wait=wait)
    assert again["event"]["timestampNs"] > answer["event"]["timestampNs"]


@pytest.mark.parametrize(("until", "reason"), [("time", "time"), ("output", "time-out"), ("exit", "time-out")])
def test_time_ends_it(wire: Wire, ledger: Path, until: str, reason: str) -> None:
    match = {"match": "never"} if until == "output" else {}
    answer = launched(wire, ledger, "1", "until", wait={"until": until, "timeoutMs": 300, **match})
    assert answer["ended"] == {"stillRunning": True, "reason": reason}
    assert answer["waitedMs"] >= 300


@pytest.mark.parametrize("trace", [[], ["take"]])
@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_where_a_program_hangs(wire: Wire, build_program: Build, optimized: str, trace: list[str]) -> None:
    """The stacks of its threads, each once, without those of Strobe's own. One that a traced call cuts says so."""
    program = build_program("stuck", "-g", optimized, "-pthread")
    begun = {"until": "output", "match": "begun", "timeoutMs": 40_000}
    own = launched(wire, program, trace=trace, wait=begun)["sessionId"]

    def stacks() -> list[dict[str, Any]]:
        answer = wire.good("debug_trace", sessionId=own, wait={"until": "exit", "timeoutMs": 200})
        assert answer["ended"] == {"stillRunning": True, "reason": "time-out"}
        found = sorted(answer.get("threads", ()), key=lambda one: len(one["waiting"]))
        return found if [len(one["waiting"]) for one in found] == [1, 2] else []

    main, workers = wait_until(stacks)
    assert {name.split()[0] for one in (main, workers) for name in one["waiting"]} == {"stuck"}
    joins, waits, asks = (line_of("stuck.c", marker) for marker in ("// joins", "// waits", "// asks"))
    assert main["stack"][1:] == [f"main stuck.c:{joins}"]
    callers = "<a traced call: its events have its callers>" if trace else f"work stuck.c:{asks}"
    assert workers["stack"][1:] == [f"take stuck.c:{waits}", callers]


@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_where_a_program_runs_for_ever(wire: Wire, build_program: Build, optimized: str) -> None:
    """The stack of a thread that runs, though no call is recorded; it runs on, and one that waits is there as well."""
    program = build_program("spins", "-g", optimized, "-pthread")
    spins, asks = (line_of("spins.c", marker) for marker in ("/* spins", "/* asks"))
    alone = launched(wire, program, wait={"until": "exit", "timeoutMs": 1500})
    (main,) = alone["threads"]
    assert main["running"] == [f"spins {alone['pid']}"]
    assert main["stack"][0].startswith("search spins.c:") and abs(int(main["stack"][0].split(":")[1]) - spins) <= 1
    assert main["stack"][1] == f"look spins.c:{asks}" and main["stack"][2].startswith("main spins.c:")
    again = wire.good("debug_trace", sessionId=alone["sessionId"], wait={"until": "time", "timeoutMs": 300})
    assert "threads" not in again  # as something was recorded: its output
    beside = launched(wire, program, "beside", wait={"until": "exit", "timeoutMs": 1500})
    running, waiting = sorted(beside["threads"], key=lambda one: "waiting" in one)
    assert [frame.split(" ")[0] for frame in running["stack"]] == ["search", "look", "work"]
    assert waiting["waiting"] == [f"spins {beside['pid']}"]
    assert waiting["stack"][-1] == f"main spins.c:{line_of('spins.c', '/* joins')}"


def test_where_a_thread_is_that_calls_traced_functions_all_the_time(wire: Wire, build_program: Build) -> None:
    """Mostly it is in the recorder's code."""
    program = build_program("spins")
    for _ in range(4):
        answer = launched(wire, program, "calls", trace=["step"], wait={"until": "exit", "timeoutMs": 700})
        (main,) = answer["threads"]
        assert any(frame.startswith(("turn ", "step ", "<in Strobe's own code")) for frame in main["stack"]), main
        wire.good("debug_stop", sessionId=answer["sessionId"])


def test_attached_to_a_program_that_runs_for_ever(wire: Wire, build_program: Build) -> None:
    """Also after a wait for a time in which nothing was recorded. The program runs on where it was."""
    program = build_program("spins", "-g", "-O1", "-pthread")
    with subprocess.Popen([program], stdout=subprocess.DEVNULL) as process:
        try:
            answer = launched(wire, program, pid=process.pid, wait={"until": "time", "timeoutMs": 300})
            (main,) = answer["threads"]
            assert [frame.split(" ")[0] for frame in main["stack"]] == ["search", "look", "main"]
            wire.good("debug_stop", sessionId=answer["sessionId"])
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize("until", [{"until": "exit"}, {"until": "output", "match": "never printed"}])
def test_of_a_session_that_another_client_stops_that_is_the_reason(
    wire: Wire, strobe_home: Path, build_program: Build, until: dict[str, str]
) -> None:
    program = build_program("stuck", "-g", "-pthread")
    asked = {"command": str(program), "projectRoot": ROOT, "wait": {**until, "timeoutMs": 40_000}}
    with Wire.to(strobe_home) as other:
        number = wire.post("tools/call", {"name": "debug_launch", "arguments": asked})

        def has_begun() -> str:
            for one in other.good("debug_list_sessions")["sessions"]:
                if other.good("debug_query", sessionId=one["sessionId"], eventType="stdout")["events"]:
                    return str(one["sessionId"])
            return ""

        other.good("debug_stop", sessionId=wait_until(has_begun, "the program to begin", 30), retain=True)
        answer = wire.receive()
    assert answer["id"] == number
    assert answer["result"]["structuredContent"]["ended"] == {"reason": "the session was stopped"}


def test_the_end_of_the_program_ends_every_wait(wire: Wire, ledger: Path) -> None:
    for until in ("event", "output", "time"):
        match = {} if until == "time" else {"match": "shop::fail" if until == "event" else "never"}
        wait = {"until": until, "timeoutMs": 45_000, **match}
        answer = launched(wire, ledger, "1", trace=["shop::*"], wait=wait)
        assert answer["ended"] == {"exitCode": 3, "reason": "exit"}
        assert answer["waitedMs"] < 40_000


def test_a_pattern_that_matches_nothing_refuses_before_anything_runs(wire: Wire, ledger: Path, tmp_path: Path) -> None:
    for more, near in (
        ({"trace": ["shop::bok"]}, "shop::book"),
        ({"watches": [{"variable": "shop::boked"}], "trace": ["shop::*"]}, "shop::booked"),
        ({"trace": ["shop::*"], "wait": {"until": "event", "match": "shop::alowed"}}, "shop::allowed"),
    ):
        text = wire.bad("debug_launch", command=str(ledger), projectRoot=ROOT, **more)
        assert near in text, text
    assert wire.good("debug_list_sessions")["sessions"] == []
    text = wire.bad("debug_launch", command=str(ledger), projectRoot=ROOT, trace=["shop::bok"])
    assert "anyway: true" in text
    more = {"trace": ["shop::bok"], "watches": [{"variable": "shop::boked"}], "anyway": True}
    answer = launched(wire, ledger, "1", wait={"until": "exit"}, **more)
    assert answer["ended"] == {"exitCode": 3, "reason": "exit"}
    assert any("shop::boked" in text for text in answer["warnings"])
    assert "No function matches 'shop::bok'" in answer["status"]


def test_what_was_staged_stays_for_the_next_launches(wire: Wire, ledger: Path) -> None:
    wire.good("debug_trace", projectRoot=ROOT, add=["shop::book"])
    for _ in range(2):
        answer = launched(wire, ledger, "4", trace=["shop::rate"], wait={"until": "exit"})
        assert answer["pendingPatternsApplied"] == ["shop::book"]
        assert counts(answer) == {"shop::book": 12, "shop::rate": 1}
    assert wire.good("debug_trace", projectRoot=ROOT, remove=["shop::book"])["activePatterns"] == []
    assert "totals" not in launched(wire, ledger, "1", wait={"until": "exit"})


def test_a_wait_holds_up_no_other_client_and_ends_when_it_is_cancelled(
    wire: Wire, strobe_home: Path, ledger: Path
) -> None:
    own = launched(wire, ledger, "1", "until")["sessionId"]
    wait = {"until": "exit", "timeoutMs": 45_000}
    asked = {"name": "debug_trace", "arguments": {"sessionId": own, "wait": wait}}
    waiting = [wire.post("tools/call", asked) for _ in range(60)]
    with Wire.to(strobe_home) as other:
        assert wait_until(lambda: other.good("debug_list_sessions")["sessions"])[0]["status"] == "running"
        for number in waiting:
            wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        # all are gone before their time: so many more find room
        began = time.monotonic()
        more = {"sessionId": own, "wait": {"until": "time", "timeoutMs": 100}}

        def all_answer() -> bool:
            numbers = [other.post("tools/call", {"name": "debug_trace", "arguments": more}) for _ in range(60)]
            refused = [other.receive()["result"]["isError"] for _ in numbers]
            return not any(refused)

        wait_until(all_answer, "room for calls", 30)
        assert time.monotonic() - began < 40


@pytest.mark.parametrize("value", [True, 1.0, [1], "1"])
def test_what_is_no_id_of_a_call_cancels_none(wire: Wire, strobe_home: Path, ledger: Path, value: object) -> None:
    with Wire.to(strobe_home) as other:
        own = launched(other, ledger, "1", "until")["sessionId"]
        asked = {"name": "debug_trace", "arguments": {"sessionId": own, "wait": {"until": "time", "timeoutMs": 1_000}}}
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": value}})
        answer = wire.receive()
    assert answer.get("id") == 1 and "result" in answer and not answer["result"]["isError"], answer


def test_a_signal_that_comes_while_it_is_waited_for(wire: Wire, ledger: Path) -> None:
    launch = launched(wire, ledger, "1", "until")
    threading.Timer(0.5, tell, [launch]).start()
    answer = wire.good("debug_trace", sessionId=launch["sessionId"], wait={"until": "exit", "timeoutMs": 45_000})
    assert answer["ended"] == {"exitCode": 3, "reason": "exit"}


def test_a_large_program_is_answered_in_8_kilobytes(wire: Wire, build_many_functions: Callable[[int], Path]) -> None:
    program = build_many_functions(1200)  # as in tests/live/hooks/test_many_hooks.py
    answer = launched(wire, program, trace=["**"], wait={"until": "time", "timeoutMs": 300}, sampling="off")
    assert len(answer["totals"]) == 10
    assert answer["totalFunctions"] > 1000
    assert answer["rare"]


@pytest.mark.parametrize(
    ("wait", "wrong"),
    [
        ({"until": "exit", "timeoutMs": 99}, "100 to 45000"),
        ({"until": "exit", "match": "x"}, "exit has none"),
        ({"until": "lunch"}, "exit"),
        ({"timeoutMs": 100}, "until"),
    ],
)
def test_what_cannot_be_waited_for(wire: Wire, ledger: Path, wait: dict[str, Any], wrong: str) -> None:
    text = wire.bad("debug_launch", command=str(ledger), projectRoot=ROOT, wait=wait)
    assert text.startswith("VALIDATION_ERROR")
    assert wrong in text
    assert "wait" in wire.bad("debug_trace", projectRoot=ROOT, add=["f"], wait={"until": "exit"})


def test_the_odd_call_of_many_is_told_at_once(wire: Wire, build_program: Build) -> None:
    answer = wire.good(
        "debug_launch",
        command=str(build_program("odd_one", "-g", "-O0")),
        projectRoot=ROOT,
        trace=["add", "main"],
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    odd = {one["what"]: one for one in answer["odd"] if "$duration" not in one["what"]}
    assert set(odd) == {"add: cents < 0", "add: $return == 0"}
    negative, failed = odd["add: cents < 0"], odd["add: $return == 0"]
    assert (negative["calls"], failed["calls"]) == ("1 of 1000", "1 of 1000")
    assert "cents=-300" in negative["first"] and failed["first"].endswith(" = 0") and "cents=-300" in failed["first"]
    asked = {"from": negative["event"], "to": negative["event"], "verbose": True}
    (event,) = wire.good("debug_query", sessionId=answer["sessionId"], **asked)["events"]
    assert {one["name"]: one["value"] for one in event["arguments"]}["cents"] == -300


def test_null_texts_and_slow_calls_are_odd(wire: Wire, build_program: Build) -> None:
    answer = wire.good(
        "debug_launch",
        command=str(build_program("odd_kinds", "-g", "-O0")),
        projectRoot=ROOT,
        trace=["name_of", "say", "place_of", "work"],
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    odd = {one["what"]: one for one in answer["odd"]}
    for what, first in {
        "name_of: $return == null": "name_of(number=77) = 0x0",
        "say: words == null": "say(words=0x0)",
        "place_of: $return == null": "place_of(number=300) = 0x0",
    }.items():
        assert (odd[what]["calls"], odd[what]["first"]) == ("1 of 1000", first)
    (slow,) = (one for what, one in odd.items() if what.startswith("work: $duration >= "))
    assert slow["first"] == "work(number=400)", "a function without a result has none"


def test_values_that_are_never_there_are_told_at_once(wire: Wire, ledger: Path) -> None:
    probe = {"at": "shop::book", "show": ["cents", "*(int*)8", "what[2..99]"], "label": "booked"}
    answer = launched(wire, ledger, "5", probes=[probe], wait={"until": "exit"})
    found = answer["noValue"]["booked"]
    assert list(found) == ["*(int*)8"]
    assert found["*(int*)8"] == "Address not readable: 0x8 (15 of 15 events)"
    assert "noValue" not in launched(wire, ledger, "5", probes=[{**probe, "show": ["cents"]}], wait={"until": "exit"})


@pytest.mark.parametrize("how", ["abort", "hang"])
def test_a_program_is_launched_until_it_fails(wire: Wire, build_program: Build, tmp_path: Path, how: str) -> None:
    """Of the runs before it nothing is left."""
    program, counter = build_program("fails_at"), tmp_path / "runs"
    asked: dict[str, Any] = {
        "trace": ["run"],
        "wait": {"until": "exit", "timeoutMs": 40_000},
    }
    answer = launched(wire, program, str(counter), "4", how, repeat=20, **asked)
    repeated = answer["repeated"]
    assert (repeated["runs"], repeated["exit0"]) == (4, 3) and repeated["longestMs"] > 0
    assert counter.read_text() == "4"
    assert answer["ended"] == (
        {"signal": "SIGABRT", "reason": "signal"} if how == "abort" else {"stillRunning": True, "reason": "time-out"}
    )
    if how == "hang":  # not all the time there was
        assert 4_000 < answer["waitedMs"] < 25_000
        assert any("pause" in frame for thread in answer["threads"] for frame in thread["stack"])
    sessions = wire.good("debug_list_sessions")["sessions"]
    assert [one["sessionId"] for one in sessions] == [answer["sessionId"]]
    page = wire.good("debug_query", sessionId=answer["sessionId"], eventType="function_exit", select=["$return"])
    assert [event["values"] for event in page["events"]] == [{"$return": 4}]


def test_a_program_that_does_not_fail_is_launched_as_often_as_asked(
    wire: Wire, build_program: Build, tmp_path: Path
) -> None:
    program, counter = build_program("fails_at"), tmp_path / "runs"
    wait = {"until": "exit", "timeoutMs": 40_000}
    until_time_is_up = {"until": "exit", "timeoutMs": 3_000}
    answer = launched(wire, program, str(counter), "99999", "abort", repeat=1000, wait=until_time_is_up)
    assert answer["repeated"]["runs"] == answer["repeated"]["exit0"] > 1
    assert answer["ended"] == {"exitCode": 0, "reason": "exit"}
    counter.unlink()
    answer = launched(wire, program, str(counter), "9", "abort", repeat=3, wait=wait)
    assert (answer["repeated"]["runs"], answer["repeated"]["exit0"]) == (3, 3)
    assert answer["ended"] == {"exitCode": 0, "reason": "exit"} and counter.read_text() == "3"
    for wrong in ({}, {"wait": wait, "pid": os.getpid()}):
        assert "repeat" in wire.bad("debug_launch", command=str(program), projectRoot=ROOT, repeat=3, **wrong)
    assert counter.read_text() == "3"
