"""A process ends as it does alone when its main thread ends first, and when a child of vfork comes to nothing."""

from __future__ import annotations

import signal
import subprocess

import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build, Launch, counts, outcome, untraced

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager


@scenario
@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("how", ["_exit", "exit", "kill", "return"])
@pytest.mark.parametrize("pattern", ["nothing_at_all", "*"])
def test_children_of_vfork_that_come_to_nothing(launch: Launch, build_program: Build, how: str, pattern: str) -> None:
    program = build_program("starts_nothing", "-O1")
    alone = untraced(program, how)
    for _ in rounds(1):
        session = launch(program, how, patterns=[pattern])
        assert outcome(session) == alone
        session.stop()


@scenario
@pytest.mark.parametrize("how", ["", "thread", "status"])
def test_main_thread_ends_first(launch: Launch, build_program: Build, how: str) -> None:
    """The agent's threads are none of the program's: with its own last one it ends, its exit handlers run."""
    program = build_program("main_thread_ends")
    alone = untraced(program, how)
    assert alone.stdout.startswith("main\n") and alone.status == (5 if how == "status" else 0)
    for _ in rounds(1):
        session = launch(program, how, patterns=["*"])
        assert outcome(session) == alone
        session.stop()


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("how", ["filter", "strict"])
def test_the_kernel_ends_the_only_thread(launch: Launch, build_program: Build, how: str) -> None:
    """It ends the program with it: the same signal is told as where it runs alone."""
    program = build_program("ends_a_thread")
    alone = untraced(program, how)
    assert alone.status == -(signal.SIGKILL if how == "strict" else signal.SIGSYS)
    session = launch(program, how, patterns=["take"])
    assert outcome(session) == alone
    session.stop()


def test_the_kernel_ends_the_only_thread_of_a_program_with_a_handler(launch: Launch, build_program: Build) -> None:
    """Which does not run: that it would in a thread of the agent's."""
    program = build_program("ends_a_thread")
    assert untraced(program, "handles").status == -signal.SIGSYS
    session = launch(program, "handles", patterns=["take"])
    assert outcome(session).status == -signal.SIGKILL
    session.stop()


def test_what_the_last_thread_calls_is_recorded(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("main_thread_ends", "-O0"), "thread", patterns=["*"])
    outcome(session)
    found = counts(session)
    assert found["in_thread"] == found["at_exit"] == (1, 1, 0)


def test_attached_program_whose_main_thread_ends(manager: SessionManager, build_program: Build) -> None:
    with subprocess.Popen([build_program("main_thread_ends"), "told"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "main\n"
            session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
            process.send_signal(signal.SIGUSR1)
            assert process.communicate(timeout=60) == ("handler\n", None)
            assert process.returncode == 0
            session.stop()
        finally:
            processes.end(process)
