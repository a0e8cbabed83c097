"""A child that is forked while the agent comes or goes loads a library, without the agent's threads and locks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

import pytest
from support.programs import PROGRAMS
from support.rounds import IS_LONG, rounds, scenario
from support.sessions import Build

from strobe.model import LaunchSpec
from strobe.session import SessionManager

RIGHT = 5
# Not our own child: who waits for it here would be told of its stops.
STARTS = '"$@" & echo $!; wait $!; echo $?'


@pytest.mark.skipif(not IS_LONG, reason="Frida may refuse to attach to a program that forks all the time")
@scenario
def test_forks_while_attached_to(manager: SessionManager, build_program: Build) -> None:
    program, plugin = build_program("torture/forks"), build_program("torture/plugged", "-shared", "-fPIC")
    command = ["sh", "-c", STARTS, "sh", program, "900", "0", plugin]
    for _ in rounds(4):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
            try:
                assert shell.stdout is not None
                pid = int(shell.stdout.readline())
                assert shell.stdout.readline() == "ready\n"
                session = manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), [])
                session.stop()
                os.kill(pid, signal.SIGUSR1)
                output, _ = shell.communicate(timeout=60)
                assert output.splitlines()[-1] == str(RIGHT), output
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
