"""The listening side of the daemon: accepts clients of the same user, and knows when nobody needs it any more."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import strobe
from strobe import threads
from strobe.errors import StrobeError
from strobe.mcp import endpoint
from strobe.mcp.calls import Calls
from strobe.mcp.connection import Connection
from strobe.mcp.debugger import Debugger
from strobe.mcp.tool import Client, Registry
from strobe.mcp.tools.all_tools import TOOLS

log = logging.getLogger(__name__)

BACKLOG = 64
_STOPS = {0, signal.SIGTERM, signal.SIGINT}  # what stands for the end in the pipe that wakes `serve`
_IDLE_CHECKS = 20  # per idle time, so that the end comes at most 5 % late
LONGEST_CHECK_SECONDS = 30.0
_ACCEPT_PAUSE_S = 0.1  # when no descriptor is free


class Server:
    """Serves until `stop`, or until it was without client and running session for `idle_s` seconds.

    `wake_write` takes the numbers of signals (signal.set_wakeup_fd); SIGTERM and SIGINT end it as `stop` does.
    """

    def __init__(self, home: str, idle_s: float) -> None:
        self.home = home
        self.registry = Registry(TOOLS)
        self.calls = Calls()
        self.debugger = Debugger(home)
        self._idle_s = idle_s
        self._started = self._busy = time.monotonic()
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self._is_full = False  # the last client could not be accepted
        self._wake_read, self.wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        """Serves clients until the daemon ends: by SIGTERM, or when nobody needs it. Blocks."""
        listener = self._listen()
        try:
            self.debugger.warm_up()
            self._accept_until_stopped(listener)
        finally:
            # Taken away first: a client that comes now finds no socket and starts the next daemon, instead of waiting.
            self._unlink_socket()
            listener.close()
            self._stopping = True
            for connection in self._clients():
                connection.close()

    def stop(self) -> None:
        """Ends `serve` soon."""
        with contextlib.suppress(BlockingIOError):  # full: it is woken already
            os.write(self.wake_write, b"\0")

    def welcome(self, client: Client) -> bytes | None:
        """The answer to a greeting; None where an idle daemon of another version makes room for the client's own."""
        if client.version != strobe.__version__:
            with self._lock:
                others = len(self._connections) - 1
            if not others and not self.debugger.running():
                log.info("ending for Strobe %s (this is %s)", client.version, strobe.__version__)
                self._stopping = True
                self.stop()
                return None
            log.warning("serving Strobe %s with %s, which is in use", client.version, strobe.__version__)
        if self._stopping:
            return None
        return b"%s ok %s %d\n" % (endpoint.GREETING, strobe.__version__.encode(), os.getpid())

    def status(self) -> dict[str, Any]:
        """What `strobe daemon status` shows."""
        return {
            "pid": os.getpid(),
            "version": strobe.__version__,
            "home": self.home,
            "uptimeSeconds": round(time.monotonic() - self._started, 1),
            "clients": len(self._clients()) - 1,  # without the one that asks
            "runningSessions": self.debugger.running(),
        }

    def _listen(self) -> socket.socket:
        self._unlink_socket()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        with endpoint.SocketAddress(self.home) as address:
            listener.bind(address)
            Path(address).chmod(0o600)
        listener.listen(BACKLOG)
        return listener

    def _unlink_socket(self) -> None:
        Path(self.home, endpoint.SOCKET_NAME).unlink(missing_ok=True)

    def _accept_until_stopped(self, listener: socket.socket) -> None:
        poller = select.poll()
        poller.register(listener, select.POLLIN)
        poller.register(self._wake_read, select.POLLIN)
        waiting = select.poll()
        waiting.register(self._wake_read, select.POLLIN)
        check_s = min(self._idle_s / _IDLE_CHECKS, LONGEST_CHECK_SECONDS)
        while True:
            ready = dict(poller.poll(check_s * 1000))
            if self._wake_read in ready:
                if _STOPS.intersection(os.read(self._wake_read, 4096)):
                    return
            elif ready:
                if not self._accept(listener):
                    waiting.poll(_ACCEPT_PAUSE_S * 1000)
            elif self._is_idle():
                log.info("ending after %g s without client and session", self._idle_s)
                return
            else:
                self._let_go_of_unused()

    def _is_idle(self) -> bool:
        try:
            busy = bool(self._clients()) or self.debugger.running() > 0
        except Exception:
            log.exception("the sessions cannot be listed; the daemon stays")
            busy = True
        if busy:
            self._busy = time.monotonic()
        return time.monotonic() - self._busy >= self._idle_s

    def _let_go_of_unused(self) -> None:
        try:
            self.debugger.let_go_of_unused()
        except Exception:
            log.exception("what is not used any more is kept")

    def _accept(self, listener: socket.socket) -> bool:
        """Whether it could be: else it waits, and the listener is as ready as before."""
        try:
            link, _ = listener.accept()
        except OSError as error:  # gone again, or no descriptor is free
            if not self._is_full:
                log.warning("a client could not be accepted, and waits: %s", error)
            self._is_full = True
            return False
        self._is_full = False
        self._serve(link)
        return True

    def _serve(self, link: socket.socket) -> None:
        pid, uid = endpoint.peer(link)
        if uid != os.getuid():
            log.warning("refused process %d of user %d", pid, uid)
            link.close()
            return
        link.setblocking(True)
        self._busy = time.monotonic()
        connection = Connection(link, self)
        with self._lock:
            self._connections.add(connection)
        try:
            threads.start(f"client-{pid}", lambda: self._run(connection), threads.logged_only)
        except StrobeError as error:  # the system allows no more threads
            log.warning("process %d could not be served: %s", pid, error)
            connection.close()
            self._left(connection)

    def _run(self, connection: Connection) -> None:
        try:
            connection.serve()
        finally:
            self._left(connection)

    def _left(self, connection: Connection) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._busy = time.monotonic()

    def _clients(self) -> list[Connection]:
        with self._lock:
            return list(self._connections)
