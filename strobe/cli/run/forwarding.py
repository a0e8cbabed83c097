"""Signals that `strobe run` gets are meant for the program, and Strobe stays to say what happened.

But whoever insists is obeyed: at the second SIGTERM or SIGHUP, or the third Ctrl-C with no more than REPEAT_S between
them, the program is killed, and Strobe ends within FORCED_S, in order if it can. All of that happens on a thread that
reads the numbers of signals from a pipe (signal.set_wakeup_fd): the main thread may be blocked, in Frida or by a lock,
and run no handler.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from strobe import threads

FORCED_S = 3.0
GRACE_S = 1.5  # to print the rest, where the program has ended before the signal came
REPEAT_S = 10.0
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_JOB_CONTROL = (signal.SIGTSTP, signal.SIGCONT)
_NOT_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)  # as Python does, and programs that it starts would inherit
_INTERRUPTS_THAT_FORCE = 3
_REQUESTS_THAT_FORCE = 2


class Forwarding:
    """While it is entered, signals do not end this process; they go to the program once `begin` has named it.

    Ctrl-C reaches the program without us, being in the same process group; only one that left it gets ours.
    """

    def __init__(self, exit_now: Callable[[int], object] = os._exit) -> None:
        self.interrupts = 0
        self.forced: int | None = None  # the signal that has ended patience
        self._exit_now = exit_now
        self.at_last: Callable[[], object] = lambda: None  # before this process leaves at once; must take no lock
        self._printing_until_s = math.inf
        self._requests = 0
        self._interrupts_in_a_row = 0
        self._last_interrupt_s = 0.0
        self._interrupts_before = 0  # while the program was being started, as the main thread sees them
        self._pid: int | None = None
        self._suspended: int | None = None  # what Ctrl-Z is for: known a moment before it runs
        self._process: int | None = None  # its pidfd
        self._lock = threading.Lock()
        self._early: list[int] = []
        self._before: dict[int, object] = {}
        self._left = threading.Event()
        self._read = self._write = -1

    def __enter__(self) -> Forwarding:
        self._read, self._write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._write, False)
        threads.start("strobe-signals", self._watch, threads.logged_only)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        # a handler that does nothing, and not SIG_IGN, which the program would inherit
        job_control = [number for number in _JOB_CONTROL if signal.getsignal(number) == signal.SIG_DFL]
        taken = (*_ENDING, *_NOT_IGNORED, *job_control)
        self._before = {number: signal.signal(number, self._on_signal) for number in taken}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._left.set()
        signal.set_wakeup_fd(-1)
        os.close(self._write)
        with self._lock:
            if self._process is not None:
                os.close(self._process)
            self._process = self._pid = None

    def know(self, pid: int) -> None:
        """The program is about to run: from now on Ctrl-Z stops it, too."""
        with self._lock:
            self._suspended = pid
            with contextlib.suppress(OSError):
                self._process = os.pidfd_open(pid)

    def begin(self, pid: int) -> None:
        """What came while the program was being started is passed on now."""
        if self._suspended != pid:
            self.know(pid)
        with self._lock:
            self._pid = pid
            early, self._early = self._early, []
        for number in early:
            self._send(number)

    @property
    def given_up(self) -> bool:
        """Nothing more is to be printed but the end."""
        return time.monotonic() >= self._printing_until_s

    @property
    def status(self) -> int:
        """The exit status of a run that was ended before the program began."""
        return 128 + (self.forced or signal.SIGINT)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        """On the main thread, when that runs Python: a start that is given up is not waited for."""
        if self._pid is None and number in _ENDING:
            self._interrupts_before += 1
            if self._interrupts_before > 1:
                raise KeyboardInterrupt

    def _watch(self) -> None:
        with contextlib.closing(os.fdopen(self._read, "rb", buffering=0)) as numbers:
            while data := numbers.read(64):
                for at, number in enumerate(data):
                    if number in _ENDING:
                        self._take(number)
                    elif number == signal.SIGTSTP and signal.SIGCONT not in data[at:]:
                        self._suspend()
                    elif number == signal.SIGCONT:
                        self._send(signal.SIGCONT)

    def _take(self, number: int) -> None:
        with self._lock:
            self._count(number)
            starting = self._pid is None
            if starting:
                self._early.append(number)
        if self._interrupts_in_a_row >= _INTERRUPTS_THAT_FORCE or self._requests >= _REQUESTS_THAT_FORCE:
            self._force(number)
        elif not starting and not self._pass_on(number) and number != signal.SIGINT:
            self._force(number, GRACE_S)  # nothing is left to wait for but Strobe itself

    def _suspend(self) -> None:
        """Ctrl-Z: the program first, then Strobe, whom the shell waits for; `fg` lets both go on.

        The program is in a session of its own, where the kernel lets SIGTSTP stop nobody who does not handle it.
        """
        pid = self._suspended
        if not _is_under_job_control():
            return
        if pid is not None:
            self._send(signal.SIGTSTP if _handles(pid, signal.SIGTSTP) else signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)

    def _count(self, number: int) -> None:
        if number != signal.SIGINT:
            self._requests += 1
            return
        now = time.monotonic()
        in_a_row = now - self._last_interrupt_s <= REPEAT_S
        self.interrupts += 1
        self._interrupts_in_a_row = self._interrupts_in_a_row + 1 if in_a_row else 1
        self._last_interrupt_s = now

    def _pass_on(self, number: int) -> bool:
        """False where the program has ended."""
        return (number == signal.SIGINT and self._shares_group()) or self._send(number)

    def _shares_group(self) -> bool:
        try:
            return os.getpgid(self._pid or 0) == os.getpgrp()
        except ProcessLookupError:
            return True

    def _send(self, number: int) -> bool:
        """False where the program has ended."""
        with self._lock:
            if self._process is None or _has_ended(self._process):
                return False
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, number)
                return True
        return False

    def _force(self, number: int, grace_s: float = 0.0) -> None:
        self._printing_until_s = min(self._printing_until_s, time.monotonic() + grace_s)
        if self.forced is not None:
            return
        self.forced = number
        if self._pid is not None:
            if self._send(signal.SIGKILL):
                _say("the program is killed")
        elif not self._interrupts_before:
            _say("the start is given up")
        threads.start("strobe-last-resort", lambda: self._leave(number, grace_s), threads.logged_only)

    def _leave(self, number: int, grace_s: float) -> None:
        if self._left.wait(FORCED_S + grace_s):
            return
        _say("gives up waiting for itself")
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        threads.guarded("the last clean-up", self.at_last, threads.logged_only)()
        self._exit_now(128 + number)


def _is_under_job_control() -> bool:
    """Whether a shell would let this process go on: where none does (`docker run`, `ssh host`), the kernel stops nobody
    at Ctrl-Z either (an orphaned process group)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pid = os.getpid()
        while os.getpgid(pid) == os.getpgrp():
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            pid = int(stat.rpartition(")")[2].split()[1])
        return os.getsid(pid) == os.getsid(0)
    return False


def _handles(pid: int, number: int) -> bool:
    """Whether the program has a handler of the signal, or ignores it."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            name, _, mask = line.partition(":")
            if name in ("SigCgt", "SigIgn") and int(mask, 16) >> (number - 1) & 1:
                return True
    return False


def _has_ended(process: int) -> bool:
    waiting = select.poll()
    waiting.register(process, select.POLLIN)
    return bool(waiting.poll(0))


def _say(what: str) -> None:
    """Not through Python's streams, the locks of which the main thread may hold; and never waiting for a reader."""
    waiting = select.poll()
    waiting.register(2, select.POLLOUT)
    with contextlib.suppress(OSError):
        if waiting.poll(0):
            os.write(2, f"strobe: {what}\n".encode())


def _children() -> list[int]:
    """Processes that this one has started and that were not reaped yet."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found
