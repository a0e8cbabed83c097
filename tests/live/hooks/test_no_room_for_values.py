"""More values than the recorder has room to take note of: calls are recorded all the same, and it is said of which
functions nothing more is."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, all_events, outcome, totals

from strobe import _abi
from strobe.model import EventFilter, TextMatch

NAMES = ["one", "same", "other"]


def of(name: str, where: str | None = None) -> EventFilter:
    return EventFilter(function=TextMatch(equals=name), where=where)


@pytest.mark.parametrize("form", ["native", "portable"])
def test_functions_without_room_are_named(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Room for those of `one`, which `same` has, too: its argument is at the same place."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    monkeypatch.setattr(_abi, "CAPTURE_CAPACITY", 3)
    session = launch(build_program("places", "-O0"), patterns=["one"])
    session.wait(60)
    assert not [text for text in session.warnings if "without arguments" in text]
    session = launch(build_program("places", "-O0"), patterns=NAMES)
    assert outcome(session).stdout == "12\n"
    assert {name: totals(session)[name].count for name in NAMES} == dict.fromkeys(NAMES, 3)
    (warning,) = [text for text in session.warnings if "without arguments" in text]
    assert "other: a session takes values from 3 places" in warning
    for name, values in (("one", [0, 1, 2]), ("same", [0, 1, 2]), ("other", [])):
        events = [event for event in all_events(session, of(name)) if event.event_type == "function_enter"]
        assert len(events) == 3
        found = [argument.value for event in events for argument in event.arguments or ()]
        assert [value for value in found if isinstance(value, int)] == values, name


def test_absence_does_not_trust_values_that_were_not_recorded(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_abi, "CAPTURE_CAPACITY", 3)
    session = launch(build_program("places", "-O0"), patterns=NAMES)
    assert outcome(session).stdout == "12\n"
    said = session.query(of("one", "value == 7")).absence
    assert said == "It held for none of 3 checked events."
    said = session.query(of("other", "first == 7")).absence
    assert said is not None
    assert "Of 3 of them it is not known" in said
