"""A program that is attached to becomes another one: what Frida knows of the first is not used in the second."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import frida
import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

# its addresses are not chosen at random: they are the same in both
FIXED = ["setarch", "-R"]
LAST_ID = Path("/proc/sys/kernel/ns_last_pid")

OBSERVER = """
import sys, time
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager
session = SessionManager().launch(LaunchSpec("", pid=int(sys.argv[1]), project_root=sys.argv[2]), TraceRequest(["ask"]))
print("attached", flush=True)
while not session.warnings:
    time.sleep(0.01)
time.sleep(1)
print(*session.warnings, flush=True)
session.stop()
"""


@pytest.mark.skipif(shutil.which("setarch") is None, reason="needs setarch")
def test_the_memory_of_the_next_program_is_its_own(build_program: Build) -> None:
    """It lies where that of the agent's loader lay in the first, before the observer learns anything."""
    command = [*FIXED, str(build_program("becomes_itself"))]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        command = [sys.executable, "-c", OBSERVER, str(program.pid), str(PROGRAMS)]
        observer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert observer.stdout is not None and observer.stdout.readline() == "attached\n"
            observer.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, observer.pid, os.WSTOPPED)
            program.send_signal(signal.SIGUSR1)
            assert program.stdout.readline() == "filled\n"
            observer.send_signal(signal.SIGCONT)
            assert observer.communicate(timeout=60)[0] == (
                "The program has become another one by exec: calls are no longer recorded. Start a new session to "
                "continue.\n"
            )
        finally:
            processes.end(observer)
        assert program.communicate(timeout=60) == ("kept\n", None)
        assert program.returncode == 7
    finally:
        processes.end(program)


def test_one_that_changes_what_the_kernel_gave_it_is_the_same(manager: SessionManager, build_program: Build) -> None:
    """Random bytes, on its stack. It is let go of at once, and is not said to have become another one."""
    command = [str(build_program("becomes_itself")), "wipes"]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        request = LaunchSpec("", pid=program.pid, project_root=str(PROGRAMS))
        session = manager.launch(request, TraceRequest(["ask"]))
        program.send_signal(signal.SIGUSR1)
        assert program.stdout.readline() == "wiped\n"
        off = "The recorder in the program is off: calls are no longer recorded. Start a new session to continue."
        wait_until(lambda: off in session.warnings, "the end of the recording to be noticed", 30)
        session.stop()
        assert program.poll() is None
        assert program.communicate(timeout=60) == ("", None)
        assert program.returncode == 7
    finally:
        processes.end(program)


@scenario
def test_one_that_does_so_all_the_time(manager: SessionManager, build_program: Build) -> None:
    """Another thread than the main one, which Frida has call functions, does it every 20 ms."""
    for _ in rounds(4):
        process = subprocess.Popen([build_program("execs_in_thread")], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            request = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
            with contextlib.suppress(StrobeError):
                manager.launch(request, TraceRequest(["step"])).stop()
            assert os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        finally:
            processes.end(process)


@pytest.mark.skipif(not os.access(LAST_ID, os.W_OK), reason="needs the right to choose ids of processes")
def test_a_process_that_gets_the_id_of_another_one_is_not_taken_for_it(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is launched when the one that was attached to has ended."""
    process = subprocess.Popen([build_program("attached")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["step"])).stop()
    finally:
        processes.end(process)
    spawn = frida.core.Device.spawn

    def with_that_id(device: Any, *words: Any, **options: Any) -> Any:
        LAST_ID.write_text(str(process.pid - 1))
        return spawn(device, *words, **options)

    monkeypatch.setattr(frida.core.Device, "spawn", with_that_id)
    for _ in range(20):
        session = manager.launch(
            LaunchSpec(str(build_program("becomes_itself")), ("again",), project_root=str(PROGRAMS), stdin=""),
            TraceRequest(["fill"]),
        )
        has_it = session.pid == process.pid
        session.wait(60)
        session.stop()
        if has_it:
            return
    pytest.skip("others took the id")
