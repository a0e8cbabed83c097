"""Each filter against the same question asked of the decoded list in plain Python."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.timelines import FUNCTIONS, PID, WrittenSession, write_mixture

from strobe.errors import StrobeError
from strobe.model import Event, EventFilter, ReturnMatch, TextMatch

MakeSession = Callable[..., WrittenSession]


@pytest.fixture
def mixture(make_session: MakeSession) -> WrittenSession:
    session = make_session()
    write_mixture(session)
    return session


def everything(session: WrittenSession) -> list[Event]:
    return session.timeline.tail(0, 1_000_000)


def paged(session: WrittenSession, wanted: EventFilter, step: int = 97) -> list[Event]:
    found: list[Event] = []
    while True:
        page = session.timeline.query(replace_page(wanted, step, len(found)))
        found += page.events
        assert page.has_more == (len(found) < page.total_count)
        if not page.has_more:
            assert len(found) == page.total_count
            return found


def replace_page(wanted: EventFilter, limit: int, offset: int) -> EventFilter:
    fields = {name: getattr(wanted, name) for name in EventFilter.__slots__}
    return EventFilter(**fields | {"limit": limit, "offset": offset})


def is_call(event: Event) -> bool:
    return event.function is not None


FILTERS: dict[str, tuple[EventFilter, Callable[[Event], bool]]] = {
    "everything": (EventFilter(), lambda e: True),
    "enters": (EventFilter(event_type="function_enter"), lambda e: e.event_type == "function_enter"),
    "exits": (EventFilter(event_type="function_exit"), lambda e: e.event_type == "function_exit"),
    "stdout": (EventFilter(event_type="stdout"), lambda e: e.event_type == "stdout"),
    "function equals": (EventFilter(function=TextMatch(equals="app::find")), lambda e: e.function == "app::find"),
    "function contains": (EventFilter(function=TextMatch(contains="lib::")), lambda e: "lib::" in (e.function or "")),
    "function matches": (
        EventFilter(function=TextMatch(matches=r"^app::(main|parse)$")),
        lambda e: bool(re.fullmatch(r"app::(main|parse)", e.function or "")),
    ),
    "source file": (
        EventFilter(source_file=TextMatch(equals="/src/parse.cpp")),
        lambda e: e.source_file == "/src/parse.cpp",
    ),
    "source file contains": (
        EventFilter(source_file=TextMatch(contains="in")),
        lambda e: "in" in (e.source_file or ""),
    ),
    "returns int": (
        EventFilter(return_value=ReturnMatch(equals=7)),
        lambda e: e.return_value == 7 or e.return_value == "0x7",
    ),
    "returns -1": (
        EventFilter(return_value=ReturnMatch(equals=-1)),
        lambda e: e.return_value == -1 and e.return_value is not True,
    ),
    "returns true": (EventFilter(return_value=ReturnMatch(equals=True)), lambda e: e.return_value is True),
    "returns enumerator": (EventFilter(return_value=ReturnMatch(equals="red")), lambda e: e.return_value == "red"),
    "returns pointer": (
        EventFilter(return_value=ReturnMatch(equals="0xdead000000000001")),
        lambda e: e.return_value == "0xdead000000000001",
    ),
    "returns null": (EventFilter(return_value=ReturnMatch(is_null=True)), lambda e: e.return_value == "0x0"),
    "returns not null": (
        EventFilter(return_value=ReturnMatch(is_null=False)),
        lambda e: str(e.return_value).startswith("0x") and e.return_value != "0x0",
    ),
    "thread name": (EventFilter(thread_name=TextMatch(contains="ork")), lambda e: "ork" in e.thread_name),
    "thread id": (EventFilter(thread_id=4300), lambda e: e.thread_id == 4300),
    "pid": (EventFilter(pid=5000), lambda e: e.pid == 5000),
    "pid of the program": (EventFilter(pid=PID), lambda e: e.pid == PID),
    "two at once": (
        EventFilter(event_type="function_exit", function=TextMatch(contains="app"), thread_id=PID),
        lambda e: e.event_type == "function_exit" and "app" in (e.function or "") and e.thread_id == PID,
    ),
    "no such function": (EventFilter(function=TextMatch(equals="nope")), lambda e: False),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_selects_what_plain_python_selects(mixture: WrittenSession, name: str) -> None:
    wanted, passes = FILTERS[name]
    expected = [event for event in everything(mixture) if passes(event)]
    assert paged(mixture, wanted) == expected
    assert expected or name == "no such function"


def test_windows_of_time_and_durations(mixture: WrittenSession) -> None:
    events = everything(mixture)
    times = sorted(event.timestamp_ns for event in events)
    low, high = times[len(times) // 3], times[len(times) // 2]
    inside = [event for event in events if low <= event.timestamp_ns <= high]
    assert paged(mixture, EventFilter(time_from=low, time_to=high)) == inside
    durations = sorted(event.duration_ns for event in events if event.duration_ns is not None)
    least = durations[len(durations) // 2]
    long = [event for event in events if event.duration_ns is not None and event.duration_ns >= least]
    assert paged(mixture, EventFilter(min_duration_ns=least)) == long


def test_times_before_the_newest_event(mixture: WrittenSession) -> None:
    events = everything(mixture)
    newest = max(event.timestamp_ns for event in events)
    recent = [event for event in events if event.timestamp_ns >= newest - 2_000]
    assert paged(mixture, EventFilter(time_from="-2us")) == recent
    assert 0 < len(recent) < len(events)
    assert paged(mixture, EventFilter(time_from="-1m", time_to="-0.000002s"))[-1].timestamp_ns <= newest - 2_000


def test_pages_give_each_event_once_whatever_their_size(mixture: WrittenSession) -> None:
    events = everything(mixture)
    assert len({event.id for event in events}) == len(events)
    assert {event.event_type for event in events} == {"function_enter", "function_exit", "stdout", "stderr"}
    for step in (1, 50, 499, 500):
        count = 60 * step if step == 1 else len(events)
        if step == 1:
            pages = [mixture.timeline.query(EventFilter(limit=1, offset=place)).events for place in range(count)]
            assert [event for page in pages for event in page] == events[:count]
        else:
            assert paged(mixture, EventFilter(), step) == events
    beyond = mixture.timeline.query(EventFilter(offset=len(events) + 5))
    assert (beyond.events, beyond.total_count, beyond.has_more) == ([], len(events), False)


def test_a_cursor_continues_behind_its_event(mixture: WrittenSession) -> None:
    events = everything(mixture)
    for place in (0, 1, 77, len(events) - 1):
        page = mixture.timeline.query(EventFilter(after_event_id=events[place].id, limit=500))
        assert page.events == events[place + 1 : place + 501]
        assert page.total_count == len(events) - place - 1


def test_events_are_decoded(mixture: WrittenSession) -> None:
    events = everything(mixture)
    parse = next(event for event in events if event.function == "app::parse" and event.depth == 1)
    assert parse.arguments is not None
    assert [(item.name, item.value) for item in parse.arguments] == [("depth", 1)]
    assert parse.function_raw == FUNCTIONS[2].raw_name
    parent = next(event for event in events if event.id == parse.parent_event_id)
    assert (parent.event_type, parent.depth, parent.thread_id) == ("function_enter", 0, parse.thread_id)
    leaving = next(event for event in events if event.event_type == "function_exit" and event.function == "app::parse")
    own = next(event for event in events if event.id == leaving.parent_event_id)
    assert (own.event_type, own.function, own.depth) == ("function_enter", "app::parse", leaving.depth)
    assert leaving.return_type == "int"
    raw = next(event for event in events if event.function == "raw" and event.event_type == "function_enter")
    assert raw.arguments is not None
    assert (raw.arguments[0].name, raw.arguments[0].value) == ("arg0", hex(6 << 32 | (raw.depth or 0)))
    assert {event.sampled for event in events if is_call(event)} == {True, False}
    line = next(event for event in events if event.event_type == "stdout")
    assert re.fullmatch(r"line \d+\n", line.text or "")


BAD = {
    "limit 0": (EventFilter(limit=0), "VALIDATION_ERROR.*'limit' is 0.*1 to 10000"),
    "limit 10,001": (EventFilter(limit=10_001), "VALIDATION_ERROR.*'limit' is 10001.*1 to 10000"),
    "offset": (EventFilter(offset=-1), "'offset' is -1"),
    "regex": (EventFilter(function=TextMatch(matches="(")), "regular expression '\\(' is not valid"),
    "backreference": (EventFilter(function=TextMatch(matches=r"(a)\1")), "backreferences are not supported"),
    "lookahead": (EventFilter(function=TextMatch(matches="(?=a)")), "lookahead and lookbehind are not supported"),
    "long regex": (EventFilter(function=TextMatch(matches="a" * 1001)), "longer than 1,000 characters.*RE2"),
    "cursor": (EventFilter(after_event_id="other-2026-12"), "'other-2026-12' is not an event id of session"),
    "time text": (EventFilter(time_from="yesterday"), "'time_from' is 'yesterday': it is not a time.*-500ms"),
    "time unit": (EventFilter(time_to="-5d"), "'time_to' is '-5d'"),
    "negative time": (EventFilter(time_from=-3), "'time_from' is -3: it is negative"),
    "duration": (EventFilter(min_duration_ns=-1), "'min_duration_ns' is -1"),
    "empty match": (EventFilter(function=TextMatch()), "'function' is empty"),
    "empty return": (EventFilter(return_value=ReturnMatch()), "'return_value' is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(mixture: WrittenSession, name: str) -> None:
    wanted, message = BAD[name]
    with pytest.raises(StrobeError, match=message):
        mixture.timeline.query(wanted)


def test_a_cursor_that_is_no_number_is_refused(mixture: WrittenSession) -> None:
    for cursor in ("x", "-1", "9" * 25, ""):
        with pytest.raises(StrobeError, match="not an event id"):
            mixture.timeline.query(EventFilter(after_event_id=f"{mixture.session_id}-{cursor}"))
