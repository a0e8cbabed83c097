"""Functions that were inlined: what is said of them when they are to be traced, and when nothing is found."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, outcome, totals

from strobe.model import EventFilter, TextMatch


def test_missing_calls_of_inlined_functions_are_explained(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("symbols/inlined", "-O0"), patterns=["small", "shared", "never"])
    outcome(session)
    assert session.launch_answer is not None
    warnings = session.launch_answer.warnings
    assert any(warning.startswith("'small' is inlined at ") for warning in warnings)
    assert any(warning.startswith("'shared' is partly inlined: calls of its own copy") for warning in warnings)
    called = totals(session)
    # one call through a pointer, one inlined
    assert (called["shared"].count, called["never"].count, "small" in called) == (1, 1, False)
    inlined = session.query(EventFilter(function=TextMatch(equals="small")))
    assert inlined.absence is not None and "Inlined everywhere, so never seen as calls: small (" in inlined.absence
    partly = session.query(EventFilter(function=TextMatch(equals="shared"), min_duration_ns=10**12))
    assert partly.absence is not None and "not seen: shared (1 site); so no event of them does not" in partly.absence


@pytest.mark.parametrize("wanted", [TextMatch(equals="copied"), None])
def test_nothing_is_denied_of_what_may_be_inlined_unseen(
    launch: Launch, build_program: Build, wanted: TextMatch | None
) -> None:
    """Without debug information nobody says where a function was inlined; in this program it is."""
    program = build_program("symbols/inlined_unseen", "-O2", "-g0", "-rdynamic")
    session = launch(program, patterns=["copied"])
    assert outcome(session).stdout == "copied 7\n"
    absence = session.query(EventFilter(function=wanted, event_type="function_enter")).absence
    assert absence is not None
    assert absence.startswith(
        "This does not prove that it did not happen. There is no debug information of copied, which would say whether "
        "it was inlined anywhere: calls of such copies are not seen."
    )
    described = launch(build_program("symbols/inlined_unseen", "-O2", "-rdynamic"), patterns=["copied"])
    outcome(described)
    absence = described.query(EventFilter(function=wanted, event_type="function_enter")).absence
    assert absence is not None and "Inlined at some of their call sites" in absence
