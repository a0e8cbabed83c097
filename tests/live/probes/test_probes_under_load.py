"""Probes and traces that come and go while threads run through them, interrupted by a timer."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe
from strobe.session import Session

ROUNDS = 20_000
THREADS = 4
SECONDS = 20.0


def change(session: Session, active: set[str], place: str) -> None:
    """Places what is not there, removes what is."""
    is_there = place in active
    active ^= {place}
    if place == "trace" and is_there:
        session.trace(remove=["turn"])
    elif place == "trace":
        session.trace(add=["turn"])
    elif is_there:
        session.trace(unprobe=[place])
    else:
        session.trace(probe=[Probe(place, where="value == 1")], anyway=True)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost(launch: Launch, build_program: Build, level: str, seed: int) -> None:
    """A probe that stays counts each time, whatever else is placed and removed in the same function meanwhile."""
    program = build_program("turns", level)
    expected = untraced(program, str(ROUNDS))
    last = line_of("turns.c", "// turned")
    others = [f"turns.c:{line}" for line in range(line_of("turns.c", "static unsigned turn(") + 1, last)]
    stays = Probe("turn", where="seed == 1", label="stays")
    session = launch(program, str(ROUNDS), check=lambda one: one.trace(probe=[stays]) and None)
    chosen = random.Random(seed)
    active: set[str] = set()
    deadline = time.monotonic() + SECONDS
    with suppress(StrobeError):  # it has ended in the middle of a change
        while session.wait(0) is None and time.monotonic() < deadline:
            change(session, active, chosen.choice([*others, "trace"]))
    assert outcome(session) == expected
    assert session.probe_totals()[0].hits == ROUNDS * THREADS
    assert session.query(EventFilter(limit=1)).loss.lost == 0
    assert "turn" not in totals(session) or totals(session)["turn"].count <= ROUNDS * THREADS
