"""A process is recorded by one session at a time, whoever observes it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from strobe.capture.attachable import has_agent, live_segments, missing, refused
from strobe.capture.leaving import wait_until_left
from strobe.errors import failure
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

_LEAVING_S = 5.0  # an agent takes back what it has changed when its Strobe process has died
_GOING_S = 0.5  # and is gone itself a little later; a forked child's copy never goes
_POLL_S = 0.01
_OTHERS_S = 30.0  # for others that attach


@contextlib.contextmanager
def alone(pid: int) -> Iterator[None]:
    """No other thread or process of Strobe's attaches to the process meanwhile: two ways of Frida into it at once
    disturb each other. Raises no_such_process; attach_refused where /proc hides it, or others take too long."""
    deadline = time.monotonic() + _OTHERS_S
    try:
        folder = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError) as error:
        raise missing(pid) from error
    except PermissionError as error:
        raise refused(pid, error.strerror, is_permission=True) from error
    try:
        while not _is_locked(folder):
            if time.monotonic() > deadline:
                raise failure("attach_refused", pid=pid, reason="another session is attaching to it", hint="Try again.")
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(folder)


def _is_locked(folder: int) -> bool:
    """By flock(2): it needs no file of ours, holds among all homes, and ends with who has it."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_until_unrecorded(store: Store, pid: int) -> None:
    """Returns once no session records the process. Raises recorded_already, naming the session that does.

    What an agent left that could not take it back is taken over by the next one. One that is going would put back what
    the next one's Frida has changed.
    """
    wait_until_left(pid)
    _wait_until_ended(store, pid)
    deadline = time.monotonic() + _GOING_S
    while has_agent(pid) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _wait_until_ended(store: Store, pid: int) -> None:
    deadline = time.monotonic() + _LEAVING_S
    while segments := live_segments(pid):
        record = _record_of(store, segments[0])
        if record is not None and record.status != "running":
            return  # it has ended: a forked child of its program is left
        is_observed = record is not None and record.owner_alive(store.home)
        if is_observed or (time.monotonic() > deadline and has_agent(pid)):
            raise failure("recorded_already", pid=pid, session=record.id if record else segments[0])
        if time.monotonic() > deadline:
            return
        time.sleep(_POLL_S)


def _record_of(store: Store, segment: Path) -> SessionRecord | None:
    """None where it is of another home."""
    return next((record for record in store.list_sessions() if record.segment_path == segment), None)
