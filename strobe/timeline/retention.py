"""How long sessions stay: kept ones by age and by size on disk, the rest until they are stopped."""

from __future__ import annotations

import contextlib
import logging
import time
from datetime import datetime

from strobe.config import Settings
from strobe.errors import StrobeError, failure
from strobe.model import SessionStatus
from strobe.timeline import placement
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

log = logging.getLogger(__name__)

_DAY_S = 86_400


def keep_session(store: Store, session_id: str) -> SessionRecord:
    """Marks an ended session as kept, with its segment in its folder. Returns the record as it is then.

    Raises not_kept, database_failed.
    """
    record = store.get_session(session_id)
    try:
        path = placement.move_to_folder(record)
    except OSError as error:
        raise failure("not_kept", session_id=session_id, reason=error.strerror or error) from error
    return store.update_session(session_id, segment_path=str(path), retained=1)


def delete_session(store: Store, session_id: str) -> None:
    """Drops a session's rows and files. Raises `session_not_found`, and `session_running` while its owner runs it."""
    record = store.get_session(session_id)
    if record.status == "running" and record.owner_alive(store.home):
        raise failure("session_running", session_id=session_id)
    drop_session(store, record)


def drop_session(store: Store, record: SessionRecord) -> None:
    """Drops rows and files of a session that nobody records into any more."""
    placement.remove_files(record)
    store.delete_session(record.id)


def adopt(store: Store, record: SessionRecord, status: SessionStatus, exit_code: int | None) -> SessionRecord:
    """Keeps a session whose Strobe process was killed, so that what it recorded can be read. Returns it.

    `status` and `exit_code` say what became of a program that ran until then; None: nobody saw it.
    """
    if record.status == "running":
        ended = datetime.now().astimezone().isoformat(timespec="seconds")
        known = record.exit_code is not None or record.signal is not None  # its children were still recorded
        how: dict[str, int | None] = {} if known else {"exit_code": exit_code}
        store.update_session(record.id, status="exited" if known else status, ended_at=ended, **how)
    return keep_session(store, record.id)


def enforce(store: Store, settings: Settings, now_s: float | None = None) -> list[str]:
    """Drops kept sessions that are older than `storage_retain_days`, then the oldest beyond `storage_max_bytes`.

    `now_s`: seconds since the epoch. Returns the ids of what was dropped. Another process may do the same at this
    moment; what cannot be dropped is logged, and tried again the next time.
    """
    kept = [record for record in store.list_sessions() if record.retained]
    oldest = (time.time() if now_s is None else now_s) - settings.storage_retain_days * _DAY_S
    expired = [record for record in kept if _ended_s(record) < oldest]
    expired += _beyond_size(store, [record for record in kept if record not in expired], settings.storage_max_bytes)
    dropped = []
    for record in expired:
        try:
            drop_session(store, record)
            dropped.append(record.id)
        except (StrobeError, OSError) as error:
            log.warning("session %s has expired and could not be dropped: %s", record.id, error)
    return dropped


def session_bytes(store: Store, record: SessionRecord) -> int:
    """What a kept session takes: its folder, and its output in the database."""
    return placement.disk_bytes(record.folder) + store.output_bytes(record.id)


def _beyond_size(store: Store, newest_first: list[SessionRecord], max_bytes: int) -> list[SessionRecord]:
    """The sessions that do not fit any more when the newest are kept first."""
    total = 0
    for index, record in enumerate(newest_first):
        with contextlib.suppress(StrobeError, OSError):  # it was dropped meanwhile
            total += session_bytes(store, record)
        if total > max_bytes:
            return newest_first[index:]
    return []


def _ended_s(record: SessionRecord) -> float:
    return datetime.fromisoformat(record.ended_at or record.started_at).timestamp()
