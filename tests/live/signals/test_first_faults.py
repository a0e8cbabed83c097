"""Faults in the bytes that a hook replaces: handlers and crashes name the program's own code. Program: first_faults."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import strobe

Build = Callable[..., Path]
SECONDS = 30.0
CALLS = {
    "reads_first": 300, "reads_second": 100, "skips": 100, "calls_first": 100, "divides_first": 100, "traps_first": 100,
    "handle": 701, "answers": 100,
}  # fmt: skip


@pytest.mark.parametrize("patterns", [["**"], [name for name in CALLS if name != "handle"]])
def test_handlers_see_the_program_and_what_they_decide_happens(build_program: Build, patterns: list[str]) -> None:
    program = build_program("first_faults", "-g", "-O1")
    alone = subprocess.run([program], capture_output=True, check=True, timeout=SECONDS).stdout
    with strobe.launch([str(program)], trace=patterns) as run:
        run.wait(timeout=SECONDS)
        found = {name: len(run.calls(name)) for name in CALLS if name != "handle" or patterns == ["**"]}
        assert run.exit_status is not None and run.exit_status.code == 0
        assert run.stdout.encode() == alone
    assert alone.endswith(b"seen 701, wrong 0\n")
    assert found == {name: CALLS[name] for name in found}


@pytest.mark.parametrize(
    ("how", "function", "signal", "reason"),
    [
        ("first", "reads_first", "SIGSEGV", "read of 0x10"),
        ("second", "reads_second", "SIGSEGV", "read of 0x10"),
        ("call", "calls_first", "SIGSEGV", "read of 0x10"),
        ("divide", "divides_first", "SIGFPE", "integer division by zero, or its result is too large"),
        ("trap", "traps_first", "SIGILL", "illegal instruction"),
    ],
)
def test_a_crash_there_is_in_that_function(
    build_program: Build, how: str, function: str, signal: str, reason: str
) -> None:
    program = build_program("first_faults", "-g", "-O1")
    with strobe.launch([str(program), how], trace=["**"]) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None and crash.text is not None
        assert crash.text.startswith(f"{signal}: {reason}") and crash.values["function"] == function
        assert [frame.split()[0] for frame in crash.values["stack"]] == [function, "main"]
        assert [call["call"].partition("(")[0] for call in crash.values["calls"]] == [function, "main"]
