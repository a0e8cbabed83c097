"""Sessions whose Strobe process was killed: no command may show them as running, and what they recorded is kept."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from pathlib import Path
from typing import Literal

from strobe.capture.exit_status import by_recorder
from strobe.errors import StrobeError
from strobe.process_maps import maps_lines
from strobe.timeline import owners, placement, retention
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

log = logging.getLogger(__name__)

# Notes of a session, for whoever recovers it.
RESUMED = "resumed"  # the program runs: from here on there is something to keep
INHERITS = "inherits_stdio"  # its input and output are those of its user, who may want it to go on
_STARTED = "started"  # process id and start time of a program that Strobe has started

_Fate = Literal["gone", "goes_on", "ended"]


def recover(store: Store) -> None:
    """Looks after all sessions of the home whose owner is gone, and after segments that no session has.

    One that cannot be looked after now (no disk space) does not keep the others from it; the next command tries again.
    """
    for record in store.abandoned_sessions():
        if store.take_over(record):
            try:
                _recover(store, record)
            except Exception:
                log.exception("session %s could not be recovered", record.id)
                with contextlib.suppress(StrobeError):  # its rows may be gone
                    store.hand_back(record)
    owners.remove_stale(store.home)
    _remove_strays(store)


def note_start(store: Store, session_id: str, pid: int) -> None:
    """Strobe has started this process, which stands still: should it be killed now, nothing else would lead there."""
    store.add_notes(session_id, {_STARTED: [pid, owners.process_start_time(pid)]})


def _recover(store: Store, record: SessionRecord) -> None:
    if record.status != "running":
        retention.keep_session(store, record.id)
    elif not record.notes.get(RESUMED, True):
        _end(record)
        retention.drop_session(store, record)  # it was killed while it started the program: nothing was recorded
    else:
        fate = _fate(record)
        status = by_recorder(str(record.segment_path)) if fate == "gone" else None
        retention.adopt(store, record, "exited" if fate == "gone" else "stopped", status.code if status else None)
    log.info("recovered session %s", record.id)


def _fate(record: SessionRecord) -> _Fate:
    """A program that is cut off from its output is ended; one that only was attached to goes on. Of one in another PID
    namespace nothing is known."""
    if not record.owner.is_of_this_namespace():
        return "goes_on"
    if not _is_observed(record):
        return "gone"
    if record.notes.get("attached") or record.notes.get(INHERITS):
        return "goes_on"
    _end(record)
    return "ended"


def _end(record: SessionRecord) -> None:
    if not record.notes.get("attached") and (pid := record.pid if _is_observed(record) else _just_started(record)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _just_started(record: SessionRecord) -> int:
    """The process of a start that was killed before the segment was mapped there, 0 where that has ended."""
    noted = record.notes.get(_STARTED)
    if not isinstance(noted, list) or not record.owner.is_of_this_namespace():
        return 0
    pid, start_time = noted
    return int(pid) if start_time is not None and owners.has_started_at(pid, start_time) else 0


def _is_observed(record: SessionRecord) -> bool:
    """Whether the very process lives that has this session's segment mapped: its id may have gone to another since."""
    if record.pid <= 0:
        return False
    try:
        maps = Path(f"/proc/{record.pid}/maps").read_text(errors="surrogateescape")
    except OSError:
        return False
    segment = str(record.segment_path)
    return any(line.path == segment for line in maps_lines(maps) if line.name.startswith("/"))


def _remove_strays(store: Store) -> None:
    """Segments in shared memory whose sessions are no longer in the database."""
    found = placement.shared_segments(store.home / "sessions")  # before: a session has its path before its segment
    known = store.segment_paths() if found else set()
    for path in found:
        if str(path) not in known:
            log.info("removing the segment %s, which belongs to no session", path)
            with contextlib.suppress(OSError):
                path.unlink()
