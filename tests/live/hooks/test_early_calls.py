"""Functions that are called before the program's first instruction, and so before they have hooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import programs
from support.sessions import Build, Launch, outcome, totals

from strobe.model import EventFilter, TextMatch

EARLY = "This does not prove that it did not happen. What runs before the program's first instruction may have called "


@pytest.mark.parametrize(
    ("options", "of_library", "stdout", "early"),
    [
        ((), (), "0 0\n", set()),
        ((), ("-DCONSTRUCTS",), "1 1\n", {"count_call", "called_by_library"}),
        (("-DPREINIT",), (), "10 0\n", {"called_by_library", "called_early", "never_called"}),
        (("-DCHOOSES",), (), "1010 0\n", {"called_by_library", "called_early", "never_called"}),
        (("-DCHOOSES", "-Wl,-z,now", "-no-pie"), (), "1010 0\n", {"called_by_library", "called_early", "never_called"}),
    ],
)
def test_calls_before_the_first_instruction_are_not_denied(
    launch: Launch,
    build_program: Build,
    program_cache: Path,
    options: tuple[str, ...],
    of_library: tuple[str, ...],
    stdout: str,
    early: set[str],
) -> None:
    flags = ("-shared", "-fPIC", *of_library)
    library = programs.build(programs.source_of("early_library"), flags, None, program_cache)
    program = build_program("early", *options, "-Wl,--no-as-needed", str(library))
    session = launch(program, patterns=["call*", "count_call", "never_called"])
    assert outcome(session).stdout == stdout
    assert not totals(session)
    names = {"count_call", "called_by_library", "called_early", "never_called"}
    not_called, unseen = session.timeline.not_called(sorted(names))
    assert (set(not_called), set(unseen)) == (names - early, early)
    for name in names:
        absence = session.query(EventFilter(function=TextMatch(equals=name))).absence
        assert absence is not None and absence.startswith(EARLY + name if name in early else "It was not called.")
