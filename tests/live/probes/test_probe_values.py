"""What probes record: conditions, values, all copies of a line; and how they are refused."""

from __future__ import annotations

import os
import re
import signal

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, Outcome, all_events, outcome, untraced
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import Event, EventFilter, Probe, TextMatch, TraceRequest
from strobe.session import Session

TAKEN = "// taken"
FREED = "// freed"


def line(marker: str) -> str:
    return f"pool.cpp:{line_of('pool.cpp', marker)}"


def events(session: Session) -> list[Event]:
    return list(all_events(session, EventFilter(event_type="probe")))


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_values_of_each_copy(launch: Launch, build_program: Build, compiler: str) -> None:
    program = build_program("pool", "-O0", compiler=compiler)
    session = launch(program, probe=[f"{line(TAKEN)} if id > 12 || used == 3 : id, used, this->name, item, item->id"])
    assert session.launch_answer is not None
    (answer,) = session.launch_answer.probes
    assert sorted(place.function for place in answer.places) == ["Pool<Node>::take", "Pool<Other>::take"]
    assert outcome(session) == untraced(program)
    found = events(session)
    assert [(one.function, one.watch_values and one.watch_values["id"]) for one in found] == [
        ("Pool<Node>::take", 2),
        ("Pool<Other>::take", 2),
        ("Pool<Node>::take", 13),
        ("Pool<Node>::take", 14),
        ("Pool<Node>::take", 15),
    ]
    first = found[0].watch_values or {}
    assert (first["used"], first["this->name"], first["item->id"]) == (3, "nodes", 2)
    assert (found[1].watch_values or {})["this->name"] == "others"
    (totals,) = session.timeline.probe_totals()
    assert (totals.hits, totals.held, totals.undecided) == (21, 5, 0)
    assert {(one.label, one.line) for one in found} == {(line(TAKEN), line_of("pool.cpp", TAKEN))}


def test_named_values_are_used_by_name(launch: Launch, build_program: Build) -> None:
    """In the condition and in later values; what the program calls so is the program's."""
    shown = "number = item->id, used = item->id * 100, next = number + 1, both = next * (number - 1), held = this"
    condition = "next == 4 && used < 99 && held->name == 'nodes' && !any(number in 0..3: number == 4)"
    session = launch(
        build_program("pool", "-O0"),
        probe=[
            f"{line(TAKEN)} if {condition} : {shown}",
            "Pool::sweep:return if got > 0 : got = $return, twice = got * 2, before = $entry.this->used",
        ],
    )
    outcome(session)
    taken = [one.watch_values or {} for one in events(session) if one.label == line(TAKEN)]
    assert [(one["number"], one["used"], one["next"], one["both"]) for one in taken] == [(3, 300, 4, 8)]
    swept = [one.watch_values or {} for one in events(session) if one.label != line(TAKEN)]
    assert swept and all(one["twice"] == 2 * one["got"] > 0 for one in swept)


def test_functions_and_inlined_sites(launch: Launch, build_program: Build) -> None:
    program = build_program("pool", "-O0")
    session = launch(
        program, patterns=["Pool::sweep"], probe=["Pool::sweep : used, capacity", f"{line('// twice')} : n, result"]
    )
    assert outcome(session) == untraced(program)
    found = events(session)
    assert [one.watch_values for one in found if one.label == "Pool::sweep"] == [
        {"used": 16, "capacity": 16},
        {"used": 5, "capacity": 16},
    ]
    assert [one.watch_values for one in found if one.label != "Pool::sweep"] == [
        {"n": 8, "result": 16},
        {"n": 3, "result": 6},
    ]
    calls = list(all_events(session, EventFilter(function=TextMatch(contains="sweep"), event_type="function_enter")))
    assert len(calls) == 2  # the probe's are none of them
    inside = [one for one in found if one.label == "Pool::sweep"]
    assert [one.parent_event_id for one in inside] == [one.id for one in calls]


def test_questions_about_probes(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("pool", "-O0"), probe=[f"{line(TAKEN)} : id, used"])
    outcome(session)
    page = session.query(EventFilter(where="$type == 'probe' && used > 14"))
    assert [one.watch_values for one in page.events] == [{"id": 14, "used": 15}, {"id": 15, "used": 16}]
    assert session.query(EventFilter(event_type="probe", where="id == 3")).total_count == 2
    _, rows = session.sql("select label, function, count(*) from events where event_type = 'probe' group by 1, 2")
    assert rows == [(line(TAKEN), "Pool<Node>::take", 16), (line(TAKEN), "Pool<Other>::take", 5)]
    statement = "select sum(watch_values ->> 'id'), max(watch_values ->> 'used') from events where label is not null"
    assert session.sql(statement)[1] == [(sum(range(16)) + sum(range(5)), 16)]


def test_a_probe_that_is_not_reached(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("pool", "-O0"), probe=[f"{line(TAKEN)} if id > 100"])
    outcome(session)
    page = session.query(EventFilter(event_type="probe"))
    assert page.total_count == 0
    assert page.absence is not None
    assert "21 times the condition of a probe did not hold" in page.absence


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("pool.cpp:1", Code.NO_CODE_AT_LINE, "nearest line"),
        ("pol.cpp:12", Code.NO_CODE_AT_LINE, "pool.cpp"),
        ("Pool::swep", Code.PROBE_FAILED, "sweep"),
        ("Pool::swep:return", Code.PROBE_FAILED, "sweep"),
        ("{taken} : nothing", Code.PROBE_FAILED, "'nothing'"),
        ("{taken} if id >", Code.PROBE_FAILED, "value should follow"),
        ("{taken} if nothing > 1", Code.PROBE_FAILED, "'nothing'"),
    ],
)
def test_what_is_refused(launch: Launch, build_program: Build, text: str, code: Code, said: str) -> None:
    with pytest.raises(StrobeError) as caught:
        launch(build_program("pool", "-O0"), probe=[text.format(taken=line(TAKEN))])
    assert caught.value.code is code
    assert re.search(said, str(caught.value)), str(caught.value)


def test_replaced_and_removed(launch: Launch, build_program: Build) -> None:
    def change(session: Session) -> None:
        session.trace(TraceRequest(probe=[Probe(line(TAKEN), label="taken"), Probe(line(FREED), label="freed")]))
        session.trace(TraceRequest(probe=[Probe(line(FREED), show=("freed",), label="taken")], unprobe=["freed"]))
        answer = session.trace(TraceRequest(unprobe=["none"]))
        assert [one.probe.name for one in answer.probes] == ["taken"]
        assert "Probe 'none' was not active." in answer.warnings

    session = launch(build_program("pool", "-O0"), check=change)
    assert outcome(session).status == 0
    assert [one.watch_values for one in events(session)][:3] == [{"freed": 0}, {"freed": 1}, {"freed": 2}]
    assert {one.label for one in events(session)} == {"taken"}


def test_a_label_that_another_probe_had_before(launch: Launch, build_program: Build) -> None:
    """What was counted and recorded before is not taken for the new one's."""
    program = build_program("waits_blocked", "-O0")
    session = launch(program, "until told")
    short = f"waits_blocked.c:{line_of('waits_blocked.c', '// short')}"
    for number in (1, 2, 3):
        session.trace(TraceRequest(probe=[Probe(short, where="n < 0" if number == 3 else None)]))
        if number < 3:
            wait_until(lambda: session.timeline.probe_totals()[-1].hits > 2, "hits of this one")
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session) == Outcome("ready\ntold\n", "", 0)
    counts = {one.label: one.held for one in session.timeline.probe_totals()}
    assert set(counts) == {short, f"{short} #1", f"{short} #2"}
    assert (counts[short], counts[f"{short} #1"] > 2, counts[f"{short} #2"] > 2) == (0, True, True)
    assert sum(counts.values()) == len(events(session))


@pytest.mark.parametrize(("after", "limit"), [(0, 2), (3, 2), (12, None), (0, 0)])
def test_limits_are_of_all_places_together(launch: Launch, build_program: Build, after: int, limit: int | None) -> None:
    probe = Probe(line(TAKEN), where="id + used > 5", show=("id",), after=after, limit=limit)

    def check(session: Session) -> None:
        session.trace(TraceRequest(probe=[probe]))

    session = launch(build_program("pool", "-O0"), check=check)
    assert outcome(session).status == 0
    every = [one for id_ in range(16) for one in ([id_] * (2 if id_ < 5 else 1)) if id_ + id_ + 1 > 5]
    wanted = every[after:] if limit is None else every[after : after + limit]
    assert [(one.watch_values or {})["id"] for one in events(session)] == wanted
    (totals,) = session.timeline.probe_totals()
    assert (totals.hits, totals.held, totals.recorded) == (21, len(every), len(wanted))


def test_in_a_library_that_is_loaded_later(launch: Launch, build_program: Build) -> None:
    library = build_program("plugin", "-shared", "-fPIC")
    program = build_program("dlopens", "-O0")
    place = f"plugin.c:{line_of('plugin.c', 'return value * 2')}"

    def check(session: Session) -> None:
        warnings = session.trace(
            TraceRequest(probe=[Probe(place, show=("value", "plugin_rounds"))], probes_ok=True)
        ).warnings
        assert any(f"Probe '{place}' has no place so far" in text for text in warnings), warnings

    session = launch(program, str(library), check=check)
    assert outcome(session) == untraced(program, str(library))
    found = events(session)
    assert [(one.watch_values or {})["plugin_rounds"] for one in found] == [5] * len(found)
    assert [one.hits for one in session.timeline.probe_totals()] == [len(found)]
    assert found
