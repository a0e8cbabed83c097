"""The same of Rust: each condition holds where the program's own does, at the entry of a call and at its return."""

from __future__ import annotations

import re

import pytest
from support.programs import source_of
from support.sessions import Build, Launch, outcome, untraced

from strobe.model import Probe, TraceRequest
from strobe.session import Session

CALLS = 120


def conditions() -> list[str]:
    """Those that the program has, as Strobe takes them."""
    found = re.findall(r'^        \("((?:[^"\\]|\\.)*)", ', source_of("arithmetic_rust").read_text(), re.M)
    return [one.replace('\\"', '"') for one in found]


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("place", ["whole", "whole:return"])
def test_each_holds_as_the_compiler_has_it(launch: Launch, build_program: Build, level: int, place: str) -> None:
    program = build_program("arithmetic_rust", f"-Copt-level={level}")
    asked = conditions()
    assert len(asked) == 50

    def change(session: Session) -> None:
        session.trace(
            TraceRequest(
                probe=[
                    Probe(f"arithmetic_rust::{place}", one, label=str(number), limit=0)
                    for number, one in enumerate(asked)
                ]
            )
        )

    session = launch(program, check=change)
    ended = outcome(session)
    assert ended == untraced(program)
    held = {int(number): int(count) for number, count in re.findall(r"held (\d+) (\d+)", ended.stdout)}
    found = {int(one.label): one for one in session.timeline.probe_totals()}
    assert {one.hits for one in found.values()} == {CALLS}
    assert [asked[number] for number, one in found.items() if one.undecided] == []
    assert {asked[n]: (held[n], one.held) for n, one in found.items() if held[n] != one.held} == {}
