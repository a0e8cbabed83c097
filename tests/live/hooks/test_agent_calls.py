"""What the agent calls, in its threads and in those of the program, is not recorded as the program's."""

from __future__ import annotations

import os
import signal

import pytest
from support.sessions import Build, Launch, Outcome, all_events, outcome, text, totals
from support.short_form import short
from support.wait import wait_until

from strobe.model import EventFilter, TraceRequest, Watch
from strobe.session import Session

LIBC = "@lib:libc.so.6"
CHANGES = short(5, 2)  # of hooks, which the agent makes
FORMS = ["native", "portable"]
# neither the program nor what the C library does for it calls these; the agent does all the time
OF_THE_AGENT = {"nanosleep", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "isnan", "recvmsg", "ppoll", "getpid"}

pytestmark = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(autouse=True)
def of_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)


def test_calls_of_the_agent_are_not_recorded(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), "leave", patterns=[LIBC, "use"], sampling="off")
    wait_until(lambda: text(session, "stdout") == "ready\n", "the first library")
    for _ in range(CHANGES):
        session.trace(TraceRequest(add=["main"]))
        session.trace(TraceRequest(remove=["main"]))
    os.kill(session.pid, signal.SIGUSR1)
    wait_until(lambda: "closed" in text(session, "stdout"), "its end")
    session.trace(TraceRequest(remove=[LIBC]))
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).status == 0
    found = totals(session)
    assert {"dlopen", "dlclose", "use"} <= found.keys()
    assert not OF_THE_AGENT & (found.keys() - {"nanosleep"})
    called = list(all_events(session, EventFilter(event_type="function_enter")))
    assert {event.thread_id for event in called} == {session.pid}
    names = {event.id: event.function for event in called}
    sleeping = [names.get(event.parent_event_id or "") for event in called if event.function == "nanosleep"]
    assert set(sleeping) <= {"usleep"}


def uses(session: Session) -> int:
    found = totals(session).get("use")
    return found.count if found else 0


def test_a_script_at_each_call_of_the_c_library(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    """Threads of the agent call it with locks that scripts wait for."""
    watch = [Watch(expr="retval", label="result")]
    session = launch(build_program("dlopens"), str(build_plugin()), "reload", patterns=["use"], watch=watch)
    for _ in range(CHANGES):
        session.trace(TraceRequest(add=[LIBC]))
        before = uses(session)
        wait_until(lambda least=before: uses(session) > least + 2, "calls", 30)
        session.trace(TraceRequest(remove=[LIBC]))
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session) == Outcome("right\n", "", 0)
    assert {event.thread_id for event in all_events(session, EventFilter(event_type="function_enter"))} == {session.pid}


@pytest.mark.parametrize("watch", [[], [Watch(expr="retval", label="result")]], ids=["loads", "scripts"])
def test_a_handler_that_interrupts_the_agent_is_recorded(
    launch: Launch, build_program: Build, build_plugin: Build, watch: list[Watch]
) -> None:
    """The thread that loads a library is in the agent then, and so is one in a script."""
    program, patterns = build_program("loads_interrupted"), ["tick", "on_alarm", "load", "step", "plugin_run"]
    session = launch(program, str(build_plugin()), patterns=patterns, sampling="off", watch=watch)
    ended = outcome(session)
    assert ended.status == 0
    found = totals(session)
    assert found["load"].count == 40
    assert found["tick"].count == found["on_alarm"].count == int(ended.stdout) > 0
    assert session.timeline.loss().lost == 0
