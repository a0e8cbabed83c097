"""`p[0..n]` as a value, and what a call has changed in rows and containers, of which not all may be recorded."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.errors import StrobeError
from strobe.model import EventFilter
from strobe.session import Session
from strobe.values.model import Mapping, Problem

COMPILERS = pytest.mark.parametrize(
    ("compiler", "level"), [("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O0"), ("clang++", "-O2")]
)
NOT_COMPARED = (Problem("<not compared>"), Problem("<not compared>"))


def values(session: Session, label: str) -> list[dict[str, object]]:
    found = all_events(session, EventFilter(event_type="probe"))
    return [dict(one.watch_values or {}) for one in found if one.label == label]


def changes(found: object) -> dict[str, tuple[object, object]]:
    assert isinstance(found, Mapping)
    return {path: (one["old"], one["new"]) for path, one in found.items()}


def ids(rows: object) -> list[int]:
    assert isinstance(rows, list)
    return [one["id"] for one in rows]


@COMPILERS
def test_elements_together(launch: Launch, build_program: Build, compiler: str, level: str) -> None:
    program = build_program("slices", level, compiler=compiler)
    asked = ["nodes[0..used]", "recent[2..4]", "recent[..]", "spare[used - 2..]", "nodes[3..3]", "$entry(spare[0..2])"]
    session = launch(
        program,
        patterns=[],
        probe=[f"Pool::add:return : {', '.join(asked)}", "Pool::grow:return : nodes[0..capacity]"],
    )
    assert outcome(session) == untraced(program)
    first, second, third, *_ = values(session, "Pool::add:return")
    assert [ids(first[asked[0]]), ids(second[asked[0]]), ids(third[asked[0]])] == [[0], [0, 1], [0, 1, 2]]
    assert third["recent[2..4]"] == [2, 0]
    assert third["recent[..]"] == [0, 1, 2, 0, 0, 0]
    assert first["spare[used - 2..]"] == Problem("it has fewer elements")
    assert ids(third["spare[used - 2..]"]) == [1, 2]
    assert first["nodes[3..3]"] == []
    assert first["$entry(spare[0..2])"] == Problem("it has fewer elements")
    assert ids(third["$entry(spare[0..2])"]) == [0, 1]
    small, large = values(session, "Pool::grow:return")
    assert ids(small["nodes[0..capacity]"]) == [-1] * 4
    assert ids(large["nodes[0..capacity]"]) == [0, 1, 2, 3, *[-1] * 66]


def test_what_a_call_has_changed_in_them(launch: Launch, build_program: Build) -> None:
    """Of a map with more entries than are recorded it is not said that it has not changed, nor of what."""
    session = launch(
        build_program("slices", "-O0"),
        patterns=[],
        probe=["Pool::add:return : $changed(nodes[0..4]), $changed(*this)", "Pool::add : *this"],
    )
    outcome(session)
    found = values(session, "Pool::add:return")
    assert list(changes(found[1]["$changed(nodes[0..4])"])) == ["[1].id", "[1].name"]
    assert changes(found[1]["$changed(nodes[0..4])"])["[1].id"] == (-1, 1)
    second = changes(found[1]["$changed(*this)"])
    assert second["places['node1']"] == (Problem("<none>"), 1)
    assert second["places.size()"] == (1, 2)
    tenth = changes(found[10]["$changed(*this)"])
    assert tenth["places['node10']"] == (Problem("<none>"), 10)
    last = changes(found[-1]["$changed(*this)"])
    assert last["places.size()"] == (69, 70)
    assert last["places[..]"] == NOT_COMPARED
    assert not any("too much" in path or old == "<none>" for path, (old, _) in last.items() if "places" in path)


def test_a_row_that_is_too_large_has_its_first_elements(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("slices", "-O0"), patterns=[], probe=["total : all"])
    outcome(session)
    ((found,),) = [one.values() for one in values(session, "total")]
    assert isinstance(found, list)
    *read, rest = found
    assert len(read) >= 50
    assert [one["bytes"] for one in read] == [f"large {number}" for number in range(len(read))]
    assert rest == Problem("<too much to read at once>")


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ("nodes[1..]", "a pointer does not say how many there are"),
        ("places[0..2]", "cannot be indexed"),
        ("used[0..2]", "it is int"),
    ],
)
def test_what_has_no_elements_one_after_the_other_is_refused(
    launch: Launch, build_program: Build, asked: str, refused: str
) -> None:
    with pytest.raises(StrobeError, match=refused):
        launch(build_program("slices", "-O0"), patterns=[], probe=[f"Pool::add : {asked}"])
