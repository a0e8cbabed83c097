"""Nothing that the recorder reads can end the program, and the program's own faults are its own: handlers, masks and
endings are as they are untraced, whatever state its signals are in."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import IS_LONG, rounds, scenario
from support.sessions import Build, Launch, Outcome, all_events, outcome, status, totals, untraced
from support.short_form import short
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import EventFilter, EventType, LaunchSpec, Text, TextMatch, TraceRequest, Watch
from strobe.session import Session, SessionManager

_WAYS = (
    "handlers blocked masked suspends ignored reset overflows vforks raw-mask raw-action bus forks faults sent sent-bus"
)
EXPECTED: dict[EventType, set[str]] = {"function_enter": {"text", "node"}, "function_exit": set()}
NEWER = ["tells", "vfork-sent", "sets-id", "traps", "in-context", "fault-in-context"]
WAYS = [*_WAYS.split(), *NEWER]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("form")
def test_faults_are_the_programs_own(launch: Launch, build_program: Build, way: str) -> None:
    program = build_program("faults", "-O1", "-Wno-infinite-recursion")
    assert outcome(launch(program, way, patterns=["*"], sampling="off", depth=2)) == untraced(program, way)


def test_signals_blocked_in_what_a_handler_returns_to(build_program: Build, manager: SessionManager, form: str) -> None:
    """The handler was there before Strobe, and comes again and again, while the recorder reads, too."""
    enough = short(1_000_000, 200_000) if form == "native" else 50_000
    program = build_program("blocks_in_contexts", "-O1")
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
        session = manager.launch(spec, TraceRequest(["take"], sampling="off", depth=2))
        wait_until(lambda: session.ending() or _calls(session, "take") > enough, "calls", 100)
        session.stop()
        process.send_signal(signal.SIGUSR1)
        assert (process.communicate(timeout=60)[0], process.returncode) == ("right\n", 0)
    finally:
        processes.end(process)


def _calls(session: Session, name: str) -> int:
    return found.count if (found := totals(session).get(name)) else 0


@scenario
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_memory_may_go_away_at_any_moment(launch: Launch, build_program: Build, form: str, flags: str) -> None:
    """Text, structures and watches behind pointers that another thread unmaps."""
    program = build_program("unmaps", flags)
    calls = 300_000 if form == "native" else 30_000  # each read of the portable form is a system call
    calls *= 60 if IS_LONG else 1
    watch = [Watch(variable="gNode->value"), Watch(variable="gNode->next->next->value"), Watch(variable="*gNode")]
    session = launch(program, str(calls), patterns=["take_*"], sampling="off", watch=watch, depth=3)
    ended = session.wait(3000 if IS_LONG else 120)
    assert ended is not None
    assert (ended.code, ended.signal) == (0, None)
    assert {name: found.count for name, found in totals(session).items()} == dict.fromkeys(
        ["take_text", "take_node"], calls
    )
    watches = {watch.variable or "" for watch in watch}
    for kind, expected in EXPECTED.items():
        assert read_and_gone(session, kind, expected | watches) == (expected | watches, expected | watches)


def read_and_gone(session: Session, kind: EventType, expected: set[str]) -> tuple[set[str], set[str]]:
    """Names of what was there at some calls, and of what was not at others. Neither is what leads to the next page, in
    which nothing has been written yet."""
    read: set[str] = set()
    gone: set[str] = set()
    for event in all_events(session, EventFilter(event_type=kind)):
        values = {argument.name: argument.value for argument in event.arguments or ()} | (event.watch_values or {})
        read |= {name for name, value in values.items() if is_right(value)}
        gone |= {name for name, value in values.items() if is_gone(value)}
        if read == gone == expected:
            break
    return read, gone


def is_right(value: Any) -> bool:
    return value.startswith("hello") if isinstance(value, Text) else getattr(value, "value", value) == 7


def is_gone(value: Any) -> bool:
    return (type(value) is str and value.startswith("0x")) or str(value).startswith("Address not readable")


@scenario
@pytest.mark.usefixtures("form")
def test_watched_variable_goes_with_its_library(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), "reload", patterns=["use", "plugin_run"])
    wait_until(lambda: "plugin_run" in totals(session), "calls of the library")
    wait_until(lambda: _is_watched(session), "the library to be there for a moment")
    for _ in rounds(1):
        _is_called_on(session)
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)


def _is_called_on(session: Session) -> None:
    """The library has come and gone since, or the program would not get there."""
    enough = totals(session)["use"].count + 10
    wait_until(lambda: totals(session)["use"].count > enough, "calls with the library gone")


def _is_watched(session: Session) -> bool:
    try:
        return "plugin_rounds" in session.trace(TraceRequest(watch=[Watch(variable="plugin_rounds")])).active_watches
    except StrobeError:  # it is gone at this moment
        return False


@scenario
@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("way", ["list", "threads", "masked"])
def test_no_system_call_that_the_program_does_not_make(launch: Launch, build_program: Build, way: str) -> None:
    """Each function's and thread's first event comes once the program may make only its own system calls."""
    program = build_program("allowlisted", "-O1")
    assert untraced(program, way) == Outcome("right\n", "", 0)
    for _ in rounds(1):
        session = launch(program, way, patterns=["*"], sampling="off", depth=2)
        assert outcome(session) == Outcome("right\n", "", 0)
        assert totals(session)["take"].count == (300_000 if way == "threads" else 100_000)
        assert session.timeline.loss().lost == 0
        session.stop()


@scenario
def test_filters_of_all_threads_set_at_once(launch: Launch, build_program: Build, form: str) -> None:
    """Who gets ready for one, or begins to record, makes system calls, for which the others wait."""
    program = build_program("filters_at_once", "-O1")
    assert untraced(program) == Outcome("right\n", "", 0)
    for _ in rounds(12):
        session = launch(program, patterns=["take"], sampling="off")
        assert outcome(session) == Outcome("right\n", "", 0)
        assert form == "portable" or totals(session)["take"].count == 800  # that one ends there
        session.stop()


@scenario
@pytest.mark.usefixtures("form")
def test_a_filter_of_all_threads_comes_while_others_record(launch: Launch, build_program: Build) -> None:
    """Who has asked whether the kernel may be called, and is about to, is waited for: one of some."""
    program = build_program("filters_while_read", "-O1", "-pthread")
    assert untraced(program) == Outcome("right\n", "", 0)
    for _ in rounds(1):
        session = launch(program, patterns=["take"])
        assert outcome(session) == Outcome("right\n", "", 0)
        session.stop()


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("way", "is_said"), [("asks", False), ("sets", True), ("refused", True)])
def test_a_filter_of_calls_is_said_and_a_question_is_none(
    launch: Launch, build_program: Build, way: str, is_said: bool
) -> None:
    """Signals were blocked: memory is read by the kernel, where that may be asked. Of a filter it is known that it
    was to be set; the kernel may refuse it."""
    session = launch(build_program("filters_calls", "-O1"), way, patterns=["take"])
    assert outcome(session) == Outcome("right\n", "", 0)
    (event,) = all_events(session, EventFilter(event_type="function_enter"))
    assert ("some text" in str(event.arguments)) != is_said
    assert any("has set a filter of its system calls" in text for text in session.warnings) == is_said
    assert any("(seccomp), or tried to, at " in text for text in session.warnings) == is_said


@pytest.mark.usefixtures("form")
def test_a_child_of_vfork_may_filter_its_calls(launch: Launch, build_program: Build) -> None:
    """The recorder makes none there. Its `_exit` is not the program's end, which was not seen."""
    session = launch(build_program("filters_calls", "-O1"), "vfork", patterns=["take", "never"])
    assert outcome(session) == Outcome("right\n", "", -signal.SIGKILL)
    assert totals(session)["take"].count == 101
    assert "on to the end" not in session.timeline.absence(EventFilter(function=TextMatch(equals="never")))


@pytest.mark.usefixtures("form")
def test_strict_mode_ends_the_recording_and_not_the_program(launch: Launch, build_program: Build) -> None:
    """It takes the time stamp counter away, too."""
    program = build_program("allowlisted", "-O1")
    session = launch(program, "strict", patterns=["*"], sampling="off")
    assert outcome(session) == untraced(program, "strict") == Outcome("right\n", "", 0)
    assert totals(session)["main"].count == 1
    assert "take" not in totals(session)
    assert any("time stamp counter" in text for text in session.warnings)


def test_attaching_to_a_program_that_filters_its_calls_is_refused(
    build_program: Build, manager: SessionManager
) -> None:
    process = subprocess.Popen([build_program("filtered", "-O0")], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(StrobeError, match="filters its system calls"):
            manager.launch(LaunchSpec("", pid=process.pid))
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate(timeout=10)
