"""Strobe is killed, or cannot start a program: no session is shown as running, and nothing is left in memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import namespaces
from support.leftovers import segments
from support.sessions import Build, Launch, totals
from support.wait import wait_until

from strobe.capture.task_status import tracer
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager
from strobe.timeline.owners import process_start_time
from strobe.timeline.store import Store

STROBE = Path(sys.executable).with_name("strobe")
TIMEOUT = 60

Run = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def strobe_run(tmp_path: Path) -> Iterator[Run]:
    """`strobe_run(program)` starts `strobe run` with its own process group, which is gone afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*command: str | Path, stdin: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        line = [STROBE, "run", "-t", "*", "--summary", "--", *command]
        with (tmp_path / "output").open("wb") as output:
            started.append(subprocess.Popen(line, stdin=stdin, stdout=output, stderr=output, start_new_session=True))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(TIMEOUT)
        if process.stdin is not None:
            process.stdin.close()


def strobe(*arguments: str) -> str:
    result = subprocess.run([STROBE, *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 0, result.stderr
    return result.stdout


def running(store: Store) -> list[int]:
    """Process ids of the programs that were resumed."""
    return [item.pid for item in store.list_sessions() if item.status == "running" and item.notes.get("resumed")]


def killed_while_it_records(strobe_run: Run, home: Path, program: Path) -> int:
    """A `strobe run` that is killed with kill -9; the id of its program, which goes on."""
    process = strobe_run(program)
    store = Store(home)
    wait_until(lambda: running(store), "the program to run")
    (pid,) = running(store)
    store.close()
    wait_until(lambda: tracer(pid) == 0, "Frida to let go of it")  # until then it ends with Strobe
    process.kill()
    process.wait(TIMEOUT)
    return pid


def test_after_a_killed_strobe_run_no_session_runs(strobe_run: Run, build_program: Build, strobe_home: Path) -> None:
    pid = killed_while_it_records(strobe_run, strobe_home, build_program("steady"))
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{pid}/maps").exists() or not Path(f"/proc/{pid}/maps").read_bytes(), "its end")
    shown = strobe("sessions")
    assert "running" not in shown
    assert "exited (unknown)" in shown
    assert segments(strobe_home) == []
    session_id = shown.splitlines()[1].split()[0]
    assert "steady_two" in strobe("sql", session_id, "select distinct function from events")


def test_a_program_with_its_users_output_goes_on(strobe_run: Run, build_program: Build, strobe_home: Path) -> None:
    pid = killed_while_it_records(strobe_run, strobe_home, build_program("steady"))
    assert "stopped" in strobe("sessions")
    assert segments(strobe_home) == []
    os.kill(pid, 0)
    os.kill(pid, signal.SIGKILL)


def test_the_daemon_notices_while_it_runs(
    manager: SessionManager, strobe_run: Run, build_program: Build, strobe_home: Path
) -> None:
    assert manager.list() == []
    pid = killed_while_it_records(strobe_run, strobe_home, build_program("steady"))
    (summary,) = manager.list()
    assert summary.status == "stopped"
    assert len(totals(manager.get(summary.session_id))) > 0
    os.kill(pid, signal.SIGKILL)


UNSHARES = """
import ctypes, os
from pathlib import Path
CLONE_NEWTIME, NOT_PERMITTED = 0x80, 3
if ctypes.CDLL(None).unshare(CLONE_NEWTIME) != 0:
    raise SystemExit(NOT_PERMITTED)
Path("/proc/self/timens_offsets").write_text("boottime 100000 0")
from strobe.timeline.owners import process_start_time
print(process_start_time(os.getppid()))
"""


def test_a_time_namespace_for_children_is_not_the_own_one() -> None:
    """Of `unshare --time` with a Linux that does not enter it at exec."""
    result = subprocess.run([sys.executable, "-c", UNSHARES], capture_output=True, text=True, timeout=TIMEOUT)
    if result.returncode == 3:
        pytest.skip("no time namespace may be made here")
    assert result.stdout == f"{process_start_time(os.getpid())}\n", result.stderr


@pytest.mark.parametrize("elsewhere", [namespaces.inside, namespaces.in_another_time])
def test_a_command_in_another_namespace_sees_that_a_session_runs(
    launch: Launch, build_program: Build, strobe_home: Path, elsewhere: Callable[..., list[str | Path]]
) -> None:
    """In another PID namespace the owner has another id, in another time namespace another start time."""
    session = launch(build_program("steady"), patterns=["steady_*"])
    command = elsewhere([STROBE, "sessions"])
    shown = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert shown.returncode == 0, shown.stderr
    assert session.id in shown.stdout and "running" in shown.stdout
    assert session.summary().status == "running"
    assert session.trace(TraceRequest(remove=["steady_one"])).active_patterns == ["steady_*"]
    called = totals(session)["steady_two"].count
    wait_until(lambda: totals(session)["steady_two"].count > called, "more calls")


def test_a_killed_owner_in_another_pid_namespace_is_seen_to_be_gone(build_program: Build, strobe_home: Path) -> None:
    command = namespaces.inside([STROBE, "run", "-t", "*", "--summary", "--", build_program("steady")])
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        store = Store(strobe_home)
        wait_until(lambda: running(store), "the program to run")
        assert "running" in strobe("sessions")
        os.killpg(process.pid, signal.SIGKILL)
    wait_until(lambda: "running" not in strobe("sessions"), "the session to be recovered")
    assert list((strobe_home / "owners").iterdir()) == []
    store.close()


def test_a_start_that_was_killed_leaves_no_session(manager: SessionManager, strobe_home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        store = Store(strobe_home)
        record = store.add_session("/bin/app", None, 1000)
        store.add_notes(record.id, {"resumed": False})
        store.update_session(record.id, owner_pid=owner.pid, owner_start_time=process_start_time(owner.pid))
        assert [item.status for item in manager.list()] == ["running"]
        owner.kill()
    assert manager.list() == []
    assert not record.folder.exists()
    store.close()


KILLED = """
import os, signal, sys
from strobe.capture.target import Target
from strobe.model import LaunchSpec
from strobe.session import SessionManager
Target._enter = lambda target: os.kill(os.getpid(), signal.SIGKILL)
SessionManager().launch(LaunchSpec(sys.argv[1], stdio=sys.argv[2]))
"""


@pytest.mark.parametrize("stdio", ["capture", "inherit"])
def test_a_program_whose_start_was_killed_is_ended(
    manager: SessionManager, build_program: Build, tmp_path: Path, stdio: str
) -> None:
    """The agent is not in it yet, nor is the segment that a process is known by. The kernel ends it, or the next
    command does."""
    program = tmp_path / "steady"
    shutil.copy(build_program("steady"), program)  # in a file of its own, which nobody else runs
    host = subprocess.run([sys.executable, "-c", KILLED, program, stdio], stdin=subprocess.DEVNULL, timeout=TIMEOUT)
    assert host.returncode == -signal.SIGKILL
    assert manager.list() == []
    wait_until(lambda: not processes_of(program), "its end")


STARTS = """
import sys
import time
from strobe.capture.agent.device import ROUTER
from strobe.model import LaunchSpec
from strobe.session import SessionManager
manager = SessionManager()
ROUTER.use()
ROUTER._helper._started.wait(30)
print("ready", flush=True)
sys.stdin.readline()
manager.launch(LaunchSpec(sys.argv[1], stdio="inherit"))
"""
DELAYS_MS = (0, 0, 0.2, 0.5, 1, 2, 3, 5, 8)  # from when the program's process is seen; it is started within some ms


def test_a_program_that_is_just_being_started_ends_with_strobe(manager: SessionManager, build_program: Build) -> None:
    """The process is a copy of Strobe's at first, then stands in the program's first instruction. No command has to
    come that would end it."""
    command = [sys.executable, "-c", STARTS, str(build_program("steady"))]
    for delay_ms in DELAYS_MS:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as host:
            assert host.stdin is not None and host.stdout is not None and host.stdout.readline() == "ready\n"
            before = children(host.pid)
            host.stdin.write("\n")
            host.stdin.flush()
            deadline = time.monotonic() + TIMEOUT
            while not (started := children(host.pid) - before):
                assert time.monotonic() < deadline
            time.sleep(delay_ms / 1000)
            host.kill()
            try:
                wait_until(
                    lambda started=started: all(has_ended(pid) for pid in started), f"its end ({delay_ms} ms)", 10
                )
            finally:
                for pid in started:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
    assert manager.list() == []


def children(pid: int) -> set[int]:
    found: set[int] = set()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found |= {int(word) for word in (thread / "children").read_text().split()}
    return found


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def processes_of(program: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if entry.name.isdigit() and (entry / "exe").readlink() == program:
                found.append(int(entry.name))
    return found


HOST = """
import sys
import time
from strobe.capture.agent.device import ROUTER
from strobe.model import LaunchSpec
from strobe.session import SessionManager
manager = SessionManager()
session = manager.launch(LaunchSpec(sys.argv[1]))
ROUTER._helper._started.wait(30)
print(session.pid, flush=True)
sys.stdin.readline()
manager.close()
"""


def test_what_frida_left_for_a_killed_process_is_removed(build_program: Build, tmp_path: Path) -> None:
    """The helper of a process that was killed goes with the next start, however soon that is."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", HOST, str(build_program("steady"))]
    for ending in ("killed", "killed", "in order"):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            left = list(tmp_path.glob("frida-*"))
            assert len(left) <= 1, f"what the killed process had is still there: {left}"
            if ending == "killed":
                process.kill()
                os.kill(pid, signal.SIGKILL)
            else:
                process.communicate(b"\n", TIMEOUT)
    assert list(tmp_path.glob("frida-*")) == []


def test_fridas_helper_starts_and_ends_in_silence(build_program: Build) -> None:
    """It is the child of a child of ours that ends at once."""
    with tempfile.TemporaryDirectory() as folder:  # short: a socket's name is
        environment = os.environ | {"TMPDIR": folder}
        command = [str(STROBE), "run", "--summary", "-t", "main", "--", str(build_program("hello"))]
        for _ in range(3):
            result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT)
            assert result.returncode == 0, result.stderr
            assert "Unable to start" not in result.stderr
            assert list(Path(folder).glob("frida-*")) == []


def test_a_segment_of_no_session_is_removed(manager: SessionManager, launch: Launch, build_program: Build) -> None:
    living = launch(build_program("steady"), patterns=["*"])
    (segment,) = segments(manager._store.home)
    stray = segment.with_name(segment.name.replace(living.id, "gone-2020-01-01-00h00"))
    stray.write_bytes(b"")
    manager.recover()
    assert not stray.exists()
    assert segment.exists()


def test_the_end_of_an_attached_session_without_segment_is_noticed(
    manager: SessionManager, build_program: Build, strobe_home: Path
) -> None:
    with subprocess.Popen([build_program("steady")], stdin=subprocess.PIPE) as program:
        session = manager.launch(LaunchSpec("", pid=program.pid), TraceRequest(["*"]))
        for segment in segments(strobe_home):
            segment.unlink()
        program.kill()
        assert session.wait(TIMEOUT) is not None
    assert [item.status for item in manager.list()] == ["exited"]
    session.stop()
    assert manager.list() == []


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("ulimit -v 3000000", "There is no room to record events"),  # when there is a session already
        ("ulimit -f 10000", "There is no room to record events"),
        ("ulimit -v 2000000", "The limit of address space"),
        ("ulimit -n 20", "The limit of open files"),
    ],
)
def test_a_start_that_fails_for_want_of_room_leaves_nothing(
    limit: str, said: str, build_program: Build, strobe_home: Path
) -> None:
    line = f"{limit}; exec {STROBE} run --keep -t '*' --summary -- {build_program('hello')}"
    failed = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=TIMEOUT)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert said in failed.stderr
    # by itself, before another command looks after what is left
    folder = strobe_home / "sessions"
    assert not folder.exists() or list(folder.iterdir()) == []
    assert segments(strobe_home) == []
    with contextlib.closing(Store(strobe_home)) as store:
        assert store.list_sessions() == []
    assert "no sessions" in strobe("sessions")
