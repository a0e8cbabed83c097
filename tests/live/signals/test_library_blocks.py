"""The C library blocks all signals past its own functions where it makes threads and processes: memory is read there
all the same, and no fault of a read ends the program."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.model import Watch


@pytest.mark.parametrize("way", ["threads", "spawns", "system"])
def test_a_watch_leads_nowhere_while_the_library_blocks_all_signals(
    launch: Launch, build_program: Build, way: str
) -> None:
    program = build_program("library_blocks", "-O0", "-pthread")
    patterns = ["twice", "@lib:libc.so.6"]
    session = launch(program, way, patterns=patterns, watch=[Watch(variable="place->value")])
    assert outcome(session) == untraced(program, way)
    assert len(totals(session)) > 1  # functions of the library, too
