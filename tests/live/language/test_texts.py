"""Texts of the program, compared with each other; parts of them; pointers that are moved: as the program does it."""

from __future__ import annotations

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TraceRequest
from strobe.symbols.select.linear_regex import LinearRegex

LOOKED = f"texts.cpp:{line_of('texts.cpp', '// looked')}"
BUILDS = pytest.mark.parametrize(
    ("compiler", "level"), [("g++", "-O0"), ("g++", "-O1"), ("clang++", "-O0"), ("clang++", "-O1")]
)
CONDITIONS = (
    "file->largest startswith key.data[0..key.size]",
    "key.data[0..key.size] == plain",
    "view endswith file->name",
    "file->largest contains view",
    "plain != view",
    "file->largest[3] == 'i' && key.data[key.size - 1] > '4'",
    "*(unsigned short*)(key.data + 9) == 0x3030",
    "file->name[1..3] == plain[1..3]",
)


@BUILDS
def test_comparisons(launch: Launch, build_program: Build, compiler: str, level: str) -> None:
    program = build_program("texts", level, compiler=compiler)
    probes = [Probe("look", where=where, label=str(number)) for number, where in enumerate(CONDITIONS)]
    session = launch(program, check=lambda one: one.trace(TraceRequest(probe=probes)) and None)
    assert outcome(session) == untraced(program)
    expected = [int(text) for text in outcome(session).stdout.split()]
    assert {0 < count < 60 for count in expected} == {True}
    found = session.timeline.probe_totals()
    assert [one.held for one in found] == expected
    assert [one.undecided for one in found] == [0] * len(CONDITIONS)


@BUILDS
def test_parts_are_shown(launch: Launch, build_program: Build, compiler: str, level: str) -> None:
    program = build_program("texts", level, compiler=compiler)
    show = ("key.data[0..key.size]", "file->largest[8..13]", "plain[0..0]", "file->largest[8]", "file->largest[99]",
            "file->name[2..99]")  # fmt: skip
    probe = Probe("look", show=show, where="$hit == 1")
    session = launch(program, check=lambda one: one.trace(TraceRequest(probe=[probe])) and None)
    outcome(session)
    [event] = all_events(session, EventFilter(event_type="probe"))
    values = event.watch_values or {}
    assert values[show[0]] == "arxicle-0"
    assert values[show[1]] == "014\x01\x02"
    assert values[show[2]] == ""
    assert str(values[show[3]]) == "0"
    assert "has no element 99" in str(values[show[4]])
    assert "fewer characters" in str(values[show[5]])


@BUILDS
def test_regular_expressions(launch: Launch, build_program: Build, compiler: str, level: str) -> None:
    """What RE2 finds in what was recorded."""
    program = build_program("texts", level, compiler=compiler)
    texts = ("plain", "view", "file->name", "key.data[0..key.size]")
    ways = ("^article-0[0-2]", "[0-9]{3}$", "^ar[tx]icle-(00|01)?$", "(?i)X|27", "^arc", ".icle.$", "nothing")
    asked = [f'{text} matches "{way}"' for text in texts for way in ways]
    probes = [Probe("look", where=where, label=where, limit=0) for where in asked]
    session = launch(
        program, check=lambda one: one.trace(TraceRequest(probe=[*probes, Probe("look", show=texts)])) and None
    )
    assert outcome(session) == untraced(program)
    recorded = [event.watch_values or {} for event in all_events(session, EventFilter(event_type="probe"))]
    found = {one.label: one for one in session.timeline.probe_totals() if one.label != "look"}
    assert len(recorded) == 60
    for text in texts:
        for way in ways:
            expected = sum(LinearRegex(way).finds(str(values[text])) for values in recorded)
            one = found[f'{text} matches "{way}"']
            assert (one.hits, one.held, one.undecided) == (60, expected, 0), one.label


def test_what_is_no_text(launch: Launch, build_program: Build) -> None:
    with pytest.raises(StrobeError, match="a pointer does not say how many there are"):
        launch(build_program("texts", "-O0"), probe=["look : plain[1..]"])
    with pytest.raises(StrobeError, match="a text is compared with a text"):
        launch(build_program("texts", "-O0"), probe=["look if file->largest < plain"])
