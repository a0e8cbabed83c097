"""Probes at a function's entry, over which a trace's jump comes and goes: a jump is there whenever one can be."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, outcome, text, totals
from support.tracers import traced
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import Probe, TraceRequest
from strobe.session import Session

JUMP, BREAKPOINT = 0xE9, 0xCC


def first_byte(session: Session, label: str) -> int:
    """What stands at the probe's place in the process."""
    (answer,) = [one for one in session.trace().probes if one.probe.name == label]
    with open(f"/proc/{session.pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123
        return os.pread(memory.fileno(), 1, answer.places[0].address)[0]


def hits(session: Session, label: str) -> int:
    return next(one.hits for one in session.timeline.probe_totals() if one.label == label)


def is_counting(session: Session, label: str) -> None:
    before = hits(session, label)
    wait_until(lambda: hits(session, label) > before, f"more hits of {label}")


def end(session: Session) -> int:
    """How often the program says that it has added."""
    os.kill(session.pid, signal.SIGTERM)
    return int(outcome(session).stdout.splitlines()[-1])


def test_a_breakpoint_becomes_a_jump_again(launch: Launch, build_program: Build) -> None:
    """When the trace that lay over it has gone, be it for the second time; not one hit is missed meanwhile."""
    session = launch(build_program("adds", "-O2"), probe=["add if number > 3"])
    wait_until(lambda: "ready" in text(session, "stdout"), "its beginning")
    assert first_byte(session, "add") == JUMP
    own = session.trace().probes[0].places[0].address
    with open(f"/proc/{session.pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123
        alone = os.pread(memory.fileno(), 5, own)
        for _ in range(3):
            session.trace(TraceRequest(add=["add"]))
            assert os.pread(memory.fileno(), 5, own) != alone
            is_counting(session, "add")
            session.trace(TraceRequest(remove=["add"]))
            assert os.pread(memory.fileno(), 5, own) == alone
            is_counting(session, "add")
    times = end(session)
    assert hits(session, "add") == times
    assert 0 < totals(session)["add"].count < times


def test_a_probe_that_comes_after_a_trace_is_a_jump(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("adds", "-O2"), patterns=["add"])
    wait_until(lambda: "ready" in text(session, "stdout"), "its beginning")
    session.trace(TraceRequest(remove=["add"]))
    session.trace(TraceRequest(probe=[Probe("add", where="number > 3")]))
    assert first_byte(session, "add") == JUMP
    session.trace(TraceRequest(add=["add"]))
    is_counting(session, "add")
    before = totals(session)["add"].count
    wait_until(lambda: totals(session)["add"].count > before, "calls")
    session.trace(TraceRequest(unprobe=["add"]))
    counted = hits(session, "add")
    session.trace(TraceRequest(remove=["add"]))
    assert first_byte_of(session, "add") not in (JUMP, BREAKPOINT)
    assert hits(session, "add") - counted <= 1  # the thread may have been in the middle of it
    assert end(session) > hits(session, "add")


def first_byte_of(session: Session, function: str) -> int:
    """As it is without probes and traces: their answer gives no address."""
    session.trace(TraceRequest(probe=[Probe(function, label="for its address")]))
    address = session.trace().probes[0].places[0].address
    session.trace(TraceRequest(unprobe=["for its address"]))
    with open(f"/proc/{session.pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123
        return os.pread(memory.fileno(), 1, address)[0]


@pytest.mark.parametrize("place", ["add", "add:return", f"adds.c:{line_of('adds.c', '/* adds */')}"])
def test_a_debugger_that_has_the_program_refuses_a_probe_whole(
    launch: Launch, build_program: Build, place: str
) -> None:
    """It is said, and once it has gone the same probe records."""
    session = launch(build_program("adds", "-O0"))
    wait_until(lambda: "ready" in text(session, "stdout"), "its beginning")
    with traced(session.pid), pytest.raises(StrobeError) as caught:
        session.trace(TraceRequest(probe=[Probe(place)]))
    assert caught.value.code is Code.ATTACH_FAILED
    assert session.trace().probes == []
    session.trace(TraceRequest(probe=[Probe(place)]))
    is_counting(session, place)
    with traced(session.pid):
        session.trace(TraceRequest(unprobe=[place]))  # it records no more, though its code stays
    counted = hits(session, place)
    session.trace(TraceRequest(probe=[Probe(place, label="later")]))
    is_counting(session, "later")
    assert hits(session, place) - counted <= 1  # the thread may have been in the middle of it
    with traced(session.pid), suppress(StrobeError):  # where returns are probed the jump stands already
        session.trace(TraceRequest(add=["add"]))
    is_counting(session, "later")
    session.trace(TraceRequest(add=["add"]))
    is_counting(session, "later")
    end(session)
    assert not [warning for warning in session.warnings if "written over" in warning]
