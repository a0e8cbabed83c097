"""Strobe is killed in the middle of an attach, whatever it has just done to the program's threads: these go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build
from support.wait import wait_until

from strobe.session import SessionManager

# attaches, lets the program go, and ends
HOST = """
import sys
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager
manager = SessionManager()
session = manager.launch(LaunchSpec("", pid=int(sys.argv[1]), project_root=sys.argv[2]), TraceRequest(["step"]))
session.stop()
manager.close()
"""
AGENTS = "[Frida INFO] agent.vala"
APART = 11  # of the moments at which it is killed in the short form


@scenario
@pytest.mark.parametrize("words", [("computes",), ("waits", "poll"), ("waits", "nanosleep")], ids=" ".join)
def test_the_program_goes_on(
    manager: SessionManager, build_program: Build, tmp_path: Path, words: tuple[str, ...]
) -> None:
    library = build_program("ends_its_tracer", "-shared", "-fPIC")
    command = [build_program(words[0], "-O2"), *words[1:]]
    right = "0 wrong\n" if words[0] == "computes" else "right\n"
    count = tmp_path / "count"
    assert _attached(command, right, {"LD_PRELOAD": str(library), "ENDS_AT": "0", "ENDS_COUNT": str(count)}) == 0
    moments = count.stat().st_size
    assert moments > 50
    for number in rounds(20):
        at = 1 + (APART * number + number // (moments // APART)) % moments
        status = _attached(command, right, {"LD_PRELOAD": str(library), "ENDS_AT": str(at)})
        assert status in (-signal.SIGKILL, 0), at  # 0: it had less to do this time
    manager.recover()


def _attached(command: list[object], right: str, environment: dict[str, str]) -> int:
    """How the host ended. The program does what it does alone."""
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        host = [sys.executable, "-c", HOST, str(process.pid), str(PROGRAMS)]
        status = subprocess.run(host, env=os.environ | environment, timeout=120, check=False).returncode
        wait_until(lambda: "frida" not in Path(f"/proc/{process.pid}/maps").read_text(), "the agent to leave", 60)
        assert process.poll() is None, f"the program has ended: {environment}"
        process.send_signal(signal.SIGUSR1)
        said = process.communicate(timeout=60)[0].splitlines(keepends=True)
        # Frida's agent, which has just started, says so where its connection is gone
        assert "".join(line for line in said if not line.startswith(AGENTS)) == right, environment
        assert process.returncode == 0, environment
        return status
    finally:
        processes.end(process)
