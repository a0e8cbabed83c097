"""Calls where there is little room, and calls that end in the middle: the program goes on as untraced."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, all_events, outcome, status, totals, untraced

from strobe.model import EventFilter, Watch


@pytest.mark.parametrize("form", ["native", "portable"])
def test_small_stacks(launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("small_stacks", "-O1", "-Wl,-z,now", "-Wno-infinite-recursion")
    session = launch(program, patterns=["*"], sampling="off", depth=2)
    assert outcome(session) == untraced(program)
    assert totals(session)["work"].count == 20 * 200 + 2 * 100 + 2


@pytest.mark.parametrize("form", ["native", "portable"])
def test_texts_on_small_stacks(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """The frame of a fault has no room there, so the kernel reads."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("small_stacks_text", "-O1", "-Wl,-z,now")
    session = launch(program, patterns=["view", "object"], sampling="off")
    assert outcome(session) == untraced(program)
    assert {name: totals(session)[name].count for name in ("view", "object")} == {"view": 1010, "object": 1010}


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("way", ["deferred", "asynchronous", "blocked"])
def test_threads_are_cancelled(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, way: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("cancels", "-O1", "-Wno-infinite-recursion")
    session = launch(program, way, patterns=["*"])
    assert outcome(session) == untraced(program, way)
    assert totals(session)["nest"].count == 20 * 6


@pytest.mark.parametrize("form", ["native", "portable"])
def test_threads_are_cancelled_at_a_script(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A thread that is to end must not do so within the engine, whose lock it holds."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program, right = build_program("torture/threads", "-O1"), 5
    watch = [Watch(expr="args[0] + 1", label="next")]
    session = launch(program, "4", "1000", patterns=["waits", "recursive", "returns"], watch=watch)
    assert status(session) == right


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("way", ["thread", "handler"])
def test_a_script_where_there_is_little_room(
    launch: Launch, build_program: Build, build_plugin: Build, monkeypatch: pytest.MonkeyPatch, form: str, way: str
) -> None:
    """A thread of 16 KB, and an alternate stack of 8: the engine takes more."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program, arguments = build_program("little_room", "-O1"), (way, str(build_plugin()))
    watch = [Watch(expr="args[0].toInt32() * 2", label="twice")]
    session = launch(program, *arguments, patterns=["work"], watch=watch, sampling="off")
    assert outcome(session) == untraced(program, *arguments)
    called = all_events(session, EventFilter(event_type="function_enter"))
    values = [event.watch_values for event in called]
    first = range(10) if way == "thread" else [10] * 10  # SIGUSR1
    assert values == [{"twice": 2 * number} for number in first]


@pytest.mark.parametrize("form", ["native", "portable"])
def test_a_first_call_on_an_alternate_stack(
    launch: Launch, build_program: Build, build_plugin: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program, arguments = build_program("little_room", "-O1"), ("first", str(build_plugin()))
    session = launch(program, *arguments, patterns=["work"], sampling="off")
    assert outcome(session) == untraced(program, *arguments)
    assert totals(session)["work"].count == 10
