"""Children that are forked while the agent comes or goes do as they do alone: its threads and locks are not theirs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build

from strobe.model import LaunchSpec
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
                pid = int(shell.stdout.readline())
                assert shell.stdout.readline() == "ready\n"
                for _ in range(6):
                    manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), ["end_child"]).stop()
                os.kill(pid, signal.SIGUSR1)
                output, _ = shell.communicate(timeout=60)
                assert output == "0 wrong\n0\n"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
