"""Attaching to a child of the very process that Strobe runs in, as a Python test does with what it has started: how it
ended is for who waits for it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading

from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build

from strobe.errors import StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager


@scenario
def test_the_end_of_a_child_is_left_for_its_parent(manager: SessionManager, build_program: Build) -> None:
    """Whenever it ends: while Strobe attaches, changes its code, or leaves it."""
    program = build_program("steady")
    chance = random.Random(1)
    attached = 0
    spread = 0.6
    for number in rounds(40):
        process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        timer = threading.Timer(chance.uniform(0, spread), os.kill, (process.pid, signal.SIGTERM))
        timer.start()
        with contextlib.suppress(StrobeError):
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["steady_*"])
            )
            attached += 1
            session.trace(TraceRequest(remove=["steady_*"]))
            session.stop()
        timer.join()
        if number >= 3 and not attached:  # the machine is busy
            spread = min(2 * spread, 10)
        process.returncode = processes.reaped(process.pid)
        assert process.returncode == -signal.SIGTERM
        process.stdout.close()
    assert attached  # some ended later
