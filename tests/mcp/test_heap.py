"""What a program holds of what it has allocated, and who has freed an object: over MCP, at the terminal, in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import line_of

import strobe

ROOT = str(Path(__file__).parents[1] / "programs")
WAIT = {"until": "exit", "timeoutMs": 40000}
MOST_BYTES = 8192
ELEMENTS = 900  # at least, of grows_vector
Build = Callable[..., Path]
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O1"])


def size(*answers: dict[str, Any]) -> int:
    return sum(len(json.dumps(one, ensure_ascii=False).encode()) for one in answers)


@LEVELS
def test_a_leak_on_an_error_path(wire: Wire, build_program: Build, level: str) -> None:
    """In two calls: ten requests and their bodies are held by the path that returns before it frees them."""
    program = build_program("forgets", level)
    launched = wire.good(
        "debug_launch", command=str(program), args=["leak"], projectRoot=ROOT, trace=["@heap"], wait=WAIT
    )
    heap = wire.good("debug_query", sessionId=launched["sessionId"], heap={"top": 2})
    assert size(launched, heap) <= MOST_BYTES
    body, request = heap["top"]
    assert (body["bytes"], body["blocks"]) == (10_000, 10)
    assert body["stack"][0] == f"read_request forgets.cpp:{line_of('forgets.cpp', '// body')}"
    assert [frame.split(" ")[0] for frame in body["stack"][:4]] == ["read_request", "handle", "leak", "main"]
    assert (request["bytes"], request["blocks"]) == (240, 10)
    assert request["stack"][0].startswith("read_request ")
    earlier = wire.good("debug_query", sessionId=launched["sessionId"], heap={"to": 1})
    assert "No allocation was recorded up to then" in str(earlier)


@LEVELS
def test_placement_new_allocates_nothing(wire: Wire, build_program: Build, level: str) -> None:
    program = build_program("grows_vector", level)
    launched = wire.good("debug_launch", command=str(program), projectRoot=ROOT, trace=["@heap"], wait=WAIT)
    heap = wire.good("debug_query", sessionId=launched["sessionId"], heap={"top": 5})
    assert "grows_vector.cpp" not in json.dumps(heap), heap


def test_placement_new_that_is_traced_allocates_nothing(build_program: Build) -> None:
    program = build_program("grows_vector", "-O0")
    with strobe.launch([program], trace=["@heap", "operator new"]) as run:
        run.wait(timeout=30)
        assert len(run.calls("operator new")) > ELEMENTS  # of which those of the system's libraries are 11
        assert run.heap().blocks < ELEMENTS


@LEVELS
def test_an_object_is_used_after_it_was_freed(wire: Wire, build_program: Build, level: str) -> None:
    """In three calls: which object the timer has, and who has freed it, with the stack."""
    program = build_program("forgets", level)
    launched = wire.good(
        "debug_launch",
        command=str(program),
        args=["reuse"],
        projectRoot=ROOT,
        trace=["@heap", "fire"],
        depth=0,
        wait=WAIT,
    )
    found = wire.good(
        "debug_query", sessionId=launched["sessionId"], function={"equals": "fire"}, verbose=True, limit=1
    )
    address = found["events"][0]["arguments"][0]["value"]
    history = wire.good("debug_query", sessionId=launched["sessionId"], address=address)
    assert size(launched, found, history) <= MOST_BYTES
    assert {"malloc", "free", "fire"} <= {one["function"] for one in history["touched"]}
    (freed,) = [one for one in history["events"] if one["function"] == "free" and one["id"] < found["events"][0]["id"]][
        -1:
    ]
    stack = [frame.split(" ")[0] for frame in freed["stack"]]
    assert "close_session" in stack
    given = [one for one in history["events"] if one["function"] == "malloc" and "$return" in one["places"]]
    assert given
    assert all(one["stack"] for one in given)
    asked = {"sessionId": launched["sessionId"], "address": address, "function": {"equals": "malloc"}, "limit": 5}
    every = wire.good("debug_query", **asked)["events"]
    assert {"$return"} == {name for one in every for name in one["places"]}
    selected = wire.good("debug_query", **asked, select=["$stack"])["events"]
    assert [one["values"]["$stack"] for one in selected] == [one["stack"] for one in every]


def test_every_form(build_program: Build) -> None:
    """One block each, whatever calls what; and what is freed is not held."""
    program = build_program("forgets", "-O0")
    with strobe.launch([program, "all"], trace=["@heap"], keep=True) as run:
        run.wait(timeout=30)
        report = run.heap()
        own = {group.size: group.blocks for group in report.groups if any("all " in frame for frame in group.stack)}
    assert own == {80: 1, 200: 1, 48: 1, 64: 1, 24: 1}
    command = [sys.executable, "-m", "strobe.cli.main", "heap", run.id]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    assert "200 bytes in 1 blocks" in result.stdout
    assert "all forgets.cpp:" in result.stdout


def test_growth_between_two_times(build_program: Build) -> None:
    program = build_program("forgets", "-O0")
    with strobe.launch([program, "leak"], trace=["@heap", "handle"]) as run:
        run.wait(timeout=30)
        calls = run.calls("handle")
        first, last = calls[20].start_ns, calls[60].start_ns
        report = run.heap(first, last)
        grown = {group.grown_size: group.grown_blocks for group in report.groups if group.grown_size}
        assert grown == {4000: 4, 96: 4}
        assert report.notes == []


def test_what_was_evicted_is_said(build_program: Build, tmp_path: Path) -> None:
    """Nothing is claimed of what may have been freed meanwhile."""
    (tmp_path / "settings.json").write_text(json.dumps({"events.maxPerSession": 1000}))
    tmp_path.chmod(0o700)
    program = build_program("forgets", "-O0")
    with strobe.launch([program, "leak", "20000"], trace=["@heap"], home=tmp_path) as run:
        run.wait(timeout=60)
        assert run.loss.evicted > 0
        report = run.heap()
        assert "were evicted" in report.notes[0]
        own = {
            group.size // group.blocks: group.blocks for group in report.groups if "read_request" in str(group.stack)
        }
        assert set(own) == {24, 1000}
        assert 0 < own[1000] < 2000
        assert abs(own[24] - own[1000]) <= 1


def own(report: Any) -> list[tuple[int, int]]:
    """Blocks and bytes of what the program itself has allocated; not what it takes to throw."""
    return [(one.blocks, one.size) for one in report.groups if one.stack and "holds.cpp" in one.stack[0]]


def test_what_is_freed_within_an_allocation(build_program: Build) -> None:
    with strobe.launch([build_program("holds", "-O0"), "reserve"], trace=["@heap"]) as run:
        run.wait(timeout=30)
        assert (own(run.heap()), run.heap().notes) == ([], [])


def test_an_operator_new_that_an_exception_has_left(build_program: Build) -> None:
    """The block that it does not free is held, and what is allocated after it is not within it."""
    with strobe.launch([build_program("holds", "-O0"), "throws"], trace=["@heap", "allocate*"]) as run:
        run.wait(timeout=30)
        report = run.heap()
        assert sorted(own(report)) == [(1, 4712), (10, 22220)]
        (left,) = [one for one in report.groups if one.size == 4712]
        assert left.stack[0].startswith("operator new") or "operator new" in left.stack[1], left.stack
        assert report.notes == []


def test_returns_that_were_not_seen_are_said(build_program: Build) -> None:
    with strobe.launch([build_program("holds", "-O0"), "coroutine"], trace=["@heap"]) as run:
        run.wait(timeout=30)
        report = run.heap()
        assert own(report) == []
        assert any(note.startswith("10 returns of allocating calls were not seen") for note in report.notes)


def test_what_frees_must_have_been_traced(wire: Wire, build_program: Build) -> None:
    """A block whose end could not be seen is not said to be held."""
    program = build_program("holds", "-O0")
    for removed, expected in ((["@heap"], 0), ([], 10)):
        launched = wire.good(
            "debug_launch",
            command=str(program),
            args=["waits"],
            projectRoot=ROOT,
            trace=["@heap"],
            wait={"until": "time", "timeoutMs": 300},
        )
        session = launched["sessionId"]
        if removed:
            wire.good("debug_trace", sessionId=session, remove=removed)
        heap = wire.good("debug_query", sessionId=session, heap={})
        assert sum(one["blocks"] for one in heap["top"] if one["stack"][0].startswith("allocate ")) == expected
        told = [note for note in heap.get("notes", []) if "what frees was not traced from" in note]
        assert len(told) == len(removed)
        wire.good("debug_stop", sessionId=session)


@pytest.mark.skipif(
    not Path("/usr/lib/debug/.build-id").is_dir(), reason="the C library's debug information (libc6-dbg) is not there"
)
def test_frees_that_a_condition_has_left_out(build_program: Build) -> None:
    program = build_program("holds", "-O0")
    with strobe.launch([program, "waits"], trace=["@heap"], where="bytes > 100", stdin="\n") as run:
        run.wait(timeout=30)
        report = run.heap()
        assert (report.blocks, report.groups) == (0, [])
        assert "were left out by the condition of their trace" in report.notes[0]


def test_nothing_was_traced(build_program: Build) -> None:
    with strobe.launch([build_program("forgets", "-O0"), "leak"], trace=["handle"]) as run:
        run.wait(timeout=30)
        report = run.heap()
        assert (report.size, report.groups) == (0, [])
        assert "@heap" in report.notes[0]


OWN_ALLOCATOR = """
static char room[1 << 20];
static unsigned long used;
void *malloc(unsigned long size) { char *at = room + used; used += (size + 15) & ~15ul; return at; }
void free(void *block) { (void)block; }
int main(void) { free(malloc(80)); malloc(48); return 0; }
"""


def test_of_an_allocator_without_debug_information(tmp_path: Path) -> None:
    """As of the C library where its debug package is not installed: C says what its functions are given."""
    source = tmp_path / "allocator.c"
    source.write_text(OWN_ALLOCATOR)
    program = tmp_path / "allocator"
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-rdynamic", source, "-o", program], check=True, timeout=60)
    with strobe.launch([str(program)], trace=["@heap"]) as session:
        session.wait(timeout=60)
        sizes = [call.arguments["size"] for call in session.calls("malloc")]
        held = session.heap()
    assert 80 in sizes and 48 in sizes
    assert [group.size for group in held.groups if group.stack[0].startswith("main")] == [48], held


def test_a_crash_names_the_launch_that_says_what_was_freed(wire: Wire, build_program: Build) -> None:
    """And that launch says it; in 8 KB for both."""
    program = build_program("uses_freed", "-O1", "-g", "-pthread")
    asked = {"command": str(program), "args": ["member"], "projectRoot": ROOT, "trace": ["drop_item"], "wait": WAIT}
    launched = wire.good("debug_launch", **asked)
    assert "@heap was not traced" in launched["crash"]["freed"][0]
    step = launched["nextSteps"][0]
    again, _ = json.JSONDecoder().raw_decode(step.removeprefix("debug_launch "))
    assert again == asked | {"trace": ["drop_item", "@heap"]}
    untraced = wire.good("debug_launch", **(asked | {"trace": []}))
    assert not any("its calls" in one for one in untraced["nextSteps"])
    told = wire.good("debug_launch", **again)
    assert told["crash"]["freed"][0].startswith("this (frame 0) and item (frame 1) lead to a block of 40 bytes at 0x")
    assert not any("@heap" in one for one in told["nextSteps"])
    assert size(launched, told) <= MOST_BYTES
