"""Totals, what is missing from them and from the events, and what is said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest
from support.timelines import FUNCTIONS, PID, WrittenSession, write_mixture

from strobe._core import Segment, note_checked
from strobe.errors import StrobeError
from strobe.model import Event, EventFilter, LoadedModule, ReturnMatch, TextMatch
from strobe.timeline.totals import NO_SOURCE_FILE

MakeSession = Callable[..., WrittenSession]

NOT_PROVEN = "This does not prove that it did not happen. "


@pytest.fixture
def mixture(make_session: MakeSession) -> WrittenSession:
    session = make_session()
    write_mixture(session)
    return session


def durations_by(events: list[Event], key: Callable[[Event], object]) -> dict[object, list[int]]:
    found: dict[object, list[int]] = defaultdict(list)
    for event in events:
        if event.duration_ns is not None:
            found[key(event)].append(event.duration_ns)
    return found


KEYS: dict[str, Callable[[Event], object]] = {
    "function": lambda event: event.function,
    "thread": lambda event: event.thread_id,
    "file": lambda event: event.source_file or NO_SOURCE_FILE,
}


@pytest.mark.parametrize("group_by", KEYS)
def test_totals_agree_with_the_events(mixture: WrittenSession, group_by: str) -> None:
    expected = durations_by(mixture.timeline.tail(0, 100_000), KEYS[group_by])
    totals = mixture.timeline.totals(EventFilter(), group_by)  # type: ignore[arg-type]
    assert {item.thread_id if group_by == "thread" else item.key for item in totals} == expected.keys()
    assert [item.count for item in totals] == sorted((item.count for item in totals), reverse=True)
    for item in totals:
        durations = expected[item.thread_id if group_by == "thread" else item.key]
        assert (item.count, item.completed, item.exact) == (len(durations), len(durations), True)
        assert (item.min_ns, item.max_ns) == (min(durations), max(durations))
        # each duration is rounded down to a nanosecond on its own
        assert sum(durations) <= item.mean_ns * item.completed + item.completed <= sum(durations) + 3 * len(durations)
        assert item.min_ns <= item.p50_ns <= item.p99_ns <= item.max_ns


def test_totals_with_conditions(mixture: WrittenSession) -> None:
    events = [event for event in mixture.timeline.tail(0, 100_000) if event.function]
    enters = [event for event in events if event.event_type == "function_enter"]

    def counts(wanted: EventFilter) -> dict[str, int]:
        return {item.key: item.count for item in mixture.timeline.totals(wanted, "function")}

    def counted(some: list[Event]) -> dict[str, int]:
        names = [event.function or "" for event in some]
        return {name: names.count(name) for name in names}

    assert counts(EventFilter(function=TextMatch(contains="lib"))) == counted(
        [e for e in enters if "lib" in (e.function or "")]
    )
    assert counts(EventFilter(thread_id=4300)) == counted([e for e in enters if e.thread_id == 4300])
    assert counts(EventFilter(thread_name=TextMatch(contains="mai"))) == counted(
        [e for e in enters if "mai" in e.thread_name]
    )
    middle = events[len(events) // 2].timestamp_ns
    assert counts(EventFilter(time_from=middle)) == counted([e for e in enters if e.timestamp_ns >= middle])
    assert counts(EventFilter(return_value=ReturnMatch(equals=7))) == counted(
        [e for e in events if e.return_value in (7, "0x7")]
    )
    assert not any(item.exact for item in mixture.timeline.totals(EventFilter(time_from=middle), "function"))
    assert counts(EventFilter(function=TextMatch(equals="nope"))) == {}
    with pytest.raises(StrobeError, match="totals count calls only"):
        counts(EventFilter(event_type="stdout"))


def test_quantiles_are_exact_where_all_durations_are_equal(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    session.writer.totals(1, thread, 100, [5_000] * 100)
    session.writer.totals(2, thread, 100, [1_000] * 50 + [1_000_000] * 50)
    exact, split = session.timeline.totals(EventFilter(), "function")
    assert exact.min_ns == exact.p50_ns == exact.p99_ns == exact.max_ns
    assert (split.p50_ns < 2 * split.min_ns, split.p99_ns > split.max_ns * 0.8) == (True, True)


def test_what_the_ring_evicts_is_counted_per_function(make_session: MakeSession) -> None:
    session = make_session(1_000)
    threads = [session.writer.thread(PID, PID + number, f"t{number}") for number in range(2)]
    first_tick = session.now + 100
    for call in range(30_000):
        session.call(threads[call % 2], 1 + call % 3)
    session.end()
    loss = session.timeline.loss()
    assert loss.evicted > 0
    assert loss.evicted_until_ns is not None
    first = session.timeline.query(EventFilter(limit=1))
    assert first.events[0].timestamp_ns >= 0
    assert first.total_count + loss.evicted == 60_000
    kept = {
        name: session.timeline.query(filter_of(name)).total_count for name in ("app::main", "app::parse", "app::find")
    }
    losses = {item.function: item for item in session.timeline.function_losses()}
    for name, enters in kept.items():
        item = losses[name]
        assert (item.calls, item.sampled_out, item.lost) == (10_000, 0, 0)
        assert enters == item.calls - item.evicted
    grouped = session.timeline.totals(EventFilter(), "function")
    assert {item.key: (item.count, item.evicted) for item in grouped} == {
        name: (item.calls, item.evicted) for name, item in losses.items()
    }
    to_ns = Segment(str(session.path)).to_ns
    begun = [to_ns(first_tick + 200 * call) for call in range(30_000)]
    since = EventFilter(time_from=loss.evicted_until_ns + 1, event_type="function_enter")
    complete = sum(moment > loss.evicted_until_ns for moment in begun)
    assert 0 < complete == session.timeline.query(since).total_count


def filter_of(name: str) -> EventFilter:
    return EventFilter(function=TextMatch(equals=name), event_type="function_enter")


def test_sampled_calls_are_reported_and_the_totals_stay_exact(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    session.call(thread, 1, flags=1)
    session.writer.totals(1, thread, 100, [20] * 100, sampled_out_enters=99, sampled_out_exits=99)
    assert session.timeline.loss().sampled_out == 198
    assert session.timeline.totals(EventFilter(), "function")[0].count == 100
    (item,) = session.timeline.function_losses()
    assert (item.calls, item.evicted, item.sampled_out) == (100, 0, 99)
    slow = EventFilter(function=TextMatch(equals="app::main"), min_duration_ns=10**9)
    page = session.timeline.query(slow)
    assert page.absence is not None
    assert "198 events of hot functions were left out by sampling" in page.absence
    assert page.absence.startswith(NOT_PROVEN)


def absence(session: WrittenSession, wanted: EventFilter) -> str:
    page = session.timeline.query(wanted)
    assert page.total_count == 0
    assert page.absence is not None
    return page.absence


def seen(session: WrittenSession) -> None:
    """As if the host had looked at the hooks at the session's last moment, and the program had then ended."""
    note_checked(str(session.path), session.now)
    session.store.add_notes(session.session_id, {"ended_ticks": session.now})
    session.store.update_session(session.session_id, status="exited")


def test_absence_says_whether_it_can_be_trusted(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    session.call(thread, 1)
    session.end()
    session.store.add_notes(session.session_id, {"resumed_ticks": 500, "inlined_only": {"app::tiny": 4}})
    seen(session)
    trusted = absence(session, filter_of("app::parse"))
    segment = Segment(str(session.path))
    begin, end = segment.to_ns(500), segment.to_ns(session.now)
    assert trusted == (
        "It was not called. app::parse was traced for the whole window, from before main"
        " to the end of the recording"
        f" ({end} ns). The exact totals count no call of them, and 1 calls of other functions."
        f" Process {PID} is recorded, and children of fork() until they exec, but not those of vfork, clone or _Fork,"
        " nor libraries that a child loads. The recorder was seen to be on, with its hooks in place, to the end of it."
    )
    assert begin < end
    other = absence(session, EventFilter(function=TextMatch(equals="app::main"), min_duration_ns=10**9))
    assert "count 1 calls of them in all, but no event that the other conditions select was kept" in other
    assert other.startswith("It did not happen. ")
    unhooked = absence(session, filter_of("app::tiny"))
    assert f"None of the {len(FUNCTIONS)} traced functions matches the filter" in unhooked
    assert "Inlined everywhere, so never seen as calls: app::tiny (4 sites)" in unhooked
    session.store.add_notes(session.session_id, {"partly_inlined": {"app::parse": 1, "lib::colour": 3}})
    partly = absence(session, filter_of("app::parse"))
    assert "Inlined at some of their call sites, where calls are not seen: app::parse (1 site); so no event" in partly
    assert partly.startswith(NOT_PROVEN)
    assert "has written nothing to it" in absence(session, EventFilter(event_type="stderr"))


def test_absence_claims_nothing_that_nobody_has_seen(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    session.call(thread, 1)
    session.store.add_notes(session.session_id, {"resumed_ticks": 500})
    unseen = absence(session, filter_of("app::parse"))
    assert unseen.startswith(NOT_PROVEN + "Whether the recorder was on was not checked.")
    note_checked(str(session.path), session.now)
    session.store.update_session(session.session_id, status="stopped")  # as one whose Strobe process was killed
    assert absence(session, filter_of("app::parse")).startswith("It was not called. ")
    session.store.add_notes(session.session_id, {"ended_ticks": session.now + 10_000})
    assert "was last seen at" in absence(session, filter_of("app::parse"))
    session.store.add_notes(session.session_id, {"recorder_off": [session.now, session.now + 1]})
    assert "The recorder in the program was on at" in absence(session, filter_of("app::parse"))


def test_absence_tells_of_gaps_in_the_tracing(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    session.store.close_spans(session.session_id, [2], session.now)
    for _ in range(5):
        session.call(thread, 1)
    seen(session)
    gap = absence(session, filter_of("app::parse"))
    assert gap.startswith(NOT_PROVEN + "app::parse was not traced for the whole window (only from ")
    session.store.open_spans(session.session_id, [2], session.now)
    start = session.timeline.query(EventFilter(limit=500)).events[-1].timestamp_ns
    session.call(thread, 1)
    seen(session)
    later = absence(session, EventFilter(function=TextMatch(equals="app::parse"), time_from=start + 1))
    assert "app::parse was traced for the whole window" in later


def test_a_library_need_not_be_traced_while_it_is_not_there(make_session: MakeSession) -> None:
    session = make_session()
    thread = session.writer.thread(PID, PID, "main")
    own = session.session_id
    session.store.add_notes(own, {"resumed_ticks": 500})
    library = LoadedModule("l.so", "/lib/l.so", 0x1000, 0x1000)
    session.call(thread, 1)
    session.store.open_loads(own, [library], 0)
    session.store.close_spans(own, [4], session.now)
    session.store.close_load(own, library.base, session.now)
    session.call(thread, 1)
    session.store.open_loads(own, [library], session.now)
    session.store.add_functions(own, {7: FUNCTIONS[4]})
    session.store.open_spans(own, [7], session.now)
    session.call(thread, 1)
    seen(session)
    assert "lib::is_red was traced for the whole window" in absence(session, filter_of("lib::is_red"))
    session.store.close_load(own, library.base, session.now - 1)
    session.store.open_loads(own, [library], session.now - 1)
    session.store.close_spans(own, [7], session.now - 1)
    assert "lib::is_red was not traced for the whole window" in absence(session, filter_of("lib::is_red"))
