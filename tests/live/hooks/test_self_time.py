"""Total time, each moment of a function once, and self time, without traced callees, against single events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal

import pytest
from support.sessions import Build, Launch, status, totals

from strobe.calls import Call, pair
from strobe.model import EventFilter
from strobe.session import Session


def callers(call: Call) -> Iterator[Call]:
    """Those that returned, from the inside out."""
    above = call.parent
    while above is not None:
        if above.returned:
            yield above
        above = above.parent


def of_events(session: Session) -> tuple[dict[str, int], dict[str, int]]:
    """By function, of calls that returned: the durations of the outermost ones; all less those of the callees."""
    outermost: dict[str, int] = defaultdict(int)
    own: dict[str, int] = defaultdict(int)
    for call in pair(session.tail(0, 1_000_000)):
        if call.duration_ns is None:
            continue
        own[call.function] += call.duration_ns
        for above in callers(call):
            own[above.function] -= call.duration_ns
            break
        if all(above.function != call.function for above in callers(call)):
            outermost[call.function] += call.duration_ns
    return outermost, own


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("program", ["recursion", "fibonacci", "tail_calls", "throws", "longjmps"])
def test_total_and_self_time_agree_with_the_events(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, program: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program(program, "-O1"), patterns=["@usercode"], sampling="off")
    status(session)
    groups = totals(session)
    assert session.timeline.loss().total == 0
    assert groups
    outermost, own = of_events(session)
    calls = sum(group.count for group in groups.values())
    for name, group in groups.items():
        assert group.self_ns is not None
        assert 0 <= group.self_ns <= group.total_ns
        # a duration is rounded down to a nanosecond on its own
        assert abs(group.self_ns - own.get(name, 0)) <= calls
        assert abs(group.total_ns - outermost.get(name, 0)) <= calls
        assert group.min_ns <= group.mean_ns <= group.max_ns <= group.total_ns


def test_recursive_calls_take_no_longer_than_what_called_them(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("fibonacci", "-O1"), patterns=["@usercode"], sampling="off")
    assert status(session) == 0
    kept = {group.key: group for group in session.timeline.totals(EventFilter(time_from=0), "function")}
    for groups in (totals(session), kept):
        for name in ("fib", "even", "odd"):
            assert 0 < groups[name].total_ns <= groups["main"].total_ns
        assert groups["fib"].count == 21891
    assert {name: group.total_ns for name, group in kept.items()} == {
        name: group.total_ns for name, group in totals(session).items()
    }
    kinds: tuple[Literal["thread", "file"], ...] = ("thread", "file")
    for by in kinds:
        for wanted in (EventFilter(), EventFilter(time_from=0)):
            (group,) = session.timeline.totals(wanted, by)
            assert abs(group.total_ns - kept["main"].total_ns) <= group.count


def test_self_times_of_a_thread_add_up(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("pthread_exit", "-O1"), patterns=["@usercode"], sampling="off")
    assert status(session) == 0
    outermost: dict[int, int] = defaultdict(int)
    for call in pair(session.tail(0, 1_000_000)):
        if call.duration_ns is not None and not any(callers(call)):
            outermost[call.thread_id] += call.duration_ns
    groups = session.timeline.totals(EventFilter(), "thread")
    assert {group.thread_id for group in groups} >= outermost.keys()
    for group in groups:
        assert group.self_ns is not None and group.thread_id is not None
        assert group.total_ns == group.self_ns
        assert abs(group.self_ns - outermost[group.thread_id]) <= 2 * group.count


def test_self_time_is_unknown_where_only_some_events_count(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("recursion", "-O1"), patterns=["@usercode"], sampling="off")
    status(session)
    assert {group.self_ns for group in session.timeline.totals(EventFilter(min_duration_ns=1), "function")} == {None}
