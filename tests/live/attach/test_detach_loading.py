"""The agent goes while a thread of the program loads libraries, for whose hooks it waits in the agent."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager


@scenario
@pytest.mark.parametrize("form", ["native", "portable"])
def test_let_go_while_libraries_come_and_go(
    manager: SessionManager,
    build_program: Build,
    build_plugin: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    process = subprocess.Popen([build_program("loads_always"), build_plugin()], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for _ in rounds(8):
            spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
            session = manager.launch(spec, TraceRequest(["plugin_*"]))
            session.stop()
            assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60) == ("right\n", None)
        assert process.returncode == 0
    finally:
        processes.end(process)
