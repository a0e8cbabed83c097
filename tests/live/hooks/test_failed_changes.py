"""A change of hooks that failed half way is made anew when it is asked for again; meanwhile nothing is claimed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from support import tracers
from support.sessions import Build, Launch, totals
from support.short_form import short
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import EventFilter, TextMatch, TraceRequest
from strobe.session import Session


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[Code]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield Code.INTERNAL
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def traced_by_another(pid: int) -> Iterator[Code]:
    with tracers.traced(pid):
        yield Code.ATTACH_FAILED


def calls(session: Session) -> int:
    found = totals(session).get("steady_two")
    return found.count if found else 0


def absence(session: Session) -> str | None:
    return session.query(EventFilter(function=TextMatch(equals="steady_two"))).absence


def test_questions_to_a_stopped_program_do_not_pile_up(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("steady"), patterns=["steady_two"])
    with stopped(session.pid):
        for _ in range(short(3, 2)):
            with pytest.raises(StrobeError, match="did not answer within 5 s"):
                session.trace(TraceRequest(remove=["steady_two"]))
        asking = [thread for thread in threading.enumerate() if thread.name.startswith("strobe-ask-")]
        assert len(asking) == 1
    session.trace(TraceRequest(add=["steady_two"]))


@pytest.mark.parametrize("hindrance", [stopped, traced_by_another])
def test_calls_are_recorded_when_it_is_asked_again(
    launch: Launch, build_program: Build, hindrance: Callable[[int], contextlib.AbstractContextManager[Code]]
) -> None:
    session = launch(build_program("steady"), patterns=["steady_two"], sampling="off")
    wait_until(lambda: calls(session) > 0, "calls")
    with hindrance(session.pid) as code:
        with pytest.raises(StrobeError) as caught:
            session.trace(TraceRequest(remove=["steady_two"]))
        assert caught.value.code == code
        if code == Code.ATTACH_FAILED:
            assert " traces it already." in caught.value.message
    session.trace(TraceRequest(add=["steady_two"]))
    seen = calls(session)
    wait_until(lambda: calls(session) > seen + 10, "calls after the hook was added again")


@pytest.mark.parametrize("hindrance", [stopped, traced_by_another])
def test_nothing_is_claimed_of_a_hook_that_may_not_be_there(
    launch: Launch, build_program: Build, hindrance: Callable[[int], contextlib.AbstractContextManager[Code]]
) -> None:
    session = launch(build_program("steady"), patterns=["steady_two", "steady_three"], sampling="off")
    wait_until(lambda: len(totals(session)) == 2, "calls of both")
    session.trace(TraceRequest(remove=["steady_two"]))
    seen = calls(session)
    with hindrance(session.pid) as code:
        with pytest.raises(StrobeError) as caught:
            session.trace(TraceRequest(add=["steady_two"]))
        assert caught.value.code == code
    found = session.query(EventFilter(function=TextMatch(equals="steady_two"), time_from="-1ms")).absence
    assert found is None or found.startswith("This does not prove that it did not happen."), found
    assert session.trace(TraceRequest(add=["steady_two"])).hooked_functions == 2
    wait_until(lambda: calls(session) > seen + 10, "calls after the hook was added again")
