"""Probes of returns: conditions, values before and after, beside traces of the same function, and without."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.sessions import Build, Launch, all_events, outcome, totals, untraced

from strobe.errors import Code, StrobeError
from strobe.model import Event, EventFilter, Probe, TextMatch, TraceRequest, Watch
from strobe.session import Session

LEVELS = pytest.mark.parametrize("level", ["-O0", "-O2"])


def events(session: Session) -> list[Event]:
    return list(all_events(session, EventFilter(event_type="probe")))


def values(session: Session) -> list[dict[str, object]]:
    return [one.watch_values or {} for one in events(session)]


@LEVELS
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("traced", [False, True])
def test_before_and_after(launch: Launch, build_program: Build, compiler: str, level: str, traced: bool) -> None:
    program = build_program("call_values", level, compiler=compiler)
    asked = ["$return", "value", "label", "m_count", "$entry.m_count", "m_count - $entry.m_count", "shared", "point.y"]
    if (compiler, level) == ("clang++", "-O2"):
        asked.pop()  # which nothing uses: it is not known what is passed
    session = launch(
        program, patterns=["Pool::add"] if traced else [], probe=[f"Pool::add:return : {', '.join(asked)}"]
    )
    assert outcome(session) == untraced(program)
    found = events(session)
    expected = [
        (returned, value, f"label{value}", count, count - value, value, 1000, value * 0.5)
        for value, count, returned in ((1, 1, 12), (2, 3, 25), (3, 6, 39))
    ]
    assert [one.watch_values for one in found] == [dict(zip(asked, one, strict=False)) for one in expected]
    (first, *_) = found
    assert (first.event_type, first.label, first.function) == ("probe", "Pool::add:return", "Pool::add")
    assert (first.source_file or "").endswith("call_values.cpp")
    assert first.line is None  # a return has no line of its own
    (one,) = session.timeline.probe_totals()
    assert (one.hits, one.held, one.undecided, one.recorded) == (3, 3, 0, 3)
    calls = list(all_events(session, EventFilter(function=TextMatch(equals="Pool::add"), event_type="function_exit")))
    assert len(calls) == (3 if traced else 0)
    assert ("Pool::add" in totals(session)) is traced


def test_conditions_and_changes(launch: Launch, build_program: Build) -> None:
    session = launch(
        build_program("call_values", "-O0"),
        probe=[
            "Pool::add:return if $return > 20 && $entry.m_count > 1 : $changed(m_count), $changed(*this), $depth",
            "many:return : $return, z, h",
            "depth:return if $return == 3 - $entry.node->value",
        ],
        watch=[Watch("m_count")],
    )
    outcome(session)
    found = events(session)
    (changed,) = [one for one in found if one.label == "Pool::add:return"]
    seen = changed.watch_values or {}
    assert dict(seen["$changed(m_count)"]) == {"m_count": {"old": 3, "new": 6}}
    assert "items[2]" in dict(seen["$changed(*this)"])
    assert seen["$depth"] == 0
    (many,) = [one.watch_values for one in found if one.label == "many:return"]
    assert many == {"$return": 9.5 * 2 + 8 + 2 + 3 + 4 + 5 + 6 + 77, "z": 9.5, "h": 8}
    by_label = {one.label: one for one in session.timeline.probe_totals()}
    depth = by_label["depth:return"]
    assert (depth.hits, depth.held, depth.undecided) == (3, 2, 1)  # the last node is null


def test_traces_and_probes_come_and_go(launch: Launch, build_program: Build) -> None:
    """Each leaves the other as it was."""
    program = build_program("call_values", "-O0")

    def change(session: Session) -> None:
        session.trace(
            TraceRequest(probe=[Probe("Pool::add:return", label="one"), Probe("Pool::add:return", label="two")])
        )
        session.trace(TraceRequest(add=["Pool::add"]))
        session.trace(TraceRequest(unprobe=["one"]))
        session.trace(TraceRequest(remove=["Pool::add"], add=["Pool::text"]))
        session.trace(TraceRequest(probe=[Probe("Pool::text:return", show=("$return",), label="text")]))
        session.trace(TraceRequest(remove=["Pool::text"]))
        session.trace(TraceRequest(add=["Pool::text"]))
        session.trace(TraceRequest(unprobe=["text"]))
        session.trace(TraceRequest(probe=[Probe("Pool::text:return", show=("name",), label="text")]))

    session = launch(program, check=change)
    assert outcome(session) == untraced(program)
    assert {one.label: one.recorded for one in session.timeline.probe_totals()} == {
        "one": 0,
        "two": 3,
        "text #1": 0,
        "text": 3,
    }
    assert [one.watch_values for one in events(session) if one.label == "text"] == [
        {"name": f"label{number}"} for number in (1, 2, 3)
    ]
    assert {name: one.count for name, one in totals(session).items()} == {"Pool::text": 3}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_local_variable_is_told_where_it_is(launch: Launch, build_program: Build, compiler: str) -> None:
    """Its frame is gone at the return, and there on the line before."""
    program = build_program("scopes_at_return", "-O0", compiler=compiler)
    with pytest.raises(StrobeError) as caught:
        launch(program, probe=["total_of:return if $return > 3 : total"])
    found = re.search(r"probe (scopes_at_return\.cpp:\d+)", str(caught.value))
    assert found is not None, str(caught.value)
    session = launch(program, probe=[f"{found[1]} if total > 10 : total, count"])
    assert outcome(session) == untraced(program)
    assert [tuple((one.watch_values or {}).values()) for one in events(session)] == [(60, 3), (100, 4), (400, 7)]
    with pytest.raises(StrobeError, match=r"total is a local variable.*Probe the lines that return"):
        launch(program, probe=["kept_of:return : total"])  # which ends in several pieces
    with pytest.raises(StrobeError, match="Variable 'nosuch' not found"):
        launch(program, probe=["total_of:return : nosuch"])


@pytest.mark.parametrize(("after", "limit", "labels"), [(0, 2, [1, 2]), (2, None, [3]), (0, 0, [])])
def test_limits(launch: Launch, build_program: Build, after: int, limit: int | None, labels: list[int]) -> None:
    def change(session: Session) -> None:
        probe = Probe("Pool::add:return", show=("value",), after=after, limit=limit)
        session.trace(TraceRequest(probe=[probe]))

    session = launch(build_program("call_values", "-O0"), check=change)
    outcome(session)
    assert [one["value"] for one in values(session)] == labels
    (one,) = session.timeline.probe_totals()
    assert (one.hits, one.held, one.recorded) == (3, 3, len(labels))


def test_entry_is_the_place_where_a_function_begins(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("call_values", "-O0"), probe=["Pool::add:entry : value", "Pool::add:return : value"])
    outcome(session)
    found = [(one.label, (one.watch_values or {})["value"]) for one in events(session)]
    assert found == [(f"Pool::add:{place}", value) for value in (1, 2, 3) for place in ("entry", "return")]


def test_in_all_threads_and_by_exceptions(launch: Launch, build_program: Build) -> None:
    """A call that an exception leaves does not return."""
    program = build_program("ledger", "-O2")
    session = launch(
        program, "2000", probe=["shop::book:return if $return < 0 : $return, cents, what, account->number"]
    )
    assert outcome(session) == untraced(program, "2000")
    (one,) = session.timeline.probe_totals()
    assert (one.hits, one.held) == (6000, 0)
    program = build_program("throws", "-O0")
    session = launch(program, probe=["**:return"])
    assert outcome(session) == untraced(program)
    assert not any(one.undecided for one in session.timeline.probe_totals())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Pool::nosuch:return", "no function matches"),
        ("Pool::add:return : nothing", "'nothing'.*At a return these are known"),
        ("Pool::add:return if $return >", "value should follow"),
        ("main:return : pool", "pool is a local variable, and at the return its frame is gone"),
        ("hides:return : $entry", r"\$entry"),
    ],
)
def test_what_is_refused(launch: Launch, build_program: Build, text: str, said: str) -> None:
    with pytest.raises(StrobeError) as caught:
        launch(build_program("call_values", "-O0"), probe=[text])
    assert caught.value.code is Code.PROBE_FAILED
    assert re.search(said, str(caught.value)), str(caught.value)


def test_what_means_nothing_at_a_return_is_left_out_where_that_was_asked_for(
    launch: Launch, build_program: Build
) -> None:
    program = build_program("call_values", "-O0")
    wanted = Probe("Pool::add:return", show=("$entry.nothing", "this", "nothing"))
    said: list[str] = []

    def check(session: Session) -> None:
        said.extend(session.trace(TraceRequest(probe=[wanted], probes_ok=True)).warnings)

    session = launch(program, check=check)
    assert outcome(session) == untraced(program)
    assert values(session)
    assert all(list(one) == ["this"] for one in values(session))
    for text in ("$entry.nothing", "nothing"):
        assert any(f"does not show '{text}'" in one for one in said), said
    with pytest.raises(StrobeError) as caught:
        launch(program, probe=["Pool::add:return : $entry.nothing, this, nothing"])
    assert str(caught.value).count("At a return these are known") == 1
    assert str(caught.value).count("In scope here") == 1
    unknown = replace(wanted, where="nothing > 1")
    with pytest.raises(StrobeError, match="'nothing > 1'"):
        launch(program, check=lambda own: own.trace(TraceRequest(probe=[unknown], probes_ok=True)))


def test_in_a_library_that_comes_and_goes(launch: Launch, build_program: Build) -> None:
    library = build_program("plugin", "-shared", "-fPIC")
    program = build_program("dlopens", "-O0")
    place = "plugin_helper:return"

    def check(session: Session) -> None:
        session.trace(TraceRequest(probe=[Probe(place, show=("$return", "value"))], probes_ok=True))

    session = launch(program, str(library), check=check)
    assert outcome(session) == untraced(program, str(library))
    found = values(session)
    assert found
    assert [one["$return"] for one in found] == [int(str(one["value"])) * 2 for one in found]
    assert [one.hits for one in session.timeline.probe_totals()] == [len(found)]
