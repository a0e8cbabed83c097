"""What is said of probes that recorded nothing: only what was seen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.sessions import Build, Launch, outcome, text
from support.wait import wait_until

import strobe
from strobe.model import EventFilter, Probe, TraceRequest
from strobe.session import Session

PROBES = EventFilter(event_type="probe")


def absence(session: Session) -> str:
    return session.query(PROBES).absence or ""


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("place", ["unused", "unused:return"])
def test_an_entry_that_was_written_over(launch: Launch, build_program: Build, place: str, traced: bool) -> None:
    """What is under a trace's jump, and what hangs on a function's returns, is not reached any more either."""
    session = launch(
        build_program("absent", "-O1"), "overwrite", probe=[place], patterns=["unused"] if traced else ["used"]
    )
    wait_until(lambda: "ready" in text(session, "stdout"), "its beginning")
    assert absence(session).startswith("No probed instruction was reached")
    os.kill(session.pid, signal.SIGUSR2)
    wait_until(lambda: "overwritten 0" in text(session, "stdout"), "the other code")
    assert absence(session).startswith("This does not prove that it did not happen.")
    os.kill(session.pid, signal.SIGUSR1)
    outcome(session)
    assert absence(session).startswith("This does not prove that it did not happen.")


def test_what_a_limit_leaves_out_is_not_a_condition(launch: Launch, build_program: Build) -> None:
    def probes(session: Session) -> None:
        session.trace(TraceRequest(probe=[Probe("used", where="value < 5", limit=0)]))

    session = launch(build_program("absent", "-O1"), "once", check=probes)
    outcome(session)
    told = absence(session)
    assert "once the limit of a probe left out what was reached" in told and "condition" not in told

    def others(session: Session) -> None:
        session.trace(TraceRequest(probe=[Probe("used", where="value > 5")]))

    session = launch(build_program("absent", "-O1"), "once", check=others)
    outcome(session)
    told = absence(session)
    assert (
        "once the condition of a probe did not hold" in told
        and "that they were reached once" in told
        and "the limit" not in told
    )


def test_the_warnings_of_each_probe_of_a_launch(build_program: Build, strobe_home: Path) -> None:
    missing = ["nowhere.c:1", "nosuch", "elsewhere.c:2"]
    with strobe.launch([build_program("absent", "-O1"), "once"], probe=missing, missing_ok=True) as run:
        run.wait(timeout=20)
        for label in missing:
            assert [warning for warning in run.warnings if f"'{label}' has no place so far" in warning], label


def test_a_label_is_asked_for(launch: Launch, build_program: Build) -> None:
    """What another probe left out says nothing of this one."""

    def probes(session: Session) -> None:
        session.trace(
            TraceRequest(probe=[Probe("used", show=("value",), label="every"), Probe("used", where="value > 5")])
        )

    session = launch(build_program("absent", "-O1"), "once", check=probes)
    outcome(session)
    page = session.query(EventFilter(where='$label == "every" && value > 5'))
    assert (page.total_count, page.checked, page.undecided) == (0, 1, 0)
    assert page.absence == "It held for none of 1 checked events."
    other = session.query(EventFilter(where='$label == "used" && value > 7')).absence
    assert other is not None
    assert "This does not prove that it did not happen." in other
    assert session.query(EventFilter(where='$label == "every" && value < 5')).total_count == 1
    assert session.query(EventFilter(where='$label == "every"', event_type="stdout")).total_count == 0


def test_a_label_or_something_else(launch: Launch, build_program: Build) -> None:
    """Neither side of `||` leaves out the events of the other."""

    def probes(session: Session) -> None:
        session.trace(
            TraceRequest(["used"], probe=[Probe("used", show=("value",), label="every"), Probe("used", label="bare")])
        )

    session = launch(build_program("absent", "-O1"), "once", check=probes)
    outcome(session)
    for where in ('$label == "every" || value > 1000', 'value > 1000 || $label == "every"'):
        assert [one.label for one in session.query(EventFilter(where=where)).events] == ["every"]
    groups, found = session.counts(EventFilter(), "$label", "value")
    assert [group.value["$label"] for group in groups] == ["every"]
    assert found.absence is None


def test_absence_is_of_the_label_that_is_asked_for(launch: Launch, build_program: Build) -> None:
    def probes(session: Session) -> None:
        session.trace(TraceRequest(["used"], probe=[Probe("used", where="value > 1000", label="rare")]))

    session = launch(build_program("absent", "-O1"), "once", check=probes)
    outcome(session)
    nothing = "No probe of this session matches the filter; there are: rare."
    for label, said in (("rare", "once the condition of a probe did not hold"), ("none", nothing)):
        absence = session.query(EventFilter(where=f'$label == "{label}"')).absence
        assert absence is not None
        assert said in absence
        assert "used was traced" not in absence
