"""Tool calls on threads of their own: a slow one holds up nobody, and none is waited for longer than LIMIT_SECONDS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from strobe import threads
from strobe.errors import StrobeError, failure
from strobe.limits import CALLS_AT_ONCE
from strobe.mcp import endpoint, results

LIMIT_SECONDS = 52.0  # of which a wait may take 45; opencode gives up at 60 s
FIRST_PROGRESS_SECONDS = 0.5  # most calls are answered before
PROGRESS_SECONDS = 5.0

Result = dict[str, Any]
Progress = Callable[[float], None]  # takes the seconds since the call began


class Call:
    """One call under way. It is answered once: by its work, or at the limit, or not at all after `cancel`."""

    def __init__(self, answer: Callable[[Result], None], closed: Callable[[], None]) -> None:
        self._answer = answer
        self._closed = closed
        self._lock = threading.Lock()
        self.settled = threading.Event()  # nobody waits for its work any more

    def settle(self, result: Result) -> None:
        """Answers with `result`, unless it was answered or cancelled before."""
        if self._take():
            try:
                self._answer(result)
            finally:
                self._closed()

    def cancel(self) -> None:
        """Ends the wait; the work goes on, because what it does to a program cannot be taken back. Work that only waits
        looks at `settled`."""
        if self._take():
            self._closed()

    def report(self, progress: Callable[[], None]) -> None:
        """Runs `progress` before the answer, or not at all."""
        with self._lock:
            if not self.settled.is_set():
                progress()

    def _take(self) -> bool:
        with self._lock:
            first = not self.settled.is_set()
            self.settled.set()
        return first


class Calls:
    """The calls of all clients."""

    def __init__(self, limit_s: float = LIMIT_SECONDS, max_running: int = CALLS_AT_ONCE) -> None:
        self.limit_s = limit_s
        self._max_running = max_running
        self._running = threading.BoundedSemaphore(max_running)

    def start(self, name: str, work: Callable[[], Result], call: Call, progress: Progress | None = None) -> None:
        """Runs `work` and settles `call` with what it returns, or with the failure that it raises.

        `progress` is called while that lasts: after FIRST_PROGRESS_SECONDS, then every PROGRESS_SECONDS.
        """
        if not self._running.acquire(blocking=False):
            call.settle(results.failed(str(failure("too_many_calls", count=self._max_running))))
            return

        def broken(error: BaseException) -> None:
            call.settle(_broken(name, error))

        try:
            threads.start(f"{name}-time", lambda: self._keep_time(name, call, progress), broken)
            threads.start(name, lambda: self._run(work, call), broken)
        except StrobeError as error:  # the system allows no more threads
            self._running.release()
            call.settle(results.failed(str(error)))

    def _run(self, work: Callable[[], Result], call: Call) -> None:
        try:
            call.settle(work())
        finally:
            self._running.release()

    def _keep_time(self, name: str, call: Call, progress: Progress | None) -> None:
        """Until the call is settled, which it is at the limit."""
        begun = time.monotonic()
        due = self.limit_s if progress is None else FIRST_PROGRESS_SECONDS
        while progress is not None and due < self.limit_s:
            if call.settled.wait(begun + due - time.monotonic()):
                return
            call.report(partial(progress, due))
            due = due // PROGRESS_SECONDS * PROGRESS_SECONDS + PROGRESS_SECONDS
        if not call.settled.wait(begun + self.limit_s - time.monotonic()):
            call.settle(results.failed(str(failure("call_too_long", tool=name, seconds=f"{self.limit_s:g}"))))


def _broken(name: str, error: BaseException) -> Result:
    reason = f"{name}: {threads.reason(error)}"
    return results.failed(str(failure("internal", reason=reason, log=endpoint.log_path(endpoint.home_path()))))
