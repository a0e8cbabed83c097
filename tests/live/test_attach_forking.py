"""A child that is forked while the agent comes loads a library: it has Frida's hook, but no thread of the agent's."""

from __future__ import annotations

import signal
import subprocess

from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build

from strobe.model import LaunchSpec
from strobe.session import SessionManager

RIGHT = 5


@scenario
def test_forks_while_attached_to(manager: SessionManager, build_program: Build) -> None:
    program = build_program("torture/forks")
    process = subprocess.Popen(
        [program, "900", "0", build_program("torture/plugged", "-shared", "-fPIC")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for _ in rounds(3):
            session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), [])
            session.stop()
        process.send_signal(signal.SIGUSR1)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == RIGHT, output
    finally:
        processes.end(process)
