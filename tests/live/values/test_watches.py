"""Watches: what is read whenever a traced function begins and returns, in both forms of the recorder."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.programs import build, source_of
from support.sessions import Build, Launch, all_events, outcome, status, text, totals
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import Event, EventFilter, LaunchSpec, TextMatch, TraceRequest, Watch
from strobe.session import Session, SessionManager
from strobe.values.model import PointerTo
from strobe.values.write.writing import WriteTarget

FORMS = pytest.mark.parametrize("form", ["native", "portable"])


def values(session: Session, function: str, label: str) -> list[Any]:
    """What the watch was, at each call of the function and at its return."""
    return [(event.watch_values or {}).get(label) for event in events(session, function)]


def events(session: Session, function: str) -> list[Event]:
    return list(all_events(session, EventFilter(function=TextMatch(equals=function))))


@FORMS
def test_values_are_those_of_that_moment(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    numbers = "gTempo gLevel gMode gLetter gText gName gNode->value"
    names = f"{numbers} gNode->name gFirst.high gFirst.list gFirst.at".split()
    session = launch(build_program("watched", "-O0"), patterns=["play"], watch=[Watch(name) for name in names])
    assert status(session) == 0
    assert values(session, "play", "gTempo") == [120, 125, 125, 135, 135, 135]
    assert values(session, "play", "gLevel") == [0.5, 1, 1, 2, 2, 4]
    assert values(session, "play", "gMode")[:2] == ["MODE_IDLE", "MODE_PLAY"]
    assert values(session, "play", "gText") == ["hello", "bye", "bye", "bye", "bye", "bye"]
    assert values(session, "play", "gName") == ["abc"] * 6
    null = "Null pointer"
    assert values(session, "play", "gNode->value") == [null, 1, 1, 2, 2, null]
    assert values(session, "play", "gNode->name") == [
        f"{null} at gNode",
        "first",
        "first",
        "made",
        "made",
        f"{null} at gNode",
    ]
    assert values(session, "play", "gFirst.high") == [17] * 6
    assert values(session, "play", "gFirst.list") == [[1, 2, 3]] * 6
    assert [dict(value) for value in values(session, "play", "gFirst.at")] == [{"x": 0, "y": 0.0}] * 6


@FORMS
def test_expressions_see_arguments_and_results(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    watch = [
        Watch(expr="retval === undefined ? args[1].toInt32() : retval.toInt32()", label="number"),
        Watch(expr="({by: args[1].toInt32(), text: 'hä'})", label="object"),
        Watch(expr="'x'.repeat(500)", label="long"),
        Watch(expr="'hä'.repeat(400)", label="longer"),
        Watch(expr="ptr(16).readU32()", label="wild"),
        Watch(expr="ptr(16).readUtf8String()", label="wild text"),
        Watch(expr="args[0].writeInt(1)", label="writes"),
        Watch(expr="args[0].value", label="no such member"),
        Watch(expr="retval", label="result"),
        Watch(expr="args[0].isNull() ? null : args[0].add(8).readPointer().readUtf8String()", label="name"),
    ]
    session = launch(build_program("watched", "-O0"), patterns=["play"], watch=watch)
    assert status(session) == 0
    assert values(session, "play", "number") == [5, 1, 10, 2, 0, -1]
    assert values(session, "play", "object")[::2] == [{"by": by, "text": "hä"} for by in (5, 10, 0)]
    assert "arguments are not known any more" in values(session, "play", "object")[1]
    assert values(session, "play", "long") == ["x" * 500] * 6
    cut = values(session, "play", "longer")[0]
    assert cut == ("hä" * 400)[: len(cut) - 1] + "…"
    assert len(cut) > 250
    assert values(session, "play", "wild") == ["<Error: Address not readable: 0x10>"] * 6
    assert values(session, "play", "wild text") == ["<Error: Address not readable: 0x10>"] * 6
    assert "may not write" in values(session, "play", "writes")[0]
    assert values(session, "play", "name")[::2] == ["first", "made", None]
    assert "it is undefined" in values(session, "play", "no such member")[0]
    results = values(session, "play", "result")
    assert results[::2] == [None] * 3
    assert None not in results[1::2]


@FORMS
def test_bad_memory_is_a_value_and_no_fault(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    watch = [
        Watch("*gWild"),
        Watch(address=0, type="u8", label="null"),
        Watch(address=0xFFFF_FFFF_FFFF_FFFC, type="u64", label="around the end"),
        Watch("((struct node*)8)->next->value", label="far"),
    ]
    session = launch(build_program("watched", "-O0"), patterns=["play"], watch=watch)
    assert status(session) == 0
    assert values(session, "play", "*gWild") == ["Address not readable: 0x10"] * 6
    assert values(session, "play", "null") == ["Address not readable: 0x0"] * 6
    assert values(session, "play", "around the end") == ["Address not readable: 0xfffffffffffffffc"] * 6
    assert all("not readable" in value for value in values(session, "play", "far"))


def test_on_says_where(launch: Launch, build_program: Build) -> None:
    watch = [Watch("gTempo", label="there", on=("play",)), Watch("gTempo", label="nowhere", on=("no::such",))]
    session = launch(build_program("watched", "-O0"), patterns=["play", "linked"], watch=watch)
    assert session.launch_answer is not None
    assert session.launch_answer.active_watches == ["there", "nowhere"]
    assert any("'nowhere' is never read" in text for text in session.launch_answer.warnings)
    assert status(session) == 0
    assert not any("'there'" in text for text in session.warnings)
    assert None not in values(session, "play", "there")
    assert [event.watch_values for event in events(session, "linked")] == [None] * 4
    assert values(session, "play", "nowhere") == [None] * 6


@FORMS
def test_each_step_is_there_once_with_the_value_before_it(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("watched", "-O2"), "loop", patterns=["step"], sampling="off")
    for turn in range(20):
        session.trace(TraceRequest(watch=[Watch("gCounter", label=f"counter {turn}")]))
        session.trace(TraceRequest(unwatch=[f"counter {turn}"]))
    with suppress(StrobeError):  # the program may end before it is told that it was done
        session.writer.write([WriteTarget("gStop", value=1)])
    assert status(session) == 0
    enters = [event for event in events(session, "step") if event.event_type == "function_enter"]
    steps = [event.arguments[0].value for event in enters if event.arguments]
    assert steps == list(range(1, totals(session)["step"].count + 1))
    watched = [(event, value) for event in enters for value in (event.watch_values or {}).values()]
    assert watched
    for event, value in watched:
        assert event.arguments is not None
        assert value == event.arguments[0].value - 1  # type: ignore[operator]


@FORMS
def test_a_thread_local_one_is_that_of_the_calling_thread(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("watched", "-O0", "-pthread"), patterns=["own"], watch=[Watch("tOwn")])
    assert status(session) == 0
    assert values(session, "own", "tOwn") == [1, 11, 11, 21, 21, 31, 1, 21, 21, 41, 41, 61, 1, 31, 31, 61, 61, 91]


def test_what_cannot_be_watched_says_why(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("watched", "-O0"), "loop", patterns=["play"])

    def refusal(watch: Watch) -> str:
        with pytest.raises(StrobeError) as caught:
            session.trace(TraceRequest(watch=[watch]))
        assert caught.value.code == ("LIMIT_REACHED" if "->next->next" in watch.name else "WATCH_FAILED")
        return str(caught.value)

    unknown = refusal(Watch("gTemp"))
    assert "'gTemp' cannot be watched: Variable 'gTemp' not found in debug symbols, and no traced function" in unknown
    assert "Names like it: gTempo" in unknown
    assert "it has 257 characters, 256 are allowed" in refusal(Watch("g" * 257))
    assert "One expression follows at most 4 pointers" in refusal(Watch("gLevels->next->next->next->next->five"))
    assert "of thread-local variables, numbers and pointers" in refusal(Watch("tText"))
    assert "SyntaxError" in refusal(Watch(expr="1 +"))
    assert "no such type" in refusal(Watch(address=1, type="i24"))
    answer = session.trace(TraceRequest(watch=[Watch("gTemp"), Watch("gTempo")]))
    assert answer.active_watches == ["gTempo"]
    assert any("Watch 'gTemp' was not added: Variable 'gTemp' not found" in text for text in answer.warnings)
    assert any("'gone' was not active" in text for text in session.trace(TraceRequest(unwatch=["gone"])).warnings)


def test_at_most_32(launch: Launch, build_program: Build) -> None:
    watches = [Watch("gTempo", label=str(number)) for number in range(31)]
    session = launch(build_program("watched", "-O0"), "loop", patterns=["play"], watch=watches)
    assert len(session.trace(TraceRequest(watch=[Watch("gTempo", label="31")])).active_watches) == 32
    with pytest.raises(StrobeError, match="32 watches are active; at most 32 are possible"):
        session.trace(TraceRequest(watch=[Watch("gTempo", label="32")]))
    assert len(session.trace(TraceRequest(watch=[Watch("gLevel", label="31")])).active_watches) == 32  # replaced
    assert len(session.trace(TraceRequest(watch=[Watch("gTempo", label="32")], unwatch=["0"])).active_watches) == 32


def test_32_scripts_find_room(launch: Launch, build_program: Build) -> None:
    watches = [Watch(expr=f"args[1].toInt32() + {number}", label=str(number)) for number in range(32)]
    session = launch(build_program("watched", "-O0", "-pthread"), patterns=["play"], watch=watches)
    assert status(session) == 0
    assert events(session, "play")[0].watch_values == {str(number): 5 + number for number in range(32)}


def test_they_are_read_when_the_program_is_gone(launch: Launch, build_program: Build) -> None:
    program = build_program("watched", "-O0")
    session = launch(program, patterns=["play"], watch=[Watch("gNode"), Watch("gFirst")])
    assert status(session) == 0
    program.rename(program.with_name("gone"))
    after = values(session, "play", "gNode")[1]
    assert isinstance(after, PointerTo)
    assert (after.value, after.name, after.to.at) == (1, "first", "<struct>")
    assert values(session, "play", "gFirst")[0].list == [1, 2, 3]


@FORMS
def test_what_a_library_has_is_read_wherever_it_is_and_nowhere_when_it_is_gone(
    launch: Launch, build_program: Build, program_cache: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Where it was the program has other memory then; its code is there again in some rounds, elsewhere in others."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    library = build(source_of("unloaded_library"), ("-shared", "-fPIC"), None, program_cache)
    session = launch(build_program("moves_library", "-O0"), str(library), patterns=["step"], sampling="off")
    wait_until(lambda: "ready" in text(session, "stdout"), "the library")
    names = ["plugin_level", "plugin_shape", "plugin_chosen->sides", "plugin_chosen->name"]
    answer = session.trace(TraceRequest(add=["plugin_run"], watch=[Watch(name) for name in names]))
    assert answer.active_watches == names
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout.splitlines()[-1], status(session)) == ("moved 2 times", 0)
    there, gone = range(1, 5), f"{library.name} is not loaded"
    steps = [event for event in events(session, "step") if event.event_type == "function_enter"]
    assert [event.arguments[0].value for event in steps if event.arguments] == [1, 10, 2, 20, 3, 30, 4, 40]
    seen = {name: [(event.watch_values or {}).get(name) for event in steps] for name in names}
    for name in names:
        assert seen[name][1::2] == [gone] * 4
    assert seen["plugin_level"][::2] == list(there)
    shapes = [{"sides": level + 1, "name": "triangle"} for level in there]
    assert [dict(value or {}) for value in seen["plugin_shape"][::2]] == shapes
    assert seen["plugin_chosen->sides"][::2] == [level + 1 for level in there]
    assert seen["plugin_chosen->name"][::2] == ["triangle"] * 4
    pointers = [str(event.arguments[1].value) for event in steps if event.arguments]
    assert pointers[::2] == ["&plugin_run"] * 4
    assert [pointer[:2] for pointer in pointers[1::2]] == ["0x"] * 4
    assert not [text for text in session.warnings if "Watch" in text]


@FORMS
def test_what_a_library_has_is_read_once_it_is_loaded(
    manager: SessionManager, build_program: Build, program_cache: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """The watch was there before, when its name meant nothing anywhere."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    library = build(source_of("unloaded_library"), ("-shared", "-fPIC"), None, program_cache)
    spec = LaunchSpec(str(build_program("moves_library", "-O0")), args=(str(library),))
    session = manager.launch(
        spec, TraceRequest(["step"], "off", watch=[Watch("plugin_level"), Watch("none")]), watches_ok=True
    )
    said = [text for text in session.warnings if "plugin_level" in text]
    assert len(said) == 1 and "is not read so far" in said[0]
    wait_until(lambda: "ready" in text(session, "stdout"), "the library")
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    steps = [event for event in events(session, "step") if event.event_type == "function_enter"]
    seen = [(event.watch_values or {}).get("plugin_level") for event in steps]
    gone = f"{library.name} is not loaded"
    assert seen == [1, gone, 2, gone, 3, gone, 4, gone]
    assert all("none" not in (event.watch_values or {}) for event in steps)


def test_a_watch_says_that_its_library_has_gone(launch: Launch, build_program: Build, program_cache: Path) -> None:
    library = build(source_of("plugin"), ("-shared", "-fPIC"), None, program_cache)
    session = launch(build_program("dlopens"), str(library), "leave", patterns=["main"])
    wait_until(lambda: "ready" in text(session, "stdout"), "the library")
    session.trace(TraceRequest(watch=[Watch("plugin_rounds")]))
    os.kill(session.pid, signal.SIGUSR1)
    wait_until(lambda: "closed" in text(session, "stdout"), "the library to go")
    answer = session.trace(TraceRequest(add=["use"]))
    assert [text for text in answer.warnings if "'plugin_rounds' is not read" in text and str(library) in text]
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0


def test_a_program_that_ends_as_it_unloads_one_has_not_failed(
    launch: Launch, build_program: Build, program_cache: Path
) -> None:
    library = build(source_of("plugin"), ("-shared", "-fPIC"), None, program_cache)
    for _ in range(5):
        session = launch(build_program("leaves_library"), str(library), patterns=["step"])
        wait_until(lambda session=session: events(session, "step"), "the library")
        session.trace(TraceRequest(watch=[Watch("plugin_rounds")]))
        os.kill(session.pid, signal.SIGUSR1)
        assert status(session) == 0
        session.stop()
        assert session.failures == ()
