"""`strobe mcp`: carries bytes between a client's stdio and the daemon, and starts the daemon where none runs.

It knows nothing of the protocol. It ends on end of input, on SIGINT, SIGTERM or SIGHUP, when its parent dies, and when
the client closes its output. Nothing but what the daemon sends is ever written to standard output.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence

from strobe.mcp import endpoint

_READ_BYTES = 65536
# A blocking pipe that poll calls writable takes this much without blocking (pipe(7), PIPE_BUF).
_WRITE_BYTES = 4096
_PARENT_CHECK_MS = 1000
# Less than the 2 s after which the official client kills a server whose input it has closed.
_DRAIN_SECONDS = 1.5
_GONE = select.POLLERR | select.POLLNVAL


def main(argv: Sequence[str] = ()) -> int:
    """Runs until the client or the daemon is gone; the exit status of `strobe mcp`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    home = endpoint.home_path()
    try:
        link = endpoint.establish(home)
    except endpoint.Unreachable as error:
        print(
            f"strobe mcp: the Strobe daemon does not answer: {error}. See {endpoint.log_path(home)}.", file=sys.stderr
        )
        return 1
    return Pump(link).run()


class _Flow:
    """One direction: what was read from `source` and not yet written to `sink`."""

    def __init__(self, source: int, sink: int, write_bytes: int) -> None:
        self.source = source
        self.sink = sink
        self.write_bytes = write_bytes
        self.held = b""
        self.ended = False
        self.broken = False

    def read(self) -> None:
        try:
            self.held = os.read(self.source, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # a terminal that hung up, a connection reset
            self.held = b""
        self.ended = not self.held

    def write(self) -> None:
        try:
            self.held = self.held[os.write(self.sink, self.held[: self.write_bytes]) :]
        except BlockingIOError:
            pass
        except OSError:
            self.held = b""
            self.broken = True


class Pump:
    """Both directions of one client. Neither waits for the other, so a slow reader blocks only itself."""

    def __init__(self, link: socket.socket, stdin: int = 0, stdout: int = 1) -> None:
        link.setblocking(False)
        self._link = link
        self._up = _Flow(stdin, link.fileno(), _READ_BYTES)
        self._down = _Flow(link.fileno(), stdout, _WRITE_BYTES)
        self._parent = os.getppid()
        self._drain_until: float | None = None

    def run(self) -> int:
        """0 when the client was done, 1 when the daemon went away under it."""
        while True:
            ready = self._wait()
            client_gone = ready.get(self._down.sink, 0) & (_GONE | select.POLLHUP)
            if client_gone or os.getppid() != self._parent:
                return 0
            self._move(self._up, ready)
            self._move(self._down, ready)
            if self._down.broken:
                return 0
            if self._finished():
                return 0 if self._up.ended else 1

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
        return dict(poller.poll(_PARENT_CHECK_MS if self._drain_until is None else 50))

    def _move(self, flow: _Flow, ready: dict[int, int]) -> None:
        if flow.held:
            if ready.get(flow.sink, 0) & (select.POLLOUT | _GONE | select.POLLHUP):
                flow.write()
        elif not flow.ended and ready.get(flow.source, 0) & (select.POLLIN | select.POLLHUP | _GONE):
            flow.read()

    def _finished(self) -> bool:
        if self._down.ended:
            return True
        if self._up.ended and not self._up.held and self._drain_until is None:
            self._drain_until = time.monotonic() + _DRAIN_SECONDS
            self._link.shutdown(socket.SHUT_WR)  # answers that are under way still come
        return self._drain_until is not None and time.monotonic() > self._drain_until


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
