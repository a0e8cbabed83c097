"""A program may have functions of its own with names of the C library's: the agent does not call them."""

from __future__ import annotations

import subprocess

import pytest
from support import processes
from support.differential import NATIVE, PORTABLE
from support.programs import PROGRAMS
from support.sessions import Build, Launch, Outcome, outcome, totals, untraced

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

CALLS = {"step": 1, "poll": 1, "open": 1, "main": 1}
DONE = Outcome("ready\n98, 4 calls\n", "", 4)


@pytest.fixture(autouse=True, params=[NATIVE, PORTABLE])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", request.param)


def test_it_is_started(launch: Launch, build_program: Build) -> None:
    program = build_program("own_names")
    session = launch(program, patterns=["*"], stdin="\n")
    assert outcome(session) == untraced(program, stdin="\n") == DONE
    found = totals(session)
    assert {name: found[name].count for name in CALLS} == CALLS


def test_it_is_attached_to_while_it_runs(manager: SessionManager, build_program: Build) -> None:
    process = subprocess.Popen([build_program("own_names")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        asked = TraceRequest(["step", "poll", "open"])
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), asked)
        output, _ = process.communicate("\n", timeout=60)
        assert (output, process.returncode) == ("98, 4 calls\n", 4)
        assert {name: group.count for name, group in totals(session).items() if group.count} == {"step": 1, "poll": 1}
        session.stop()
    finally:
        processes.end(process)
