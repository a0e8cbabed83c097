"""A program that closes all its descriptors, as daemons do, closes the agent's too, and goes on as without it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, Launch, outcome, totals
from support.wait import wait_until

from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.session import Session, SessionManager

TRIES = 3
FORMS = pytest.mark.parametrize("form", ["native", "portable"])


def is_off(session: Session) -> bool:
    """The agent was at work when its descriptors were closed, and has left: seldom, on a busy machine."""
    return any("calls are no longer recorded" in warning for warning in session.warnings)


def absence(session: Session, function: str) -> str:
    return session.query(EventFilter(function=TextMatch(equals=function))).absence or ""


@FORMS
def test_a_library_comes_after_that(
    launch: Launch, build_program: Build, build_plugin: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    assert any(goes_on_with_a_library(launch, build_program("closes_all"), build_plugin()) for _ in range(TRIES))


def goes_on_with_a_library(launch: Launch, program: Path, library: Path) -> bool:
    """Whether it is still recorded."""
    session = launch(program, str(library), patterns=["work", "never", "plugin_*"])
    assert outcome(session).stdout == "ready\nright\n"
    assert absence(session, "never").startswith("This does not prove that it did not happen.")
    if is_off(session):
        return False
    assert totals(session)["work"].count == 2
    assert any("closed the descriptors of Strobe's agent" in warning for warning in session.warnings)
    assert "because the program had closed the agent's descriptors" in absence(session, "plugin_run")
    return True


@FORMS
def test_in_one_that_is_attached_to(
    manager: SessionManager, build_program: Build, build_plugin: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    assert any(goes_on_attached(manager, [build_program("closes_all"), build_plugin(), "told"]) for _ in range(TRIES))


def goes_on_attached(manager: SessionManager, program: list[str | Path]) -> bool:
    """Whether it is still recorded."""
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["work"]))
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "right\n"
        wait_until(lambda: session.warnings, "a warning")
        goes_on = not is_off(session)
        if goes_on:
            assert any("closed the descriptors" in warning for warning in session.warnings)
            assert totals(session)["work"].count == 1
        session.stop()
        process.send_signal(signal.SIGUSR2)
        assert process.communicate(timeout=60) == ("", None)
        assert process.returncode == 0
        return goes_on
    finally:
        processes.end(process)
