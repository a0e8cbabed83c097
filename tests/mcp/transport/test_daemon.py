"""The daemon's life: one per home, gone when it is not needed, replaced when it is old."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import filesystems
from support.mcp_wire import WAIT_SECONDS, Wire, pump, wait_gone
from support.wait import wait_until

from strobe.config import home
from strobe.errors import StrobeError
from strobe.mcp import daemon, endpoint
from strobe.mcp.log import MAX_BYTES


def log(home: Path) -> str:
    return (home / "strobe.log").read_text()


def test_start_status_stop(strobe_home: Path) -> None:
    assert not daemon.status(strobe_home).running
    assert not daemon.stop(strobe_home)
    started = daemon.start(strobe_home)
    assert started.running
    assert daemon.start(strobe_home).pid == started.pid
    with Wire.to(strobe_home):

        def is_alone() -> bool:
            time.sleep(0.2)  # whoever has asked before is noticed to be gone a moment later
            return daemon.status(strobe_home).clients == 1

        wait_until(is_alone, "no other client")
        time.sleep(0.2)
        status = daemon.status(strobe_home)
    assert (status.pid, status.clients, status.running_sessions) == (started.pid, 1, 0)
    assert daemon.stop(strobe_home)
    assert not daemon.status(strobe_home).running
    assert not (strobe_home / "strobe.sock").exists()
    assert "Traceback" not in log(strobe_home)


def test_it_says_what_its_threads_do(strobe_home: Path) -> None:
    pid = daemon.start(strobe_home).pid
    assert pid is not None
    os.kill(pid, signal.SIGQUIT)
    wait_until(
        lambda: re.search(r'^Current thread .*\n(?:  File .*\n)*?  File ".*/strobe/', log(strobe_home), re.M),
        "its stacks",
    )
    assert daemon.status(strobe_home).pid == pid  # which is no end


def test_all_agree_on_where_the_home_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("relative/home", "~/elsewhere", str(tmp_path / "absolute"), ""):
        monkeypatch.setenv("STROBE_HOME", value)
        assert endpoint.home_path() == str(home())


def test_what_it_makes_is_the_users_alone(strobe_home: Path) -> None:
    daemon.start(strobe_home)
    assert stat.S_IMODE(strobe_home.stat().st_mode) == 0o700
    for name in ("strobe.sock", "strobe.lock", "strobe.log"):
        assert stat.S_IMODE((strobe_home / name).stat().st_mode) == 0o600


def test_it_is_nobodys_child_and_holds_nothing_of_who_started_it(strobe_home: Path) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    with pump(pass_fds=(write_end,)) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        client.stdin.close()
        assert client.stdout.read().endswith(b'"result":{}}\n')
    os.close(write_end)
    assert os.read(read_end, 1) == b""  # no write end is left open anywhere
    os.close(read_end)
    pid = daemon.status(strobe_home).pid
    assert os.getsid(pid or 0) not in (os.getsid(0), pid)
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")
    assert Path(f"/proc/{pid}/fd/1").readlink() == strobe_home / "strobe.log"


def test_racing_clients_get_one_daemon(strobe_home: Path) -> None:
    clients = [pump() for _ in range(6)]
    for client in clients:
        assert client.stdin is not None
        client.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"strobe/status"}\n')
        client.stdin.flush()
    pids = set()
    for client in clients:
        assert client.stdout is not None
        pids |= set(re.findall(rb'"pid":(\d+)', client.stdout.readline()))
    for client in clients:
        client.communicate(timeout=WAIT_SECONDS)
    assert len(pids) == 1
    assert log(strobe_home).count(" serves ") == 1


def test_one_that_is_being_started_is_waited_for(strobe_home: Path) -> None:
    """Longer than one that runs and does not answer: on a busy machine it begins after that time."""
    with ThreadPoolExecutor(4) as pool:
        links = list(pool.map(lambda _: endpoint.establish(str(strobe_home), wait_s=0), range(4)))
    assert len({endpoint.peer(link)[0] for link in links}) == 1
    for link in links:
        link.close()


def test_a_home_path_longer_than_a_socket_address(tmp_path: Path) -> None:
    long_home = tmp_path / ("long" * 40) / "home"
    assert daemon.start(long_home).running
    with Wire.to(long_home) as wire:
        assert wire.request("ping")["result"] == {}
    assert daemon.stop(long_home)


def test_after_kill_the_next_client_starts_another(strobe_home: Path) -> None:
    killed = daemon.start(strobe_home).pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_gone(killed)
    assert not daemon.status(strobe_home).running
    with Wire.to(strobe_home) as wire:
        assert wire.request("ping")["result"] == {}
    assert daemon.status(strobe_home).pid not in (killed, None)


def idle_daemon(home: Path, seconds: float) -> subprocess.Popen[bytes]:
    home.mkdir(exist_ok=True)
    program = f"import sys; from strobe.mcp.daemon import run; sys.exit(run({str(home)!r}, {seconds}))"
    return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)


def test_without_client_and_session_it_ends_by_itself(strobe_home: Path) -> None:
    with idle_daemon(strobe_home, 0.2) as process:
        _, said = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0
    assert b"ending after 0.2 s without client and session" in said
    assert not (strobe_home / "strobe.sock").exists()


def test_a_client_keeps_it_alive(strobe_home: Path) -> None:
    with idle_daemon(strobe_home, 0.7) as process:
        assert process.stderr is not None
        assert b" serves " in process.stderr.readline()
        with Wire.to(strobe_home) as wire:
            assert daemon.status(strobe_home).pid == process.pid
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1.5)
            assert wire.request("ping")["result"] == {}
        assert process.wait(WAIT_SECONDS) == 0


def test_a_running_session_keeps_it_alive_until_its_program_ends(
    strobe_home: Path, build_program: Callable[..., Path]
) -> None:
    with idle_daemon(strobe_home, 0.7) as process:
        assert process.stderr is not None
        assert b" serves " in process.stderr.readline()
        with Wire.to(strobe_home) as wire:
            program = str(build_program("threads3", "-g"))
            target = wire.good("debug_launch", command=program, projectRoot=str(strobe_home))["pid"]
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        os.kill(target, signal.SIGUSR1)
        assert process.wait(WAIT_SECONDS) == 0


def test_a_second_daemon_leaves_at_once(strobe_home: Path) -> None:
    first = daemon.start(strobe_home).pid
    with idle_daemon(strobe_home, 60) as process:
        assert process.wait(WAIT_SECONDS) == 0
    assert daemon.status(strobe_home).pid == first


def greet_as(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strobe.__version__", version)


def test_an_idle_daemon_of_another_version_makes_room(strobe_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = daemon.start(strobe_home).pid
    assert old is not None
    greet_as("99.0", monkeypatch)

    def makes_room() -> bool:  # not while it counts the connection by which it was started
        with endpoint.connect(str(strobe_home)) or contextlib.nullcontext() as found:
            return found is None

    wait_until(makes_room, "the daemon to make room")
    wait_gone(old)


def test_a_daemon_of_another_version_in_use_goes_on_serving(
    wire: Wire, strobe_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = daemon.status(strobe_home).pid
    greet_as("99.0", monkeypatch)
    with Wire.to(strobe_home) as newer:
        assert newer.request("strobe/status")["result"]["pid"] == first
    assert wire.request("ping")["result"] == {}
    assert "serving Strobe 99.0" in log(strobe_home)


def test_stop_closes_its_clients(wire: Wire, strobe_home: Path) -> None:
    assert daemon.stop(strobe_home)
    with pytest.raises(EOFError):
        wire.receive()


def test_many_clients_connect_while_it_stops_and_none_is_lost(strobe_home: Path) -> None:
    daemon.start(strobe_home)
    answers: list[object] = []

    def client() -> None:
        with Wire.to(strobe_home) as wire:
            try:
                answers.append(wire.request("ping")["result"])
            except (EOFError, ConnectionError):  # it was stopped between the greeting and the answer
                answers.append(None)

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads[:4]:
        thread.start()
    daemon.stop(strobe_home)
    for thread in threads[4:]:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert len(answers) == len(threads)


def test_a_log_that_is_full_begins_anew(strobe_home: Path) -> None:
    strobe_home.mkdir()
    (strobe_home / "strobe.log").write_bytes(b"x" * (1 << 20) + b"xx\n")
    daemon.start(strobe_home)
    daemon.stop(strobe_home)
    assert (strobe_home / "strobe.log").stat().st_size < 100_000
    assert (strobe_home / "strobe.log.1").stat().st_size > 1 << 20


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StrobeError, match="INTERNAL: The Strobe daemon does not answer"):
        daemon.start(tmp_path / "file")


def test_a_disk_without_room_is_said(strobe_home: Path) -> None:
    """The log, to which the message points, cannot be written either."""
    with filesystems.small(strobe_home, 64 << 10):
        filesystems.fill(strobe_home)
        with pytest.raises(StrobeError, match=r"INTERNAL: The Strobe daemon does not answer: .*No space left"):
            daemon.start(strobe_home)


def test_without_a_free_descriptor_it_waits_for_one(strobe_home: Path) -> None:
    """Clients that cannot be accepted do not keep it busy, and it goes on when others have left."""
    pid = daemon.start(strobe_home).pid
    assert pid is not None
    with Wire.to(strobe_home) as wire:
        free = max(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()) + 1
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, limits[1]))
        os.truncate(strobe_home / "strobe.log", MAX_BYTES + 1)
        with contextlib.ExitStack() as waiting:
            for _ in range(20):
                link = waiting.enter_context(socket.socket(socket.AF_UNIX))
                link.connect(str(strobe_home / "strobe.sock"))
            wait_until(lambda: "a client could not be accepted" in log(strobe_home), "a client that waits")
            assert wire.call("debug_list_sessions")["content"]  # an answer, whatever it can be now
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        before = log(strobe_home).count("could not be accepted")
    with Wire.to(strobe_home) as wire:
        assert wire.good("debug_list_sessions")["sessions"] == []
    assert before < 10
    assert daemon.status(strobe_home).pid == pid
