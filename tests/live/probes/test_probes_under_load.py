"""Probes and traces that come and go while threads run through them, interrupted by a timer."""

from __future__ import annotations

import random
import time

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.errors import Code, StrobeError
from strobe.model import EventFilter, Probe, TraceRequest
from strobe.session import Session

ROUNDS = {"-O0": 200_000, "-O2": 3_000_000}  # a quarter of a second where all are jumps
THREADS = 4
SECONDS = 20.0


def change(session: Session, active: set[str], place: str) -> bool:
    """Places what is not there, removes what is. False where the line has no code, or its values are gone there."""
    is_there = place in active
    active ^= {place}
    if place == "trace" and is_there:
        session.trace(TraceRequest(remove=["turn"]))
    elif place == "trace":
        session.trace(TraceRequest(add=["turn"]))
    elif is_there:
        session.trace(TraceRequest(unprobe=[place]))
    else:
        try:
            session.trace(TraceRequest(probe=[Probe(place, where="seed == 1")]))
        except StrobeError as error:
            if error.code not in (Code.PROBE_FAILED, Code.NO_CODE_AT_LINE):
                raise
            active.discard(place)
            return False
    return True


@pytest.mark.parametrize("level", ["-O0", pytest.param("-O2", marks=pytest.mark.long)])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_nothing_is_lost(launch: Launch, build_program: Build, level: str, seed: int) -> None:
    """A probe that stays counts each time, whatever else is placed and removed in the same function meanwhile."""
    program, rounds = build_program("turns", level), ROUNDS[level]
    expected = untraced(program, str(rounds))
    last = line_of("turns.c", "// turned")
    others = [f"turns.c:{line}" for line in range(line_of("turns.c", "static unsigned turn(") + 1, last)]
    stays = Probe("turn", where="seed == 1", label="stays")

    def prepare(session: Session) -> None:
        """What is read for the first probe and trace takes longer than the program may run."""
        session.trace(TraceRequest(probe=[stays]))
        for place in (others[0], "trace"):
            change(session, prepared, place)
            if place in prepared:
                change(session, prepared, place)

    prepared: set[str] = set()
    session = launch(program, str(rounds), check=prepare)
    chosen = random.Random(seed)
    active: set[str] = set()
    deadline = time.monotonic() + SECONDS
    changes = 0
    try:
        while session.wait(0) is None and time.monotonic() < deadline:
            changes += change(session, active, chosen.choice([*others, "trace"]))
        for place in list(active):  # breakpoint instructions would take it minutes
            change(session, active, place)
    except StrobeError as error:  # it has ended in the middle of a change
        if error.code is not Code.PROCESS_EXITED:
            raise
    assert changes > 1
    assert outcome(session) == expected
    assert session.timeline.probe_totals()[0].hits == rounds * THREADS
    assert session.query(EventFilter(limit=1)).loss.lost == 0
    assert "turn" not in totals(session) or totals(session)["turn"].count <= rounds * THREADS
