"""Probes of functions wherever they were inlined."""

from __future__ import annotations

from collections import Counter

import pytest
from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.errors import Code, StrobeError
from strobe.model import EventFilter

COMPILERS = pytest.mark.parametrize(("compiler", "level"), [("g++", "-O1"), ("clang++", "-O1"), ("clang++", "-O2")])


@COMPILERS
def test_each_site_counts(launch: Launch, build_program: Build, compiler: str, level: str) -> None:
    """Members, templates, and a function that has a copy of its own besides; with the values that were passed."""
    program = build_program("inlined_sites", level, compiler=compiler)
    probes = ["Range::clamp:inlined : value", "half:inlined : value", "twice:inlined : value"]
    session = launch(program, probe=probes)
    assert outcome(session) == untraced(program)
    assert [(one.label, one.hits) for one in session.timeline.probe_totals()] == [
        ("Range::clamp:inlined", 24), ("half:inlined", 17), ("twice:inlined", 8),
    ]  # fmt: skip
    found = list(all_events(session, EventFilter(event_type="probe")))
    values = {label: Counter(str((one.watch_values or {})["value"]) for one in found if one.label == label)
              for label in ("half:inlined", "twice:inlined")}  # fmt: skip
    assert values["half:inlined"] == Counter([*map(str, range(10)), *(str(2.5 * n) for n in range(7))])
    assert sum(n for text, n in values["twice:inlined"].items() if text in map(str, range(7))) == 7
    assert {one.function for one in found if one.label == "half:inlined"} == {"first", "second"}
    assert any("the code is optimized" in text for text in session.warnings)


def test_a_function_without_a_copy_says_where_it_is(launch: Launch, build_program: Build) -> None:
    program = build_program("inlined_sites", "-O1")
    with pytest.raises(StrobeError, match="'half:inlined' is where it was inlined") as caught:
        launch(program, probe=["half : value"])
    assert caught.value.code is Code.PROBE_FAILED


def test_nothing_was_inlined(launch: Launch, build_program: Build) -> None:
    """Then it is the function itself."""
    program = build_program("inlined_sites", "-O0")
    session = launch(program, probe=["twice:inlined : value"])
    assert outcome(session) == untraced(program)
    assert [one.hits for one in session.timeline.probe_totals()] == [8]
