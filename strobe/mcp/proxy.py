"""`strobe mcp`: carries bytes between a client's stdio and the daemon, and starts the daemon where none runs.

It knows of the protocol only what `journal` needs to answer for a daemon that died. It ends on end of input, on SIGINT,
SIGTERM or SIGHUP, when its parent dies, and when the client closes its output. Nothing but JSON is ever written to
standard output.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence

from strobe.mcp import endpoint
from strobe.mcp.journal import Journal

_READ_BYTES = 65536
# A blocking pipe that poll calls writable takes this much without blocking (pipe(7), PIPE_BUF).
_WRITE_BYTES = 4096
_PARENT_CHECK_MS = 1000
# Less than the 2 s after which the official client kills a server whose input it has closed.
_DRAIN_SECONDS = 1.5
_DRAIN_CHECK_MS = 50
_GONE = select.POLLERR | select.POLLNVAL | select.POLLHUP


def main(argv: Sequence[str] = ()) -> int:
    """Runs until the client or the daemon is gone; the exit status of `strobe mcp`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    home = endpoint.home_path()
    try:
        return Pump(home).run()
    except (endpoint.Unreachable, OSError, MemoryError) as error:
        log = endpoint.log_path(home)
        print(f"strobe mcp: the Strobe daemon does not answer: {error}. See {log}.", file=sys.stderr)
        return 1


class _Flow:
    """One direction: what was read from `source` and not yet written to `sink`. `note` sees and may hold back data."""

    def __init__(self, source: int, sink: int, write_bytes: int, note: Callable[[bytes], bytes]) -> None:
        self.source = source
        self.sink = sink
        self.held = memoryview(b"")
        self.ended = False
        self.broken = False
        self._write_bytes = write_bytes
        self._note = note

    def move(self, ready: dict[int, int]) -> None:
        if self.held:
            if ready.get(self.sink, 0) & (select.POLLOUT | _GONE):
                self._write()
        elif not self.ended and ready.get(self.source, 0) & (select.POLLIN | _GONE):
            self._read()

    def _read(self) -> None:
        try:
            data = os.read(self.source, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # a terminal that hung up, a connection reset
            data = b""
        self.ended = not data
        self.held = memoryview(self._note(data))

    def _write(self) -> None:
        try:
            self.held = self.held[os.write(self.sink, self.held[: self._write_bytes]) :]
        except BlockingIOError:
            pass
        except OSError:
            self.held = memoryview(b"")
            self.broken = True


class Pump:
    """Both directions of one client. Neither waits for the other, so a slow reader blocks only itself.

    When the daemon dies, requests under way are answered with an error, and the client's next message starts another
    daemon: nothing that a daemon knows is bound to a connection.
    """

    def __init__(self, home: str, stdin: int = 0, stdout: int = 1) -> None:
        """Raises Unreachable, as `run` does."""
        self._home = home
        self._parent = os.getppid()
        self._journal = Journal()
        self._link: socket.socket | None = endpoint.establish(home)
        self._up = _Flow(stdin, -1, _READ_BYTES, self._journal.up)
        self._down = _Flow(-1, stdout, _WRITE_BYTES, self._journal.down)
        self._begun = b""
        self._drain_until: float | None = None
        self._attach(self._link)

    def run(self) -> int:
        """Returns 0 when the client is gone."""
        while True:
            ready = self._wait()
            self._down.move(ready)
            if self._link is None or not self._down.ended:  # what comes now is for the next daemon
                self._up.move(ready)
            client_gone = ready.get(self._down.sink, 0) & _GONE or self._down.broken
            if client_gone or os.getppid() != self._parent or self._is_done():
                return 0

    def _is_done(self) -> bool:
        if self._link is None:
            if self._up.held:
                self._reconnect()
            return self._up.ended and not self._down.held
        if self._down.ended:
            if self._up.ended:
                return True
            self._lose_daemon(self._link)
        elif self._up.ended and not self._up.held and self._drain_until is None:
            self._drain_until = time.monotonic() + _DRAIN_SECONDS
            self._link.shutdown(socket.SHUT_WR)  # answers that are under way still come
        return self._drain_until is not None and time.monotonic() > self._drain_until

    def _wait(self) -> dict[int, int]:
        events = {self._down.sink: 0}
        for flow in (self._up, self._down):
            if flow.held:
                events[flow.sink] = events.get(flow.sink, 0) | select.POLLOUT
            elif not flow.ended:
                events[flow.source] = events.get(flow.source, 0) | select.POLLIN
        poller = select.poll()
        for descriptor, wanted in events.items():
            poller.register(descriptor, wanted)
        return dict(poller.poll(_PARENT_CHECK_MS if self._drain_until is None else _DRAIN_CHECK_MS))

    def _attach(self, link: socket.socket) -> None:
        link.setblocking(False)
        self._link = link
        self._up.sink = self._down.source = link.fileno()
        self._up.broken = self._down.ended = False

    def _lose_daemon(self, link: socket.socket) -> None:
        answers, self._begun = self._journal.lost()
        self._up.held = memoryview(b"")
        self._down.held = memoryview(answers)
        link.close()
        self._link = None

    def _reconnect(self) -> None:
        self._attach(endpoint.establish(self._home))
        self._up.held = memoryview(self._begun + self._up.held)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
