"""Children that are forked while the agent comes or goes do as they do alone: its threads and locks are not theirs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

# Not our own child: who waits for it here would be told of its stops.
STARTS = '"$@" & echo $!; wait $!; echo $?'


@scenario
def test_threads_fork_all_the_time(
    manager: SessionManager, build_program: Build, build_plugin: Callable[..., Path]
) -> None:
    command = ["sh", "-c", STARTS, "sh", build_program("forks_always"), build_plugin()]
    for _ in rounds(1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
            try:
                assert shell.stdout is not None
                pid, ready = sorted([shell.stdout.readline(), shell.stdout.readline()])  # the two say it at once
                assert ready == "ready\n"
                for _ in range(6):
                    manager.launch(
                        LaunchSpec("", pid=int(pid), project_root=str(PROGRAMS)), TraceRequest(["end_child"])
                    ).stop()
                os.kill(int(pid), signal.SIGUSR1)
                output, _ = shell.communicate(timeout=60)
                assert output == "0 wrong\n0\n"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)


@pytest.mark.parametrize("form", ["native", "portable"])
def test_no_child_comes_while_the_agent_loads_libraries(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """It would have the lists of the dynamic linker as they were, and what that had mapped for the moment."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    for _ in range(3):  # the library stays
        with subprocess.Popen([build_program("forks_and_looks")], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["look"])
            )
            time.sleep(0.1)
            session.stop()
            process.send_signal(signal.SIGUSR1)
            assert process.communicate(timeout=60)[0] == "0 between, 0 wrong\n"
