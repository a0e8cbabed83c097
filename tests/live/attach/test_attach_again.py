"""One process is attached to again and again: each session records as the first did, and the program stays right."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build, Launch, status, text, totals
from support.wait import wait_until

from strobe.capture.agent.device import ROUTER
from strobe.errors import Code, StrobeError
from strobe.model import Event, EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.session import Session, SessionManager

OTHER = """
import sys, time
from strobe.model import LaunchSpec
from strobe.session import SessionManager
from strobe.model import TraceRequest
session = SessionManager().launch(LaunchSpec("", pid=int(sys.argv[1]), project_root=sys.argv[2]), TraceRequest(["*"]))
print(session.id, flush=True)
time.sleep(600)
"""

# is killed when its agent is there, and nothing has been written yet
KILLED = """
import os
from strobe.capture.code_patches import CodePatches
CodePatches.take_back = lambda patches, left: os.kill(os.getpid(), 9)
"""


@pytest.fixture
def running(build_program: Build) -> Iterator[subprocess.Popen[str]]:
    with attached_program(build_program("attached")) as process:
        yield process


@contextlib.contextmanager
def attached_program(path: Path) -> Iterator[subprocess.Popen[str]]:
    """It is past its "ready"."""
    process = subprocess.Popen([path], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        processes.end(process)


def attach(manager: SessionManager, pid: int, pattern: str = "*") -> Session:
    return manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest([pattern], sampling="off"))


def ends_well(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGUSR1)
    assert process.communicate(timeout=60) == ("parent right\n", None)
    assert process.returncode == 0


def called(session: Session, name: str) -> int:
    found = totals(session).get(name)
    return found.count if found else 0


def has_called(session: Session, name: str, count: int) -> bool:
    return called(session, name) > count


def check_records(session: Session) -> None:
    """Both threads' calls, each within the other, at times of this session."""
    begun = called(session, "step")
    wait_until(lambda: called(session, "step") > begun + 200, "calls", 60)
    wait_until(lambda: len({event.thread_id for event in steps(session)}) == 2, "calls of both threads", 60)
    found = steps(session)
    assert all(event.function == "step" and event.timestamp_ns > 0 for event in found)
    assert all(event.depth is not None and event.depth <= 2 for event in found)
    assert session.timeline.loss().lost == 0


def steps(session: Session) -> list[Event]:
    """The first calls; a page, for the program makes them faster than they are read."""
    wanted = EventFilter(event_type="function_enter", function=TextMatch(equals="step"), limit=2000)
    return list(session.query(wanted).events)


@scenario
@pytest.mark.parametrize("form", ["native", "portable"])
def test_each_session_records_as_the_first(
    manager: SessionManager, running: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    for _ in rounds(5):
        session = attach(manager, running.pid)
        check_records(session)
        session.stop()
    ends_well(running)
    assert manager.list() == []


@scenario
@pytest.mark.parametrize("form", ["native", "portable"])
def test_coroutines_that_a_handler_preempts_go_on_right(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """In the middle of a record, in displaced instructions, in a session that has ended since."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    with attached_program(build_program("preempts")) as process:
        for _ in rounds(6):
            session = attach(manager, process.pid)
            wait_until(partial(has_called, session, "leaf", called(session, "leaf") + 200_000), "calls", 60)
            for _ in range(3):
                session.trace(TraceRequest(remove=["*"]))
                session.trace(TraceRequest(["*"], sampling="off"))
            session.stop()
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0


@pytest.mark.parametrize("form", ["native", "portable"])
def test_what_a_thread_has_open_returns_in_the_next_session(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """While another thread has as much open of the next session: no thread is given what a living one returns by."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    with attached_program(build_program("returns_later")) as process:
        assert process.stdout is not None
        session = attach(manager, process.pid, "hold")
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "inside\n"
        wait_until(lambda: called(session, "hold") == 21, "the first thread's calls", 60)
        session.stop()
        session = attach(manager, process.pid, "other")
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
        assert status(session) == 0
        assert called(session, "other") == 21


def test_a_trampoline_of_an_ended_session_counts_for_no_function_of_the_next(
    manager: SessionManager, build_program: Build
) -> None:
    """Suspended coroutines go on in it."""
    with attached_program(build_program("suspends", "-O1")) as process:
        assert process.stdout is not None
        session = attach(manager, process.pid, "leaf")
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "suspended\n"
        session.stop()
        session = attach(manager, process.pid, "never")
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
        assert status(session) == 0
        assert called(session, "never") == 0


@scenario
def test_a_program_that_signals_interrupt_all_the_time(manager: SessionManager, build_program: Build) -> None:
    """A stop for a signal clears the request to stop that Frida is waiting for."""
    with attached_program(build_program("blocks_in_contexts", "-O1", "-DEVERY_NS=25000")) as process:
        for _ in rounds(24):
            session = attach(manager, process.pid)
            wait_until(partial(has_called, session, "take", called(session, "take")), "calls", 60)
            session.stop()
            assert session.failures == ()
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0


def test_nothing_of_ended_sessions_stays_mapped(manager: SessionManager, running: subprocess.Popen[str]) -> None:
    """Nor grows: a segment is several MB, and a thread's state more than one."""
    most = 0
    of_program = tasks(running.pid)
    for number in range(6):
        session = attach(manager, running.pid)
        check_records(session)
        segment = str(manager.list()[0].session_id)
        assert segment in maps(running.pid)
        session.stop()
        assert segment not in maps(running.pid)
        assert "frida" not in maps(running.pid)
        assert tasks(running.pid) == of_program
        if number == 0:
            most = resident_kb(running.pid) + 8 * 1024
    assert resident_kb(running.pid) < most
    ends_well(running)


def test_the_threads_of_a_program_take_no_more_memory_with_each_session(
    manager: SessionManager, build_program: Build
) -> None:
    """Each has other numbers of functions, and a thread has a table by these."""
    with attached_program(build_program("calls_many", "-O1")) as process:
        sizes = []
        for _ in range(6):
            session = attach(manager, process.pid, "many_*")
            wait_until(lambda session=session: len(list(all_threads(session))) >= 100, "calls of all threads", 60)
            session.stop()
            sizes.append(largest_kb(process.pid))
    assert sizes[-1] < sizes[0] + 500, sizes  # 400 for each session, where they stay


def all_threads(session: Session) -> list[int | None]:
    return [one.thread_id for one in session.timeline.totals(EventFilter(), "thread")]


def largest_kb(pid: int) -> int:
    """What is in memory of the largest mapping: the states of threads."""
    lines = Path(f"/proc/{pid}/smaps").read_text().splitlines()
    sizes = [int(line.split()[1]) for line in lines if line.startswith("Size:")]
    resident = [int(line.split()[1]) for line in lines if line.startswith("Rss:")]
    return max(zip(sizes, resident, strict=True))[1]


def test_sessions_go_on_when_frida_is_begun_anew(
    manager: SessionManager, launch: Launch, running: subprocess.Popen[str], build_program: Build
) -> None:
    """As it is for the sake of processes that an agent does not leave."""
    first = attach(manager, running.pid)
    launched = launch(build_program("steady"), patterns=["*"])
    before = fridas_files()
    use = ROUTER.use()
    ROUTER.replace(use)
    use.end()
    with attached_program(build_program("attached")) as other:
        second = attach(manager, other.pid)
        check_records(second)
        check_records(first)
        for session, process in ((second, other), (first, running)):
            session.stop()
            assert "frida" not in maps(process.pid)
            check_records(again := attach(manager, process.pid))
            again.stop()
            ends_well(process)
    os.kill(launched.pid, signal.SIGUSR1)
    assert status(launched) == 0
    assert text(launched, "stdout") == "ready\nright\n"
    wait_until(lambda: fridas_files() <= before, "the end of what is not used any more", 60)


def fridas_files() -> int:
    """How many descriptors lead to what Frida takes into processes, two for each of its devices that has done it."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one by which they are listed
            links.append(str(descriptor.readlink()))
    return sum("memfd:frida" in link for link in links)


def test_a_second_session_is_refused_while_the_first_lives(
    manager: SessionManager, running: subprocess.Popen[str]
) -> None:
    first = attach(manager, running.pid)
    other = SessionManager()
    for one in (manager, other):
        with pytest.raises(StrobeError) as caught:
            attach(one, running.pid)
        assert caught.value.code is Code.ATTACH_FAILED
        assert f"'{first.id}'" in str(caught.value)
    other.close()
    check_records(first)
    first.stop()
    ends_well(running)


def test_a_second_session_of_another_home_is_refused(
    manager: SessionManager, running: subprocess.Popen[str], tmp_path: Path
) -> None:
    first = attach(manager, running.pid)
    other = SessionManager(tmp_path / "other home")
    with pytest.raises(StrobeError) as caught:
        attach(other, running.pid)
    assert caught.value.code is Code.ATTACH_FAILED
    assert first.id in str(caught.value)
    other.close()
    check_records(first)
    first.stop()
    ends_well(running)


@scenario
@pytest.mark.usefixtures("form")
def test_after_the_death_of_the_observer_it_is_attached_to_again(
    manager: SessionManager, running: subprocess.Popen[str]
) -> None:
    for _ in rounds(2):
        command = [sys.executable, "-c", OTHER, str(running.pid), str(PROGRAMS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            name = other.stdout.readline().strip()
            session = manager.get(name)
            wait_until(lambda session=session: called(session, "step") > 100, "calls", 60)
            with pytest.raises(StrobeError) as caught:
                attach(manager, running.pid)
            assert name in str(caught.value)
            other.kill()
        session = attach(manager, running.pid)
        check_records(session)
        session.stop()
        manager.recover()
        manager.delete(name)
    ends_well(running)


def test_of_two_that_attach_at_the_same_moment_the_second_is_refused(
    manager: SessionManager, running: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have found that nobody records the process: the recorder sees it."""
    command = [sys.executable, "-c", OTHER, str(running.pid), str(PROGRAMS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        session = manager.get(other.stdout.readline().strip())
        monkeypatch.setattr("strobe.session.attaching._wait_until_ended", lambda store, pid: None)
        with pytest.raises(StrobeError, match="is already recorded by session") as caught:
            attach(manager, running.pid)
        assert caught.value.code is Code.ATTACH_FAILED
        before = called(session, "step")
        wait_until(lambda: called(session, "step") > before + 100, "calls", 60)
        other.kill()
    manager.recover()
    ends_well(running)


@scenario
@pytest.mark.parametrize("form", ["native", "portable"])
def test_jumps_across_the_end_of_a_line_are_taken_out_when_the_observer_dies(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Those of which one byte lies before the end stay for the next observer."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    names = {f"at_{place}" for place in range(56, 64)}
    with attached_program(build_program("line_ends")) as process:
        for number in rounds(3):
            command = [sys.executable, "-c", OTHER, str(process.pid), str(PROGRAMS)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
                assert other.stdout is not None
                session = manager.get(other.stdout.readline().strip())
                for name in names if form == "native" or number == 0 else names - {"at_63"}:
                    wait_until(partial(is_called, session, name), f"calls of {name}", 60)
                other.kill()
            wait_until(lambda: "frida" not in maps(process.pid), "the agent to leave", 60)
            manager.recover()
            manager.delete(session.id)
        ends_well(process)


@scenario
@pytest.mark.parametrize("form", ["native", "portable"])
def test_children_forked_while_jumps_are_taken_out_run_on(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Nobody holds the threads: for a moment a jump across the end of a line leads to itself, and a child that is
    forked then has the code as it is."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    with attached_program(build_program("forks_across_lines")) as process:
        for _ in rounds(4):
            command = [sys.executable, "-c", OTHER, str(process.pid), str(PROGRAMS)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
                assert other.stdout is not None
                session = manager.get(other.stdout.readline().strip())
                other.kill()
            wait_until(lambda: "frida" not in maps(process.pid), "the agent to leave", 60)
            manager.recover()
            manager.delete(session.id)
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("0 wrong\n", None)


def test_jumps_that_were_left_are_known_to_all_later_observers(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is killed before it has taken them back forgets none."""
    monkeypatch.setenv("STROBE_RECORDER", "native")
    with attached_program(build_program("line_ends")) as process:
        arguments = [str(process.pid), str(PROGRAMS)]
        with subprocess.Popen([sys.executable, "-c", OTHER, *arguments], stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            session = manager.get(other.stdout.readline().strip())
            wait_until(partial(is_called, session, "at_63"), "calls of at_63", 60)
            other.kill()
        wait_until(lambda: "frida" not in maps(process.pid), "the agent to leave", 60)
        killed = subprocess.run([sys.executable, "-c", KILLED + OTHER, *arguments], timeout=60, check=False)
        assert killed.returncode == -signal.SIGKILL
        wait_until(lambda: "frida" not in maps(process.pid), "the second agent to leave", 60)
        session = attach(manager, process.pid)
        assert [one for one in session.warnings if "at_63" in one] == []
        wait_until(partial(is_called, session, "at_63"), "calls of at_63 again", 60)
        session.stop()
        manager.recover()
        ends_well(process)


def test_jumps_that_were_left_and_cannot_be_taken_out(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They lead to the recorder with numbers of another session's functions."""
    monkeypatch.setenv("STROBE_RECORDER", "native")
    with attached_program(build_program("line_ends")) as process:
        command = [sys.executable, "-c", OTHER, str(process.pid), str(PROGRAMS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            session = manager.get(other.stdout.readline().strip())
            wait_until(partial(is_called, session, "at_63"), "calls of at_63", 60)
            other.kill()
        wait_until(lambda: "frida" not in maps(process.pid), "the agent to leave", 60)
        before = tasks(process.pid)  # the agent's may still be among them
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: tasks(process.pid) - before, "the thread that does not stop")
        with pytest.raises(StrobeError, match="one of its threads does not stop") as caught:
            attach(manager, process.pid)
        assert caught.value.code is Code.ATTACH_FAILED
        manager.recover()
        ends_well(process)


def is_called(session: Session, name: str) -> bool:
    return called(session, name) > 100


def maps(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def tasks(pid: int) -> set[int]:
    return {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()}


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_attached_in_turns_by_two_homes(
    manager: SessionManager, running: subprocess.Popen[str], tmp_path: Path
) -> None:
    other = SessionManager(tmp_path / "other home")
    for one in (manager, other) * 2:
        session = attach(one, running.pid)
        check_records(session)
        session.stop()
    other.close()
    ends_well(running)


def test_a_forked_child_is_attached_to_after_its_parent(
    manager: SessionManager, running: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code has the jumps of its parent's session, its stack the frames."""
    monkeypatch.setenv("STROBE_RECORDER", "native")
    session = attach(manager, running.pid)
    check_records(session)
    running.send_signal(signal.SIGUSR2)
    assert running.stdout is not None
    child = int(running.stdout.readline().removeprefix("child "))
    with pytest.raises(StrobeError) as caught:
        attach(manager, child)
    assert f"'{session.id}'" in str(caught.value)
    session.stop()
    for _ in range(2):
        session = attach(manager, child)
        wait_until(lambda session=session: called(session, "step") > 200, "calls of the child", 60)
        assert {event.pid for event in steps(session)} == {child}
        assert session.timeline.loss().lost == 0
        session.stop()
    os.kill(child, signal.SIGUSR1)
    assert running.stdout.readline() == "child right\n"
    ends_well(running)
