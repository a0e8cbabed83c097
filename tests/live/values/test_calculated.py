"""The language in the program: loops, what a call has changed, conditions that are decided at the return."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import pytest
from support.programs import PROGRAMS, source_of
from support.sessions import Build, Launch, all_events, status, text
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import Event, EventFilter, LaunchSpec, Probe, TextMatch, TraceRequest, Watch
from strobe.session import Session, SessionManager
from strobe.values.model import Mapping, Problem, Record

CALLS = 60


def conditions() -> dict[int, str]:
    """Those that the program `calculated` has, as Strobe takes them."""
    source = re.sub(r"\s*\\\n\s*", " ", source_of("calculated").read_text())
    source = re.sub(r'"\s+"', "", source)  # one text on two lines
    found = re.findall(r'AT_(?:ENTRY|RETURN)\(\s*(\d+),\s*"((?:[^"\\]|\\.)*)",', source)
    return {int(number): one.replace('\\"', '"') for number, one in found}


def events(session: Session, function: str, kind: str = "") -> list[Event]:
    event_type: Any = f"function_{kind}" if kind else None
    wanted = EventFilter(function=TextMatch(equals=function), event_type=event_type)
    return list(all_events(session, wanted))


@pytest.mark.parametrize(
    ("compiler", "level", "form"),
    [("g++", "-O0", "native"), ("g++", "-O2", "native"), ("clang++", "-O0", "native"), ("g++", "-O0", "portable")],
)
def test_each_holds_as_the_compiler_has_it(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, compiler: str, level: str, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("calculated", level, compiler=compiler))
    wait_until(lambda: "ready" in text(session, "stdout"))
    wanted = conditions()
    assert len(wanted) == 105
    for number, where in wanted.items():
        answer = session.trace(TraceRequest(add=[f"check{number}"], where=where))
        assert answer.hooked_functions == answer.matched_functions, (where, answer.warnings)
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    counted = dict(re.findall(r"held (\d+) (\d+)", text(session, "stdout")))
    totals = {group.key: group for group in session.timeline.totals(EventFilter(), "function")}
    wrong = {}
    for number, where in wanted.items():
        held, group = int(counted[str(number)]), totals[f"check{number}"]
        recorded = [len(events(session, f"check{number}", kind)) for kind in ("enter", "exit")]
        if recorded != [held, held] or group.count != CALLS or group.count - group.unheld != held or group.undecided:
            wrong[where] = (held, recorded, group)
    assert not wrong


def watched(session: Session, function: str, label: str) -> list[object]:
    """What the watch was, at each entry and each return."""
    return [(event.watch_values or {}).get(label) for event in events(session, function)]


FORMS = pytest.mark.parametrize("form", ["native", "portable"])


@FORMS
def test_before_and_after_stand_in_one_event(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    names = ["$entry.m_count", "$entry.items", "$entry(name)", "$changed(m_count)", "$changed(*this)"]
    names += ["m_count - $entry.m_count", "$return > $entry(m_count * 2)", "m_count * 10 + size(items)"]
    session = launch(
        build_program("call_values", "-O0"),
        patterns=["Pool::add"],
        watch=[Watch(name) for name in names],
    )
    assert status(session) == 0
    seen = {name: watched(session, "Pool::add", name) for name in names}
    assert seen["$entry.m_count"] == [None, 0, None, 1, None, 3]
    assert seen["$entry.items"] == [None, [], None, [1], None, [1, 2]]
    assert seen["$entry(name)"] == [None, "pool", None, "label1", None, "label2"]
    assert seen["m_count - $entry.m_count"] == [None, 1, None, 2, None, 3]
    assert seen["$return > $entry(m_count * 2)"] == [None, True] * 3
    assert seen["m_count * 10 + size(items)"] == [0, 11, 11, 32, 32, 63]
    changes = [plain(value) for value in seen["$changed(m_count)"][1::2]]
    assert changes == [{"m_count": (0, 1)}, {"m_count": (1, 3)}, {"m_count": (3, 6)}]
    asked = {"$entry.m_count == 1": 1, "size($changed(*this)) > 2": 3, "`m_count - $entry.m_count` > 1": 2}
    assert {where: session.query(EventFilter(where=where)).total_count for where in asked} == asked
    assert plain(seen["$changed(*this)"][3]) == {
        "m_count": (1, 3),
        "items[1]": ("<none>", 2),
        "items.size()": (1, 2),
        "name": ("label1", "label2"),
    }


def plain(changed: object) -> dict[str, tuple[object, object]]:
    assert isinstance(changed, Mapping)
    return {path: (one["old"], one["new"]) for path, one in changed.items()}


def test_entries_of_calls_within_each_other_stay_apart(launch: Launch, build_program: Build) -> None:
    watch = [Watch("$entry.node->value"), Watch("$depth"), Watch("$entry($depth) - $depth"), Watch("$threadName")]
    session = launch(build_program("call_values", "-O0"), patterns=["depth"], watch=watch)
    assert status(session) == 0
    null = "Null pointer at node"
    assert watched(session, "depth", "$entry.node->value") == [None, None, None, null, 2, 1]
    assert watched(session, "depth", "$depth") == [0, 1, 2, 2, 1, 0]
    assert watched(session, "depth", "$entry($depth) - $depth")[3:] == [0, 0, 0]
    assert watched(session, "depth", "$threadName") == ["call_values"] * 6


@FORMS
def test_who_has_called(launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("call_values", "-O0")
    session = launch(program, patterns=["depth"], watch=[Watch("$caller"), Watch("$caller == 'main'")])
    assert status(session) == 0
    callers = watched(session, "depth", "$caller")
    assert callers == callers[::-1]
    assert len(set(callers)) == 2
    assert watched(session, "depth", "$caller == 'main'") == [True, False, False, False, False, True]
    session = launch(program, patterns=["depth"], where="$caller != 'main' && $return > 0")
    assert status(session) == 0
    assert len(events(session, "depth", "enter")) == 1
    with pytest.raises(StrobeError, match="no function of the program is called 'mian'"):
        launch(program, patterns=["depth"], where="$caller == 'mian'")


def test_a_condition_of_the_return_records_the_entry_too(launch: Launch, build_program: Build) -> None:
    watch = [Watch("node->value"), Watch("$entry.node->value")]
    session = launch(build_program("call_values", "-O0"), patterns=["depth"], where="$return == 1", watch=watch)
    assert status(session) == 0
    found = events(session, "depth")
    assert [event.event_type for event in found] == ["function_enter", "function_exit"]
    assert [event.watch_values for event in found] == [
        {"node->value": 2},
        {"node->value": 2, "$entry.node->value": 2},
    ]
    assert found[1].parent_event_id == found[0].id
    assert [found[0].depth, found[1].depth] == [1, 1]
    (group,) = session.timeline.totals(EventFilter(), "function")
    assert (group.count, group.completed, group.unheld, group.unheld_exits, group.undecided) == (3, 3, 2, 2, 0)


def test_values_of_maps_by_their_keys(launch: Launch, build_program: Build) -> None:
    names = ["pool->m_hashed[1]", 'pool->m_named["k1"].id', 'pool->m_named["k1"]', "pool->m_items[index].id"]
    session = launch(build_program("calculated", "-O0"), patterns=["check0"], watch=[Watch(name) for name in names])
    wait_until(lambda: "ready" in text(session, "stdout"))
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    seen = [watched(session, "check0", name)[::2] for name in names]
    keys = [(call % 6, call % 4) for call in range(CALLS)]
    assert seen[0] == [11 if hashed > 1 else "there is no key 1" for hashed, _ in keys]
    assert seen[1] == [100 if named > 1 else 'there is no key "k1"' for _, named in keys]
    assert [one["id"] for one in seen[2] if isinstance(one, Record)] == [100] * sum(named > 1 for _, named in keys)
    assert seen[3] == [100 * (call % 11) for call in range(CALLS)]


def test_a_call_that_had_begun_before_is_undecided(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("waits_inside", "-O0"), patterns=["outer"])
    wait_until(lambda: session.query(EventFilter(function=TextMatch(equals="outer"))).total_count)
    session.trace(TraceRequest(watch=[Watch("$entry.given"), Watch("given - $entry.given"), Watch("$changed(given)")]))
    os.kill(session.pid, signal.SIGUSR1)
    assert session.wait(60) is not None
    for name in ("$entry.given", "given - $entry.given", "$changed(given)"):
        assert "<not kept: the call began before" in str(watched(session, "outer", name)[1]), name


def test_what_is_not_calculated_is_refused_with_its_place(launch: Launch, build_program: Build) -> None:
    program = build_program("call_values", "-O0")
    for text_of_it, said in {
        "value + nosuch": "Variable 'nosuch' not found",
        "value + ": "a value should follow",
        "m_count % 1.5": "'%' takes integers only",
        "$nosuch + 1": "'$nosuch' is not known here",
        "any(x in m_count: x > 1)": "whose elements are not counted",
        "any(x in value..: x > 1)": "is expected",
        "sum(x in items: y)": "Variable 'y' not found",
        "$entry.nosuch == 1": "Variable 'nosuch' not found",
        "all(x in chain(this, ->m_count): x.m_count > 1)": "not a pointer to another node",
        r"name matches '\\bx'": "in the program this regular expression is not calculated",
        "value matches 'x'": "'matches' needs a text on its left",
        "name matches '('": "the regular expression is not valid",
        "items[value].nosuch + 1": "no fields",
    }.items():
        with pytest.raises(StrobeError) as caught:
            launch(program, patterns=["Pool::add"], watch=[Watch(text_of_it)])
        assert caught.value.code in (Code.WATCH_FAILED, Code.VALIDATION_ERROR), text_of_it
        assert said in str(caught.value), (text_of_it, str(caught.value))


def test_where_something_cannot_be_seen_there_is_an_error_and_no_guess(launch: Launch, build_program: Build) -> None:
    names = {
        "sum(i in 0..200000: i)": "more than 100,000 steps",
        "items[5] + 1": "has no element",
        "first(x in items: x > 100)": "holds for no element",
        "min(x in items: x)": "of no elements",
        "1 / (m_count - m_count)": "a division by zero",
        "any(x in items[0..9]: x == 77)": "",
    }
    session = launch(build_program("call_values", "-O0"), patterns=["Pool::add"], watch=[Watch(name) for name in names])
    assert status(session) == 0
    for name, said in names.items():
        value = watched(session, "Pool::add", name)[0]
        assert isinstance(value, Problem), (name, value)
        assert said in value, (name, value)


def test_a_probe_at_a_line_calculates_as_well(manager: SessionManager, build_program: Build) -> None:
    line = next(
        number for number, one in enumerate(source_of("call_values").read_text().splitlines(), 1) if "value = 0;" in one
    )
    show = ("m_count * 100 + value", "count(x in items: x > 1)", "$threadName", "items[m_count - 3] + 0")
    probe = Probe(f"call_values.cpp:{line}", "value > 1 && any(x in items: x == 2)", show)
    spec = LaunchSpec(str(build_program("call_values", "-O0")), project_root=str(PROGRAMS))
    session = manager.launch(spec, TraceRequest(probe=[probe]))
    assert status(session) == 0
    assert [event.watch_values or event.values for event in all_events(session, EventFilter(event_type="probe"))] == [
        dict(zip(show, (302, 1, "call_values", 1), strict=True)),
        dict(zip(show, (603, 2, "call_values", "items has no element [m_count-3]"), strict=True)),
    ]
    for where, said in {
        "$entry.value > 1": "$entry is known at returns",
        "$return > 1": "$return",
        "vlaue > 1": "value",
    }.items():
        with pytest.raises(StrobeError, match=re.escape(said)):
            manager.launch(spec, TraceRequest(probe=[Probe(f"call_values.cpp:{line}", where)]))


def test_a_call_that_is_left_by_an_exception_is_undecided(launch: Launch, build_program: Build) -> None:
    session = launch(
        build_program("torture/throws", "-O0"), "0.3", patterns=["thrower", "caught"], where="$return == $return"
    )
    assert status(session) == 5
    totals = {group.key: group for group in session.timeline.totals(EventFilter(), "function")}
    left, whole = totals["thrower"], totals["caught"]
    assert left.count == left.unwound == left.unheld == left.undecided > 0
    assert events(session, "thrower") == []
    assert (whole.unheld, whole.undecided) == (0, 0)
    assert len(events(session, "caught", "enter")) == len(events(session, "caught", "exit")) == whole.count > 0
