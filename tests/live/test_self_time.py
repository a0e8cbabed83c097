"""Self time: what a function's calls took without their traced callees, against the same from every single event."""

from __future__ import annotations

from collections import defaultdict

import pytest
from support.sessions import Build, Launch, status, totals

from strobe.calls import pair
from strobe.model import EventFilter
from strobe.session import Session


def of_events(session: Session) -> dict[str, int]:
    """By function: durations less those of the callees, of calls that returned."""
    found: dict[str, int] = defaultdict(int)
    for call in pair(session.tail(0, 1_000_000)):
        if call.duration_ns is None:
            continue
        found[call.function] += call.duration_ns
        if call.parent is not None and call.parent.returned:
            found[call.parent.function] -= call.duration_ns
    return dict(found)


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("program", ["recursion", "tail_calls", "throws", "longjmps"])
def test_self_time_agrees_with_the_events(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, program: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program(program, "-O1"), patterns=["@usercode"], sampling="off")
    status(session)
    groups = totals(session)
    assert session.loss().total == 0
    assert groups
    expected = of_events(session)
    calls = sum(group.count for group in groups.values())
    for name, group in groups.items():
        assert group.self_ns is not None
        assert 0 <= group.self_ns <= group.total_ns
        # a duration is rounded down to a nanosecond on its own
        assert abs(group.self_ns - expected.get(name, 0)) <= calls


def test_self_times_of_a_thread_add_up(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("pthread_exit", "-O1"), patterns=["@usercode"], sampling="off")
    assert status(session) == 0
    outermost: dict[int, int] = defaultdict(int)
    for call in pair(session.tail(0, 1_000_000)):
        if call.duration_ns is not None and (call.parent is None or not call.parent.returned):
            outermost[call.thread_id] += call.duration_ns
    groups = session.totals(EventFilter(), "thread")
    assert {group.thread_id for group in groups} >= outermost.keys()
    for group in groups:
        assert group.self_ns is not None and group.thread_id is not None
        assert abs(group.self_ns - outermost[group.thread_id]) <= 2 * group.count


def test_self_time_is_unknown_where_only_some_events_count(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("recursion", "-O1"), patterns=["@usercode"], sampling="off")
    status(session)
    assert {group.self_ns for group in session.totals(EventFilter(min_duration_ns=1), "function")} == {None}
