"""What a program permits for Strobe's sake is taken back; and what the system does not permit is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import namespaces, processes
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


def test_what_the_program_permits_itself_comes_back(build_program: Build, manager: SessionManager) -> None:
    program = build_program("permits")
    process = subprocess.Popen([program, "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest([]))
        assert isinstance(session, LiveSession)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        assert session._target.allow_tracer(os.getpid())
        assert process.stdout.readline() == f"{os.getpid()}\n"
        session.stop()
        assert process.stdout.readline() == "1\n"
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        processes.end(process)


ATTACH = """
import sys
from strobe.errors import StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager
try:
    SessionManager().launch(LaunchSpec("", pid=int(sys.argv[1]), project_root=None), TraceRequest([]))
except StrobeError as error:
    print(error)
"""


def test_a_process_that_proc_hides_is_said_to_be_hidden(build_program: Build, tmp_path: Path) -> None:
    """As of another user where /proc is mounted with hidepid: it was said that there is none."""
    command = [*namespaces.as_user(namespaces.home_of_user(tmp_path)), sys.executable, "-c", ATTACH]
    process = subprocess.Popen([build_program("permits")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        words = namespaces.with_hidden_processes([*command, str(process.pid)])
        said = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert "/proc hides processes of others (hidepid)" in said.stdout, said
    finally:
        processes.end(process)
