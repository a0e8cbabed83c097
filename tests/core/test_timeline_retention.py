"""Keeping, dropping and moving sessions: what stays on disk, what is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support import filesystems
from support.timelines import PID, WrittenSession

from strobe._core import create_segment
from strobe.config import Settings
from strobe.errors import StrobeError
from strobe.model import EventFilter
from strobe.timeline import placement, retention
from strobe.timeline.owners import process_start_time
from strobe.timeline.query import Timeline
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

MakeSession = Callable[..., WrittenSession]


@pytest.fixture
def store(strobe_home: Path) -> Iterator[Store]:
    opened = Store(strobe_home)
    yield opened
    opened.close()


def add_kept(store: Store, days_old: float = 0, size: int = 0) -> SessionRecord:
    record = store.add_session("/bin/app", None, 1000)
    ended = datetime.now(UTC) - timedelta(days=days_old)
    placement.make_folder(record)
    (record.folder / "segment").write_bytes(os.urandom(size))
    return store.update_session(record.id, status="exited", ended_at=ended.isoformat(), retained=1)


def test_a_live_segment_is_moved_when_kept_and_stays_readable(make_session: MakeSession) -> None:
    session = make_session(4_000_000)
    thread = session.writer.thread(PID, PID, "main")
    for _ in range(100):
        session.call(thread, 1)
    live = session.path.with_name("live")
    session.path.rename(live)
    session.store.update_session(session.session_id, segment_path=str(live))
    before = session.timeline.query(EventFilter(limit=500)).events
    session.end()
    record = retention.keep_session(session.store, session.session_id)
    assert (record.retained, record.segment_path) == (True, record.folder / "segment")
    assert not live.exists()
    assert record.segment_path.stat().st_mode & 0o777 == 0o600
    assert session.timeline.query(EventFilter(limit=500)).events == before
    assert len(before) == 200


def test_a_nearly_empty_session_is_small_on_disk(make_session: MakeSession) -> None:
    session = make_session(4_000_000)
    session.call(session.writer.thread(PID, PID, "main"), 1)
    session.end()
    target = session.path.with_name("copy")
    placement.copy_sparse(session.path, target)
    assert target.stat().st_size == session.path.stat().st_size > 100 << 20
    assert target.stat().st_blocks * 512 < 1 << 20
    copied = Timeline(session.store, session.session_id, target)
    assert copied.query(EventFilter()).events == session.timeline.query(EventFilter()).events
    copied.close()


def test_a_copy_that_the_disk_has_room_for_in_part_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "segment"
    source.write_bytes(bytes(1 << 17) + os.urandom(1 << 16))
    with filesystems.small(tmp_path / "small", 1 << 20) as small:
        filesystems.fill(small, leave_bytes=1 << 15)
        with pytest.raises(OSError, match="No space left"):
            placement.copy_sparse(source, small / "copy")


def test_a_segment_is_placed_in_shared_memory_where_there_is_room(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.add_session("/bin/app", None, 1000)
    path = placement.place_segment(record)
    assert (path.parent, path.name.startswith(f"strobe-{os.getuid()}-{record.id}-")) == (Path("/dev/shm"), True)
    assert record.folder.is_dir()
    huge = store.add_session("/bin/app", None, 1_000_000_000_000)
    assert placement.place_segment(huge) == huge.folder / "segment"
    monkeypatch.setattr(placement, "SHARED_MEMORY", Path("/nowhere"))
    assert placement.place_segment(record) == record.folder / "segment"


def test_deleting_removes_rows_and_files(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    path = placement.place_segment(record)
    create_segment(str(path), 1000)
    store.update_session(record.id, segment_path=str(path), status="exited")
    retention.delete_session(store, record.id)
    assert (path.exists(), record.folder.exists(), store.list_sessions()) == (False, False, [])


def test_a_running_session_is_not_deleted(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    with pytest.raises(StrobeError, match="is still running"):
        retention.delete_session(store, record.id)
    assert store.get_session(record.id) == record


def test_old_sessions_are_dropped(store: Store) -> None:
    old, young = add_kept(store, days_old=8), add_kept(store, days_old=6)
    running = store.add_session("/bin/app", None, 1000)
    assert retention.enforce(store, Settings()) == [old.id]
    assert {record.id for record in store.list_sessions()} == {young.id, running.id}
    assert (old.folder.exists(), young.folder.exists()) == (False, True)


def test_the_oldest_are_dropped_beyond_the_size(store: Store) -> None:
    records = [add_kept(store, size=1 << 20) for _ in range(4)]
    dropped = retention.enforce(store, Settings(storage_max_bytes=(2 << 20) + 65536))
    assert sorted(dropped) == sorted(record.id for record in records[:2])
    assert [record.folder.exists() for record in records] == [False, False, True, True]


def test_deleted_output_gives_its_space_back(make_session: MakeSession) -> None:
    session = make_session()
    for _ in range(200):
        session.output("x" * 50_000 + "\n")
    session.end()
    session.store.flush()
    assert session.store.output_bytes(session.session_id) == 200 * 50_001
    session.timeline.close()
    retention.delete_session(session.store, session.session_id)
    session.store.close()
    files = session.store.home.glob("strobe.db*")
    assert sum(file.stat().st_size for file in files) < 1 << 20


def test_a_session_of_a_killed_process_is_kept(make_session: MakeSession) -> None:
    session = make_session()
    session.call(session.writer.thread(PID, PID, "main"), 1)
    session.output("last words\n")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        started = process_start_time(owner.pid)
        session.store.update_session(session.session_id, owner_pid=owner.pid, owner_start_time=started)
        owner.kill()
    (abandoned,) = session.store.abandoned_sessions()
    assert session.store.take_over(abandoned)
    assert not session.store.take_over(abandoned), "the second of two processes must leave it alone"
    adopted = retention.adopt(session.store, abandoned, "stopped", None)
    assert (adopted.id, adopted.retained, adopted.status) == (session.session_id, True, "stopped")
    assert session.timeline.query(EventFilter()).total_count == 3
    assert session.store.abandoned_sessions() == []


def test_how_a_program_ended_is_not_made_up(make_session: MakeSession) -> None:
    session = make_session()
    record = session.store.get_session(session.session_id)
    adopted = retention.adopt(session.store, record, "exited", None)
    assert (adopted.status, adopted.exit_code, adopted.signal) == ("exited", None, None)


def test_what_was_seen_of_an_end_stays(make_session: MakeSession) -> None:
    """The program had ended, and its children were still recorded, when Strobe was killed."""
    session = make_session()
    session.store.update_session(session.session_id, exit_code=3)
    adopted = retention.adopt(session.store, session.store.get_session(session.session_id), "stopped", None)
    assert (adopted.status, adopted.exit_code) == ("exited", 3)
