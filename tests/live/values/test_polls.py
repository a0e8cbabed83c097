"""Polls: a sample for each tick, in the timeline, until the duration, the program or somebody ends them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from support.reads import ready, value
from support.sessions import Launch, status, text
from support.wait import wait_until

from strobe import StrobeError
from strobe.errors import Code
from strobe.limits import POLLS
from strobe.model import Event, EventFilter
from strobe.session import Session, SessionManager
from strobe.session.variables.polls import Poll
from strobe.timeline.polls import POLLS_KEPT
from strobe.timeline.store import Store
from strobe.values.reading import ReadTarget
from strobe.values.write.writing import WriteTarget

SECONDS = 60.0
Build = Callable[..., Path]


@pytest.fixture
def program(build_program: Build) -> Path:
    return build_program("polled", "-O1")


@pytest.fixture
def session(program: Path, launch: Launch) -> Session:
    return ready(launch(program))


def poll(session: Session, *variables: str, interval_ms: int = 50, duration_ms: int = 500, depth: int = 1) -> Poll:
    return session.poll([ReadTarget(name) for name in variables], interval_ms, duration_ms, depth)


def done(poll: Poll) -> Poll:
    assert poll.over.wait(SECONDS)
    return poll


def snapshots(session: Session, limit: int = 1000) -> list[Event]:
    return session.query(EventFilter(event_type="variable_snapshot", limit=limit)).events


def test_each_tick_is_one_event_of_all_targets(session: Session) -> None:
    record = done(poll(session, "gTempo", "gCount", "gVoice", duration_ms=1000)).record
    events = snapshots(session)
    assert (record.expected, record.ended_by) == (20, "duration")
    assert len(events) == record.samples == record.expected - record.missed
    assert record.samples > 1
    assert all(event.errors is None and event.text is None for event in events)
    counts = [(event.values or {})["gCount"] for event in events]
    assert counts == sorted(counts)  # on a busy machine the program does not run between some
    assert counts[-1] > counts[0]
    first = events[0].values
    assert first == {"gTempo": 120, "gCount": counts[0], "gVoice": {"freq": 440.5, "note": -7, "name": "abc"}}


def test_ticks_keep_to_the_clock(session: Session) -> None:
    """None comes before its time; and none so late that the next was due, or it would have been left out."""
    record = done(poll(session, "gCount", duration_ms=1000)).record
    times = [event.timestamp_ns - record.start_ns for event in snapshots(session)]
    assert all(time >= place * 50_000_000 for place, time in enumerate(times))
    assert times == sorted(times)
    assert record.end_ns is not None
    assert record.end_ns >= record.start_ns + times[-1]


def test_a_target_fails_at_one_tick_and_is_there_at_another(session: Session) -> None:
    running = poll(session, "*gChosen", "gTempo", duration_ms=30_000)

    def newest() -> Event | None:
        return next(reversed(snapshots(session)), None)

    wait_until(lambda: (event := newest()) and event.values == {"*gChosen": 7, "gTempo": 120}, "a value")
    os.kill(session.pid, signal.SIGUSR2)
    wait_until(lambda: (event := newest()) and event.errors == {"*gChosen": "Null pointer at gChosen."}, "an error")
    assert (event := newest()) is not None
    assert event.values == {"gTempo": 120}
    os.kill(session.pid, signal.SIGUSR2)
    wait_until(lambda: (event := newest()) and event.errors is None, "a value again")
    running.stop()
    assert running.record.ended_by == "stopped"
    count = len(snapshots(session))
    assert count == running.record.samples
    assert value(session, "gTempo") == 120


def test_what_can_never_be_read_is_reported_at_once_and_left_out(session: Session) -> None:
    running = done(poll(session, "gTemp", "gTempo", "gVoice.nope"))
    errors = [None if result.error is None else result.error.message for result in running.first]
    assert errors == ["Variable 'gTemp' not found in debug symbols.", None, "Voice has no field 'nope'."]
    assert running.record.targets == ("gTempo",)
    assert {tuple(event.values or ()) for event in snapshots(session)} == {("gTempo",)}


def test_nothing_is_polled_where_nothing_can_be_read(session: Session) -> None:
    nothing = done(poll(session, "gTemp"))
    assert (nothing.record.expected, nothing.record.samples) == (0, 0)
    assert session.polls() == []
    page = session.query(EventFilter(event_type="variable_snapshot"))
    assert page.absence is not None
    assert page.absence.startswith("No variable was polled in this session, nor written by Strobe.")


def test_it_ends_with_the_program(session: Session) -> None:
    running = poll(session, "gCount", duration_ms=30_000)
    wait_until(lambda: len(snapshots(session)) > 2, "samples")
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 3
    record = done(running).record
    assert record.ended_by == "program"
    assert 2 < record.samples == len(snapshots(session)) < record.expected
    (noted,) = session.polls()
    assert noted == record
    with pytest.raises(StrobeError) as caught:
        poll(session, "gCount")
    assert caught.value.code is Code.PROCESS_EXITED


def test_a_killed_program_ends_it_too(session: Session) -> None:
    running = poll(session, "gCount", duration_ms=30_000)
    wait_until(lambda: snapshots(session), "a sample")
    os.kill(session.pid, signal.SIGKILL)
    assert status(session) == -signal.SIGKILL
    assert done(running).record.ended_by == "program"


def test_the_end_of_the_session_ends_it(session: Session, manager: SessionManager) -> None:
    running = poll(session, "gCount", duration_ms=30_000)
    wait_until(lambda: snapshots(session), "a sample")
    session.stop(retain=True)
    assert running.record.ended_by == "stopped"
    kept = manager.get(session.id)
    assert len(snapshots(kept)) == running.record.samples
    assert kept.polls() == [running.record]
    manager.delete(session.id)


def test_nothing_is_left_of_a_dropped_session(session: Session, strobe_home: Path) -> None:
    running = poll(session, "gCount", duration_ms=30_000)
    wait_until(lambda: snapshots(session), "a sample")
    session.stop()
    assert running.over.is_set()
    store = Store(strobe_home)
    assert store._read("select count(*) from host_events") == [(0,)]
    store.close()


def test_several_at_once_up_to_a_bound(session: Session) -> None:
    polls = [poll(session, "gTempo", "gCount", duration_ms=30_000) for _ in range(POLLS - 1)]
    polls.append(poll(session, "gVoice.note", interval_ms=100, duration_ms=30_000))
    with pytest.raises(StrobeError) as caught:
        poll(session, "gTempo")
    assert caught.value.code is Code.LIMIT_REACHED
    assert [record.ended_by for record in session.polls()] == [None] * POLLS
    wait_until(lambda: all(record.samples > 2 for record in session.polls()), "samples of all")
    polls[0].stop()
    polls.append(poll(session, "gTempo"))
    for one in polls[1:-1]:
        one.stop()
    done(polls[-1])
    by_targets: dict[tuple[str, ...], int] = {}
    for event in snapshots(session):
        names = tuple(event.values or ())
        by_targets[names] = by_targets.get(names, 0) + 1
    assert by_targets[("gVoice.note",)] == polls[POLLS - 1].record.samples
    assert by_targets[("gTempo", "gCount")] == sum(one.record.samples for one in polls[: POLLS - 1])
    assert by_targets[("gTempo",)] == polls[-1].record.samples


def test_addresses_and_bytes(session: Session) -> None:
    address = int(value(session, "&gVoice"))
    targets = [
        ReadTarget(address=address, type="f32"),
        ReadTarget(address=address, size=8, type="bytes"),
        ReadTarget(address=address, size=40, type="bytes"),
        ReadTarget(address=16, type="u8"),
    ]
    running = session.poll(targets, 50, 30_000)
    wait_until(lambda: snapshots(session), "a tick")  # on a busy machine the first ones are missed
    running.stop()
    event = snapshots(session)[0]
    at = f"{address:#x}"
    values = event.values or {}
    assert values[f"(f32*){at}"] == 440.5
    assert values[f"(bytes*){at}, 8 bytes"] == "00 40 dc 43 f9 ff ff ff"
    assert values[f"(bytes*){at}, 40 bytes"].startswith("00 40 dc 43 f9 ff ff ff 61 62 63 00")
    assert values[f"(bytes*){at}, 40 bytes"].endswith(" …")
    assert event.errors == {"0x10": "Address not readable: 0x10."}


def test_whether_anything_was_polled_in_a_time(session: Session) -> None:
    record = done(poll(session, "gTempo")).record

    def absence(**window: int) -> str:
        page = session.query(EventFilter(event_type="variable_snapshot", **window))  # type: ignore[arg-type]
        assert page.absence is not None
        return page.absence

    assert absence(time_to=record.start_ns - 1).startswith("No variable was polled in this time: the polls ")
    assert absence(time_from=record.start_ns + 10**12).startswith("No variable was polled in this time: ")
    assert absence(time_from=record.start_ns + 1, time_to=record.start_ns + 1).startswith(
        "Polled in this time: gTempo;"
    )
    assert absence(min_duration_ns=1).startswith("Polled: gTempo; but a snapshot of variables has no function")


def test_what_strobe_has_written_is_not_denied(session: Session) -> None:
    """A window without it, and then another one."""
    (written,) = session.writer.write([WriteTarget("gTempo", 7)])
    assert written.error is None
    page = session.query(EventFilter(event_type="variable_snapshot", time_to=0))
    assert page.absence == "No variable was polled in this session, and none written by Strobe in this time."
    page = session.query(EventFilter(event_type="variable_snapshot", min_duration_ns=1))
    assert page.absence == "A snapshot of variables has no function, duration or return value."


def test_polls_that_are_not_noted_any_more_are_not_denied(session: Session) -> None:
    """The newest ones are."""
    for _ in range(POLLS_KEPT + 1):
        first = done(poll(session, "gTempo")).record
    page = session.query(EventFilter(event_type="variable_snapshot", time_to=0))
    assert first.start_ns > 0 and page.absence is not None
    assert page.absence.startswith(f"Of the last {POLLS_KEPT} polls none was in this time: they ran from "), (
        page.absence
    )


def test_sql_has_the_text(session: Session) -> None:
    done(poll(session, "gTempo", duration_ms=100))
    columns, rows = session.sql("select event_type, text from events where event_type = 'variable_snapshot'")
    assert columns == ["event_type", "text"]
    assert {json.loads(str(text))["values"]["gTempo"] for _, text in rows} == {120}
    _, rows = session.sql(
        "select sum(json_extract(text, '$.values.gTempo')) / count(*) from events where text like '{%'"
    )
    assert rows == [(120,)]


def test_a_library_that_comes_and_goes(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    """A value, or an error, and never a crash; and nothing of what else comes to lie there."""
    session = launch(build_program("dlopens"), str(build_plugin()), "reload")
    wait_until(lambda: session.reader.read([ReadTarget("plugin_rounds")])[0].error is None, "the library")
    running = wait_until(
        lambda: one if (one := poll(session, "plugin_rounds", duration_ms=1500)).record.expected else None
    )
    done(running)
    seen = [((event.values or {}).get("plugin_rounds"), event.errors) for event in snapshots(session)]
    assert running.record.ended_by == "duration"
    assert 5 in {found for found, _ in seen}
    assert {found for found, errors in seen if errors is None} == {5}
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0


def test_a_program_that_becomes_itself_again(launch: Launch, build_program: Build) -> None:
    """The same file at other addresses: what is known of the old ones is not used, for polls and for single reads."""
    session = ready(launch(build_program("execs_itself")))
    running = poll(session, "gGeneration", duration_ms=30_000)
    assert value(session, "gGeneration") == 1
    for generation in (2, 3):
        os.kill(session.pid, signal.SIGUSR1)
        wait_until(lambda: f"ready {generation}" in text(session, "stdout"), "the next generation")  # noqa: B023
        seen = len(snapshots(session))
        wait_until(lambda: len(snapshots(session)) > seen + 1, "samples")  # noqa: B023
        assert snapshots(session)[-1].values == {"gGeneration": generation}
        assert value(session, "gGeneration") == generation
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 3
    assert done(running).record.ended_by == "program"


def test_reads_of_a_program_that_becomes_itself_all_the_time(launch: Launch, build_program: Build) -> None:
    """In exec there are moments without its file, and such with other memory at the old addresses."""
    session = ready(launch(build_program("execs_often")))
    repeated = session.reader.repeated([ReadTarget("gMark")])
    os.kill(session.pid, signal.SIGUSR1)
    seen: Counter[object] = Counter()
    with suppress(ProcessLookupError, StrobeError):  # at its end
        while True:
            for result in [*session.reader.read([ReadTarget("gMark")]), *repeated.read()]:
                seen[result.value if result.error is None else result.error.message] += 1
            if seen.total() > 800:  # more than it was another program, as fast as this machine is
                os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 3
    assert list(seen) == [70707], seen
    assert seen[70707] > 800


def test_a_program_that_becomes_another(launch: Launch, build_program: Build) -> None:
    session = ready(launch(build_program("execs_itself"), "sleep"))
    running = poll(session, "gGeneration", duration_ms=30_000)
    wait_until(lambda: snapshots(session), "a sample")
    os.kill(session.pid, signal.SIGUSR1)
    error = wait_until(lambda: snapshots(session)[-1].errors, "an error")
    assert error is not None
    wait_until(lambda: running.record.samples > 3 and snapshots(session)[-1].errors, "errors that go on")
    os.kill(session.pid, signal.SIGKILL)
    assert done(running).record.ended_by == "program"


def test_a_thread_local_variable(launch: Launch, build_program: Build) -> None:
    session = ready(launch(build_program("values", "-O0")))
    targets = [ReadTarget("gLocal"), ReadTarget("gLocal", thread=session.pid), ReadTarget("gLocal", thread=1)]
    running = done(session.poll(targets, 50, 100))
    there, same, elsewhere = running.first
    assert there.value == same.value == value(session, "gLocal")
    assert elsewhere.error is not None
    local = {"gLocal": there.value, f"gLocal (thread {session.pid})": there.value}
    assert [event.values for event in snapshots(session)] == [local] * running.record.samples


POLLER = """
import sys
from strobe.session import SessionManager
from strobe.values.reading import ReadTarget
manager = SessionManager()
poll = manager.get(sys.argv[1]).poll([ReadTarget("gTempo"), ReadTarget("gCount")], 50, int(sys.argv[2]))
print("polling", flush=True)
poll.over.wait(60)
print(poll.record.samples, poll.record.ended_by)
manager.close()
"""


def other_process(session: Session, duration_ms: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", POLLER, session.id, str(duration_ms)]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert other.stdout is not None
    if other.stdout.readline() != "polling\n":
        _, error = other.communicate(timeout=SECONDS)
        pytest.skip("ptrace_scope forbids one process to read another") if "did not permit" in error else None
        pytest.fail(error)
    return other


def test_a_session_of_another_process_is_polled_into_its_timeline(session: Session) -> None:
    own = poll(session, "gTempo", duration_ms=500)
    out, error = other_process(session, 500).communicate(timeout=SECONDS)
    samples, ended_by = out.split()
    assert (ended_by, error) == ("duration", "")
    done(own)
    names = [tuple(event.values or ()) for event in snapshots(session)]
    assert names.count(("gTempo", "gCount")) == int(samples)
    assert names.count(("gTempo",)) == own.record.samples
    assert [record.ended_by for record in session.polls()] == ["duration", "duration"]


@pytest.mark.parametrize("retain", [True, False])
def test_a_poll_by_another_process_ends_with_the_session(
    session: Session, manager: SessionManager, strobe_home: Path, retain: bool
) -> None:
    other = other_process(session, 30_000)
    wait_until(lambda: snapshots(session), "a sample of the other process")
    session.stop(retain=retain)
    out, error = other.communicate(timeout=SECONDS)
    samples, ended_by = out.split()
    assert ended_by in ("program", "stopped")
    assert error == ""
    store = Store(strobe_home)
    assert store._read("select count(*) from host_events where event_type = 'variable_snapshot'") == [
        (int(samples) if retain else 0,)
    ]
    store.close()
    if retain:
        manager.delete(session.id)


def test_an_attached_program_goes_on_without_it(program: Path, manager: SessionManager) -> None:
    from strobe.model import LaunchSpec

    with subprocess.Popen([program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        session = manager.launch(LaunchSpec(str(program), pid=process.pid, project_root=str(program.parent)))
        running = poll(session, "gCount", duration_ms=30_000)
        wait_until(lambda: len(snapshots(session)) > 2, "samples")
        session.stop(retain=True)
        assert running.record.ended_by == "stopped"
        process.send_signal(signal.SIGUSR1)
        assert process.wait(SECONDS) == 3


def test_strobe_run_reports_what_others_poll(program: Path, manager: SessionManager) -> None:
    command = [sys.executable, "-m", "strobe.cli.main", "run", "--json", "-t", "fill", "--", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "ready\n"
        (known,) = wait_until(manager.list, "the session")
        try:
            record = done(poll(manager.get(known.session_id), "gTempo", "*gChosen")).record
        except StrobeError as error:
            pytest.skip("ptrace_scope forbids one process to read another") if "did not permit" in str(error) else None
            raise
        finally:
            os.kill(known.pid, signal.SIGUSR1)
        events = [json.loads(line) for line in running.communicate(timeout=SECONDS)[1].splitlines() if line[0] == "{"]
    found = [event["values"] for event in events if event.get("eventType") == "variable_snapshot"]
    assert found == [{"gTempo": 120, "*gChosen": 7}] * record.samples
