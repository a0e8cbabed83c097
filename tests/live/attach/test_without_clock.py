"""A thread that has given up the time stamp counter, before anybody attached, would be ended by reading it: it goes on
unrecorded, and so do the threads and children that it makes."""

from __future__ import annotations

import signal
import subprocess

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, totals
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import Session, SessionManager


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("way", ["calls", "threads", "forks", "loads", "limits"])
def test_a_thread_without_clock_goes_on(
    manager: SessionManager,
    build_program: Build,
    build_plugin: Build,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    way: str,
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("without_clock", "-O1")
    process = subprocess.Popen([program, way, str(build_plugin())], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)),
                TraceRequest(["hit", "timed", "plugin_run"]),
            )
            wait_until(lambda session=session: session.ending() or _is_recorded(session), "calls of both threads")
            assert session.ending() is None
            assert not {"hit", "plugin_run"} & totals(session).keys()
            assert any("had given up the time stamp counter" in text for text in session.warnings)
            session.stop()
        process.send_signal(signal.SIGUSR1)
        assert (process.communicate(timeout=60)[0], process.returncode) == ("right\n", 0)
    finally:
        processes.end(process)


def test_where_the_main_thread_gave_it_up_an_attach_is_refused(manager: SessionManager, build_program: Build) -> None:
    """Frida's threads would inherit that, and end the program."""
    process = subprocess.Popen([build_program("without_clock", "-O1"), "main"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(10):
            with pytest.raises(StrobeError, match="given up the time stamp counter"):
                manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["hit"]))
        process.send_signal(signal.SIGUSR1)
        assert (process.communicate(timeout=60)[0], process.returncode) == ("right\n", 0)
    finally:
        processes.end(process)


def _is_recorded(session: Session) -> bool:
    return "timed" in totals(session) and totals(session)["timed"].count > 100 and session.timeline.loss().lost > 1000
