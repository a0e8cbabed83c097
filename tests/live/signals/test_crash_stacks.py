"""The stack of a crash is the one that gdb sees at the signal. Programs: crashes, and what the C++ library ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.oracles.backtraces import frames_of, numbers_at_signal, same, stack_at_signal, without_abort
from support.short_form import short

import strobe

Build = Callable[..., Path]
SECONDS = 30.0
FLAGS = ("-g", "-pthread", "-D_GNU_SOURCE", "-Wno-infinite-recursion")
CRASHES = ["read", "write", "divide", "trap", "abort", "assert", "raise", "library", "sent"]
ABORTS = ["abort", "assert", "raise"]
PATTERNS = pytest.mark.parametrize("patterns", [["none_of_these"], ["walk", "visit"], ["**"]])


def crash_stack(program: Path, patterns: list[str], *arguments: str) -> list[str]:
    with strobe.launch([str(program), *arguments], trace=patterns, missing_ok=True) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None
        return list(crash.values["stack"])


def check(program: Path, patterns: list[str], *arguments: str) -> None:
    expected, found = stack_at_signal(program, *arguments), frames_of(crash_stack(program, patterns, *arguments))
    expected = without_abort(expected) if arguments[0] in ABORTS else expected
    assert len(expected) == len(found), (expected, found)
    assert [pair for pair in zip(expected, found, strict=True) if pair[0][0] and not same(*pair)] == []


@PATTERNS
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_of_faults_and_aborts(build_program: Build, compiler: str, level: str, patterns: list[str]) -> None:
    program = build_program("crashes", level, *FLAGS, compiler=compiler)
    for how in CRASHES[:: short(1, 2)]:
        check(program, patterns, how)
    check(program, patterns, "write", "thread")


@PATTERNS
@pytest.mark.parametrize("place", ["", "aside", "thread"])
@pytest.mark.parametrize("handler", ["hands-on", "gives-up"])
def test_of_a_handler_that_ends_the_program_it_is_the_faults(
    build_program: Build, handler: str, place: str, patterns: list[str]
) -> None:
    program = build_program("crashes", "-O2", *FLAGS)
    check(program, patterns, "read", handler, place)


@PATTERNS
def test_of_a_call_to_no_code(build_program: Build, patterns: list[str]) -> None:
    program = build_program("crashes", "-O1", *FLAGS)
    first, *callers = crash_stack(program, patterns, "call")
    assert first == "0x0"
    expected, found = stack_at_signal(program, "call")[1:], frames_of(callers)
    assert len(expected) == len(found) and all(map(same, expected, found))


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_of_an_exception_that_nobody_catches(build_program: Build, level: str) -> None:
    """Where it was thrown, through the library that ends the program; and the program's own function is named."""
    program = build_program("uncaught", level, "-g")
    with strobe.launch([str(program)], trace=["none_of_these"], missing_ok=True) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None and crash.text is not None
    expected, found = without_abort(stack_at_signal(program)), frames_of(crash.values["stack"])
    assert len(expected) == len(found) and [frame for frame in found if frame[0] == "parse"]
    with_lines = [pair for pair in zip(expected, found, strict=True) if pair[0][2] is not None]
    assert with_lines and all(same(*pair) for pair in with_lines)
    assert crash.values["reachedFrom"]["function"] == "parse"
    assert crash.text.endswith(f", reached from parse at uncaught.cpp:{crash.values['reachedFrom']['line']}")


@PATTERNS
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_variables_are_what_gdb_reads(build_program: Build, compiler: str, level: str, patterns: list[str]) -> None:
    program = build_program("frames_crash", level, "-g", compiler=compiler)
    with strobe.launch([str(program), "3"], trace=patterns, missing_ok=True) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None
    found = {one["frame"]: one["values"] for one in crash.values["variables"]}
    expected = numbers_at_signal(program, "3")
    told = 0
    for number, numbers in enumerate(expected):
        own = found.get(number, {})
        for name, value in numbers.items():
            if value == "None":
                assert own.get(name) in ("<optimized out>", None), (number, name)
            elif name in own and own[name] != "<optimized out>":  # of one that only gdb knows, by what a call is given
                assert own[name] == value, (number, name)
                told += 1
    assert told == sum(map(len, expected)) if level == "-O0" else told >= 3
    if level == "-O0":
        assert found[1]["item"].endswith('{number = 7, name = "seven", next = 0x0}')
        assert found[2]["list"].startswith("[{number = 1, ")


def test_of_deep_recursion_the_middle_is_left_out(build_program: Build) -> None:
    program = build_program("deep_crash", "-O0")
    found = crash_stack(program, ["**"], "500")
    assert found[:2] == ["down deep_crash.c:8", "down deep_crash.c:10"], found[:3]
    assert found[24] == "… 37 more" and len(found) == 24 + 1 + 3
    short = crash_stack(program, [], "20")
    # behind main are frames of the C library, where it has no debug information
    assert [frame.split()[0] for frame in short][:22] == ["down"] * 21 + ["main"]


def test_variables_where_a_function_of_the_standard_library_is_inlined(build_program: Build) -> None:
    """Those of the program's function around it, with the addresses of what references are to."""
    program = build_program("inlined_crash", "-O1", "-g")
    with strobe.launch([str(program)], trace=["none_of_these"], missing_ok=True) as run:
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None
    stack, [first, *_] = crash.values["stack"], crash.values["variables"]
    assert "size" in stack[0] and first["frame"] == stack.index(next(one for one in stack if one.startswith("count")))
    assert first["values"]["more"] == "7" and re.fullmatch(r"<not copied, at 0x[0-9a-f]+>", first["values"]["shelf"])
