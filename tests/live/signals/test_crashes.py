"""What is known of a program that has ended by a signal: the program says itself where. The program is crashes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.programs import source_of
from support.short_form import short

import strobe

Build = Callable[..., Path]
SECONDS = 20.0
FAULTS = {
    "read": ("SIGSEGV", "read of 0x8", "visit"),
    "write": ("SIGSEGV", "write to 0x0", "visit"),
    "divide": ("SIGFPE", "integer division by zero, or its result is too large", "visit"),
    "abort": ("SIGABRT", "abort was called", "visit"),
    "assert": ("SIGABRT", "an assertion failed", "visit"),
    "raise": ("SIGABRT", "raise(SIGABRT) was called", "visit"),
}
HANDLERS = ("", "hands-on", "gives-up", "goes-back", "thread", "ignores", "outlives", "outlives-once", "comes-back")


@pytest.fixture(params=["-O0", "-O2"])
def crashes(request: pytest.FixtureRequest, build_program: Build) -> Path:
    return build_program("crashes", "-g", request.param, "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")


def line_of(how: str) -> int:
    lines = source_of("crashes").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"/* {how} */"))


def values_of(run: strobe.ProgramSession) -> dict[str, Any]:
    assert run.crash is not None and run.crash.values is not None
    return dict(run.crash.values)


def crashed(program: Path, *args: str, **more: Any) -> Any:
    with strobe.launch([str(program), *args], trace=["walk", "visit"], **more) as run:
        run.wait(timeout=SECONDS)
        return run.crash


@pytest.mark.parametrize("how", FAULTS)
def test_it_is_told_where_and_why(crashes: Path, how: str) -> None:
    signal, reason, function = FAULTS[how]
    crash = crashed(crashes, how)
    told = crash.values
    assert (told["signal"], told["reason"], told["function"], told["line"]) == (
        signal,
        reason,
        function,
        line_of(how),
    )
    assert Path(told["file"]).name == "crashes.c"
    assert told["threadId"] == crash.thread_id == crash.pid
    assert crash.text.startswith(f"{signal}: {reason}, in {function} at crashes.c:{line_of(how)}")


def test_the_traced_calls_that_were_open_come_with_their_arguments(build_program: Build) -> None:
    program = build_program("crashes", "-g", "-O0", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    with strobe.launch([str(program), "write", "thread"], trace=["walk", "visit"], depth=1) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None
        calls = [one["call"] for one in crash.values["calls"]]
        assert [call.partition("(")[0] for call in calls] == ["visit", "walk", "walk", "walk", "walk"]
        assert calls[0].endswith("-> {key = 4, next = 0x0, order = 0x0}, depth=3)")
        assert (crash.thread_name, crash.values["openCalls"]) == ("worker", 5)
        assert crash.thread_id != crash.pid
        (entry,) = [event for event in run.events() if event.id == crash.values["calls"][0]["id"]]
        assert (entry.function, entry.event_type) == ("visit", "function_enter")


@pytest.mark.parametrize("how", ["call", "library"])
def test_a_call_that_led_to_no_code_or_into_a_library_is_told_by_its_caller(build_program: Build, how: str) -> None:
    program = build_program("crashes", "-g", "-O1", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    told = crashed(program, how).values
    assert (told["calledFrom"]["function"], told["calledFrom"]["line"]) == ("visit", line_of(how))
    assert (told["reason"], told["address"]) == (("execution" if how == "call" else "read") + " of 0x0", "0x0")


def test_a_fault_that_the_programs_own_handler_got_is_where_it_began(build_program: Build) -> None:
    program = build_program("crashes", "-g", "-O0", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    again, given_up = crashed(program, "read", "hands-on").values, crashed(program, "read", "gives-up").values
    assert (again["signal"], again["reason"], again["line"]) == ("SIGSEGV", "read of 0x8", line_of("read"))
    assert (given_up["signal"], given_up["line"]) == ("SIGABRT", line_of("read"))
    assert given_up["reason"] == "SIGSEGV before, which the program's own handler got: read of 0x8"
    gone_on = crashed(program, "read", "goes-back").values
    assert (gone_on["reason"], gone_on["line"]) == ("abort was called", line_of("abort"))


@pytest.mark.parametrize("patterns", [["none_of_these"], ["first", "second"]])
@pytest.mark.parametrize("how", ["first", "second"])
def test_an_instruction_that_a_hook_has_displaced_is_the_programs(
    build_program: Build, how: str, patterns: list[str]
) -> None:
    program = build_program("faults_at_once", "-g", "-O2")
    lines = source_of("faults_at_once").read_text().splitlines()
    with strobe.launch([str(program), how], trace=patterns, missing_ok=True) as run:
        run.wait(timeout=SECONDS)
        told = values_of(run)
    assert (told["function"], told["address"]) == (how, "0x0")
    assert f"/* {how} */" in lines[told["line"] - 1]
    assert [frame.partition(" ")[0] for frame in told["stack"][:2]] == [how, "main"]


@pytest.mark.parametrize("patterns", [["none_of_these"], ["first", "made"]])
def test_code_that_the_program_has_made_is_code(build_program: Build, patterns: list[str]) -> None:
    program = build_program("faults_at_once", "-g", "-O2", "-fno-inline")
    with strobe.launch([str(program), "made"], trace=patterns, missing_ok=True) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
    assert crash is not None and crash.values is not None
    assert crash.text == f"SIGSEGV: read of 0x0, at {crash.values['pc']}, in code of no module"
    assert "calledFrom" not in crash.values
    assert not [frame for frame in crash.values["stack"] if frame.startswith("first")]


@pytest.mark.parametrize("how", ["fault", "abort"])
def test_threads_that_crash_in_the_same_moment(build_program: Build, how: str) -> None:
    """The one whose note is made first is told, and the end of the program does not cut that off."""
    program = build_program("crash_at_once", "-g", "-O1", "-pthread")
    for _ in range(short(60, 8)):
        with strobe.launch([str(program), how], trace=["touch"]) as run:
            run.wait(timeout=SECONDS)
            told = values_of(run)
        assert told.get("function") == "touch", told
        assert [frame.partition(" ")[0] for frame in told["stack"] if frame.startswith(("touch", "work"))]


@pytest.mark.parametrize("handler", ["recovers", "recovers-aside"])
def test_a_fault_that_was_survived_is_not_the_end(build_program: Build, handler: str) -> None:
    program = build_program("crashes", "-g", "-O0", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    for patterns in (["walk", "visit"], ["main"]):
        for how, reason in (("abort", "abort was called"), ("assert", "an assertion failed")):
            with strobe.launch([str(program), "read", handler, how], trace=patterns) as run:
                run.wait(timeout=SECONDS)
                told = values_of(run)
            assert (told["signal"], told["reason"], told["line"]) == ("SIGABRT", reason, line_of(how)), told
    sent = crashed(program, "read", handler, "sent").values
    assert (sent["signal"], sent["reason"]) == ("SIGSEGV", "sent by the program itself")
    # aside, there is room for the handler, which jumps back again and again
    for how in ("exec", "blocked", "overflow")[: 3 if handler == "recovers" else 2]:
        crash = crashed(program, "read", handler, how)
        assert crash.text.startswith("SIGSEGV; where it happened was not seen"), how
        assert "line" not in crash.values and "reason" not in crash.values
        before = crash.values["handledBefore"]
        assert (before["reason"], before["line"]) == ("read of 0x8", line_of("read"))


@pytest.mark.parametrize("handler", ["hands-on", "gives-up"])
@pytest.mark.parametrize("place", ["", "aside", "thread"])
def test_a_handler_that_ends_the_program_is_told_by_the_fault(build_program: Build, handler: str, place: str) -> None:
    program = build_program("crashes", "-g", "-O2", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    told = crashed(program, "read", handler, place).values
    assert told["line"] == line_of("read") and "read of 0x8" in told["reason"]


@pytest.mark.parametrize("how", ["abort", "assert", "raise", "read"])
def test_an_assertion_that_was_outlived_is_not_the_end(crashes: Path, how: str) -> None:
    """Also where the stack is no deeper at the end than it was then."""
    told = crashed(crashes, how, "outlives").values
    assert (told["signal"], told["reason"], told["line"]) == (*FAULTS[how][:2], line_of(how))
    assert [one["call"].partition("(")[0] for one in told["calls"]] in (
        ["visit", *["walk"] * 4],
        ["visit", "walk"],  # -O2
    )
    assert told["openCalls"] == len(told["calls"])


@pytest.mark.parametrize("how", ["abort", "assert"])
def test_an_abort_whose_handler_has_jumped_back_is_not_the_end(crashes: Path, how: str) -> None:
    """Where nothing that is traced is called before another process sends the signal."""
    crash = crashed(crashes, how, "outlives-once")
    assert crash.text.startswith("SIGABRT; where is not known: no assertion failed and neither abort nor raise")
    assert "line" not in crash.values and "reason" not in crash.values
    before = crash.values["outlivedBefore"]
    assert (before["reason"], before["line"]) == (FAULTS[how][1], line_of(how))


@pytest.mark.parametrize("how", ["abort", "assert"])
def test_an_abort_whose_handler_returns_is_where_it_was_called(crashes: Path, how: str) -> None:
    """abort raises the signal once more then."""
    told = crashed(crashes, how, "comes-back").values
    assert (told["signal"], told["reason"], told["line"]) == (*FAULTS[how][:2], line_of(how))


def test_signals_that_are_not_seen_are_told_as_such(build_program: Build) -> None:
    program = build_program("crashes", "-g", "-O0", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    for args, said in (
        (("watchdog",), "SIGABRT; where is not known: no assertion failed"),
        (("watchdog", "outlives"), "SIGABRT; where is not known: no assertion failed"),
        (("debugger",), "SIGTRAP; where is not known: a breakpoint instruction"),
    ):
        crash = crashed(program, *args)
        assert crash.text.startswith(said), args
        assert "stack was full" not in crash.text and "function" not in crash.values


def test_what_was_not_seen_is_said(build_program: Build) -> None:
    program = build_program("crashes", "-g", "-O0", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    for args in (("overflow",), ("divide", "ignores")):
        crash = crashed(program, *args)
        assert "was not seen" in crash.text and "function" not in crash.values
    assert crashed(program, "killed") is None
    assert crashed(program, "none") is None


@pytest.mark.parametrize("how", [*FAULTS, "trap", "call", "sent", "overflow", "none", "watchdog", "debugger"])
def test_it_ends_as_it_does_alone(build_program: Build, how: str) -> None:
    program = build_program("crashes", "-g", "-O0", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
    for handler in HANDLERS:
        alone = subprocess.run([program, how, handler], capture_output=True, text=True, timeout=SECONDS, check=False)
        with strobe.launch([str(program), how, handler], trace=["walk", "visit"]) as run:
            status = run.wait(timeout=SECONDS)
            ended = status.code if status.signal is None else -status.signal
            assert (ended, run.stdout, run.stderr) == (alone.returncode, alone.stdout, alone.stderr), handler
