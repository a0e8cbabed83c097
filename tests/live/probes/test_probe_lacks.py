"""A value that some places of a probe have is an error at the others, and it is said where. Program: kept_in_some."""

from __future__ import annotations

from collections import Counter

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, all_events, outcome

from strobe.errors import Code, StrobeError
from strobe.model import EventFilter

LINE = line_of("kept_in_some.cpp", "// mixes")
LOST = f"unused is optimized out at kept_in_some.cpp:{LINE}"
BOTH = f"kept_in_some.cpp:{LINE} : value, unused"


def test_at_one_of_several_places(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("kept_in_some", "-O2"), probe=[BOTH])
    outcome(session)
    (told,) = session.timeline.probe_totals()
    assert (told.hits, told.recorded) == (8, 8)
    found = [one.watch_values or {} for one in all_events(session, EventFilter(event_type="probe"))]
    assert Counter(str(one["unused"]) for one in found) == {"1": 5, "<optimized out>": 3}
    assert [one["value"] for one in found] == [0, 1, 2, 3, 4, 0, 1, 2]
    label = f"kept_in_some.cpp:{LINE}"
    assert f"Probe '{label}' has no value of 'unused' at 1 of its 2 places, in with_one: {LOST}" in session.warnings
    assert session.query(EventFilter(event_type="probe", where="unused == 1")).total_count == 5


def test_at_returns_and_entries_of_functions_of_one_name(launch: Launch, build_program: Build) -> None:
    """Neither function has both."""
    probes = ["take:return : count, text, $return > 0", "take : text, count"]
    session = launch(build_program("kept_in_some", "-O0"), probe=probes)
    outcome(session)
    for label in ("take:return", "take"):
        found = [
            {name: str(value) for name, value in (one.watch_values or {}).items()}
            for one in all_events(session, EventFilter(event_type="probe", where=f"$label == '{label}'"))
        ]
        (number, text) = found
        assert number["count"] == "7" and number["text"] == "<not in scope>", found
        assert "bread" in text["text"] and text["count"] == "<not in scope>", found
        warnings = [one for one in session.warnings if one.startswith(f"Probe '{label}' has no value of")]
        assert len(warnings) == 2 and all("at 1 of its 2 places, in take: " in one for one in warnings), warnings


@pytest.mark.parametrize("probe", ["{at} : value, nothing", "{at} if nothing > 0 : value"])
def test_what_means_nothing_anywhere_is_refused(launch: Launch, build_program: Build, probe: str) -> None:
    with pytest.raises(StrobeError, match="'nothing' not found") as caught:
        launch(build_program("kept_in_some", "-O2"), probe=[probe.format(at=f"kept_in_some.cpp:{LINE}")])
    assert caught.value.code is Code.PROBE_FAILED


def test_a_condition_that_cannot_be_decided_somewhere_records_nothing_there(
    launch: Launch, build_program: Build
) -> None:
    session = launch(build_program("kept_in_some", "-O2"), probe=[f"kept_in_some.cpp:{LINE} if unused > 0 : value"])
    outcome(session)
    (told,) = session.timeline.probe_totals()
    assert (told.hits, told.held) == (5, 5)
    assert any("records nothing in with_one" in one and LOST in one for one in session.warnings), session.warnings
