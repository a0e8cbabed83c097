"""Stopping ends what was started and frees its data unless it is to be kept; what was attached to goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from support import processes
from support.leftovers import segments
from support.programs import PROGRAMS
from support.sessions import Build, Launch, count, outcome, status, text, totals
from support.wait import wait_until

from strobe.capture import attachable, target
from strobe.capture.agent import frida_session
from strobe.capture.mapped_elf import ElfFile, MappedElf, mappings
from strobe.capture.task_status import is_stopped, is_traced
from strobe.errors import Code, StrobeError
from strobe.model import EventFilter, LaunchSpec, TraceRequest
from strobe.session import SessionManager


def is_running(pid: int) -> bool:
    """A process that ended and was not reaped yet does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def has_own_code(pid: int) -> bool:
    """Whether the code of the program, without its libraries, is that of its file."""
    path = Path(f"/proc/{pid}/exe").readlink()
    base = min(mapping.start for mapping in mappings(pid) if mapping.path == str(path))
    memory = MappedElf(pid, base)
    with closing(ElfFile(str(path))) as file, closing(memory):
        return memory.has_code_of(file)


def tracers(pid: int) -> set[int]:
    found = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended
            found.add(int((task / "status").read_text().partition("TracerPid:")[2].split()[0]))
    return found


def test_stop_ends_the_program_and_frees_its_data(
    manager: SessionManager, launch: Launch, build_program: Build, strobe_home: Path
) -> None:
    session = launch(build_program("threads3"), patterns=["**"])
    wait_until(lambda: len(totals(session)) > 5, "calls")
    assert len(segments(strobe_home)) == 1
    pid = session.pid
    assert is_running(pid)
    assert session.stop() > 0
    assert not is_running(pid)
    assert segments(strobe_home) == []
    # a map of the removed file would hold its memory for as long as this process lives
    assert session.id not in Path("/proc/self/maps").read_text()
    assert not (strobe_home / "sessions" / session.id).exists()
    with pytest.raises(StrobeError) as caught:
        manager.get(session.id)
    assert caught.value.code is Code.SESSION_NOT_FOUND
    assert manager.list() == []


def test_kept_session_can_be_asked_listed_and_deleted(
    manager: SessionManager, launch: Launch, build_program: Build, strobe_home: Path
) -> None:
    session = launch(build_program("throws", "-O0"), patterns=["flow::*"])
    ended = outcome(session)
    found = totals(session)
    session.stop(retain=True)
    assert segments(strobe_home) == []
    later = SessionManager()
    kept = later.get(session.id)
    assert outcome(kept) == ended
    assert totals(kept) == found
    summary = next(summary for summary in later.list() if summary.session_id == session.id)
    assert (summary.status, summary.exit_code, summary.signal) == ("exited", 0, None) or summary.status == "stopped"
    later.delete(session.id)
    assert later.list() == []
    assert not (strobe_home / "sessions" / session.id).exists()
    later.close()


def test_a_program_that_ended_at_once_is_a_good_session(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("hello"), patterns=["greet"])
    assert outcome(session).stdout == "hello world\n"
    assert totals(session)["greet"].count == 1
    assert session.query(EventFilter(event_type="function_exit")).events[0].return_value == 12


def test_running_session_is_not_deleted(manager: SessionManager, launch: Launch, build_program: Build) -> None:
    session = launch(build_program("threads3"))
    with pytest.raises(StrobeError) as caught:
        manager.delete(session.id)
    assert caught.value.code is Code.SESSION_EXISTS
    session.stop()


def test_trace_of_an_ended_program_says_so(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("hello"))
    assert status(session) == 0
    with pytest.raises(StrobeError) as caught:
        session.trace(TraceRequest(add=["greet"]))
    assert caught.value.code is Code.PROCESS_EXITED


def test_sessions_of_one_minute_have_different_names(launch: Launch, build_program: Build) -> None:
    program = build_program("hello")
    names = {launch(program).id for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("hello-") for name in names)


def test_closing_the_manager_ends_what_it_started(strobe_home: Path, build_program: Build) -> None:
    manager = SessionManager()
    spec = LaunchSpec(str(build_program("threads3")), project_root=str(PROGRAMS))
    pids = [manager.launch(spec, TraceRequest(["**"])).pid for _ in range(3)]
    assert all(is_running(pid) for pid in pids)
    manager.close()
    assert not any(is_running(pid) for pid in pids)
    assert segments(strobe_home) == []


@pytest.fixture
def running(build_program: Build) -> Iterator[subprocess.Popen[str]]:
    """A program that nobody observes yet; it is past its "ready"."""
    program = build_program("threads3")
    process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        processes.end(process)


def test_attached_program_goes_on_after_stop(
    manager: SessionManager, running: subprocess.Popen[str], strobe_home: Path
) -> None:
    session = manager.launch(LaunchSpec("", pid=running.pid, project_root=str(PROGRAMS)), TraceRequest(["audio::**"]))
    wait_until(lambda: totals(session).get("audio::tick"), "calls")
    session.stop()
    assert is_running(running.pid)
    running.send_signal(signal.SIGUSR1)
    assert running.communicate(timeout=60) == ("", "bye\n")
    assert running.returncode == 0
    assert segments(strobe_home) == []


def test_a_parent_that_polls_sees_no_stop_of_its_child(manager: SessionManager, running: subprocess.Popen[str]) -> None:
    """A wait of the process that debugs its own child is told of ptrace stops: there are none after attach and stop."""
    for _ in range(5):
        session = manager.launch(
            LaunchSpec("", pid=running.pid, project_root=str(PROGRAMS)), TraceRequest(["audio::**"])
        )
        assert [running.poll() for _ in range(1000)] == [None] * 1000
        session.stop()
        assert tracers(running.pid) == {0}
        # the last stop used to come about 50 ms later
        deadline = time.monotonic() + 0.2
        while time.monotonic() < deadline:
            assert running.poll() is None
    running.send_signal(signal.SIGUSR1)
    assert running.wait(timeout=20) == 0


def test_threads_that_end_while_they_are_looked_at_do_not_hide_the_process(build_program: Build) -> None:
    """Else a detach is over before Frida's last stop, and a signal that comes then is lost."""
    with subprocess.Popen([build_program("brief_threads")], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        try:
            assert {is_traced(process.pid) for _ in range(3000)} == {False}
        finally:
            process.kill()
    assert is_traced(process.pid) is None


# Starts a program and writes its process id; for each line of standard input, what it was told of it since
PARENT = """
import os, select, signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
unblock = lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
child = subprocess.Popen(sys.argv[1], stdout=subprocess.PIPE, preexec_fn=unblock)
child.stdout.readline()
print(child.pid, flush=True)
told = set()
while True:
    if signal.sigtimedwait([signal.SIGCHLD], 0.001):
        told.add("signal")
    if os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
        told.add("wait")
    if select.select([0], [], [], 0)[0]:
        if not os.read(0, 1):
            break
        print(*sorted(told), flush=True)
        told.clear()
child.kill()
"""


def test_a_parent_elsewhere_sees_no_stop_of_its_child(manager: SessionManager, build_program: Build) -> None:
    """It is told neither by SIGCHLD nor by waits that ask for stops, whenever it looks."""
    command = [sys.executable, "-c", PARENT, str(build_program("threads3"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stdin is not None
        pid = int(parent.stdout.readline())
        for _ in range(3):
            session = manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest(["audio::**"]))
            session.trace(TraceRequest(add=["ui::**"]))
            session.trace(TraceRequest(remove=["audio::**"]))
            session.stop()
        os.write(parent.stdin.fileno(), b"?")
        assert parent.stdout.readline() == "\n"
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state(pid) == "T", "the program to be stopped")
        os.write(parent.stdin.fileno(), b"?")
        assert "wait" in parent.stdout.readline()
        parent.stdin.close()
        assert parent.wait(timeout=20) == 0


def test_attached_program_that_ends_is_seen(manager: SessionManager, running: subprocess.Popen[str]) -> None:
    session = manager.launch(LaunchSpec("", pid=running.pid, project_root=str(PROGRAMS)), TraceRequest(["ui::**"]))
    running.send_signal(signal.SIGUSR1)
    ended = session.wait(60)
    assert ended is not None
    assert running.wait(timeout=20) == 0
    session.stop()


def test_a_stopped_program_is_not_attached_to(manager: SessionManager, running: subprocess.Popen[str]) -> None:
    """Frida would wait in it until it goes on, and longer."""
    running.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(running.pid) == "T", "the program to be stopped")
    with pytest.raises(StrobeError) as caught:
        manager.launch(LaunchSpec("", pid=running.pid, project_root=str(PROGRAMS)), TraceRequest(["audio::**"]))
    assert caught.value.code is Code.ATTACH_FAILED
    assert f"kill -CONT {running.pid}" in str(caught.value)
    assert manager.list() == []
    assert tracers(running.pid) == {0}
    running.send_signal(signal.SIGCONT)
    session = manager.launch(LaunchSpec("", pid=running.pid, project_root=str(PROGRAMS)), TraceRequest(["audio::**"]))
    wait_until(lambda: totals(session).get("audio::tick"), "calls")
    session.stop()
    running.send_signal(signal.SIGUSR1)
    assert running.communicate(timeout=60) == ("", "bye\n")


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_program_that_the_kernel_keeps_waiting_is_attached_to_in_time_or_not_at_all(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, asked_first: bool
) -> None:
    """Its thread waits for a child of vfork, which no signal ends. `asked_first`: before Frida is."""
    monkeypatch.setattr(attachable if asked_first else frida_session, "ATTACH_S", 0.5)
    if not asked_first:
        monkeypatch.setattr(target, "wait_until_attachable", lambda _: None)
    command = [build_program("vforks")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        wait_until(lambda: state(process.pid) == "D", "the program to wait for its child")
        with pytest.raises(StrobeError) as caught:
            manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
        assert caught.value.code is Code.ATTACH_FAILED
        assert any(text in str(caught.value) for text in ("within 0.5 s", "timed out while waiting for stop"))
        assert manager.list() == []
        assert process.communicate(timeout=60) == ("child\nbye\n", None)
        assert process.returncode == 0


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_small_event_limits_are_kept(
    launch: Launch, build_program: Build, settings: Callable[[dict[str, object]], None]
) -> None:
    settings({"events.maxPerSession": 1000})
    session = launch(build_program("million", "-O2"), patterns=["counted::f"], sampling="off")
    assert status(session) == 0
    kept = count(session, "function_enter", "counted::f") + count(session, "function_exit", "counted::f")
    assert session.timeline.loss().evicted == 2_000_000 - kept


def test_program_that_is_stopped_by_a_signal_can_be_ended(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("threads3"), patterns=["**"])
    wait_until(lambda: text(session, "stdout") == "ready\n", "the program to be ready")
    pid = session.pid
    os.kill(pid, signal.SIGSTOP)
    session.stop()
    assert not is_running(pid)


def test_a_stopped_program_is_let_go_of_when_it_goes_on(
    manager: SessionManager, build_program: Build, build_plugin: Callable[..., Path]
) -> None:
    with subprocess.Popen(
        [build_program("loads_always"), build_plugin()], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
            session = manager.launch(spec, TraceRequest(["plugin_run", "main"]))
            wait_until(lambda: totals(session).get("plugin_run"), "calls")
            assert not has_own_code(process.pid)
            process.send_signal(signal.SIGSTOP)
            wait_until(lambda: is_stopped(process.pid), "the stop")
            began = time.monotonic()
            session.stop()
            assert time.monotonic() - began < 15  # the agent's answers were waited for 40 s
            failures = session.failures
            assert any("is stopped" in text and "hooks are uninstalled;" in text for text in failures), failures
            with pytest.raises(StrobeError):  # it has gone; its program has not
                session.stop()
            assert is_running(process.pid)
            assert has_own_code(process.pid)
            assert attachable.has_agent(process.pid)
            with pytest.raises(StrobeError) as caught:
                manager.launch(spec, TraceRequest(["plugin_run"]))
            assert "is stopped" in caught.value.message
            process.send_signal(signal.SIGCONT)
            again = manager.launch(spec, TraceRequest(["plugin_run"]))  # waits until that agent has left
            wait_until(lambda: totals(again).get("plugin_run"), "calls")
            again.stop()
            assert again.failures == ()
            assert not attachable.has_agent(process.pid)
            process.send_signal(signal.SIGUSR1)
            assert process.stdout.read() == "right\n"
        finally:
            processes.end(process)
