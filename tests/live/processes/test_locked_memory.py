"""A program that locks all of its memory has that in RAM, and not the gigabytes that the recorder reserves."""

from __future__ import annotations

import subprocess

import pytest
from support import processes
from support.differential import NATIVE, PORTABLE
from support.programs import PROGRAMS, lack
from support.sessions import Build, Launch, outcome, totals, untraced
from support.wait import wait_until

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

CURRENT, FUTURE = 1, 2
MOST_MB = 400  # Frida's agent, and its threads' stacks


@pytest.fixture(autouse=True, params=[NATIVE, PORTABLE])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", request.param)


@pytest.mark.parametrize("call", ["mlockall", "syscall"])
@pytest.mark.parametrize("flags", [CURRENT, FUTURE, CURRENT | FUTURE])
def test_while_it_is_recorded(launch: Launch, build_program: Build, flags: int, call: str) -> None:
    program = build_program("locks_memory")
    alone = untraced(program, str(flags), call, stdin="\n")
    if alone.status == 77:
        lack("this user may not lock as much memory")
    session = launch(program, str(flags), call, patterns=["step"], stdin="\n")
    traced = outcome(session)
    assert (traced.status, traced.stderr) == (alone.status, alone.stderr)
    ready, line = traced.stdout.splitlines()
    number, in_ram_mb = line.split()
    assert [ready, number] == [alone.stdout.splitlines()[0], alone.stdout.splitlines()[1].split()[0]]
    assert int(in_ram_mb) < MOST_MB
    assert totals(session)["step"].count == 1


def test_before_it_is_attached_to(manager: SessionManager, build_program: Build) -> None:
    command = [str(build_program("locks_memory")), str(CURRENT | FUTURE), "mlockall"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            lack("this user may not lock as much memory")
        for _ in range(2):
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["step"])
            )
            session.stop()
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["step"]))
        output, _ = process.communicate("\n", timeout=60)
        number, in_ram_mb = output.split()
        assert (number, process.returncode) == ("4", 0)
        assert int(in_ram_mb) < MOST_MB
        wait_until(lambda: "step" in totals(session), "a call")
        session.stop()
    finally:
        processes.end(process)
