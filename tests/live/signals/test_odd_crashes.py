"""What is told of a crash at an unusual place is so, or is not told. Program: odd_crashes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.oracles.backtraces import SIGNAL, frames_of, same, stack_at_signal

import strobe

Build = Callable[..., Path]
SECONDS = 30.0
PATTERNS = pytest.mark.parametrize("patterns", [["none_of_these"], ["enter", "write_to"]])


@pytest.fixture(params=["-O0", "-O2"])
def odd_crashes(request: pytest.FixtureRequest, build_program: Build) -> Path:
    return build_program("odd_crashes", "-g", request.param, "-Wno-infinite-recursion")


def crashed(program: Path, patterns: list[str], how: str) -> tuple[str, dict[str, Any]]:
    with strobe.launch([str(program), how], trace=patterns, missing_ok=True) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None and crash.text is not None
        return crash.text, dict(crash.values)


@PATTERNS
def test_in_a_handler_the_stack_goes_on_where_the_signal_came(odd_crashes: Path, patterns: list[str]) -> None:
    _, values = crashed(odd_crashes, patterns, "handler")
    expected, found = stack_at_signal(odd_crashes, "handler"), frames_of(values["stack"])
    assert len(expected) == len(found) and all(map(same, expected, found)), values["stack"]
    names = [frame[0] for frame in found]
    assert names[:4] == ["write_to", "enter", "on_user_signal", SIGNAL] and names[-1] == "main"


@PATTERNS
def test_the_handler_of_an_earlier_fault_at_the_same_place_is_forgotten(odd_crashes: Path, patterns: list[str]) -> None:
    text, values = crashed(odd_crashes, patterns, "left")
    expected, found = stack_at_signal(odd_crashes, "left"), frames_of(values["stack"])
    assert text.startswith("SIGSEGV: write to 0x0, in write_to at odd_crashes.c:")
    assert [frame[0] for frame in found] == [frame[0] for frame in expected] == ["write_to", "enter", "main"]


def test_code_that_was_made_at_run_time_is_code(odd_crashes: Path) -> None:
    """What lies on top of its stack is anything."""
    text, values = crashed(odd_crashes, ["none_of_these"], "made")
    assert text == f"SIGSEGV: write to 0x0, at {values['pc']}, in code of no module"
    assert values["stack"] == [values["pc"], "<no unwind information for what called this>"]
    assert "calledFrom" not in values


def test_what_code_made_at_run_time_has_called_is_told(odd_crashes: Path) -> None:
    text, values = crashed(odd_crashes, ["none_of_these"], "made-calls")
    assert text.startswith("SIGSEGV: write to 0x0, in write_to at odd_crashes.c:")
    *known, made, end = values["stack"]
    assert [frame.split()[0] for frame in known] == ["write_to", "enter"]
    assert made.startswith("0x") and end == "<no unwind information for what called this>"


def test_data_that_was_called_is_told_by_its_caller(odd_crashes: Path) -> None:
    text, values = crashed(odd_crashes, ["none_of_these"], "data")
    assert text.startswith("SIGSEGV: execution of 0x") and values["calledFrom"]["function"] == "main"
    assert values["stack"][-1].startswith("main odd_crashes.c:") and len(values["stack"]) == 2


@PATTERNS
def test_a_full_stack_is_told_where_a_handler_has_another_one(build_program: Build, patterns: list[str]) -> None:
    program = build_program("odd_crashes", "-g", "-O0", "-Wno-infinite-recursion")
    text, values = crashed(program, patterns, "overflow")
    assert ", in descend at odd_crashes.c:" in text
    assert len(values["stack"]) > 20 and all(frame.startswith("descend ") for frame in values["stack"][:24])


def test_what_is_not_aligned_has_no_address(odd_crashes: Path) -> None:
    text, values = crashed(odd_crashes, ["none_of_these"], "aligned")
    assert text.startswith("SIGBUS: memory that is not aligned (the program has the CPU check that), in main at ")
    assert "address" not in values
