"""Functions with one code, as compilers and linkers fold those that are identical: what is recorded of all says so."""

from __future__ import annotations

import pytest
from support import programs
from support.sessions import Build, Launch, outcome, totals

from strobe.model import EventFilter, TextMatch

FOLDS = {
    "g++": ("-O2",),
    "clang++": ("-O1", "-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all"),
}


@pytest.mark.parametrize("compiler", FOLDS)
@pytest.mark.parametrize("pattern", ["first", "second", "**"])
def test_folded_functions_are_one_and_say_so(launch: Launch, build_program: Build, compiler: str, pattern: str) -> None:
    if compiler == "clang++":
        programs.require("ld.lld")
    session = launch(build_program("folded", *FOLDS[compiler], compiler=compiler), patterns=[pattern])
    outcome(session)
    assert session.launch_answer is not None
    (warning,) = [text for text in session.launch_answer.warnings if "the same code" in text]
    kept, other = ("first", "second") if warning.startswith("'first'") else ("second", "first")
    assert warning.startswith(f"'{kept}' has the same code as {other}, folded by the compiler or the linker")
    called = totals(session)
    assert called[kept].count == 2 and other not in called
    page = session.query(EventFilter(function=TextMatch(equals=other)))
    assert not page.events and "does not prove" in (page.absence or "")


@pytest.mark.parametrize("pattern", ["first", "second", "*"])
@pytest.mark.parametrize("options", [(), ("-fcf-protection",), ("-fPIC", "-fvisibility=hidden")])
def test_a_jump_that_is_left_of_a_folded_function(
    launch: Launch, build_program: Build, pattern: str, options: tuple[str, ...]
) -> None:
    """Its callers call the other one: that it was not called is not said, and of the calls what they may be."""
    session = launch(build_program("folded_jump", "-O2", *options, compiler="gcc"), patterns=[pattern])
    outcome(session)
    assert session.launch_answer is not None
    (warning,) = [text for text in session.launch_answer.warnings if "the same code" in text]
    assert warning.startswith("'second' is only a jump to 'first', as gcc leaves of functions with the same code")
    called = {name: one.count for name, one in totals(session).items() if name in ("first", "second")}
    assert called == ({} if pattern == "second" else {"first": 3})
    if pattern == "first":
        return
    page = session.query(EventFilter(function=TextMatch(equals="second")))
    assert not page.events and page.absence is not None
    assert page.absence.startswith(
        "This does not prove that it did not happen. Only a jump to another function, as gcc leaves of functions with "
        "the same code: second (to first); its callers may call the other one directly."
    )
