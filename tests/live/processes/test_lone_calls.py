"""unshare and setns fail in a process that has threads, and Strobe's agent has some: it leaves before such a call."""

from __future__ import annotations

import select
import signal
import subprocess

import pytest
from support import processes
from support.differential import NATIVE, PORTABLE
from support.programs import PROGRAMS
from support.sessions import Build, Launch, outcome, totals, untraced
from support.wait import wait_until

from strobe.capture.task_status import is_stopped
from strobe.errors import StrobeError
from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.session import SessionManager

LEFT = "which fails where a process has threads, as Strobe's are"
TRACED = ["before", "after"]
AT_ONCE_S = 15  # the call itself waits 30 s for who does not come


@pytest.fixture(autouse=True, params=[NATIVE, PORTABLE])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", request.param)


@pytest.mark.parametrize("how", ["user", "mount", "mount of any kind", "nothing"])
def test_the_agent_leaves_before_a_call_that_would_fail(launch: Launch, build_program: Build, how: str) -> None:
    program = build_program("enters_namespaces")
    alone = untraced(program, how, stdin="\n\n")
    session = launch(program, how, patterns=TRACED, stdin="\n\n")
    assert outcome(session) == alone
    assert {name: found.count for name, found in totals(session).items()} == {"before": 1}
    assert [text for text in session.warnings if LEFT in text]
    absence = session.query(EventFilter(function=TextMatch(equals="after"))).absence
    assert absence is not None
    assert "after was not traced for the whole window" in absence


@pytest.mark.parametrize("how", ["network of any kind", "files", "thread", "child"])
def test_it_stays_where_it_does_no_harm(launch: Launch, build_program: Build, how: str) -> None:
    program = build_program("enters_namespaces")
    alone = untraced(program, how, stdin="\n\n")
    session = launch(program, how, patterns=TRACED, stdin="\n\n")
    assert outcome(session) == alone
    assert {name: found.count for name, found in totals(session).items()} == {"before": 1, "after": 1}
    assert not [text for text in session.warnings if LEFT in text]


def test_a_call_while_it_is_leaving_waits_no_longer_than_that(manager: SessionManager, build_program: Build) -> None:
    """The call comes when the session has been stopped and the agent is still there, as the program was stopped. Where
    it comes in the last moments of that, it fails."""
    program = build_program("enters_namespaces")
    alone = untraced(program, "user", stdin="\n\n")
    process = subprocess.Popen([str(program), "user"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
    try:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready 2\n"
        session = manager.launch(spec, TraceRequest(TRACED))
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(process.pid), "the stop")
        process.stdin.write("\n")
        process.stdin.flush()
        session.stop(retain=True)
        process.send_signal(signal.SIGCONT)
        readable, _, _ = select.select([process.stdout], [], [], AT_ONCE_S)
        assert readable, f"the call has not returned within {AT_ONCE_S} s"
        output, _ = process.communicate("\n", timeout=60)
        refused = alone.stdout.replace("unshare: 0 ", "unshare: -1 Invalid argument")
        assert "ready 2\n" + output in (alone.stdout, refused)
        assert process.returncode == alone.status
        assert not [text for text in session.warnings if LEFT in text]
    finally:
        processes.end(process)


def test_it_leaves_a_program_that_it_was_attached_to(manager: SessionManager, build_program: Build) -> None:
    program = build_program("enters_namespaces")
    alone = untraced(program, "user", stdin="\n\n")
    process = subprocess.Popen([str(program), "user"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
    try:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready 2\n"
        session = manager.launch(spec, TraceRequest(TRACED))
        process.stdin.write("\n")
        process.stdin.flush()
        said = process.stdout.readline()
        wait_until(lambda: [text for text in session.warnings if LEFT in text], "its departure")
        with pytest.raises(StrobeError) as refused:
            session.trace(TraceRequest(["main"]))
        assert "unshare" in refused.value.sentences
        output, _ = process.communicate("\n", timeout=60)
        assert ("ready 2\n" + said + output, process.returncode) == (alone.stdout, alone.status)
        wait_until(lambda: session.ended() is not None, "the program's end")
        assert {name: found.count for name, found in totals(session).items()} == {}
        session.stop()
    finally:
        processes.end(process)
