"""Watches of what a call has: its arguments, `this` and its members, its result; in both forms of the recorder."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from support.sessions import Build, Launch, all_events, status
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import EventFilter, TextMatch, TraceRequest, Watch
from strobe.session import Session

FORMS = pytest.mark.parametrize("form", ["native", "portable"])
COMPILERS = pytest.mark.parametrize("compiler", ["g++", "clang++"])
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O2"])


def values(session: Session, function: str, label: str) -> list[Any]:
    """What the watch was, at each call of the function and at its return."""
    events = all_events(session, EventFilter(function=TextMatch(equals=function)))
    return [(event.watch_values or {}).get(label) for event in events]


@COMPILERS
@LEVELS
def test_arguments_and_members_before_and_after(
    launch: Launch, build_program: Build, compiler: str, level: str
) -> None:
    names = ["value", "m_count", "this->m_count", "items", "name", "label", "point", "point.y", "pair", "pair.b"]
    names.append("$return")
    program = build_program("call_values", level, compiler=compiler)
    session = launch(program, patterns=["Pool::add"], watch=[Watch(name, on=("Pool::add",)) for name in names])
    assert session.launch_answer is not None
    assert status(session) == 0
    assert values(session, "Pool::add", "value") == [1, 1, 2, 2, 3, 3]  # as it was given, whatever it became
    assert values(session, "Pool::add", "m_count") == [0, 1, 1, 3, 3, 6]
    assert values(session, "Pool::add", "this->m_count") == [0, 1, 1, 3, 3, 6]
    assert values(session, "Pool::add", "items") == [[], [1], [1], [1, 2], [1, 2], [1, 2, 3]]
    assert values(session, "Pool::add", "name") == ["pool", "label1", "label1", "label2", "label2", "label3"]
    assert values(session, "Pool::add", "label")[:3] == ["label1", "label1", "label2"]
    if (compiler, level) == ("clang++", "-O2"):  # which may pass what is not used in another way
        assert values(session, "Pool::add", "point") == [None] * 6
        assert any("Watch 'point' is not read in Pool::add" in text for text in session.launch_answer.warnings)
    else:
        assert [dict(one) for one in values(session, "Pool::add", "point")[:2]] == [{"x": 1, "y": 0.5}] * 2
        assert values(session, "Pool::add", "point.y") == [0.5, 0.5, 1.0, 1.0, 1.5, 1.5]
        assert [dict(one) for one in values(session, "Pool::add", "pair")[2:4]] == [{"a": 2, "b": 20}] * 2
        assert values(session, "Pool::add", "pair.b") == [10, 10, 20, 20, 30, 30]
    assert values(session, "Pool::add", "$return") == [None, 12, None, 25, None, 39]


def test_results_of_all_kinds(launch: Launch, build_program: Build) -> None:
    watch = [Watch("$return"), Watch("$return.a"), Watch("$return.values[0]"), Watch("$return.count")]
    session = launch(build_program("call_values", "-O0"), patterns=["Pool::*", "many", "last"], watch=watch)
    assert status(session) == 0
    assert values(session, "Pool::text", "$return")[1::2] == ["label1!", "label2!", "label3!"]
    assert dict(values(session, "Pool::both", "$return")[1]) == {"a": 1, "b": 3}
    assert values(session, "Pool::both", "$return.a")[1::2] == [1, 3, 6]
    assert values(session, "Pool::big", "$return.values[0]")[1::2] == [2, 5, 9]
    assert dict(values(session, "Pool::mixed", "$return")[3]) == {"weight": 2.0, "count": 5}
    assert values(session, "Pool::mixed", "$return.count")[1::2] == [2, 5, 9]
    assert values(session, "many", "$return")[1] == 9.5 * 2 + 8 + 20 + 77


def test_arguments_on_the_stack_and_in_vector_registers(launch: Launch, build_program: Build) -> None:
    names = ["a", "f", "g", "h", "z", "weight", "small", "of.weight", "of.count", "of.values[1]"]
    patterns = ["many", "Pool::*"]
    session = launch(build_program("call_values", "-O0"), patterns=patterns, watch=[Watch(name) for name in names])
    assert status(session) == 0
    # many() overwrites what lies on the stack
    assert {name: values(session, "many", name) for name in "afghz"} == {
        "a": [1, 1],
        "f": [6, 6],
        "g": [7, 7],
        "h": [8, 8],
        "z": [9.5, 9.5],
    }
    assert values(session, "Pool::both", "weight") == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    assert values(session, "Pool::both", "small") == [2.5] * 6
    assert values(session, "Pool::mixed", "of.weight") == [0.5, 0.5, 1.0, 1.0, 1.5, 1.5]
    assert values(session, "Pool::mixed", "of.count") == [1, 1, 2, 2, 3, 3]


@FORMS
def test_each_call_has_its_own(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    watch = [Watch("node->value"), Watch("$return")]
    session = launch(build_program("call_values", "-O0"), patterns=["depth"], watch=watch)
    assert status(session) == 0
    null = "Null pointer at node"
    assert values(session, "depth", "node->value") == [1, 2, null, null, 2, 1]
    assert values(session, "depth", "$return") == [None, None, None, 0, 1, 2]


def test_an_argument_hides_a_global(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("call_values", "-O0"), patterns=["hides", "shows"], watch=[Watch("shared")])
    assert status(session) == 0
    assert values(session, "hides", "shared") == [1, 1]
    assert values(session, "shows", "shared") == [1000, 1000]


def test_each_instance_of_a_template(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("call_values", "-O0"), patterns=["twice"], watch=[Watch("given")])
    assert status(session) == 0
    found: list[Any] = [
        (event.watch_values or {}).get("given")
        for event in all_events(session, EventFilter(function=TextMatch(contains="twice")))
    ]
    assert sorted(found) == [1.25, 1.25, 21, 21]


def test_the_portable_form_sees_no_vector_registers(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", "portable")
    watch = [Watch("weight", on=("Pool::both",)), Watch("m_count")]
    session = launch(build_program("call_values", "-O0"), patterns=["Pool::both"], watch=watch)
    assert session.launch_answer is not None
    assert any("does not see vector registers" in text for text in session.launch_answer.warnings)
    assert status(session) == 0
    assert values(session, "Pool::both", "weight") == [None] * 6
    assert values(session, "Pool::both", "m_count") == [1, 1, 3, 3, 6, 6]


def test_a_name_that_means_nothing_is_refused(launch: Launch, build_program: Build) -> None:
    program = build_program("call_values", "-O0")
    with pytest.raises(StrobeError) as caught:
        launch(program, patterns=["Pool::add"], watch=[Watch("m_cuont")])
    assert caught.value.code is Code.WATCH_FAILED
    assert "no traced function has an argument or a member of that name" in caught.value.message
    with pytest.raises(StrobeError) as caught:
        launch(program, patterns=["Pool::add"], watch=[Watch("this->m_cuont")])
    assert "m_count" in str(caught.value)
    session = launch(program, patterns=["Pool::add"], watch=[Watch("m_cuont", on=("Pool::add",))])
    assert session.launch_answer is not None
    assert any("not read so far" in text for text in session.launch_answer.warnings)
    assert status(session) == 0


def test_a_call_that_had_begun_before_says_so(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("waits_inside", "-O0"), patterns=["outer"])
    wait_until(lambda: session.query(EventFilter(function=TextMatch(equals="outer"))).total_count)
    session.trace(TraceRequest(watch=[Watch("given"), Watch("$return")]))
    os.kill(session.pid, signal.SIGUSR1)
    assert session.wait(60) is not None
    assert values(session, "outer", "given") == [None, "<not kept: the call began before the watch was added>"]
    assert values(session, "outer", "$return") == [None, 43]


def test_watches_come_and_go_on_a_running_program(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("waits_inside", "-O0", "-DAGAIN"), patterns=["inner"])
    answer = session.trace(TraceRequest(watch=[Watch("number")]))
    assert answer.active_watches == ["number"]
    with pytest.raises(StrobeError) as caught:
        session.trace(TraceRequest(watch=[Watch("nmuber")]))
    assert caught.value.code is Code.WATCH_FAILED
    assert session.trace().active_watches == ["number"]

    def seen() -> list[Any]:
        return [one for one in values(session, "inner", "number") if one is not None]

    wait_until(lambda: len(seen()) > 4)
    assert all(isinstance(one, int) for one in seen())
    session.trace(TraceRequest(unwatch=["number"]))
    session.stop(retain=False)


def test_an_argument_in_a_register_has_no_address(launch: Launch, build_program: Build) -> None:
    program = build_program("call_values", "-O0")
    with pytest.raises(StrobeError, match="it has no address"):
        launch(program, patterns=["depth"], watch=[Watch("&node")])
    session = launch(program, patterns=["depth"], watch=[Watch("&node->next")])
    assert status(session) == 0
    assert all(
        str(one).startswith("0x") or "Null pointer" in str(one) for one in values(session, "depth", "&node->next")
    )
