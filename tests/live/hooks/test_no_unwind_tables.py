"""Code without unwind information is recorded without return, and so is what it calls."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from support import programs
from support.rounds import rounds, scenario
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.session import Session

SCRIPT = """
function f(n) { if (!n) throw new Error("deep"); return f(n - 1) + 1; }
let caught = 0, kept = [];
for (let i = 0; i < 20; i++) try { f(20); } catch (e) { caught += e.stack.split("\\n").length; }
for (let i = 0; i < 100000; i++) { kept.push({i}); if (kept.length > 50000) kept = []; }
Promise.resolve(7).then(async v => { await null; console.log(caught, v); });
"""


def returns(session: Session) -> dict[str, tuple[int, int]]:
    """(calls, returns that were seen) by function."""
    return {name: (group.count, group.completed) for name, group in totals(session).items()}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is written for x86-64")
@pytest.mark.usefixtures("form")
def test_an_engine_finds_its_own_return_addresses(build_program: Build, launch: Launch) -> None:
    program = build_program("no_unwind_tables", "-O2")
    session = launch(program, patterns=["engine_run", "engine_step", "called_back", "helped"], sampling="off")
    assert outcome(session) == untraced(program)
    assert returns(session) == {
        "engine_run": (1, 0),
        "engine_step": (1000, 0),
        "called_back": (1001, 1),
        "helped": (1001, 1001),
    }
    warnings = session.warnings
    assert any("without return: engine_run, engine_step" in warning for warning in warnings)
    assert any("no_unwind_tables has code without unwind information" in warning for warning in warnings)


@scenario
@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("pattern", ["Builtins_*", "v8::internal::*", "*"])
def test_node_runs_as_untraced(launch: Launch, pattern: str) -> None:
    """An engine that walks its own frames, and whose functions in C++ look where they were called from."""
    node = programs.require("node")
    alone = untraced(Path(node), "-e", SCRIPT).stdout
    for _ in rounds(1):
        session = launch(node, "-e", SCRIPT, patterns=[pattern])
        assert outcome(session).stdout == alone
        assert outcome(session).status == 0
        assert totals(session)
        session.stop()
