"""Host events on their way into a database that cannot be written for a while, or for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from support import databases, filesystems
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.timeline import host_events
from strobe.timeline.output import HostEventSource
from strobe.timeline.schema import DATABASE_FILE, write_transaction
from strobe.timeline.store import Store

HOME_BYTES = 8 << 20


def lines_in(home: Path) -> list[bytes]:
    with apsw.Connection(str(home / DATABASE_FILE), flags=apsw.SQLITE_OPEN_READONLY) as reader:
        rows = reader.execute("select text from host_events order by number").fetchall()
    return [row[0] for row in rows]


def source_of(store: Store) -> tuple[HostEventSource, int]:
    record = store.add_session("/bin/app", None, 1000)
    return HostEventSource(store, record.id, 7, iter(range(1 << 30)).__next__), record.key


@pytest.fixture
def small_home(tmp_path: Path) -> Iterator[Path]:
    with filesystems.small(tmp_path / "small", HOME_BYTES) as folder:
        yield folder


def test_what_a_full_disk_refuses_is_written_when_there_is_room(small_home: Path) -> None:
    store = Store(small_home)
    source, key = source_of(store)
    filler = filesystems.fill(small_home)
    lines = [b"%d %s\n" % (number, b"x" * 100) for number in range(10_000)]
    for line in lines:
        source.output("stdout", line)
    store.flush()
    missing, reason = store.unwritten(key)
    assert missing > 0
    assert reason == "database or disk is full"
    filler.unlink()
    wait_until(lambda: store.unwritten(key) == (0, ""), "the lines to be written")
    assert lines_in(small_home) == lines
    source.close()
    store.close()


def test_a_disk_that_stays_full_stops_neither_the_program_nor_the_end(
    small_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_events, "QUEUE_BYTES", 1 << 20)
    store = Store(small_home)
    source, key = source_of(store)
    filesystems.fill(small_home)
    for number in range(5000):  # waits for nobody, though the queue is full
        source.output("stdout", b"%d %s\n" % (number, b"x" * 1000))
    store.flush()
    assert store.unwritten(key)[0] > 3000
    source.close()
    store.close()


def test_another_process_that_writes_is_waited_for(tmp_path: Path) -> None:
    store = Store(tmp_path)
    source, key = source_of(store)
    with databases.locked(tmp_path):
        source.output("stdout", b"one\n")
        wait_until(lambda: store.unwritten(key)[0], "a failed attempt")
        assert store.unwritten(key) == (1, "database is locked")
        # who only reads is not held up
        assert store.get_session(store.list_sessions()[0].id).key == key
    store.flush()
    assert lines_in(tmp_path) == [b"one\n"]
    source.close()
    store.close()


def test_changes_that_could_not_be_written_stay_in_order(tmp_path: Path) -> None:
    """What is opened and closed while the database is locked is closed in the end."""
    store = Store(tmp_path)
    record = store.add_session("/bin/app", None, 1000)
    store.open_spans(record.id, [1], 10)
    with databases.locked(tmp_path):
        store.close_spans(record.id, [1], 20)
        store.open_spans(record.id, [1, 2], 30)
        wait_until(lambda: store.unwritten(record.key)[0] == 3, "a failed attempt")
    store.close_spans(record.id, [2], 40)
    store.flush()
    assert store.unwritten(record.key) == (0, "")
    assert store.hook_spans(record.id) == {1: [(10, 20), (30, None)], 2: [(30, 40)]}
    store.close()


def test_a_failed_commit_is_rolled_back(small_home: Path) -> None:
    store = Store(small_home)
    record = store.add_session("/bin/app", None, 1000)
    filler = filesystems.fill(small_home)
    with pytest.raises(StrobeError, match=r"INTERNAL: Strobe's database .* could not be written: database or disk is"):
        for _ in range(100):
            store.add_warnings(record.id, ["x" * 100_000])
    filler.unlink()
    store.add_warnings(record.id, ["there is room"])
    assert store.get_session(record.id).warnings[-1] == "there is room"
    store.close()


def test_a_failed_rollback_hides_nothing() -> None:
    connection = apsw.Connection("")
    with pytest.raises(ZeroDivisionError), write_transaction(connection):
        connection.execute("rollback")  # as SQLite does by itself after some errors
        raise ZeroDivisionError


def test_the_end_of_a_session_is_noted_as_soon_as_it_can_be(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store._connection.set_busy_timeout(50)
    record = store.add_session("/bin/app", None, 1000)
    with databases.locked(tmp_path), pytest.raises(StrobeError, match="database is locked"):
        store.end_session(record.id, 5, status="exited", exit_code=3)
    wait_until(lambda: store.get_session(record.id).exit_code == 3, "the end in the database")
    store.close()


def test_a_database_for_reading_only_is_one_clear_error(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with (
        filesystems.read_only(tmp_path),
        pytest.raises(StrobeError, match=r"INTERNAL: Strobe's database .* could not be opened: .*Set STROBE_HOME"),
    ):
        Store(tmp_path)


def test_what_is_no_database_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes(b"no database " * 1000)
    with pytest.raises(StrobeError, match=r"could not be opened: file is not a database\. It is damaged"):
        Store(tmp_path)
