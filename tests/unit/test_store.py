from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import apsw
import pytest
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import Capture, FunctionSymbol, Parameter, ValueKind, ValueType
from strobe.timeline.output import HostEventSource
from strobe.timeline.owners import process_start_time
from strobe.timeline.records import StagedTraces
from strobe.timeline.schema import DATABASE_FILE
from strobe.timeline.store import Store

# each process adds sessions of one program at the same time and writes lines into the last
WRITER = """
import sys
from pathlib import Path
from strobe.timeline.store import Store
from strobe.timeline.output import HostEventSource
store = Store(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
ids = [store.add_session("/bin/app", None, 1000).id for _ in range(20)]
source = HostEventSource(store, ids[-1], 7, iter(range(100000)).__next__)
for line in range(500):
    source.output("stdout", b"%d\\n" % line)
source.close()
store.close()
print(" ".join(ids))
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path)
    yield opened
    opened.close()


def lines_of(store: Store, session_id: str) -> list[bytes]:
    store.flush()
    key = store.get_session(session_id).key
    with apsw.Connection(str(store.home / DATABASE_FILE)) as reader:
        rows = reader.execute("select text from host_events where session = ? order by number", (key,)).fetchall()
    return [row[0] for row in rows]


def test_session_ids_are_of_program_and_time_and_never_the_same(store: Store) -> None:
    records = [store.add_session("/opt/my app", "/src", 1000) for _ in range(3)]
    stem = records[0].id
    assert datetime.strptime(stem, "my_app-%Y-%m-%d-%Hh%M")
    assert len({record.id for record in records}) == 3
    assert all(record.id.startswith("my_app-") for record in records)
    assert records[0].folder == store.home / "sessions" / stem
    assert [record.id for record in store.list_sessions()] == [record.id for record in reversed(records)]


def test_update_and_delete(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    updated = store.update_session(
        record.id, pid=42, status="exited", exit_code=3, ended_at="2026-01-01T00:00:00+00:00"
    )
    assert (updated.pid, updated.status, updated.exit_code) == (42, "exited", 3)
    assert updated.summary().exit_code == 3
    store.delete_session(record.id)
    with pytest.raises(StrobeError, match="SESSION_NOT_FOUND"):
        store.get_session(record.id)


def test_an_unknown_session_names_the_known_ones(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    with pytest.raises(StrobeError, match=f"no session 'nope'.*{record.id}"):
        store.get_session("nope")


def test_functions_come_back_as_they_were(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    colour = ValueType(ValueKind.ENUM, 4, "Colour", ((-1, "none"), (2, "red")))
    first = FunctionSymbol(
        "ns::f",
        "_ZN2ns1fE",
        "/bin/app",
        0x1234,
        64,
        "/src/f.cpp",
        12,
        (Parameter("c", colour, 0, (Capture(0),)),),
        colour,
        True,
        return_captures=(Capture(6),),
    )
    second = FunctionSymbol("g", "g", "/lib/libg.so", 0x99, 8)
    store.add_functions(record.id, {1: first, 9: second})
    assert store.functions(record.id) == {1: first, 9: second}


def test_hook_spans_open_and_close(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    store.open_spans(record.id, [1, 2], 10)
    store.close_spans(record.id, [1], 20)
    store.open_spans(record.id, [1], 30)
    assert store.hook_spans(record.id) == {1: [(10, 20), (30, None)], 2: [(10, None)]}
    store.close_spans(record.id, None, 40)
    assert store.hook_spans(record.id) == {1: [(10, 20), (30, 40)], 2: [(10, 40)]}


def test_staged_traces(store: Store) -> None:
    store.stage("/src", StagedTraces(("ns::*", "f"), "off"))
    assert store.staged("/src") == StagedTraces(("ns::*", "f"), "off")
    assert store.staged("/other") is None
    store.stage("/src", StagedTraces((), "auto"))
    assert store.staged("/src") is None


def test_warnings_and_notes_are_merged(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    store.add_warnings(record.id, ["a", "b"])
    store.add_warnings(record.id, ["b", "c"])
    store.add_notes(record.id, {"inlined_only": {"f": 3}})
    found = store.get_session(record.id)
    assert (found.warnings, found.notes) == (("a", "b", "c"), {"inlined_only": {"f": 3}})


def test_a_session_whose_owner_is_gone_is_abandoned(store: Store) -> None:
    mine, other = (store.add_session("/bin/app", None, 1000).id for _ in range(2))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        started = process_start_time(owner.pid)
        store.update_session(other, owner_pid=owner.pid, owner_start_time=started)
        assert store.abandoned_sessions() == []
        owner.kill()
    assert [record.id for record in store.abandoned_sessions()] == [other]
    store.update_session(other, owner_pid=os.getpid(), owner_start_time=started)
    assert mine not in [record.id for record in store.abandoned_sessions()]


def test_output_keeps_every_byte_one_event_per_line(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    source = HostEventSource(
        store, record.id, 7, lambda: 5
    )  # a clock that stands still: numbers are unique all the same
    text = "one\n\nzwölf \U0001f600\r\n".encode() + b"\xff\xfe not utf-8\n" + "é".encode() * 70_000 + b"\nlast"
    for place in range(0, len(text), 1000):
        source.output("stdout", text[place : place + 1000])
    source.close()
    lines = lines_of(store, record.id)
    assert b"".join(lines) == text
    assert lines[:4] == [b"one\n", b"\n", "zwölf \U0001f600\r\n".encode(), b"\xff\xfe not utf-8\n"]
    assert [len(line) for line in lines[4:]] == [65_536, 65_536, 8_929, 4]


def test_overlong_lines_are_cut_between_characters(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    source = HostEventSource(store, record.id, 7, lambda: 5)
    source.output("stdout", b"x" + "€".encode() * 50_000)
    source.close()
    assert [line.decode()[-1] for line in lines_of(store, record.id)] == ["€", "€", "€"]


def test_a_prompt_without_line_feed_becomes_an_event_on_its_own(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    seen = threading.Event()
    put = store.host_events.put

    def spy(events):
        put(events)
        seen.set()

    store.host_events.put = spy  # type: ignore[method-assign]
    source = HostEventSource(store, record.id, 7, lambda: 5)
    source.output("stdout", b"name? ")
    assert seen.wait(60)
    assert lines_of(store, record.id) == [b"name? "]
    source.close()


def test_a_prompt_does_not_wait_for_the_other_stream(store: Store) -> None:
    record = store.add_session("/bin/app", None, 1000)
    source = HostEventSource(store, record.id, 7, iter(range(1 << 30)).__next__)
    source.output("stdout", b"name? ")

    def is_there() -> bool:
        source.output("stderr", b"working\n")
        return b"name? " in lines_of(store, record.id)

    wait_until(is_there, timeout=10)
    source.close()


def test_events_of_one_moment_by_two_processes_are_all_kept(tmp_path: Path) -> None:
    """Two stores stand for two processes: the owner of the session, and one that adds an event to it."""
    owner, other = Store(tmp_path), Store(tmp_path)
    record = owner.add_session("/bin/app", None, 1000)
    source = HostEventSource(owner, record.id, 7, lambda: 5)
    taken = 5 << 10 | 1023
    assert other.add_host_event(record.id, "variable_snapshot", "other", lambda: taken) == taken
    source.output("stdout", b"one\ntwo\n")
    source.event("variable_snapshot", "own")
    later = other.add_host_event(record.id, "variable_snapshot", "other again", lambda: taken)
    source.close()
    assert sorted(lines_of(owner, record.id)) == [b"one\n", b"other", b"other again", b"own", b"two\n"]
    assert later is not None
    assert later > taken
    owner.update_session(record.id, status="exited")
    assert other.add_host_event(record.id, "variable_snapshot", "too late", lambda: taken) is None
    assert source.event("variable_snapshot", "too late") is None
    assert len(lines_of(owner, record.id)) == 5
    owner.close()
    other.close()


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ids = [writer.communicate(timeout=60)[0].split() for writer in writers]
    store = Store(tmp_path)
    assert len({*ids[0], *ids[1]}) == 40
    for own in ids:
        assert lines_of(store, own[-1]) == [b"%d\n" % line for line in range(500)]
    store.close()


def test_a_database_of_a_newer_strobe_is_refused(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with apsw.Connection(str(tmp_path / DATABASE_FILE)) as connection:
        connection.pragma("user_version", 99)
    with pytest.raises(StrobeError, match=r"newer Strobe.*format 99"):
        Store(tmp_path)


def test_ids_and_keys_are_never_given_twice(store: Store) -> None:
    first = store.add_session("/opt/app", None, 1000)
    store.delete_session(first.id)
    second = store.add_session("/opt/app", None, 1000)
    assert second.key != first.key
    assert second.id != first.id


def test_an_id_whose_folder_outlived_the_database_is_passed_over(store: Store) -> None:
    first = store.add_session("/opt/app", None, 1000)
    following = first.folder.with_name(f"{first.id}-2")
    following.mkdir(parents=True)
    assert store.add_session("/opt/app", None, 1000).id not in (first.id, following.name)
