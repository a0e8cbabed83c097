"""Functions that were inlined: what is said of them when they are to be traced, and when nothing is found."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, outcome, totals

from strobe.model import EventFilter, TextMatch

NOT_PROVEN = "This does not prove that it did not happen. "
ENTRY_NOT_REACHED = f"{NOT_PROVEN}Its entry was not reached: what may have run is inlined code of it. "


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
        f"{ENTRY_NOT_REACHED if wanted else NOT_PROVEN}There is no debug information of copied, which would say "
        "whether it was inlined anywhere: calls of such copies are not seen."
    )
    described = launch(build_program("symbols/inlined_unseen", "-O2", "-rdynamic"), patterns=["copied"])
    outcome(described)
    absence = described.query(EventFilter(function=wanted, event_type="function_enter")).absence
    assert absence is not None and "Inlined at some of their call sites" in absence


@pytest.mark.parametrize(
    ("compiler", "options", "reason"),
    [
        ("gcc", ("-O2",), "The compiler has inlined checked where no code of it is left: calls there are not seen."),
        ("gcc", ("-O1", "-g1"), "The compiler has inlined checked where no code of it is left"),
        ("gcc", ("-O2", "-flto", "-rdynamic"), "LLVM, or gcc with -flto, has optimized checked"),
        ("clang", ("-O1",), "LLVM, or gcc with -flto, has optimized checked"),
        ("clang", ("-O2", "-gdwarf-4"), "LLVM, or gcc with -flto, has optimized checked"),
    ],
)
def test_nothing_is_denied_of_what_was_inlined_to_nothing(
    launch: Launch, build_program: Build, compiler: str, options: tuple[str, ...], reason: str
) -> None:
    session = launch(build_program("inlined_to_nothing", *options, compiler=compiler), patterns=["checked", "spared"])
    assert outcome(session).stdout == "checked 5\n"
    assert not totals(session)
    absence = session.query(EventFilter(function=TextMatch(equals="checked"))).absence
    assert absence is not None and absence.startswith(f"{ENTRY_NOT_REACHED}{reason}")
    not_called, unseen = session.timeline.not_called(["checked", "spared"])
    says_where = compiler == "gcc" and "-flto" not in options
    assert (not_called, unseen) == ((["spared"], ["checked"]) if says_where else ([], ["checked", "spared"]))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_is_not_optimized_was_not_inlined(launch: Launch, build_program: Build, compiler: str) -> None:
    session = launch(build_program("inlined_to_nothing", "-O0", compiler=compiler), patterns=["checked", "spared"])
    outcome(session)
    assert {name: one.count for name, one in totals(session).items()} == {"checked": 1}
    absence = session.query(EventFilter(function=TextMatch(equals="spared"))).absence
    assert absence is not None and absence.startswith("It was not called.")


@pytest.mark.parametrize("options", [("-O2",), ("-O2", "-fPIC", "-fcf-protection"), ("-O1",)])
def test_nothing_is_denied_of_what_thunks_have_copies_of(
    launch: Launch, build_program: Build, options: tuple[str, ...]
) -> None:
    """Other thunks jump to the function, where their calls are recorded."""
    session = launch(build_program("thunk_copies", *options, compiler="g++"), patterns=["Box::*", "Crate::size"])
    assert outcome(session).stdout == "8\n"
    called = {name: one.count for name, one in totals(session).items()}
    assert called == ({} if "-O2" in options else {"Box::size": 1, "Crate::size": 1})
    for name in () if called else ("Box::size", "Crate::size"):
        absence = session.query(EventFilter(function=TextMatch(equals=name))).absence
        assert absence is not None and absence.startswith(
            f"This does not prove that it did not happen. Calls of {name} through another base class run a copy of it"
        )
    unused = session.query(EventFilter(function=TextMatch(equals="Box::unused"))).absence
    assert unused is not None and unused.startswith("It was not called.")
