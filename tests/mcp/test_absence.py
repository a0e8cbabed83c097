"""What `absence` says of real programs, over MCP: that a function was not called only where that is known."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import processes, programs
from support.mcp_wire import Wire
from support.programs import PROGRAMS
from support.wait import wait_until

from strobe.mcp import daemon

Build = Callable[..., Path]

ROOT = str(PROGRAMS)
EARLIEST = "from before main"
NO_SUCH_EVENT = "No event that the other conditions select can have what is asked for. "
NOT_PROVEN = "This does not prove that it did not happen. "


class Asked:
    """A session over MCP."""

    def __init__(self, wire: Wire, session: str, pid: int) -> None:
        self.wire, self.session, self.pid = wire, session, pid

    def absence(self, function: str, **more: Any) -> str:
        """Of a query for its calls; a query for totals says the same."""
        wanted: dict[str, Any] = {"sessionId": self.session, "function": {"equals": function}, **more}
        answer = self.wire.good("debug_query", **wanted)
        assert answer["totalCount"] == 0
        found: str = answer["absence"]
        grouped = self.wire.good("debug_query", **wanted, groupBy="function")
        if grouped["groups"]:
            assert "absence" not in grouped
        else:
            assert grouped["absence"].partition(".")[0] == found.partition(".")[0]
        by_value = self.wire.good("debug_query", **wanted, groupBy="$threadName")
        assert by_value["groups"] == []
        said = by_value["absence"].removeprefix(NO_SUCH_EVENT)
        assert said.partition(".")[0] == found.partition(".")[0]
        return found

    def wait_for_output(self, text: str) -> dict[str, Any]:
        """The first line that says this."""

        def find() -> dict[str, Any] | None:
            events = self.wire.good(
                "debug_query", sessionId=self.session, eventType="stdout", limit=500, maxTokens=12_000
            )["events"]
            return next((event for event in events if event["text"].startswith(text)), None)

        return wait_until(find, f"the program to print {text!r}", 20) or {}

    def calls(self, function: str) -> int:
        groups = self.wire.good("debug_query", sessionId=self.session, groupBy="function")["groups"]
        return sum(group["count"] for group in groups if group["function"] == function)

    def next_call_of(self, function: str) -> int:
        """When it is called next, in ns since session start."""
        wanted = {"sessionId": self.session, "function": {"equals": function}, "eventType": "function_enter"}
        after = self.wire.good("debug_query", **wanted, limit=500, maxTokens=12_000, timeFrom="-1ms")["events"][-1][
            "id"
        ]

        def find() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = self.wire.good("debug_query", **wanted, afterEventId=after, limit=1)["events"]
            return found

        return int(wait_until(find, f"a call of {function}", 20)[0]["timestampNs"])

    def wait_for_end(self) -> dict[str, Any]:
        def find() -> dict[str, Any] | None:
            listing = self.wire.good("debug_list_sessions")["sessions"]
            (found,) = (one for one in listing if one["sessionId"] == self.session)
            return found if found["status"] != "running" else None

        return wait_until(find, "the program to end", 20) or {}

    def trace(self, *add: str, remove: tuple[str, ...] = ()) -> None:
        answer = self.wire.good("debug_trace", sessionId=self.session, add=list(add), remove=list(remove))
        assert not add or answer["hookedFunctions"]


@pytest.fixture
def launch(wire: Wire) -> Iterator[Callable[..., Asked]]:
    """`launch(program, "argument", trace=["name"])`: traced from before main."""
    sessions: list[str] = []

    def launch(program: Path, *arguments: str, trace: tuple[str, ...] = ()) -> Asked:
        if trace:
            wire.good("debug_trace", projectRoot=ROOT, add=list(trace))
        answer = wire.good("debug_launch", command=str(program), args=list(arguments), projectRoot=ROOT)
        sessions.append(answer["sessionId"])
        return Asked(wire, answer["sessionId"], answer["pid"])

    yield launch
    for session in sessions:
        wire.call("debug_stop", sessionId=session)


@pytest.fixture
def program(build_program: Build) -> Path:
    return build_program("absent", "-O1")


@pytest.mark.parametrize("form", ["native", "portable"])
def test_hooked_before_main_and_never_called(
    launch: Callable[..., Asked], program: Path, form: str, monkeypatch: pytest.MonkeyPatch, strobe_home: Path
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)  # of the daemon, which the first connection starts
    with Wire.to(strobe_home) as wire:
        wire.good("debug_trace", projectRoot=ROOT, add=["used", "unused"])
        answer = wire.good("debug_launch", command=str(program), projectRoot=ROOT)
        asked = Asked(wire, answer["sessionId"], answer["pid"])
        asked.wait_for_output("ready")
        running = asked.absence("unused")
        assert running.startswith(f"It was not called. unused was traced for the whole window, {EARLIEST} to now (")
        assert "The recorder was seen to be on, with its hooks in place, to the end of it." in running
        assert "and children of fork() until they exec, but not those of vfork, clone or _Fork, nor" in running
        assert "calls of other functions" in running
        os.kill(asked.pid, signal.SIGUSR1)
        asked.wait_for_end()
        ended = asked.absence("unused")
        assert ended.startswith(
            f"It was not called. unused was traced for the whole window, {EARLIEST} to the end of the recording ("
        )
        assert "The recorder was seen to be on to the end of it; " in ended
        assert asked.absence("used", timeFrom=10**15).startswith(NOT_PROVEN + "The time asked for begins after ")
        early = asked.absence("used", timeTo=1)
        assert early.startswith("It did not happen. The program began to run at ")
        wire.good("debug_stop", sessionId=asked.session)


def test_a_call_is_found_and_not_denied(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program, "unused", trace=("used", "unused"))
    asked.wait_for_end()
    answer = asked.wire.good("debug_query", sessionId=asked.session, function={"equals": "unused"})
    assert answer["totalCount"] == 2 and "absence" not in answer
    slow = asked.absence("unused", minDurationNs=10**12)
    assert slow.startswith("It did not happen. ") and "count 1 calls of them in all" in slow


def test_a_short_run_is_seen_to_its_end(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program, "once", trace=("used", "unused"))
    asked.wait_for_end()
    assert asked.absence("unused").startswith("It was not called. ")


def test_a_hook_that_was_placed_later_knows_nothing_of_before(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program)
    ready = asked.wait_for_output("ready")
    asked.trace("unused")
    placed = asked.absence("unused")
    assert placed.startswith(NOT_PROVEN + "unused was not traced for the whole window (only from ")
    since = int(placed.partition("only from ")[2].partition(" ns")[0])
    assert since > ready["timestampNs"]
    assert asked.absence("unused", timeFrom=since + 1000).startswith("It did not happen. ")
    asked.trace(remove=("unused",))
    asked.trace("used")
    asked.wire.good("debug_query", sessionId=asked.session)
    removed = asked.absence("unused", timeFrom=since + 1000)
    assert removed.startswith(NOT_PROVEN + "unused was not traced for the whole window (only from ")


def test_nothing_is_said_of_what_is_not_hooked(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program)
    asked.wait_for_output("ready")
    assert asked.absence("unused").startswith(NOT_PROVEN + "No function was traced in this session")
    asked.trace("used", "too_short")
    assert asked.absence("unused").startswith(NOT_PROVEN + "None of the 1 traced functions matches the filter")
    short = asked.absence("too_short")
    assert "Not hooked: too_short: they are shorter than the 5 bytes that a hook takes" in short
    assert short.startswith(NOT_PROVEN)


def test_another_function_of_the_name_may_have_been_called(launch: Callable[..., Asked], build_program: Build) -> None:
    asked = launch(build_program("overloads", "-O1"), trace=("@file:overloads.cpp",))
    asked.wait_for_end()
    found = asked.absence("convert")
    assert found.startswith(NOT_PROVEN + "There is another function called convert, whose calls are not recorded."), (
        found
    )
    both = launch(build_program("overloads", "-O1"), trace=("convert",))
    both.wait_for_end()
    assert both.calls("convert") == 1


def test_of_too_many_names_to_be_noted_each_is_known(launch: Callable[..., Asked], program_cache: Path) -> None:
    """Of 5,200 functions that are inlined everywhere 5,000 are noted by name."""
    count = 5_200
    source = programs.generate(["many_inlined.py", str(count)], program_cache)
    program = programs.build(source, ("-g", "-O2"), None, program_cache)
    asked = launch(program, trace=("never_called", "main"))
    asked.wait_for_end()
    said = [asked.absence(f"inlined_{index}") for index in range(0, count, count // 50)]
    for text in said:
        assert text.startswith(NOT_PROVEN) and "nlined everywhere, so never seen as calls" in text
    assert any("1 more function is inlined everywhere" in text for text in said)
    assert asked.absence("never_called").startswith("It was not called")
    answer = asked.wire.good("debug_query", sessionId=asked.session, function={"contains": "e"}, minDurationNs=10**12)
    assert "200 more functions are inlined everywhere" in answer["absence"]


def test_several_are_not_spoken_of_as_one(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program, "once", trace=("unused", "overwrite"))
    asked.wait_for_end()
    answer = asked.wire.good("debug_query", sessionId=asked.session, function={"contains": "unu"})
    assert answer["absence"].startswith("No traced function that matches was called. ")


def test_a_hook_that_was_written_over_is_noticed(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program, "overwrite", trace=("used", "unused"))
    asked.wait_for_output("ready")
    assert asked.absence("unused").startswith("It was not called. ")
    before = asked.wire.good("debug_query", sessionId=asked.session, eventType="function_enter", limit=1)["events"][0]
    os.kill(asked.pid, signal.SIGUSR2)
    asked.wait_for_output("overwritten 0")
    found = asked.absence("unused")
    assert found.startswith(NOT_PROVEN + "unused was not traced for the whole window (only from ")
    assert "Something has written over the entry of unused: calls were not recorded after that." in found
    assert asked.absence("unused", timeTo=before["timestampNs"]).startswith("It did not happen. ")
    os.kill(asked.pid, signal.SIGUSR1)
    asked.wait_for_end()
    assert asked.absence("unused").startswith(NOT_PROVEN)


def test_a_killed_daemon_has_seen_no_end(strobe_home: Path, program: Path) -> None:
    with Wire.to(strobe_home) as wire:
        wire.good("debug_trace", projectRoot=ROOT, add=["used", "unused"])
        answer = wire.good("debug_launch", command=str(program), projectRoot=ROOT)
        asked = Asked(wire, answer["sessionId"], answer["pid"])
        asked.wait_for_output("ready")
        wait_until(lambda: asked.calls("used") > 10, "calls")
        pid = daemon.status(strobe_home).pid
        assert pid is not None  # 0 would be this test itself
        os.kill(pid, signal.SIGKILL)
    with Wire.to(strobe_home) as wire:
        asked = Asked(wire, asked.session, asked.pid)
        last = asked.wire.good("debug_query", sessionId=asked.session, timeFrom="-1ms", limit=500, maxTokens=12_000)[
            "events"
        ][-1]
        found = asked.absence("unused")
        end = f"{EARLIEST} to the end of the recording ({last['timestampNs']} ns)"
        assert found.startswith("It was not called. ") and end in found, found
        assert asked.absence("unused", timeFrom=last["timestampNs"] + 10**6).startswith(NOT_PROVEN)
        wire.good("debug_delete_session", sessionId=asked.session)


def test_a_crash_is_no_proof_beyond_what_was_seen(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program, "segv", trace=("used", "unused"))
    asked.wait_for_end()
    found = asked.absence("unused")
    assert found.startswith(NOT_PROVEN + "That the recorder was on and its hooks stood was last seen at ")
    assert "before the end of the window: up to then it did not happen." in found


def test_an_attached_program_ran_before(wire: Wire, program: Path) -> None:
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        try:
            answer = wire.good("debug_launch", command=str(program), projectRoot=ROOT, pid=process.pid)
            asked = Asked(wire, answer["sessionId"], process.pid)
            asked.trace("unused")
            found = asked.absence("unused")
            assert found.startswith(NOT_PROVEN + "unused was not traced for the whole window (only from ")
            assert "The program ran before Strobe attached to it." in found
            since = int(found.partition("only from ")[2].partition(" ns")[0])
            alone = asked.absence("unused", timeFrom=since + 1000)
            assert alone.startswith(NOT_PROVEN + "No call was recorded since Strobe attached"), alone
            asked.trace("used")
            wait_until(lambda: asked.calls("used"), "a call")
            assert asked.absence("unused", timeFrom=since + 1000).startswith("It did not happen. ")
            nothing = wire.good("debug_query", sessionId=asked.session, eventType="stdout")
            assert nothing["absence"] == "Nothing is known of stdout: it is not captured in this session."
            wire.good("debug_stop", sessionId=asked.session, retain=True)
            kept = asked.absence("unused", timeFrom=since + 1000)
            assert kept.startswith("It did not happen. "), kept
            wire.good("debug_delete_session", sessionId=asked.session)
        finally:
            processes.end(process)


def test_a_library_that_comes_and_goes(launch: Callable[..., Asked], build_program: Build, program_cache: Path) -> None:
    library = programs.build(programs.source_of("absent_library"), ("-shared", "-fPIC"), None, program_cache)
    asked = launch(build_program("dlopens"), str(library), trace=("plugin_*",))
    asked.wait_for_end()
    found = asked.absence("plugin_spare")
    assert found.startswith("It was not called. plugin_spare was traced for the whole window"), found


def test_a_library_that_was_there_unhooked(
    launch: Callable[..., Asked], build_program: Build, program_cache: Path
) -> None:
    library = programs.build(programs.source_of("absent_library"), ("-shared", "-fPIC"), None, program_cache)
    asked = launch(build_program("dlopens"), str(library), "keep", trace=("plugin_run",))
    wait_until(lambda: asked.calls("plugin_run"), "the library to be used")
    asked.trace("plugin_spare")
    found = asked.absence("plugin_spare")
    assert found.startswith(NOT_PROVEN + "plugin_spare was not traced for the whole window (only from "), found


def test_a_program_that_becomes_another_is_recorded_no_more(launch: Callable[..., Asked], build_program: Build) -> None:
    asked = launch(build_program("execs_itself"), trace=("main", "on_told"))
    asked.wait_for_output("ready 1")
    assert asked.absence("on_told").startswith("It was not called. ")
    os.kill(asked.pid, signal.SIGUSR1)
    ready = asked.wait_for_output("ready 2")
    found = asked.absence("main", timeFrom=ready["timestampNs"])
    assert found.startswith(NOT_PROVEN + "main was not traced for the whole window (at no time of it)"), found
    assert "The recorder in the program was on at " in found


def test_lines_of_what_it_has_become_do_not_prove_that_it_was_recorded(
    launch: Callable[..., Asked], build_program: Build
) -> None:
    asked = launch(build_program("execs_once"), trace=("later",))
    asked.wait_for_end()
    again = asked.wait_for_output("again 3")
    found = asked.absence("later", timeTo=again["timestampNs"] - 1000)
    assert found.startswith(NOT_PROVEN + "That the recorder was on and its hooks stood was last seen at "), found
    seen = found.partition("last seen at ")[2].partition(" ns")[0]
    assert "whole window" not in found, found
    was_traced = f"later was traced {EARLIEST} to {seen} ns."
    assert was_traced in found or "later was traced" not in found, (
        found
    )  # it was last seen before its first instruction


def test_hooks_that_come_after_a_fork_do_not_reach_the_child(launch: Callable[..., Asked], program: Path) -> None:
    asked = launch(program, "forks", trace=("used",))
    asked.wait_for_output("ready")
    asked.wire.good("debug_query", sessionId=asked.session)
    wait_until(lambda: asked.calls("used") > 3, "calls after the fork")
    asked.trace("unused")
    traced = asked.next_call_of("used")
    found = asked.absence("unused", timeFrom=traced)
    assert found.startswith(NOT_PROVEN + "The program has forked 1 child, which a hook that was installed after"), found
    assert asked.absence("unused", timeFrom=traced, pid=asked.pid).startswith("It did not happen. ")
    other = asked.absence("unused", timeFrom=traced, pid=1)
    assert other.startswith(NOT_PROVEN + f"Nothing was recorded of process 1; this session is of {asked.pid}.")


def test_of_forked_children_it_is_said_what_is_not_known(launch: Callable[..., Asked], build_program: Build) -> None:
    """Also where inlined code alone may have run: nobody has seen the hooks of a child between two looks."""
    asked = launch(build_program("absent", "-O1", "-g0"), "forks", trace=("used", "unused"))
    asked.wait_for_output("ready")
    wait_until(lambda: asked.calls("used") > 3, "calls")
    found = asked.absence("unused")
    assert found.startswith(f"{NOT_PROVEN}Its entry was not reached: "), found
    assert "There is no debug information of unused" in found, found
    assert "Of forked children it is not known that the hooks stood all the time: one that changes its own" in found
