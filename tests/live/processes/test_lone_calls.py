"""unshare and setns fail in a process that has threads, and Strobe's agent has some: it leaves before such a call."""

from __future__ import annotations

import contextlib
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import processes
from support.differential import NATIVE, PORTABLE
from support.programs import PROGRAMS
from support.sessions import Build, Launch, outcome, totals, untraced
from support.wait import wait_until

from strobe.capture.agent.agent_link import AgentLink
from strobe.capture.task_status import is_stopped
from strobe.errors import StrobeError
from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.process_maps import maps_lines
from strobe.session import SessionManager

LEFT = "which fails where a process has threads, as Strobe's are"
TRACED = ["before", "after"]
AT_ONCE_S = 15  # the call itself waits 30 s for who does not come
HOST = """
import sys, time
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager
SessionManager().launch(LaunchSpec("", pid=int(sys.argv[1]), project_root=sys.argv[2]), TraceRequest(["before"]))
print("attached", flush=True)
time.sleep(600)
"""


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
    """The call comes when the session has been stopped and the agent is still there, as the program was stopped."""
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
        assert ("ready 2\n" + output, process.returncode) == (alone.stdout, alone.status)
        assert not [text for text in session.warnings if LEFT in text]
    finally:
        processes.end(process)


def test_a_call_in_the_last_moments_waits(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent has taken back all that it has changed, and its threads are there. Then nothing is changed any more."""
    alone = untraced(build_program("enters_namespaces"), "user", stdin="\n\n")
    with _waiting_to_call(build_program("enters_namespaces")) as process:
        assert process.stdin is not None and process.stdout is not None
        before = _code_of_libc(process.pid)
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(TRACED))
        unload = AgentLink.unload

        def call_and_unload(agent: AgentLink) -> None:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            assert not select.select([process.stdout], [], [], 1)[0], process.stdout.readline()
            unload(agent)

        monkeypatch.setattr(AgentLink, "unload", call_and_unload)
        session.stop()
        said = process.stdout.readline()
        assert _code_of_libc(process.pid) == before
        output, _ = process.communicate("\n", timeout=60)
        assert ("ready 2\n" + said + output, process.returncode) == (alone.stdout, alone.status)


def test_a_call_waits_no_longer_than_the_agent_is_there(manager: SessionManager, build_program: Build) -> None:
    """Strobe was killed while it waited: nobody tells the thread that it may go on."""
    alone = untraced(build_program("enters_namespaces"), "user", stdin="\n\n")
    with _waiting_to_call(build_program("enters_namespaces")) as process:
        assert process.stdin is not None and process.stdout is not None
        command = [sys.executable, "-c", HOST, str(process.pid), str(PROGRAMS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
            assert host.stdout is not None and host.stdout.readline() == "attached\n"
            host.send_signal(signal.SIGSTOP)
            process.stdin.write("\n")
            process.stdin.flush()
            assert not select.select([process.stdout], [], [], 1)[0], process.stdout.readline()
            host.kill()
        assert select.select([process.stdout], [], [], AT_ONCE_S)[0], f"no return within {AT_ONCE_S} s"
        output, _ = process.communicate("\n", timeout=60)
        assert ("ready 2\n" + output, process.returncode) == (alone.stdout, alone.status)
    manager.recover()


@contextlib.contextmanager
def _waiting_to_call(program: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([str(program), "user"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready 2\n"
        yield process
    finally:
        processes.end(process)


def _code_of_libc(pid: int) -> bytes:
    lines = maps_lines(Path(f"/proc/{pid}/maps").read_text())
    pieces = [line for line in lines if "/libc.so" in line.name and "x" in line.permissions]
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        memory.seek(pieces[0].start)
        return memory.read(pieces[-1].end - pieces[0].start)


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
