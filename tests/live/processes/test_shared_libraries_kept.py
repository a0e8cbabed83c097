"""Libraries that Frida's agent has in common with the program stay while it is there."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, totals
from support.wait import wait_until

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager


@pytest.mark.parametrize("form", ["native", "portable"])
def test_the_program_closes_the_library_that_brought_libm(
    manager: SessionManager, build_program: Build, build_plugin: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    plugin = build_plugin("-Wl,--no-as-needed", "-lm")
    process = subprocess.Popen([build_program("dlopens"), plugin, "leave"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert "/libm" in Path(f"/proc/{process.pid}/maps").read_text()
        session = manager.launch(
            LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["plugin_*"])
        )
        wait_until(lambda: len(totals(session)) == 2, "calls of the library")
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "closed\n"
        session.trace(TraceRequest(add=["main"]))  # the agent works
        session.stop()
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
    finally:
        processes.end(process)
