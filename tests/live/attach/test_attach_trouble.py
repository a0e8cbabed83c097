"""Attaching to programs that make it hard: where Frida cannot, the program goes on as if nothing had been tried."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import cgroups, processes
from support.programs import PROGRAMS, build, source_of
from support.sessions import Build, totals
from support.short_form import short
from support.wait import wait_until

from strobe.capture.attachable import wait_until_attachable
from strobe.errors import Code, StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import Session, SessionManager

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def test_the_main_thread_is_loading_a_library(manager: SessionManager, build_program: Build) -> None:
    """A thread that loads the agent would wait for it."""
    library = build_program("loads_long", "-DLIBRARY", "-shared", "-fPIC")
    process = subprocess.Popen([build_program("loads_long"), library], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "loading\n"
        with pytest.raises(StrobeError) as caught:
            manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
        assert caught.value.code == Code.ATTACH_FAILED
        assert "dynamic loader" in str(caught.value)
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("loaded\n", None)
        assert process.returncode == 5
    finally:
        processes.end(process)


@pytest.mark.long
def test_the_program_gets_little_of_the_processors(manager: SessionManager, build_program: Build) -> None:
    """The agent takes seconds for each step, which is no reason to give up."""
    process = subprocess.Popen([build_program("steady")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        with cgroups.starved(process.pid, 1_000, 300_000):
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["steady_*"])
            )
        wait_until(lambda: len(totals(session)) == 2, "calls of both functions")
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
    finally:
        processes.end(process)


def test_frida_gives_up_while_its_loader_is_at_work(manager: SessionManager, build_program: Build) -> None:
    """As on busy processors. The loader finds nobody to talk to, and ends."""
    process = subprocess.Popen([build_program("steady")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        of_program = tasks(process.pid)
        with new_thread_stopped(process.pid), pytest.raises(StrobeError) as caught:
            attach(manager, process.pid)
        assert "Frida's agent did not start" in str(caught.value)
        wait_until(lambda: tasks(process.pid) == of_program, "the loader's thread to end")
        assert "frida" not in Path(f"/proc/{process.pid}/maps").read_text()
        session = attach(manager, process.pid)
        wait_until(lambda: len(totals(session)) == 2, "calls of both functions")
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
    finally:
        processes.end(process)


@contextlib.contextmanager
def new_thread_stopped(pid: int) -> Iterator[None]:
    """The first thread that comes to the process stands still."""
    before, ended = tasks(pid), threading.Event()

    def stop() -> None:
        while not (found := tasks(pid) - before):
            if ended.wait(0.0005):
                return
        system = ctypes.CDLL(None)
        task = min(found)
        assert system.ptrace(PTRACE_SEIZE, task, None, None) == 0
        assert system.ptrace(PTRACE_INTERRUPT, task, None, None) == 0
        ended.wait()  # it goes on with the end of this thread

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(stop)
        try:
            yield
        finally:
            ended.set()
            stopping.result()


def tasks(pid: int) -> set[int]:
    with contextlib.suppress(OSError):
        return {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()}
    return set()


def attach(manager: SessionManager, pid: int) -> Session:
    return manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest(["steady_*"]))


def test_one_that_is_killed_meanwhile_is_gone(manager: SessionManager, build_program: Build) -> None:
    """A tracer that has not waited for its end keeps it, for whoever is its parent."""
    command = ["sh", "-c", '"$@" & echo $!; wait $!; echo $?', "sh", str(build_program("forks_and_looks"))]
    for number in range(0, 12, short(1, 3)):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
            try:
                assert shell.stdout is not None
                pid, ready = sorted([shell.stdout.readline(), shell.stdout.readline()])
                assert ready == "ready\n"
                killer = threading.Timer(0.05 + 0.03 * number, os.kill, (int(pid), signal.SIGKILL))
                killer.start()
                with contextlib.suppress(StrobeError):
                    manager.launch(LaunchSpec("", pid=int(pid), project_root=str(PROGRAMS)), TraceRequest(["look"]))
                killer.join()
                assert shell.communicate(timeout=30)[0] == "137\n"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)


def test_one_that_ends_right_before_it_is_opened(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = subprocess.Popen([build_program("steady")], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"

        def end(pid: int) -> None:
            wait_until_attachable(pid)
            process.kill()
            process.wait(30)

        monkeypatch.setattr("strobe.capture.target.wait_until_attachable", end)
        with pytest.raises(StrobeError, match="No process has the id") as caught:
            manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
        assert caught.value.code == Code.ATTACH_FAILED
    finally:
        processes.end(process)


def test_a_library_was_truncated_while_it_is_mapped(
    manager: SessionManager, build_program: Build, program_cache: Path, tmp_path: Path
) -> None:
    """The program does not touch it any more; who looks through its modules would."""
    library = tmp_path / "library.so"
    shutil.copy(build(source_of("plugin"), ("-shared", "-fPIC"), None, program_cache), library)
    command = ["sh", "-c", '"$@" & echo $!; wait $!; echo $?', "sh", str(build_program("leaves_library")), str(library)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        try:
            assert shell.stdout is not None
            pid = int(shell.stdout.readline())
            wait_until(lambda: str(library) in Path(f"/proc/{pid}/maps").read_text(), "the library")
            os.truncate(library, 0)
            with pytest.raises(StrobeError) as caught:
                manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest(["step"]))
            assert "is empty although it is mapped" in caught.value.message
            os.kill(pid, signal.SIGTERM)
            assert shell.communicate(timeout=30)[0] == "143\n"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
