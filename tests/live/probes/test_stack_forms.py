"""How stacks are asked for and shown: at the terminal, in Python; while libraries come and go; where they end."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from support.sessions import Build, Launch, all_events, outcome, untraced

import strobe
from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TextMatch, TraceRequest
from strobe.session import Session

DESCENT = (
    "folded stacks.cpp:15",
    "Square::area stacks.cpp:25",
    "descend stacks.cpp:32",
    "descend stacks.cpp:33",
    "descend stacks.cpp:33",
    "descend stacks.cpp:33",
    "main stacks.cpp:69",
)
OF_THE_C_LIBRARY = " libc.so.6+"  # without its debug information some functions have no names


def test_in_python(build_program: Build) -> None:
    program = build_program("stacks", "-O2")
    probes = [Probe("leaf", stack=5), Probe("stacks.cpp:32", stack=2, show=("n",))]
    with strobe.launch([program], trace=["leaf", "Square::area"], stack=32, probe=probes) as run:
        run.wait(timeout=30)
        hit = run.hits("leaf")[0]
        assert hit.stack is not None
        assert hit.stack[:5] == DESCENT[:5]
        assert run.calls("leaf")[0].stack == DESCENT
        assert run.calls("Square::area")[0].stack == DESCENT[2:]
        assert run.hits("stacks.cpp:32")[2].stack == ("descend stacks.cpp:33", "descend stacks.cpp:33")
    with strobe.launch([program], trace=["leaf"]) as run:
        run.wait(timeout=30)
        assert run.calls("leaf")[0].stack is None


def test_what_is_no_number_of_callers(build_program: Build) -> None:
    with pytest.raises(StrobeError, match="stack"):
        strobe.launch([build_program("stacks", "-O2")], trace=["leaf"], stack=33)
    with pytest.raises(StrobeError, match="stack"):
        strobe.launch([build_program("stacks", "-O2")], probe=[Probe("leaf", stack=-1)])


def test_the_portable_form_refuses_it(build_program: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", "portable")
    with pytest.raises(StrobeError, match="portable"):
        strobe.launch([build_program("stacks", "-O2")], trace=["leaf"], stack=4)


def test_at_the_terminal(build_program: Build) -> None:
    program = build_program("stacks", "-O2")
    command = [sys.executable, "-m", "strobe.cli.main", "run", "-p", "leaf", "--stack", "3", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    assert f"    from {' < '.join(DESCENT[:4])}" in result.stderr.splitlines()


def test_what_is_recorded_late_has_the_stack_of_its_entry(launch: Launch, build_program: Build) -> None:
    program = build_program("stacks", "-O2")
    session = launch(program, check=lambda one: one.trace(TraceRequest(add=["leaf"], where="$return == 1", stack=32)))
    assert outcome(session) == untraced(program)
    events = list(all_events(session, EventFilter(function=TextMatch(equals="leaf"))))
    assert [(event.event_type, event.stack) for event in events] == [
        ("function_enter", DESCENT),
        ("function_exit", None),
    ]


def test_code_without_tables_ends_the_stack(launch: Launch, build_program: Build) -> None:
    program = build_program("no_unwind_tables", "-O2")
    session = launch(program, check=lambda one: one.trace(TraceRequest(add=["helped"], stack=8)))
    assert outcome(session) == untraced(program)
    stacks = {event.stack for event in all_events(session, EventFilter()) if event.stack is not None}
    assert stacks
    for stack in stacks:
        assert stack[0].startswith("called_back ")
        assert stack[-1].startswith(("main ", "<no unwind information"))
    assert any(stack[-1].startswith("<no unwind information") for stack in stacks)


def some_stacks(session: Session, function: str) -> set[tuple[str, ...]]:
    """Of the function's first and last 3,000 calls: there may be millions."""
    wanted = EventFilter(event_type="function_enter", function=TextMatch(equals=function), limit=3000)
    pages = session.query(wanted), session.query(replace(wanted, newest_first=True))
    return {event.stack or () for page in pages for event in page.events}


def test_while_libraries_come_and_go(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    program, plugin = build_program("stacks_and_loads", "-O1"), build_plugin()

    def trace(session: Session) -> None:
        session.trace(TraceRequest(add=["leaf"], stack=8))
        session.trace(TraceRequest(add=["plugin_helper"], stack=8))

    session = launch(program, str(plugin), check=trace)
    assert outcome(session) == untraced(program, str(plugin))
    (own,) = some_stacks(session, "leaf")
    assert [text.split(" ")[0] for text in own[:2]] == ["between", "work"]
    assert own[2].startswith("start_thread") or OF_THE_C_LIBRARY in own[2]
    (plugged,) = some_stacks(session, "plugin_helper")
    assert [text.split(" ")[0] for text in plugged] == ["plugin_run", "main"]


def test_in_handlers_that_interrupt_anything(launch: Launch, build_program: Build) -> None:
    """Also the recorder, which is what they interrupt most of the time here. Where a function's first instructions run
    in their trampoline nothing says how to go on."""
    program = build_program("stacks_in_handlers", "-O2", "-pthread")
    session = launch(program, sampling="off", check=lambda one: one.trace(TraceRequest(add=["**", "@heap"], stack=32)))
    assert outcome(session) == untraced(program)
    wanted = EventFilter(event_type="function_enter", function=TextMatch(equals="on_tick"))
    stacks = [event.stack or () for event in all_events(session, wanted)]
    assert len(stacks) > 5
    assert all(stack[0] == "<signal handler called>" for stack in stacks)
    ends = ("main ", "__clone3", "clone", "routine ")
    whole = [stack for stack in stacks if stack[-1].startswith(ends) or OF_THE_C_LIBRARY in stack[-1]]
    assert len(whole) >= 0.8 * len(stacks), [stack for stack in stacks if stack not in whole][:5]
