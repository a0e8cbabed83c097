"""Attaching to programs that make it hard: where Frida cannot, the program goes on as if nothing had been tried."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from support import cgroups, processes
from support.programs import PROGRAMS
from support.sessions import Build, totals
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import LaunchSpec
from strobe.session import SessionManager


def test_the_main_thread_is_loading_a_library(manager: SessionManager, build_program: Build) -> None:
    """Frida holds it, and starts a thread that loads the agent, which waits for it."""
    library = build_program("loads_long", "-DLIBRARY", "-shared", "-fPIC")
    process = subprocess.Popen([build_program("loads_long"), library], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "loading\n"
        with pytest.raises(StrobeError) as caught:
            manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), ["*"])
        assert caught.value.code == Code.ATTACH_FAILED
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("loaded\n", None)
        assert process.returncode == 5
    finally:
        processes.end(process)


def test_the_program_gets_little_of_the_processors(manager: SessionManager, build_program: Build) -> None:
    """The agent takes seconds for each step, which is no reason to give up."""
    process = subprocess.Popen([build_program("steady")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        with cgroups.starved(process.pid, 1_000, 300_000):
            session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), ["steady_*"])
        wait_until(lambda: len(totals(session)) == 2, "calls of both functions")
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
    finally:
        processes.end(process)
