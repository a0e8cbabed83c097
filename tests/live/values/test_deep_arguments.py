"""What arguments and results lead to, recorded with the call, in both forms of the recorder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import processes
from support.sessions import Build, Launch, all_events, status
from support.wait import wait_until

from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest, Watch
from strobe.session import Session, SessionManager
from strobe.values.decode.text import shown
from strobe.values.model import PointerTo, Problem, ReferenceTo, Rows
from strobe.values.reading import ReadTarget

PRINTERS = """
[[printer]]
type = "node"
layout = "fields"
fields = { number = "value", called = "name" }
"""
FORMS = pytest.mark.parametrize("form", ["native", "portable"])


def arguments(session: Session, function: str) -> list[dict[str, Any]]:
    wanted = EventFilter(event_type="function_enter", function=TextMatch(equals=function))
    return [{item.name: item.value for item in event.arguments or ()} for event in all_events(session, wanted)]


def results(session: Session, function: str) -> list[Any]:
    wanted = EventFilter(event_type="function_exit", function=TextMatch(equals=function))
    return [event.return_value for event in all_events(session, wanted)]


@FORMS
def test_structures_are_followed(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("watched", "-O0"), patterns=["play", "linked", "wild"], depth=4)
    assert status(session) == 0
    first, last, null = (call["node"] for call in arguments(session, "play"))
    assert isinstance(first, PointerTo)
    assert (first.value, first.name, first.low, first.high, first.list) == (1, "first", 5, 17, [1, 2, 3])
    assert (first.next.value, first.next.at.x, first.next.next.value) == (3, 7, 2)
    assert first.next.next.next == "<circular ref to node>"
    assert last.next.name == "first"
    assert null == "0x0"
    made = results(session, "linked")
    assert [(node.value, node.name, node.at.x) for node in made] == [(2, "made", 7), (3, "made", 7)]
    assert made[0].next.address == 0
    assert [call["node"] for call in arguments(session, "wild")] == ["0x10", "0xfffffffffffffff8"]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (1, "{next = 0xN}"),
        (2, "{next = 0xN -> {next = 0xN}}"),
        (3, "{next = 0xN -> {next = 0xN -> {next = 0xN}}}"),
        (5, "{next = 0xN -> {next = 0xN -> {next = 0xN -> {next = 0xN -> {five = 5}}}}}"),
        (10, "{next = 0xN -> {next = 0xN -> {next = 0xN -> {next = 0xN -> {five = 5}}}}}"),
    ],
)
def test_depth(launch: Launch, build_program: Build, depth: int, expected: str) -> None:
    session = launch(build_program("watched", "-O0"), patterns=["descend", "play"], depth=depth)
    assert status(session) == 0
    (call,) = arguments(session, "descend")
    assert re.sub(r"0x[0-9a-f]+", "0xN", shown(call["one"])) == f"0xN -> {expected}"
    if depth == 1:
        assert arguments(session, "play")[0]["node"].at == "<point>"


def test_what_is_long_is_cut_and_says_so(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("watched", "-O0"), patterns=["measure"], depth=1)
    assert status(session) == 0
    (call,) = arguments(session, "measure")
    wide = call["wide"]
    assert (len(wide.text), wide.text[-2:]) == (1025, "w…")
    assert isinstance(wide.many, Rows)
    assert (len(wide.many), wide.many.total, wide.many[99]) == (100, 101, 99)
    assert wide.pointed == "p" * 1024 + "…"


def test_what_finds_no_room_in_the_event_says_so(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("watched", "-O0"), patterns=["name_all"], depth=1)
    assert status(session) == 0
    (call,) = arguments(session, "name_all")
    texts = [call["names"].to[name] for name in "abcd"]
    assert texts[0] == texts[1] == "p" * 1024 + "…"
    assert texts[2] == "p" * (3072 - 2 * 1025 - 32) + "…"
    assert isinstance(texts[3], PointerTo)


def test_what_is_too_large_to_follow_is_said(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("large_argument", "-O0"), patterns=["weigh"], depth=3)
    assert status(session) == 0
    assert session.launch_answer is not None
    (said,) = [text for text in session.launch_answer.warnings if "only the address" in text]
    assert "large (8,004 bytes)" in said


def test_without_depth_there_are_addresses_and_it_can_change(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("watched", "-O0"), patterns=["play"])
    assert status(session) == 0
    assert all(str(call["node"]).startswith("0x") for call in arguments(session, "play"))


@FORMS
def test_classes_of_the_library_show_what_is_in_them(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("watched_library", "-O0", "-std=c++17"), patterns=["count", "made"], depth=3)
    assert status(session) == 0
    (call,) = arguments(session, "count")
    song = call["song"]
    assert (song.title, song.tags, song.lead.name) == ("abc", {"x": 1, "y": 2}, "lead")
    assert [(track.name, list(track.notes)) for track in song.tracks] == [("one", [1, 2, 3]), ("two", [])]
    assert call["by_value"] == [5, 6]
    assert call["pointer"].title == "abc"
    assert isinstance(song, ReferenceTo) and song.address == call["pointer"].address
    assert shown(song) == shown(call["pointer"])
    assert not isinstance(call["by_value"], ReferenceTo)
    assert results(session, "made") == [[7, 7, 7]]
    assert not isinstance(song, Problem)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_every_compiler(launch: Launch, build_program: Build, compiler: str, level: str) -> None:
    session = launch(build_program("watched", level, compiler=compiler), patterns=["measure", "linked"], depth=2)
    assert status(session) == 0
    for node in results(session, "linked"):
        assert node is None or (node.name, node.at.x) == ("made", 7)


def test_a_projects_own_printers_hold_here_too(manager: SessionManager, build_program: Build, tmp_path: Path) -> None:
    (tmp_path / ".strobe").mkdir()
    (tmp_path / ".strobe" / "printers.toml").write_text(PRINTERS)
    spec = LaunchSpec(str(build_program("watched", "-O0")), project_root=str(tmp_path))
    session = manager.launch(spec, TraceRequest(["play"], watch=[Watch("gFirst")], depth=2))
    assert status(session) == 0
    node = arguments(session, "play")[0]["node"].to
    assert dict(node) == {"number": 1, "called": "first"}
    (watched, *_) = [event.watch_values for event in all_events(session, EventFilter(event_type="function_enter"))]
    assert watched is not None
    assert dict(watched["gFirst"]) == {"number": 1, "called": "first"}


@FORMS
def test_they_are_followed_on_when_the_program_was_rebuilt(
    launch: Launch, build_program: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """By the types of the build that runs. What a watch adds needs no types of the function's arguments."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = tmp_path / "measures"
    shutil.copy2(build_program("measures", "-O1"), program)
    session = launch(program, patterns=["measure"], depth=1, sampling="off")
    wait_until(lambda: arguments(session, "measure"), "a call")
    session.reader.read([ReadTarget("measured")])
    shutil.copy2(build_program("measures", "-O1", "-DMORE"), tmp_path / "new")
    (tmp_path / "new").rename(program)
    answer = session.trace(TraceRequest(watch=[Watch("measured")]))
    assert any("on disk" in warning for warning in answer.warnings)
    count = len(arguments(session, "measure"))
    wait_until(lambda: len(arguments(session, "measure")) > count + 10, "calls")
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
    boxes = [call["box"] for call in arguments(session, "measure")]
    assert {(box.width, box.height) for box in boxes} == {(7, 9)}
    wanted = EventFilter(event_type="function_enter", function=TextMatch(equals="measure"))
    assert (list(all_events(session, wanted))[-1].watch_values or {}).keys() == {"measured"}


def test_functions_of_a_replaced_copy_have_names(
    launch: Launch, manager: SessionManager, build_program: Build, tmp_path: Path
) -> None:
    program = tmp_path / "measures"
    shutil.copy2(build_program("measures", "-O1"), program)
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            shutil.copy2(program, tmp_path / "new")
            (tmp_path / "new").rename(program)
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(tmp_path)), TraceRequest(["measure", "say"])
            )
            wait_until(lambda: arguments(session, "measure"), "a call")
            assert {str(call["tell"]) for call in arguments(session, "measure")} == {"&say"}
            session.stop()
        finally:
            processes.end(process)
