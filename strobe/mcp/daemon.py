"""`strobe daemon`: the one process per home that holds the sessions. Starting, stopping and asking after it."""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import logging
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import orjson

import strobe
from strobe import threads
from strobe.config import load_settings
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure, speak_to
from strobe.mcp import endpoint, jsonrpc
from strobe.mcp.connection import STATUS_METHOD
from strobe.mcp.log import write_to_stderr
from strobe.mcp.server import Server
from strobe.own_memory import prepare_for_long_life

log = logging.getLogger(__name__)

LOCK_NAME = "strobe.lock"
CLOSE_SECONDS = 10.0  # for stopping the sessions at the end
STOP_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """`version` may differ from ours; `clients` are connections other than the one that asked."""

    home: str
    running: bool
    pid: int | None = None
    version: str | None = None
    uptime_s: float | None = None
    clients: int = 0
    running_sessions: int = 0


def main() -> int:
    """The daemon process itself, as `endpoint` starts it: home in STROBE_HOME, log on standard error."""
    prepare_for_long_life()
    speak_to("mcp")
    home = endpoint.home_path()
    return run(home, load_settings(None)[0].daemon_idle_minutes * 60)


def run(home: str, idle_s: float) -> int:
    """Serves `home` until SIGTERM, SIGINT or idleness; returns at once where another daemon serves it."""
    lock = _lock(home)
    if lock is None:
        return 0
    write_to_stderr(Path(endpoint.log_path(home)))
    log.info("Strobe %s serves %s", strobe.__version__, home)
    server = Server(home, idle_s)
    _take_signals(server)
    try:
        server.serve()
    except Exception:
        log.exception("the daemon failed")
        return 1
    finally:
        _close(server)
        os.close(lock)
    return 0


def start(home: str | os.PathLike[str] | None = None) -> DaemonStatus:
    """Starts the daemon where none runs. Raises StrobeError."""
    path = endpoint.home_path(home)
    try:
        endpoint.establish(path).close()
    except endpoint.Unreachable as error:
        raise _unreachable(path, error) from None
    return status(path)


def status(home: str | os.PathLike[str] | None = None) -> DaemonStatus:
    """Asks the daemon, without starting one. Raises StrobeError where one runs and does not answer."""
    path = endpoint.home_path(home)
    link = _connect(path)
    if link is None:
        return DaemonStatus(path, running=False)
    with link:
        answer = _ask(link, path)
    return DaemonStatus(
        path,
        running=True,
        pid=answer["pid"],
        version=answer["version"],
        uptime_s=answer["uptimeSeconds"],
        clients=answer["clients"],
        running_sessions=answer["runningSessions"],
    )


def stop(home: str | os.PathLike[str] | None = None, wait_s: float = STOP_SECONDS) -> bool:
    """Ends the daemon in order and waits for it; False where none runs. Raises StrobeError where it stays."""
    path = endpoint.home_path(home)
    link = _connect(path)
    if link is None:
        return False
    with link:
        process = os.pidfd_open(endpoint.peer(link)[0])
    try:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        poller = select.poll()
        poller.register(process, select.POLLIN)
        if not poller.poll(wait_s * 1000):
            raise _unreachable(path, f"it did not end within {wait_s:g} s after SIGTERM")
    finally:
        os.close(process)
    return True


def _connect(home: str) -> socket.socket | None:
    try:
        return endpoint.connect(home, time.monotonic() + endpoint.CONNECT_SECONDS)
    except endpoint.Unreachable as error:
        raise _unreachable(home, error) from None


def _ask(link: socket.socket, home: str) -> dict[str, Any]:
    link.settimeout(endpoint.CONNECT_SECONDS)
    link.sendall(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": STATUS_METHOD}) + b"\n")
    line = next(jsonrpc.lines(link), None)
    if line is None:
        raise _unreachable(home, "it closed the connection")
    result: dict[str, Any] = orjson.loads(line)["result"]
    return result


def _lock(home: str) -> int | None:
    """The lock that makes this process the daemon, held while the descriptor is open; None where another has it."""
    lock = os.open(Path(home, LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    os.truncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    return lock


def _take_signals(server: Server) -> None:
    """Signals reach the server through a pipe: one that a thread of Frida gets does not interrupt the main thread."""
    signal.set_wakeup_fd(server.wake_write)
    # Handled, though nothing is done: what is ignored (Python ignores the last two) a launched program would inherit.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, lambda *_: None)
    # Written where no lock and no turn of the interpreter is waited for: for a daemon that does not answer.
    faulthandler.register(signal.SIGQUIT, 2, all_threads=True)  # standard error: the log


def _close(server: Server) -> None:
    """Stops the sessions, but never hangs on one of them."""
    closer = threads.start("close", server.debugger.close, threads.logged_only)
    closer.join(CLOSE_SECONDS)
    log.log(logging.WARNING if closer.is_alive() else logging.INFO, "the daemon ends")
    with contextlib.suppress(OSError):
        sys.stderr.flush()


def _unreachable(home: str, reason: object) -> StrobeError:
    return failure("daemon_unreachable", reason=reason, log=endpoint.log_path(home))
