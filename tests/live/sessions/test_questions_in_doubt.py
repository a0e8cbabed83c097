"""Questions of which the answer is in calls that have no event: they do not say that nothing was there."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, outcome, totals

from strobe.model import EventFilter, Inside, ReturnMatch, TextMatch
from strobe.session import Session

RARELY, OFTEN, DEEP = (TextMatch(equals=name) for name in ("rarely", "often", "deep"))
NOT_PROVEN = "This does not prove that it did not happen. "
SAMPLED = "events of hot functions were left out by sampling."


@pytest.fixture
def session(launch: Launch, build_program: Build) -> Session:
    """`rarely` was called once, by a call of `often` that was left out by sampling."""
    session = launch(build_program("enclosed", "-O1"), patterns=["rarely", "often"])
    assert outcome(session).status == 0
    found = totals(session)
    assert found["rarely"].count == 1 and found["often"].sampled_out > 0
    entry = session.query(EventFilter(function=RARELY, event_type="function_enter")).events[0]
    assert entry.parent_event_id is None
    return session


@pytest.mark.parametrize(
    "wanted",
    [
        EventFilter(function=RARELY, inside=Inside(OFTEN)),
        EventFilter(function=RARELY, where="value > 0", inside=Inside(OFTEN)),
        EventFilter(function=RARELY, where="value > 0", caller=OFTEN),
        EventFilter(function=RARELY, caller=OFTEN),
    ],
)
def test_what_happened_in_calls_that_were_sampled(session: Session, wanted: EventFilter) -> None:
    page = session.query(wanted)
    assert page.total_count == 0
    assert page.absence is not None and NOT_PROVEN in page.absence, page.absence
    assert "Of the enclosing calls: Missing from the events: " in page.absence
    assert SAMPLED in page.absence


def test_how_many_calls_have_no_event(session: Session) -> None:
    """They are said to be there also where something was found."""
    counted = totals(session)["often"].count
    inside = session.query(EventFilter(inside=Inside(OFTEN, whole=True))).inside
    assert inside is not None and inside["calls"] + inside["notRecorded"] == counted
    none = session.query(EventFilter(function=RARELY, inside=Inside(OFTEN, where="value == 75001")))
    assert none.absence is not None
    assert none.absence.startswith(
        "No recorded call with value == 75001 is known of what inside names. This does not prove that there was none. "
        "Missing from the events: "
    ), none.absence
    assert SAMPLED in none.absence


@pytest.mark.parametrize("where", [None, "value > 0"])
def test_how_many_callers_have_no_event(launch: Launch, build_program: Build, where: str | None) -> None:
    """One of two calls is found: the other one's caller was left out by sampling."""
    session = launch(build_program("enclosed", "-O1"), "twice", patterns=["rarely", "often"])
    assert outcome(session).status == 0
    page = session.query(EventFilter(function=RARELY, caller=OFTEN, event_type="function_enter", where=where))
    assert page.total_count == 1 and page.absence is None
    assert page.callers_unrecorded == totals(session)["often"].sampled_out
    assert session.query(EventFilter(function=RARELY, where=where)).callers_unrecorded == 0


@pytest.mark.parametrize(
    "wanted",
    [
        EventFilter(function=DEEP, where="$return == 777"),
        EventFilter(function=DEEP, where="$return == 777 && depth >= 0"),
        EventFilter(function=DEEP, return_value=ReturnMatch(equals=777)),
    ],
)
def test_results_of_calls_whose_return_was_not_recorded(
    launch: Launch, build_program: Build, wanted: EventFilter
) -> None:
    session = launch(build_program("enclosed", "-O1"), "deep", patterns=["deep"])
    assert outcome(session).status == 0
    missed = totals(session)["deep"].exits_missed
    assert missed > 0
    page = session.query(wanted)
    assert page.total_count == 0
    assert page.absence is not None
    assert f"{NOT_PROVEN}Of {missed} calls the return could not be recorded." in page.absence, page.absence
