"""Numbers of removed probes are given again, and no event is read as another probe's."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from support.sessions import Build, Launch, all_events, status, text
from support.short_form import short
from support.wait import wait_until

from strobe.model import EventFilter, Probe, TraceRequest
from strobe.session import Session, function_ids
from strobe.timeline.store import Store

CHANGES = 30


@pytest.fixture
def session(launch: Launch, build_program: Build) -> Iterator[Session]:
    """Of a program that reaches `step` once at each second SIGUSR1."""
    library = build_program("plugin", "-shared", "-fPIC", "-O0")
    running = launch(build_program("comes_and_goes", "-O0"), str(library))
    wait_until(lambda: "ready" in text(running, "stdout"), "its beginning")
    yield running
    os.kill(running.pid, signal.SIGTERM)
    assert status(running) == 0


def reach_step(session: Session) -> None:
    """Once; and the library is there no more."""
    for word in ("loaded", "gone"):
        count = text(session, "stdout").count(word)
        os.kill(session.pid, signal.SIGUSR1)
        wait_until(lambda word=word, count=count: text(session, "stdout").count(word) > count, word)


def values(session: Session) -> dict[str | None, list[dict[str, object]]]:
    """What was recorded, by label."""
    found: dict[str | None, list[dict[str, object]]] = {}
    for event in all_events(session, EventFilter(event_type="probe")):
        found.setdefault(event.label, []).append(dict(event.watch_values or {}))
    return found


def hits(session: Session) -> dict[str, int]:
    return {one.label: one.hits for one in session.timeline.probe_totals()}


def numbers(session: Session) -> int:
    store = Store()
    try:
        return len(store.functions(session.id))
    finally:
        store.close()


@pytest.mark.parametrize("way", ["removed", "replaced"])
def test_probes_that_recorded_nothing_need_no_numbers(
    session: Session, monkeypatch: pytest.MonkeyPatch, strobe_home: object, way: str
) -> None:
    monkeypatch.setattr(function_ids, "LAST", 4)
    for change in range(CHANGES):
        answer = session.trace(
            TraceRequest(probe=[Probe("step", label="changes", show=(f"{change} + round",), limit=change)])
        )
        assert not answer.warnings
        if way == "removed":
            session.trace(TraceRequest(unprobe=["changes"]))
    session.trace(TraceRequest(probe=[Probe("step", label="changes", show=("round",))]))
    reach_step(session)
    assert values(session) == {"changes": [{"round": 9}]}
    assert hits(session) == {"changes": 1}
    assert numbers(session) <= 2


def test_what_was_recorded_stays_what_it_was(session: Session) -> None:
    for number in range(3):
        session.trace(TraceRequest(probe=[Probe("step", label="counts", show=(f"round + {number}",))]))
        reach_step(session)
        session.trace(TraceRequest(unprobe=["counts"]))
    session.trace(TraceRequest(probe=[Probe("step", label="other", show=("round - 1",))]))
    reach_step(session)
    assert values(session) == {
        "counts #1": [{"round + 0": 9}],
        "counts #2": [{"round + 1": 10}],
        "counts": [{"round + 2": 11}],
        "other": [{"round - 1": 8}],
    }
    assert hits(session) == {"counts #1": 1, "counts #2": 1, "counts": 1, "other": 1}
    assert numbers(session) == 4


def test_others_of_the_same_instruction_count_on(session: Session) -> None:
    session.trace(TraceRequest(probe=[Probe("step", label="comes", show=("round",)), Probe("step", label="stays")]))
    for number in range(3):
        session.trace(TraceRequest(unprobe=["comes"]))
        session.trace(TraceRequest(probe=[Probe("step", label="comes", show=(f"round + {number}",))]))
    reach_step(session)
    session.trace(TraceRequest(unprobe=["comes"]))
    session.trace(TraceRequest(probe=[Probe("step", label="comes", show=("-round",))]))
    reach_step(session)
    assert hits(session) == {"comes #4": 1, "stays": 2, "comes": 1}
    assert values(session) == {"comes #4": [{"round + 2": 11}], "stays": [{}, {}], "comes": [{"-round": -9}]}


def test_a_limit_begins_anew(session: Session) -> None:
    session.trace(TraceRequest(probe=[Probe("step", label="ends", limit=1)]))
    session.trace(TraceRequest(unprobe=["ends"]))
    session.trace(TraceRequest(probe=[Probe("step", label="ends", show=("round",))]))
    for _ in range(3):
        reach_step(session)
    assert values(session) == {"ends": 3 * [{"round": 9}]}


def test_a_library_that_came_again(session: Session) -> None:
    """Its instructions are others then, with trampolines of their own."""
    for number in range(3):
        session.trace(
            TraceRequest(probe=[Probe("plugin_run", label="there", show=(f"value + {number}",))], probes_ok=True)
        )
        if number < 2:
            session.trace(TraceRequest(unprobe=["there"]))
    reach_step(session)
    reach_step(session)
    assert values(session) == {"there": 2 * [{"value + 2": 6}]}


def test_under_load(launch: Launch, build_program: Build) -> None:
    """A thread reaches it at each tick of a timer: some of the probes record something, and some do not."""
    session = launch(build_program("turns", "-O0"), "400000000")
    deadline, change = time.monotonic() + short(6, 2), 0
    while time.monotonic() < deadline or change <= 10:
        session.trace(TraceRequest(probe=[Probe("tick", label="tick", show=(f"signal + {change}",))]))
        if change % 3:
            session.trace(TraceRequest(unprobe=["tick"]))
        change += 1
    os.kill(session.pid, signal.SIGKILL)
    assert status(session) == -signal.SIGKILL
    assert len(values(session)) > 1
    for label, shown in values(session).items():
        assert len({key for one in shown for key in one}) == 1, label
