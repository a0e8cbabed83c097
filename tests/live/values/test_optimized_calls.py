"""Functions that only their own file can call, in what LLVM optimized: results are there where a caller uses them,
parameters where the function puts them in its frame, and nothing is said of the others, nor of what LLVM passes in a
parameter's place. And what gcc compiled for Microsoft's convention is not read as if it were for System V's."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs, typed
from support.sessions import Launch, all_events, status, text

from strobe.model import EventFilter, TextMatch
from strobe.session import Session

ROUNDS = 10
LTO = ("-flto", "-fuse-ld=lld")
CALL = re.compile(r"[<>] \w+")


def returned(session: Session, function: str) -> list[object]:
    wanted = EventFilter(event_type="function_exit", function=TextMatch(equals=function))
    return [event.return_value for event in all_events(session, wanted)]


def given(session: Session, function: str) -> list[tuple[object, ...]]:
    """Values of all arguments; None for those that are not known."""
    wanted = EventFilter(event_type="function_enter", function=TextMatch(equals=function))
    return [tuple(one.value for one in event.arguments or ()) for event in all_events(session, wanted)]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_results_of_rust(build_program: Callable[..., Path], launch: Launch, level: int) -> None:
    session = launch(build_program("results", f"-Copt-level={level}"), patterns=["results::*"])
    assert session.wait(60) is not None
    lines = [line.split() for line in text(session, "stdout").splitlines()]
    assert len(lines) == ROUNDS
    assert returned(session, "results::is_even") == [line[0] == "even" for line in lines]
    assert returned(session, "results::half") == [float(line[1]) for line in lines]
    unused = returned(session, "results::unused")
    assert unused == ([3 * number for number in range(ROUNDS)] if level == 0 else [None] * len(unused))
    assert returned(session, "results::by_address") == [int(line[-1]) for line in lines]
    ids, texts, shares = zip(*given(session, "results::by_address"), strict=True)
    assert list(ids) == [1000 * number for number in range(ROUNDS)]
    assert list(shares) == [number / 2 for number in range(ROUNDS)]
    assert list(texts) == [line[0] for line in lines]
    for number, passed in enumerate(given(session, "results::changed")):
        assert passed[1:] in ([(number,)] if level == 0 else [(), (None,), (number,)])


@pytest.mark.parametrize("flag", ["-O1", "-O2", "-O3", "-Os", "-Oz"])
def test_what_clang_left_out_is_not_known(build_program: Callable[..., Path], launch: Launch, flag: str) -> None:
    session = launch(build_program("left_out", flag, compiler="clang"), patterns=["by_slot", "both_kept", "report*"])
    assert session.wait(60) is not None
    for function in ("report", "report_other"):
        assert returned(session, function) == [None] * ROUNDS
    for passed in given(session, "by_slot"):
        assert passed[:1] in ((), (None,), ({"value": 1000},))
    kept = given(session, "both_kept")
    if flag in ("-O1", "-O2"):  # others put the objects elsewhere
        assert kept == [({"value": number}, {"value": 2 * number}) for number in range(ROUNDS)]


@pytest.mark.parametrize("flag", ["-O0", "-O1", "-O2"])
def test_a_register_that_two_conventions_share_says_nothing(
    build_program: Callable[..., Path], launch: Launch, flag: str
) -> None:
    session = launch(build_program("shared_registers", flag, compiler="gcc"), patterns=["*_abi"])
    assert session.wait(60) is not None
    for function, values in (("sysv_abi", (5 << 64 | 7, -3)), ("ms_abi", (6 << 64 | 8, -4))):
        shown = given(session, function)
        assert len(shown) == 1
        assert all(value in (None, right) for value, right in zip(shown[0], values, strict=False))


@pytest.mark.parametrize("flags", [("-O1",), ("-O2",), ("-O3",), ("-Os",), ("-O2", *LTO), ("-O3", *LTO)])
@pytest.mark.parametrize("compiler", ["clang", "gcc"])
def test_what_replaced_a_parameter_is_not_shown(
    build_program: Callable[..., Path], launch: Launch, compiler: str, flags: tuple[str, ...]
) -> None:
    if "-flto" in flags and compiler == "clang":
        programs.require("ld.lld")
    used = flags if compiler == "clang" else [flag for flag in flags if "lld" not in flag]
    seen = shown(launch, build_program("replaced", *used, compiler=compiler), "*")
    if compiler == "clang":
        assert re.fullmatch(r"> sum\(pair=0x.*, more=101\)", seen["> sum"])


@pytest.mark.parametrize("flags", [("-Copt-level=2",), ("-Copt-level=3",), ("-Copt-level=3", "-Clto=fat")])
def test_what_replaced_a_reference_of_rust_is_not_shown(
    build_program: Callable[..., Path], launch: Launch, flags: tuple[str, ...]
) -> None:
    seen = shown(launch, build_program("replaced_rust", *flags), "replaced_rust::*")
    assert re.fullmatch(r"> sum\(pair=0x.*, more=5\)", seen["> sum"])


def shown(launch: Launch, program: Path, pattern: str) -> dict[str, str]:
    """What is shown of each call, by "> sum" and "< sum"; every value is the one that the program tells."""
    session = launch(program, patterns=[pattern])
    assert status(session) == 0
    told, seen = by_call(typed.told(session)), by_call(typed.seen(session))
    wrong = [
        f"{told[call]}\n{line}" for call, line in seen.items() if call in told and not typed.agrees(told[call], line)
    ]
    assert not wrong, "\n".join(wrong)
    return seen


def by_call(lines: list[str]) -> dict[str, str]:
    return {
        found[0]: found[0] + re.sub(r"^[^ (]*", "", line[found.end() :])
        for line in lines
        if (found := CALL.match(line))
    }


@pytest.mark.parametrize("flag", ["-O0", "-O1", "-O2"])
def test_small_structs_of_another_convention_are_not_misread(
    build_program: Callable[..., Path], launch: Launch, flag: str
) -> None:
    """They have no parameters that would show which one it is; their callers do."""
    session = launch(build_program("foreign_results", flag, compiler="gcc"), patterns=["*_real", "*_two"])
    assert session.wait(60) is not None
    seen = dict(line.split(" = ", 1) for line in typed.seen(session) if line[0] == "<")
    assert seen["< own_two"] == "{first=9, second=10}"
    assert seen["< own_real"] == "{share=3.5}" or (flag != "-O0" and seen["< own_real"] == "?")  # passed on at once
    assert seen["< foreign_real"] in ("?", "{share=2.5}") and seen["< foreign_two"] in ("?", "{first=7, second=8}")
