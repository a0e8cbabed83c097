"""Probes in libraries that come and go while they are there."""

from __future__ import annotations

import os
import signal

from support.sessions import Build, Launch, all_events, status, text
from support.wait import wait_until

from strobe.model import EventFilter, Probe, TraceRequest
from strobe.session import Session

LOADS = 3


def run(session: Session) -> None:
    """Loads the library and unloads it, so often."""
    for step in range(2 * LOADS):
        os.kill(session.pid, signal.SIGUSR1)
        wait_until(lambda step=step: len(text(session, "stdout").splitlines()) > step + 1, "the library")
    os.kill(session.pid, signal.SIGTERM)
    assert status(session) == 0


def test_limits_and_hits_go_on_when_a_library_comes_again(launch: Launch, build_program: Build) -> None:
    library = build_program("plugin", "-shared", "-fPIC", "-O0")
    program = build_program("comes_and_goes", "-O0")
    places = {"line": "plugin_run", "return": "plugin_helper:return"}

    def probes(session: Session) -> None:
        for name, place in places.items():
            wanted = [
                Probe(place, label=f"{name} all", show=("$hit",)),
                Probe(place, label=f"{name} once", show=("$hit",), limit=1),
                Probe(place, label=f"{name} later", show=("$hit",), after=2),
            ]
            session.trace(TraceRequest(probe=wanted, probes_ok=True))

    session = launch(program, str(library), check=probes)
    wait_until(lambda: "ready" in text(session, "stdout"), "its beginning")
    run(session)
    found: dict[str, list[object]] = {}
    for event in all_events(session, EventFilter(event_type="probe")):
        found.setdefault(event.label or "", []).append((event.watch_values or {})["$hit"])
    assert found == {
        f"{name} {which}": hits
        for name in places
        for which, hits in (("all", [1, 2, 3]), ("once", [1]), ("later", [3]))
    }
    assert [(one.hits, one.recorded) for one in session.timeline.probe_totals()] == 2 * [(3, 3), (3, 1), (3, 1)]
