"""Variables of a library within expressions: in its own code, wherever it is loaded; not in other code."""

from __future__ import annotations

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, all_events, outcome, text, untraced
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import Event, EventFilter, Probe, TraceRequest, Watch
from strobe.session import Session

LINE = f"plugin.c:{line_of('plugin.c', 'return value * 2')}"


def events(session: Session, kind: str) -> list[Event]:
    return list(all_events(session, EventFilter(event_type=kind)))  # type: ignore[arg-type]


def test_in_code_of_the_library(launch: Launch, build_program: Build) -> None:
    """It is unloaded and loaded again twice."""
    library, program = build_program("plugin", "-shared", "-fPIC"), build_program("dlopens", "-O0")

    def check(session: Session) -> None:
        session.trace(
            TraceRequest(
                add=["plugin_helper"], where="plugin_rounds + value == 105", watch=[Watch("plugin_rounds * value")]
            )
        )
        for place in ("plugin_run", "plugin_helper:return", LINE):
            probe = Probe(place, where="plugin_rounds * value == 50", show=("plugin_rounds + value", "plugin_rounds"))
            session.trace(TraceRequest(probe=[probe], probes_ok=True))

    session = launch(program, str(library), check=check)
    assert outcome(session) == untraced(program, str(library))
    calls = events(session, "function_enter")
    assert [(one.arguments or ())[0].value for one in calls] == [100] * 3
    assert [one.watch_values for one in calls] == [{"plugin_rounds * value": 500}] * 3
    found = events(session, "probe")
    assert len(found) == 9
    assert all(one.watch_values == {"plugin_rounds + value": 15, "plugin_rounds": 5} for one in found)
    assert [(one.hits, one.held, one.undecided) for one in session.timeline.probe_totals()] == [(3000, 3, 0)] * 3


def test_in_other_code(launch: Launch, build_program: Build) -> None:
    library, program = build_program("plugin", "-shared", "-fPIC"), build_program("dlopens", "-O0")
    session = launch(program, str(library), "leave")
    try:
        wait_until(lambda: "ready" in text(session, "stdout"))
        for change in (Probe("use", where="plugin_rounds > 5"), Probe("use:return", show=("plugin_rounds + 1",))):
            with pytest.raises(StrobeError, match=r"a variable of .*, which may be unloaded, and other code asks"):
                session.trace(TraceRequest(probe=[change]))
    finally:
        session.stop(retain=False)
