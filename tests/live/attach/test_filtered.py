"""Programs that let the kernel filter their system calls (seccomp) go on: they may be stopped at any moment, and
Strobe's agent leaves before a filter for all threads, its own included, comes into force."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, Launch, outcome, totals, untraced
from support.wait import wait_until

from strobe import _abi
from strobe.capture.recorder_state import read_view
from strobe.capture.target import Target
from strobe.capture.task_status import task_ids
from strobe.errors import StrobeError, failure
from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest, Watch
from strobe.session import Session, SessionManager
from strobe.values.reading import ReadTarget


def filter_calls(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "filtered\n"


def stop_its_threads(session: Session, times: int) -> None:
    """Each change of code does, and each read of a variable that every thread has."""
    for _ in range(times):
        session.trace(TraceRequest(remove=["wait_once"]))
        session.trace(TraceRequest(add=["wait_once"]))
        threads = sorted(task_ids(session.pid))[:4]
        results = session.reader.read([ReadTarget("tWaits", thread=thread) for thread in threads])
        assert [result.error for result in results] == [None] * len(threads)


def test_a_wait_goes_on_where_it_may_not_be_restarted(manager: SessionManager, build_program: Build) -> None:
    """By restart_syscall, with which the kernel would resume what was interrupted."""
    process = subprocess.Popen([build_program("forbids_restarts", "-pthread")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        session = manager.launch(
            LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["wait_once"])
        )
        filter_calls(process)
        stop_its_threads(session, 10)
        wait_until(lambda: len(totals(session)) == 1, "a call")
        session.stop()
        process.send_signal(signal.SIGUSR2)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
    finally:
        processes.end(process)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere nothing is observed")
@pytest.mark.parametrize("how", ["once", "twice", "later"])
def test_a_filter_of_all_threads_ends_the_recording_of_the_portable_form(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Its code goes with the agent."""
    monkeypatch.setenv("STROBE_RECORDER", "portable")
    program = build_program("filters_all", "-O1", "-pthread")
    session = launch(program, how, patterns=["before", "after"])
    assert outcome(session) == untraced(program, how)
    assert {name: found.count for name, found in totals(session).items()} == {"before": 1000}
    assert (
        len([text for text in session.warnings if "Strobe has left the program, and calls are no longer" in text]) == 1
    )


@pytest.mark.parametrize("how", ["once", "twice", "later"])
def test_a_filter_of_all_threads_does_not_reach_the_agent(launch: Launch, build_program: Build, how: str) -> None:
    """Nor does what is recorded end there."""
    program = build_program("filters_all", "-O1", "-pthread")
    alone = untraced(program, how)
    assert (alone.stdout, alone.status) == ("right\n", 3)
    session = launch(program, how, patterns=["before", "after", "never"])
    assert outcome(session) == alone
    assert {name: found.count for name, found in totals(session).items()} == {"before": 1000, "after": 3000}
    assert len([text for text in session.warnings if "Strobe's agent has left the program" in text]) == 1
    absence = session.query(EventFilter(function=TextMatch(equals="never"))).absence
    assert absence is not None
    assert "functions of libraries that were loaded later are not traced" in absence
    assert "seen to be on to the end" in absence


@pytest.mark.parametrize("form", ["native", "portable"])
def test_scripts_end_while_a_thread_is_about_to_run_one(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """The agent runs them, and leaves."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("filters_all", "-O1", "-pthread", "-rdynamic")
    alone = untraced(program, "busy")
    watch = [Watch(expr="args[0].toInt32() * 2", label="twice")]
    session = launch(program, "busy", patterns=["meanwhile"], watch=watch)
    assert outcome(session) == alone
    assert totals(session)["meanwhile"].count > 0


def test_who_filters_waits_for_what_another_thread_gets_ready(launch: Launch, build_program: Build) -> None:
    """It makes system calls meanwhile, which a filter for all threads would forbid."""
    program = build_program("filters_all", "-O1", "-pthread", "-rdynamic")
    alone = untraced(program, "slow")
    watch = [Watch(expr="args[0].toInt32() * 2", label="twice")]
    assert outcome(launch(program, "slow", patterns=["meanwhile"], watch=watch)) == alone


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program has code of x86-64")
def test_a_filter_that_was_set_past_the_c_library_is_told(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("filters_itself"), patterns=["work"])
    wait_until(lambda: any("has not set that filter by the C library" in text for text in session.warnings), "a word")
    os.kill(session.pid, signal.SIGTERM)
    assert outcome(session).stdout == "ready\n"


@contextlib.contextmanager
def filtered_when_told(manager: SessionManager, program: Path, how: str) -> Iterator[tuple[Session, set[int]]]:
    """The program, attached to, once it has filtered its calls and `after` has been called; and its threads before
    that. In the end it must be right."""
    process = subprocess.Popen([program, how], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
        session = manager.launch(spec, TraceRequest(["after"]))
        before = task_ids(process.pid)
        filter_calls(process)
        wait_until(lambda: [found.count for found in totals(session).values()] == [3000], "the calls")
        yield session, before
        assert process.poll() is None
        process.send_signal(signal.SIGUSR2)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 3
    finally:
        processes.end(process)


def test_what_is_traced_of_it_stays_until_the_end(manager: SessionManager, build_program: Build) -> None:
    program = build_program("filters_all", "-O1", "-pthread")
    with filtered_when_told(manager, program, "told") as (session, before):
        with pytest.raises(StrobeError, match=r"Strobe's agent has left process \d+: the program filters"):
            session.trace(TraceRequest(add=["before"]))
        assert len(task_ids(session.pid)) == 4 < len(before)
        assert session.reader.read([ReadTarget("is_filtered")])[0].error is None
        session.stop()


def test_a_recording_ends_though_its_hooks_stay(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Target) -> bool:
        raise failure("agent_unresponsive", pid=1, seconds=1)

    with filtered_when_told(manager, build_program("filters_all", "-O1", "-pthread"), "told") as (session, _):
        pid, recorder = session.pid, session._target.setup.recorder  # type: ignore[attr-defined]
        monkeypatch.setattr(Target, "_take_out", refuse)
        session.stop(retain=True)
        assert any(text.startswith("The hooks' removal has failed: ") for text in session.warnings)
        with FileIO(f"/proc/{pid}/mem") as memory:
            control, *_ = read_view(memory, _abi.RECORDER_VIEW, recorder)
            assert read_view(memory, _abi.CONTROL_VIEW, control)[:2] == (0, 0)  # exit_handler, alive


@pytest.mark.parametrize("what", ["agent_stays", "no_threads"])
def test_an_agent_that_cannot_leave_has_not_left(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The call does not wait for it."""

    def refuse(pid: int, *_: object) -> bool:
        raise failure(what, pid=pid, needed="one more thread")

    monkeypatch.setattr("strobe.capture.target.leave", refuse)
    begun = time.monotonic()
    session = launch(build_program("filters_all", "-O1", "-pthread"), "once", patterns=["before", "after"])
    session.wait(20)
    assert time.monotonic() - begun < 20
    said = [text.partition(":")[0] for text in session.warnings if " leave" in text or " left" in text]
    assert said == ["Strobe's agent could not leave the program"]
    assert any(text.startswith("The agent's removal has failed: ") for text in session.warnings)


def test_a_program_is_left_whose_main_thread_filters_its_calls(manager: SessionManager, build_program: Build) -> None:
    """Frida would have that thread unmap what had loaded the agent."""
    with filtered_when_told(manager, build_program("filters_all", "-O1", "-pthread"), "own") as (session, _):
        pid = session.pid
        session.stop()
        assert len(task_ids(pid)) == 4


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program writes code of x86-64")
@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("names", ["", "prctl", "prctl syscall"])
def test_it_is_said_that_filters_would_not_be_seen(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, names: str, form: str
) -> None:
    """Another tool has changed the functions by which the program would ask for them."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("replaces_prctl", "-O1")
    process = subprocess.Popen([program, *names.split()], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
        session = manager.launch(spec, TraceRequest(["step"]))
        wait_until(lambda: len(totals(session)) == 1, "a call")
        said = [text.partition(" are not seen")[0] for text in session.warnings if "are not seen" in text]
        assert said == ([f"Calls of {' and '.join(names.split())}"] if names else [])
        session.stop()
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
    finally:
        processes.end(process)
