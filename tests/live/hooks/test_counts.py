"""Counts are exact: 1,000,000 calls are 1,000,000, and every event that is not there is accounted for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import programs
from support.sessions import Build, Launch, all_events, count, outcome, status, totals

from strobe.model import Event, EventFilter, EventType, Sampling, TextMatch
from strobe.session import Session

CALLS = 1_000_000
ALWAYS_KEPT = 10_000  # by each thread
CLOCKS = 0.01  # the recorder's is measured against the system's


def run_million(launch: Launch, build_program: Build, flag: str, sampling: Sampling) -> Session:
    session = launch(build_program("million", flag), patterns=["counted::*"], sampling=sampling)
    assert status(session) == 0
    return session


def assert_accounted(session: Session) -> None:
    """Per function, enters are calls less what the totals say is missing; of the session, so are all events."""
    kept = 0
    for group in totals(session).values():
        enters = count(session, "function_enter", group.key)
        exits = count(session, "function_exit", group.key)
        assert enters == group.count - (group.evicted + group.sampled_out + group.lost)
        assert enters <= exits <= group.completed  # the oldest go first
        kept += enters + exits
    assert kept + session.timeline.loss().total == 2 * sum(group.count for group in totals(session).values())


def assert_complete_since(session: Session, moment: int) -> None:
    """What threads have called from then on follows without a gap: f is called with 0, 1, 2 …"""
    called: dict[int, list[Any]] = {}
    wanted = EventFilter(event_type="function_enter", function=TextMatch(equals="counted::f"), time_from=moment)
    for event in all_events(session, wanted):
        assert event.arguments is not None
        called.setdefault(event.thread_id, []).append(event.arguments[0].value)
    assert called
    for numbers in called.values():
        assert numbers == list(range(numbers[0], CALLS // 4))


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_every_call_is_there_without_sampling(launch: Launch, build_program: Build, flag: str) -> None:
    session = run_million(launch, build_program, flag, "off")
    groups = totals(session)
    assert {name: (group.count, group.completed) for name, group in groups.items()} == {
        "counted::f": (CALLS, CALLS),
        "counted::once": (4, 4),
    }
    assert count(session, "function_enter", "counted::f") == CALLS
    assert count(session, "function_exit", "counted::f") == CALLS
    assert session.timeline.loss().total == 0


@pytest.mark.usefixtures("form")
def test_sampling_leaves_out_events_and_says_how_many(launch: Launch, build_program: Build) -> None:
    session = run_million(launch, build_program, "-O2", "auto")
    group = totals(session)["counted::f"]
    assert (group.count, group.completed, group.evicted, group.lost) == (CALLS, CALLS, 0, 0)
    assert group.sampled_out > 0
    assert count(session, "function_enter", "counted::f") == count(session, "function_exit", "counted::f")
    assert_accounted(session)
    assert session.timeline.loss().sampled_out == 2 * group.sampled_out
    assert totals(session)["counted::once"].sampled_out == 0  # only the hot function is sampled


@pytest.mark.usefixtures("form")
def test_the_first_calls_of_each_thread_are_always_kept(launch: Launch, build_program: Build) -> None:
    session = run_million(launch, build_program, "-O2", "auto")
    assert totals(session)["counted::f"].sampled_out > 0
    entries = numbers(session, "function_enter", lambda event: event.arguments[0].value if event.arguments else None)
    returns = numbers(session, "function_exit", lambda event: event.return_value)
    assert len(entries) == len(returns) == 4
    for of_thread in (*entries.values(), *returns.values()):
        first = of_thread[0]  # a result is the argument and the thread's number
        assert of_thread[:ALWAYS_KEPT] == list(range(first, first + ALWAYS_KEPT))
        assert len(of_thread) < CALLS // 4
    assert {of_thread[0] for of_thread in entries.values()} == {0}
    assert {of_thread[0] for of_thread in returns.values()} == {0, 1, 2, 3}


def numbers(session: Session, kind: EventType, number: Callable[[Event], Any]) -> dict[int, list[Any]]:
    """Of the events of counted::f, by thread."""
    found: dict[int, list[Any]] = {}
    for event in all_events(session, EventFilter(event_type=kind, function=TextMatch(equals="counted::f"))):
        found.setdefault(event.thread_id, []).append(number(event))
    return found


@pytest.mark.usefixtures("form")
def test_totals_of_a_sampled_function_have_the_time_of_all_its_calls(launch: Launch, build_program: Build) -> None:
    """The long ones are all among those that sampling leaves out."""
    session = launch(build_program("timed_calls", "-O1"), patterns=["timed", "call_all"])
    inside_ns, outside_ns = map(int, outcome(session).stdout.split())
    groups = totals(session)
    timed, caller = groups["timed"], groups["call_all"]
    assert (timed.count, timed.completed, caller.completed) == (200_000, 200_000, 1)
    assert timed.sampled_out > 100_000
    assert inside_ns * (1 - CLOCKS) <= timed.total_ns == timed.self_ns
    assert abs(caller.total_ns - (caller.self_ns or 0) - timed.total_ns) <= 2  # each is rounded on its own
    assert timed.max_ns >= 50_000 * (1 - CLOCKS)
    assert timed.total_ns <= outside_ns * (1 + CLOCKS)


@pytest.mark.usefixtures("form")
def test_a_function_is_not_sampled_before_it_was_called_often(launch: Launch, build_program: Build) -> None:
    """Some thousand calls one after the other are quick, and not many."""
    session = launch(build_program("fibonacci", "-O2"), patterns=["even", "odd", "fib"])
    assert status(session) == 0
    for name in ("even", "odd"):
        group = totals(session)[name]
        assert 2_000 < group.count == count(session, "function_enter", name) == count(session, "function_exit", name)
    assert count(session, "function_enter", "fib") >= 10_000


def test_eviction_is_counted_per_function(launch: Launch, build_program: Build, settings: Callable[..., None]) -> None:
    settings({"events.maxPerSession": 20_000})
    session = run_million(launch, build_program, "-O2", "off")
    groups = totals(session)
    assert groups["counted::f"].count == CALLS
    assert groups["counted::f"].evicted > CALLS // 2
    assert_accounted(session)
    loss = session.timeline.loss()
    assert loss.evicted_until_ns is not None
    assert_complete_since(session, loss.evicted_until_ns + 1)


def test_sampling_and_eviction_together(launch: Launch, build_program: Build, settings: Callable[..., None]) -> None:
    settings({"events.maxPerSession": 1000})
    session = run_million(launch, build_program, "-O2", "auto")
    groups = totals(session)
    assert groups["counted::f"].count == CALLS
    assert_accounted(session)


def test_totals_per_thread_and_file(launch: Launch, build_program: Build) -> None:
    session = run_million(launch, build_program, "-O0", "auto")
    threads = session.timeline.totals(EventFilter(), "thread")
    assert [group.count for group in threads] == [CALLS // 4 + 1] * 4
    assert len({group.thread_id for group in threads}) == 4
    files = session.timeline.totals(EventFilter(), "file")
    assert [(Path(group.key).name, group.count) for group in files] == [("million.cpp", CALLS + 4)]


def test_more_threads_than_the_table_holds(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("churn", "-O0"), patterns=["brief", "live"], sampling="off")
    assert status(session) == 0
    assert {name: group.count for name, group in totals(session).items()} == {"brief": 5000, "live": 5000}


def test_what_chooses_an_implementation_is_no_call_of_the_function(
    launch: Launch, build_program: Build, program_cache: Path
) -> None:
    flags = ("-shared", "-fPIC", "-O2")
    library = programs.build(programs.source_of("chosen_library"), flags, "gcc", program_cache)
    program = build_program("chosen", "-Wl,--no-as-needed,-z,lazy", str(library), compiler="gcc")
    session = launch(program, patterns=["scaled*"])
    assert outcome(session).stdout == "168 20\n"
    assert {name: one.count for name, one in totals(session).items()} == {"scaled": 2}


@pytest.mark.parametrize("pattern", ["summed", "@file:split_off.c"])
def test_a_function_that_is_split_is_called_once(launch: Launch, build_program: Build, pattern: str) -> None:
    """Its own copy goes on in the part that others go on in, too, where they have inlined its beginning."""
    session = launch(build_program("split_off", "-O2", compiler="gcc"), patterns=[pattern])
    assert outcome(session).stdout == "3 calls\n"
    assert totals(session)["summed"].count == 1
    absence = session.query(EventFilter(function=TextMatch(equals="summed"), min_duration_ns=10**12)).absence
    assert absence is not None and "Inlined at some of their call sites, where calls are not seen: summed (" in absence
    assert "another function called summed" not in absence


@pytest.mark.parametrize("pattern", ["Leaf::*", "@file:lifetimes.cpp"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("options", [("-O0",), ("-O0", "-fPIC", "-rdynamic", "-fno-plt"), ("-O1", "-fno-inline")])
def test_an_object_is_made_and_goes_once(
    launch: Launch, build_program: Build, compiler: str, options: tuple[str, ...], pattern: str
) -> None:
    """A destructor has a copy that deletes, and calls the one that does not."""
    session = launch(build_program("lifetimes", *options, compiler=compiler), patterns=[pattern])
    assert outcome(session).stdout == "made 10, gone 10\n"
    called = {name: one.count for name, one in totals(session).items()}
    assert (called["Leaf::Leaf"], called["Leaf::~Leaf"]) == (3, 3)
    if pattern != "Leaf::*":
        assert (called["Base::Base"], called["Base::~Base"]) == (4, 4)
    absence = session.query(EventFilter(function=TextMatch(equals="Leaf::~Leaf"), min_duration_ns=10**12)).absence
    assert absence is not None and "another function called" not in absence and "thunk" not in absence


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_an_object_of_a_library_goes_once(
    launch: Launch, build_program: Build, program_cache: Path, compiler: str
) -> None:
    """It calls its own destructor through the procedure linkage table, as another one could take its place."""
    flags = ("-shared", "-fPIC", "-O0", "-DLIBRARY")
    library = programs.build(programs.source_of("lifetimes"), flags, compiler, program_cache)
    program = build_program("uses_lifetimes", "-Wl,--no-as-needed", str(library), compiler=compiler)
    session = launch(program, patterns=["Leaf::*"])
    assert outcome(session).stdout == "lived\n"
    assert {name: one.count for name, one in totals(session).items()} == {"Leaf::Leaf": 3, "Leaf::~Leaf": 3}
