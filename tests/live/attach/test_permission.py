"""What a program permits for Strobe's sake is taken back."""

from __future__ import annotations

import os
import subprocess

from support import processes
from support.programs import PROGRAMS
from support.sessions import Build

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager
from strobe.session.live import LiveSession


def test_a_tracer_is_permitted_until_the_session_ends(build_program: Build, manager: SessionManager) -> None:
    program = build_program("permits")
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest([]))
        assert isinstance(session, LiveSession)
        assert session._target.allow_tracer(os.getpid())
        assert process.stdout.readline() == f"{os.getpid()}\n"
        session.stop()
        assert process.stdout.readline() == "0\n"
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(60) == 0
    finally:
        processes.end(process)
