"""A real program, recorded in a session that began long ago: ten days after its begin numbers once passed 2^63."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.sessions import Build, Launch, all_events, counts, outcome, status, text

from strobe import _abi, _core
from strobe.model import EventFilter, EventType, TextMatch
from strobe.session import Session

DAY_NS = 24 * 3600 * 10**9
KINDS: tuple[EventType, ...] = ("function_enter", "function_exit")
WRAPS = 1 << 64  # ticks are differences: as if the machine's clock had been at so many more


@pytest.fixture(params=[11, 365], ids=["11 days", "a year"])
def age_ns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Each session has begun so long ago. No clock but the segment's own says when that was."""
    age: int = request.param * DAY_NS
    create, ticks = _core.create_segment, _core.ticks

    def create_aged(path: str, max_events: int) -> None:
        create(path, max_events)
        with Path(path).open("r+b") as file:
            header = file.read(_abi.HEADER_AT["ns_per_tick"] + 8)
            (rate,) = struct.unpack_from("<d", header, _abi.HEADER_AT["ns_per_tick"])
            for name, back in (("start_ticks", round(age / rate)), ("start_monotonic_ns", age)):
                (value,) = struct.unpack_from("<Q", header, _abi.HEADER_AT[name])
                file.seek(_abi.HEADER_AT[name])
                file.write(struct.pack("<Q", (value - back) % WRAPS))

    monkeypatch.setattr(_core, "create_segment", create_aged)
    monkeypatch.setattr(_core, "ticks", lambda: ticks() + WRAPS)
    return age


def numbers(session: Session, wanted: EventFilter | None = None) -> list[int]:
    return [int(event.id.rpartition("-")[2]) for event in all_events(session, wanted or EventFilter())]


@pytest.mark.usefixtures("form")
def test_calls_times_and_absence(launch: Launch, build_program: Build, age_ns: int) -> None:
    session = launch(build_program("recursion"), patterns=["@usercode"], sampling="off")
    assert status(session) == 0
    found = [event for event in all_events(session, EventFilter()) if event.function]
    assert len(found) == sum(calls + returned for calls, returned, _ in counts(session).values()) > 10
    assert numbers(session) == sorted(set(numbers(session)))
    assert numbers(session)[0] > 0 and numbers(session)[-1] < 1 << 63
    assert all(age_ns < event.timestamp_ns < age_ns + DAY_NS for event in found)
    entries = {event.id: event for event in found if event.event_type == "function_enter"}
    for event in found:
        if event.event_type == "function_exit":
            enter = entries[event.parent_event_id or ""]
            assert event.duration_ns is not None
            assert abs(event.timestamp_ns - enter.timestamp_ns - event.duration_ns) <= 16  # two moments
    assert session.sql("select id, timestamp_ns from events where function is not null order by number")[1] == [
        (event.id, event.timestamp_ns) for event in found
    ]
    name = found[0].function or ""
    early = session.query(EventFilter(function=TextMatch(equals=name), time_to=age_ns - DAY_NS))
    assert early.total_count == 0
    assert (early.absence or "").startswith("It did not happen. The program began to run at ")


@pytest.mark.usefixtures("form")
def test_a_function_that_is_sampled(launch: Launch, build_program: Build, age_ns: int) -> None:
    """The rate is measured by the same clock."""
    session = launch(build_program("million", "-O1"), patterns=["counted::*"])
    assert status(session) == 0
    assert {name: calls for name, (calls, _, _) in counts(session).items()} == {
        "counted::f": 1_000_000,
        "counted::once": 4,
    }
    loss = session.timeline.loss()
    kept = sum(session.query(EventFilter(event_type=kind, limit=1)).total_count for kind in KINDS)
    assert kept + loss.total == 2 * 1_000_004
    assert loss.sampled_out > 0


def test_output_has_its_time(launch: Launch, build_program: Build, age_ns: int) -> None:
    session = launch(build_program("hello"), patterns=["*"])
    assert outcome(session).stdout == "hello world\n"
    (line,) = session.query(EventFilter(event_type="stdout")).events
    assert age_ns < line.timestamp_ns < age_ns + DAY_NS
    assert text(session, "stdout") == "hello world\n"
