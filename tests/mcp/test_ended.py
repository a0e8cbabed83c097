"""How a program ended is part of each answer of debug_query; types of events are those that there are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS
from support.wait import wait_until

from strobe.mcp.tools.query import TOOL

ROOT = str(PROGRAMS)


def ended(wire: Wire, session: str, **more: Any) -> dict[str, Any]:
    """What is said of the end, once it has come."""
    found: dict[str, Any] = wait_until(
        lambda: wire.good("debug_query", sessionId=session, **more).get("ended"), "the program to end", 20
    )
    return found


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (["segv"], {"signal": "SIGSEGV"}),
        (["abort"], {"signal": "SIGABRT"}),
        (["kill", "9"], {"signal": "SIGKILL"}),
        (["exit", "7"], {"exitCode": 7}),
        (["return", "0"], {"exitCode": 0}),
    ],
)
def test_each_answer_says_how_the_program_ended(
    wire: Wire, build_program: Callable[..., Path], how: list[str], expected: dict[str, Any]
) -> None:
    launched = wire.good("debug_launch", command=str(build_program("exits")), args=how, projectRoot=ROOT)
    own = launched["sessionId"]
    found = ended(wire, own)
    if how[0] in ("segv", "abort"):
        expected = expected | {"crash": found["crash"]}
        assert "in end at exits.c:" in found["crash"]
    assert found == expected
    assert wire.good("debug_query", sessionId=own, groupBy="function")["ended"] == expected
    assert wire.good("debug_query", sessionId=own, eventType="stderr")["ended"] == expected
    wire.good("debug_stop", sessionId=own, retain=True)
    assert wire.good("debug_query", sessionId=own)["ended"] == expected
    command = [sys.executable, "-m", "strobe.cli.main", "query", own]
    shown = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True, timeout=60).stdout
    assert json.loads(shown)["ended"] == expected
    lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    words = f"signal {expected['signal']}" if "signal" in expected else f"exit status {expected['exitCode']}"
    assert f"the program has ended: {words}" in lines
    wire.good("debug_delete_session", sessionId=own)


def test_calls_that_never_ended_have_no_times(wire: Wire, build_program: Callable[..., Path]) -> None:
    program, trace = str(build_program("exits")), ["main", "end"]
    sessions = []
    for how in (["segv"], ["return", "0"]):
        launched = wire.good("debug_launch", command=program, args=how, projectRoot=ROOT, trace=trace)
        sessions.append(launched["sessionId"])
        ended(wire, sessions[-1])
    groups = wire.good("debug_query", sessionId=sessions[0], groupBy="function")["groups"]
    assert groups == [{"function": "end", "count": 1}, {"function": "main", "count": 1}]
    (main,) = wire.good("debug_query", sessionId=sessions[1], function={"equals": "main"}, groupBy="function")["groups"]
    assert 0 < main["selfNs"] <= main["minNs"] == main["maxNs"] == main["totalNs"]


def test_it_is_not_there_while_the_program_runs(wire: Wire, build_program: Callable[..., Path]) -> None:
    launched = wire.good("debug_launch", command=str(build_program("absent")), projectRoot=ROOT)
    own = launched["sessionId"]
    assert "ended" not in wire.good("debug_query", sessionId=own)
    assert "ended" not in wire.good("debug_query", sessionId=own, groupBy="function")
    wire.good("debug_stop", sessionId=own, retain=True)
    assert ended(wire, own) == {"reason": "the session was stopped"}
    wire.good("debug_delete_session", sessionId=own)


def test_types_are_offered_that_there_are(wire: Wire, build_program: Callable[..., Path]) -> None:
    listing = TOOL.listing()
    types = listing["inputSchema"]["properties"]["eventType"]["enum"]
    assert types == ["function_enter", "function_exit", "probe", "stdout", "stderr", "variable_snapshot", "crash"]
    assert set(listing["outputSchema"]["properties"]["ended"]["properties"]) == {
        "exitCode",
        "signal",
        "crash",
        "reason",
    }
    launched = wire.good("debug_launch", command=str(build_program("absent")), projectRoot=ROOT)
    text = wire.bad("debug_query", sessionId=launched["sessionId"], eventType="pause")
    assert text.startswith("VALIDATION_ERROR") and "function_enter" in text
    os.kill(launched["pid"], signal.SIGUSR1)
    wire.good("debug_stop", sessionId=launched["sessionId"])
