"""Recorded stacks are those that gdb sees: of probes and traces, through whatever lies between."""

from __future__ import annotations

import pytest
from support.oracles.backtraces import Frame, frames_of, same, stacks
from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.model import Event, EventFilter, Probe, TraceRequest
from strobe.session import Session

COMPILERS = pytest.mark.parametrize("compiler", ["g++", "clang++"])
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O2"])
FRAME_POINTERS = pytest.mark.parametrize("pointers", ["-fomit-frame-pointer", "-fno-omit-frame-pointer"])


def check(program_stacks: list[list[Frame]], events: list[Event]) -> None:
    found = [frames_of(event.stack) for event in events]
    assert len(found) == len(program_stacks)
    for expected, own in zip(program_stacks, found, strict=True):
        assert len(expected) == len(own), (expected, own)
        assert [(one, two) for one, two in zip(expected, own, strict=True) if not same(one, two)] == []


def events_of(session: Session, kind: str) -> list[Event]:
    events = all_events(session, EventFilter())
    return [event for event in events if event.event_type == kind and event.function == "leaf"]


@COMPILERS
@LEVELS
@FRAME_POINTERS
@pytest.mark.parametrize("traced", ["alone", "with all traced"])
def test_of_a_probe(
    launch: Launch, build_program: Build, compiler: str, level: str, pointers: str, traced: str
) -> None:
    program = build_program("stacks", level, pointers, compiler=compiler)
    patterns = [] if traced == "alone" else ["**"]
    session = launch(
        program, patterns=patterns, check=lambda one: one.trace(TraceRequest(probe=[Probe("leaf", stack=32)]))
    )
    assert outcome(session) == untraced(program)
    check(stacks(program, "leaf"), events_of(session, "probe"))


@COMPILERS
@LEVELS
@FRAME_POINTERS
@pytest.mark.parametrize("traced", ["alone", "with all traced"])
def test_of_a_return(
    launch: Launch, build_program: Build, compiler: str, level: str, pointers: str, traced: str
) -> None:
    """The callers are there, where the function's own frame is gone."""
    program = build_program("stacks", level, pointers, compiler=compiler)
    patterns = [] if traced == "alone" else ["**"]
    session = launch(
        program, patterns=patterns, check=lambda one: one.trace(TraceRequest(probe=[Probe("leaf:return", stack=32)]))
    )
    assert outcome(session) == untraced(program)
    check(stacks(program, "leaf"), events_of(session, "probe"))


@COMPILERS
@LEVELS
@FRAME_POINTERS
@pytest.mark.parametrize("patterns", [["leaf"], ["**"]])
def test_of_a_trace(
    launch: Launch, build_program: Build, compiler: str, level: str, pointers: str, patterns: list[str]
) -> None:
    program = build_program("stacks", level, pointers, compiler=compiler)
    session = launch(program, check=lambda one: one.trace(TraceRequest(add=patterns, stack=32)))
    assert outcome(session) == untraced(program)
    check(stacks(program, "leaf"), events_of(session, "function_enter"))


@FRAME_POINTERS
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("patterns", [["leaf"], ["leaf", "by_b", "by_c"], ["*"]])
def test_stacks_that_differ_in_a_frame(
    launch: Launch, build_program: Build, compiler: str, pointers: str, patterns: list[str]
) -> None:
    program = build_program("stack_paths", "-O2", pointers, compiler=compiler)
    returns = Probe("leaf:return", show=("path",), stack=32)
    session = launch(
        program, sampling="off", check=lambda one: one.trace(TraceRequest(add=patterns, stack=32, probe=[returns]))
    )
    assert outcome(session) == untraced(program)
    entries, exits = events_of(session, "function_enter"), events_of(session, "probe")
    assert (len(entries), len(exits)) == (1000, 1000)
    for event in (*entries, *exits):
        path = (event.watch_values or {}).get("path")
        if event.arguments:
            (path,) = (argument.value for argument in event.arguments)
        assert isinstance(path, int)
        ways = [f"by_{'abcd'[path >> 2 * at & 3]}" for at in range(6)]
        found = [name for name, _, _ in frames_of(event.stack) if name != "down"]  # which is inlined
        assert found == [*ways, "main"], hex(path)
