"""Agents on their way out of processes. One that is stopped runs nothing, so the agent leaves when it goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from strobe import threads
from strobe.capture import task_status
from strobe.errors import StrobeError

_STOPPED_S = 0.5  # before nobody waits for it any more
_LOOK_S = 0.02
_LONGEST_LOOK_S = 0.5
_LONGEST_S = 30.0

_lock = threading.Lock()
_leaving: dict[int, threading.Event] = {}  # by process; set when the agent has left


def leave(pid: int, is_stopped: Callable[[], bool], work: Callable[[], None], failed_later: threads.Failed) -> bool:
    """Does the `work` that takes the agent out, and raises what it raises. False where the process is stopped: then the
    work is done when it goes on, or ends, and `failed_later` gets what it raises. Raises no_threads where it is stopped
    and nobody can wait for it."""
    left = threading.Event()
    failed: list[BaseException] = []
    is_later = threading.Event()

    def on_failure(error: BaseException) -> None:
        failed.append(error)
        if is_later.is_set():
            failed_later(error)

    def run() -> None:
        try:
            pause = _LOOK_S
            while is_stopped():
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_LOOK_S)
            work()
        finally:
            with _lock:
                if _leaving.get(pid) is left:
                    del _leaving[pid]
            left.set()

    with _lock:
        _leaving[pid] = left
    try:
        thread = threads.start(f"strobe-leave-{pid}", run, on_failure)
    except StrobeError:  # there can be no thread more
        if not is_stopped():
            run()  # without one; it is over with it
            return True
        with _lock:
            if _leaving.get(pid) is left:
                del _leaving[pid]
        left.set()
        raise
    stopped_since = None
    while not left.wait(_LOOK_S):
        now = time.monotonic()
        stopped_since = (stopped_since or now) if is_stopped() else None
        if stopped_since is not None and now - stopped_since > _STOPPED_S:
            is_later.set()
            if not left.is_set():  # what it raises from here on is reported
                return False
    thread.join()  # it may be reporting a failure
    if failed:
        raise failed[0]
    return True


def wait_until_left(pid: int) -> None:
    """Waits for an agent that is on its way out of a process that is not stopped, 30 s at most."""
    with _lock:
        left = _leaving.get(pid)
    deadline = time.monotonic() + _LONGEST_S
    while left is not None and not left.wait(_LOOK_S):
        is_stopped = task_status.is_stopped(pid) and not task_status.is_traced_here(pid)
        if time.monotonic() > deadline or is_stopped:
            return
