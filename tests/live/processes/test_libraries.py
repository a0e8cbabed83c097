"""Libraries that a program loads while it runs are traced as its own code is, also when they go and come again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import processes
from support.programs import PROGRAMS, build, source_of
from support.sessions import Build, Launch, all_events, outcome, status, text, totals, untraced
from support.wait import wait_until

from strobe.capture.agent import agent_link
from strobe.capture.task_status import is_stopped
from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest, Watch
from strobe.session import Session, SessionManager, function_ids
from strobe.timeline.store import Store
from strobe.values.reading import ReadTarget

EVERY_PATTERN = ["plugin_*", "@lib:plugin", "*"]


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
def test_library_that_stays_is_traced(launch: Launch, build_program: Build, build_plugin: Build, pattern: str) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), "keep", patterns=[pattern])
    wait_until(lambda: {"plugin_run", "plugin_helper"} <= set(totals(session)), "calls of the library")
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
def test_library_that_goes_and_comes_does_no_harm(
    launch: Launch, build_program: Build, build_plugin: Build, pattern: str
) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), "reload", patterns=[pattern])
    wait_until(lambda: "plugin_run" in totals(session), "calls of the library")
    for _ in range(5):
        session.trace(TraceRequest(remove=[pattern]))
        session.trace(TraceRequest(add=[pattern]))
    called = totals(session)["plugin_run"].count
    wait_until(lambda: totals(session)["plugin_run"].count > called, "calls after it has come again")
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
def test_every_call_is_counted_from_the_first_on(
    launch: Launch, build_program: Build, build_plugin: Build, pattern: str
) -> None:
    """The thread in dlopen waits until the hooks are in place, each of the three times."""
    session = launch(build_program("dlopens"), str(build_plugin()), patterns=[pattern], sampling="off")
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)
    found = totals(session)
    assert (found["plugin_run"].count, found["plugin_helper"].count) == (3000, 3000)


@pytest.mark.parametrize("pattern", ["plugin_*", "**"])
def test_a_library_that_comes_with_another_one_is_traced(
    launch: Launch, build_program: Build, build_plugin: Build, program_cache: Path, pattern: str
) -> None:
    """One dlopen maps both, and they are told one after the other. Each time: it goes and comes again."""
    needed = str(build_plugin())
    library = build(
        source_of("needing_library"), ("-shared", "-fPIC", "-Wl,--no-as-needed", needed), None, program_cache
    )
    session = launch(build_program("dlopens"), str(library), patterns=[pattern], sampling="off")
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)
    found = totals(session)
    assert (found["plugin_run"].count, found["plugin_helper"].count) == (3000, 3000)
    assert not [warning for warning in session.warnings if "other code" in warning]


def test_hooks_of_a_library_that_came_with_another_one_are_taken_out(
    launch: Launch, build_program: Build, build_plugin: Build, program_cache: Path
) -> None:
    needed = str(build_plugin())
    library = build(
        source_of("needing_library"), ("-shared", "-fPIC", "-Wl,--no-as-needed", needed), None, program_cache
    )
    session = launch(build_program("dlopens"), str(library), "keep", patterns=["plugin_*"], sampling="off")
    wait_until(lambda: "plugin_helper" in totals(session), "calls of the library")
    session.trace(TraceRequest(remove=["plugin_*"]))
    called = totals(session)["plugin_helper"].count
    time.sleep(0.5)
    assert totals(session)["plugin_helper"].count == called
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.004, 0.006, 0.008])
def test_a_stopped_program_loads_its_library_when_it_goes_on(
    launch: Launch, build_program: Build, build_plugin: Build, monkeypatch: pytest.MonkeyPatch, delay: float
) -> None:
    """It is stopped while a thread waits in dlopen, for longer than an answer is waited for."""
    monkeypatch.setattr(agent_link, "ANSWER_S", 0.2)
    session = launch(build_program("dlopens"), str(build_plugin()), patterns=["plugin_*"], sampling="off")
    time.sleep(delay)
    with contextlib.suppress(ProcessLookupError):  # it has been quick
        os.kill(session.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(session.pid, signal.SIGCONT)
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)
    found = totals(session)
    assert (found["plugin_run"].count, found["plugin_helper"].count) == (3000, 3000)
    assert not [warning for warning in session.warnings if "has failed" in warning]


def test_short_lived_library_does_the_same(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    program, plugin = build_program("dlopens"), str(build_plugin())
    assert outcome(launch(program, plugin, patterns=["**"])) == untraced(program, plugin)


@pytest.mark.parametrize("flags", [("-no-pie",), ("-fPIE", "-pie")], ids=["at a fixed place", "at any place"])
@pytest.mark.parametrize(
    "library",
    [(), ("-Wl,-Ttext-segment=0x4a0000000",), ("-Wl,-z,max-page-size=0x200000",), ("-Wl,--build-id=none",)],
    ids=["at 0", "prelinked", "large pages", "without build id"],
)
def test_wherever_a_library_lies_its_calls_are_counted(
    launch: Launch, build_program: Build, build_plugin: Build, flags: tuple[str, ...], library: tuple[str, ...]
) -> None:
    program = build_program("dlopens", *flags)
    session = launch(program, str(build_plugin(*library)), patterns=["plugin_*", "use"], sampling="off")
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)
    found = totals(session)
    assert [found[name].count for name in ("plugin_run", "plugin_helper", "use")] == [3000, 3000, 3]


def test_library_of_a_relative_path_is_traced(
    launch: Launch, build_program: Build, build_plugin: Build, tmp_path: Path
) -> None:
    shutil.copy(build_plugin(), tmp_path / "own.so")
    session = launch(build_program("dlopens"), "./own.so", patterns=["plugin_*"], sampling="off", cwd=str(tmp_path))
    assert outcome(session).stdout == "right\n"
    assert totals(session)["plugin_run"].count == 3000


def test_every_instance_of_a_library_is_traced(
    manager: SessionManager, build_program: Build, build_plugin: Build, tmp_path: Path
) -> None:
    """Twice the same file, the second time in a namespace of its own, and once a copy under another name."""
    plugin, copy = build_plugin(), tmp_path / "copy.so"
    shutil.copy(plugin, copy)
    command = [build_program("instances"), plugin, "own", plugin, copy]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        session = manager.launch(
            LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["plugin_*"])
        )
        assert session.launch_answer is not None
        assert session.launch_answer.hooked_functions == 2 * 3
        wait_until(lambda: totals(session)["plugin_run"].count > 30, "calls")
        assert session.trace(TraceRequest(remove=["plugin_*"])).hooked_functions == 0
        assert session.trace(TraceRequest(add=["plugin_helper"])).hooked_functions == 3
        session.stop()
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60)[0] == "right\n"
    finally:
        processes.end(process)


@pytest.mark.parametrize("form", ["native", "portable"])
def test_a_library_in_a_namespace_of_its_own_is_traced_from_its_first_call(
    launch: Launch, build_program: Build, build_plugin: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Its file is there already, in the program's own namespace."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    plugin = str(build_plugin())
    session = launch(build_program("instances"), plugin, "own", plugin, patterns=["plugin_run"], sampling="off")
    wait_until(lambda: text(session, "stdout") == "ready\n", "the libraries")
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\n"
    events = all_events(session, EventFilter(event_type="function_enter"))
    numbers = Counter(str(event.arguments) for event in events)
    assert len(numbers) == 2  # each instance has its own
    assert len(set(numbers.values())) == 1


def test_a_library_that_comes_again_has_the_same_numbers(
    launch: Launch, build_program: Build, build_plugin: Build, strobe_home: Path
) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), patterns=["plugin_*"], sampling="off")
    assert (outcome(session).stdout, status(session)) == ("right\n", 0)
    assert {name: group.count for name, group in totals(session).items()} == {"plugin_run": 3000, "plugin_helper": 3000}
    store = Store()
    try:
        assert len(store.functions(session.id)) == 2
    finally:
        store.close()


def test_functions_beyond_the_last_number_are_left_out(
    launch: Launch, build_many_functions: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function_ids, "LAST", 120)
    session = launch(build_many_functions(200), patterns=["work_*"])
    wait_until(lambda: len(totals(session)) == 120, "every function with a number to be called")
    answer = session.trace(TraceRequest(add=["work_0019?"]))
    assert (answer.matched_functions, answer.hooked_functions) == (200, 120)
    assert any("and 75 more" in warning and "no room" in warning for warning in answer.warnings)
    os.kill(session.pid, signal.SIGUSR1)
    assert (outcome(session).stdout, status(session)) == ("ready\nright\n", 0)


def test_tracing_changes_while_libraries_take_each_others_place(
    launch: Launch, build_program: Build, program_cache: Path
) -> None:
    """What is hooked is a function of the library that it is recorded as, and none is refused for what came since."""
    shared = ("-shared", "-fPIC")
    even = build(source_of("plugin"), shared, None, program_cache)
    odd = build(source_of("plugin"), (*shared, "-Dplugin_helper=other_helper"), None, program_cache)
    session = launch(build_program("swaps_libraries"), str(even), str(odd), sampling="off")
    names = ["plugin_helper", "other_helper"]
    told: set[str] = set()
    for _ in range(200):
        told.update(session.trace(TraceRequest(add=names)).warnings)
        told.update(session.trace(TraceRequest(remove=names)).warnings)
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "0 wrong\n"
    assert told <= {text for text in told if text.startswith("No function matches")}
    for number, name in enumerate(names):
        events = all_events(session, EventFilter(function=TextMatch(equals=name), event_type="function_enter"))
        numbers: list[Any] = [event.arguments[0].value for event in events if event.arguments]
        rounds = {number % 2 for number in numbers}
        assert rounds == {number}, name


def says(session: Session, word: str, times: int) -> None:
    wait_until(lambda: text(session, "stdout").split().count(word) == times, f"{word}, {times} times", 60)


@pytest.mark.parametrize("reads", [False, True])
def test_what_a_library_has_is_known_at_once(
    launch: Launch, build_program: Build, program_cache: Path, reads: bool
) -> None:
    """Also where the program was read in the meantime, when the library was not there."""
    library = build(source_of("plugin"), ("-shared", "-fPIC"), None, program_cache)
    session = launch(build_program("comes_and_goes"), str(library), patterns=["step"], sampling="off")
    own = [ReadTarget("own_number")]
    says(session, "ready", 1)
    if reads:
        assert session.reader.read(own)[0].value == 7
    os.kill(session.pid, signal.SIGUSR1)
    says(session, "loaded", 1)
    assert session.reader.read([ReadTarget("plugin_rounds")])[0].value == 5
    session.trace(TraceRequest(watch=[Watch("plugin_rounds")]))
    os.kill(session.pid, signal.SIGUSR1)
    says(session, "gone", 1)
    if reads:
        assert session.reader.read(own)[0].value == 7
    os.kill(session.pid, signal.SIGUSR1)
    says(session, "loaded", 2)
    os.kill(session.pid, signal.SIGTERM)
    assert status(session) == 0
    wanted = EventFilter(function=TextMatch(equals="step"), event_type="function_enter")
    assert [event.watch_values for event in all_events(session, wanted)] == [None, {"plugin_rounds": 5}]
    assert not [warning for warning in session.warnings if "Watch" in warning]


@pytest.mark.parametrize("microseconds", [300, 1000])
def test_a_library_comes_again_after_the_program_was_stopped(
    launch: Launch, build_program: Build, program_cache: Path, microseconds: int
) -> None:
    """The agent, which is asked to do what it has done already, answers too late."""
    library = build(source_of("plugin"), ("-shared", "-fPIC"), None, program_cache)
    command = (build_program("comes_and_goes"), str(library), str(microseconds))
    session = launch(*command, patterns=["plugin_run"], sampling="off")
    says(session, "ready", 1)
    os.kill(session.pid, signal.SIGUSR1)
    says(session, "loaded", 1)
    session.trace(TraceRequest(watch=[Watch("plugin_rounds")]))
    os.kill(session.pid, signal.SIGUSR1)
    wait_until(lambda: is_stopped(session.pid), "the stop")
    time.sleep(agent_link.ANSWER_S + 1.0)
    os.kill(session.pid, signal.SIGCONT)
    says(session, "gone", 1)
    os.kill(session.pid, signal.SIGUSR1)
    says(session, "loaded", 2)
    os.kill(session.pid, signal.SIGTERM)
    assert status(session) == 0
    assert totals(session)["plugin_run"].count == 2
