"""Functions of the C library that are named as the place of a probe, or traced. Program: calls_system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import programs
from support.mcp_wire import Wire
from support.programs import PROGRAMS
from support.wait import wait_until

Build = Callable[..., Path]
BYTES = 7919 * 4


@pytest.fixture
def program(build_program: Build) -> Path:
    return build_program("calls_system", "-O0", "-g", "-pthread", "-fno-builtin")


def asked(program: Path, **more: Any) -> dict[str, Any]:
    wait = {"until": "exit", "timeoutMs": 40_000}
    return {"command": str(program), "projectRoot": str(PROGRAMS), "wait": wait, **more}


def launched(wire: Wire, program: Path, **more: Any) -> dict[str, Any]:
    answer = wire.good("debug_launch", **asked(program, **more))
    assert answer["ended"] == {"exitCode": 0, "reason": "exit"}
    return answer


@pytest.mark.parametrize("name", ["malloc", "pthread_mutex_lock", "qsort"])
def test_a_traced_name(wire: Wire, program: Path, name: str) -> None:
    answer = launched(wire, program, trace=[name, "main"])
    found = wire.good("debug_query", sessionId=answer["sessionId"], function={"equals": name}, verbose=True)
    assert found["totalCount"] >= 2
    if name == "malloc":
        sizes = [one["arguments"][0]["value"] for one in found["events"] if one["eventType"] == "function_enter"]
        assert BYTES in sizes


@pytest.mark.parametrize("name", ["malloc", "pthread_mutex_lock", "qsort"])
def test_the_place_of_a_probe(wire: Wire, program: Path, name: str) -> None:
    """Where none may stand at the entry, what is said to do in place of it can be done."""
    probe = {"at": name, "show": ["$function"]}
    result = wire.call("debug_launch", **asked(program, probes=[probe]))
    if result["isError"]:
        text = result["content"][0]["text"]
        assert "no breakpoint instruction may stand there" in text
        assert f"A probe at {name}:return (`return: true`)" in text and f"a trace of {name}" in text
    else:
        (totals,) = result["structuredContent"]["probeTotals"]
        assert totals["hits"] >= 1
    show = ["$return", "size = $entry(bytes)"] if name == "malloc" else ["$function"]
    answer = launched(wire, program, probes=[{"at": f"{name}:return", "show": show}])
    assert answer["probeTotals"][0]["hits"] >= 1
    if name == "malloc":
        where = f"size == {BYTES}"
        found = wire.good("debug_query", sessionId=answer["sessionId"], where=where, verbose=True)
        assert found["totalCount"] >= 1


def test_what_the_cpu_chooses_is_not_recorded_by_its_name(wire: Wire, program: Path) -> None:
    for more in ({"trace": ["memcpy"]}, {"probes": [{"at": "memcpy"}]}, {"probes": [{"at": "strlen", "return": True}]}):
        text = wire.bad("debug_launch", **asked(program, **more))
        assert "is chosen among several implementations" in text and "trace the functions that call it" in text


def test_what_is_said_of_others_can_be_followed(wire: Wire, program: Path) -> None:
    text = wire.bad("debug_launch", **asked(program, probes=[{"at": "mallo*"}]))
    assert "give the exact names (malloc" in text and "or @lib:libc.so.6" in text
    assert "give the exact names (malloc" in wire.bad("debug_launch", **asked(program, trace=["mallo*"]))
    assert "returns twice" in wire.bad("debug_launch", **asked(program, probes=[{"at": "setjmp"}]))
    text = wire.bad("debug_launch", **asked(program, probes=[{"at": "_no_such_function"}]))
    assert "no function matches" in text


def test_an_own_function_that_was_inlined_is_not_the_librarys(wire: Wire, build_program: Build) -> None:
    program = build_program("own_warn", "-O1", "-g")
    for at in ("warn", "war*"):
        text = wire.bad("debug_launch", **asked(program, probes=[{"at": at}]))
        assert f"A probe at '{at}:inlined' is where it was inlined" in text
    for label in ("note", "no function matches"):  # whatever it is called
        text = wire.bad("debug_launch", **asked(program, probes=[{"at": "warn", "label": label}]))
        assert "it has no copy of its own" in text
    answer = launched(wire, program, probes=[{"at": "warn:inlined", "show": ["code"]}])
    assert sum(one["hits"] for one in answer["probeTotals"]) == 2


def test_the_place_is_a_library(wire: Wire, program: Path) -> None:
    text = wire.bad("debug_launch", **asked(program, probes=[{"at": "@lib:libc.so.6"}]))
    assert "of a system library the functions are named one by one" in text
    assert "a trace of @lib:libc.so.6 records the calls of all" in text


def test_a_library_that_has_a_function_of_that_name(wire: Wire, build_program: Build, program_cache: Path) -> None:
    """Both are meant from then on. The program waits in the C library's after each 1,000 calls of the other one."""
    options = ("-shared", "-fPIC", "-Wl,-Bsymbolic", "-Dplugin_helper=usleep")
    library = programs.build(programs.source_of("plugin"), options, None, program_cache)
    program = build_program("dlopens")
    answer = wire.good(
        "debug_launch", command=str(program), args=[str(library), "reload"], projectRoot=str(PROGRAMS), trace=["usleep"]
    )

    def counted(**more: Any) -> int:
        found = wire.good("debug_query", sessionId=answer["sessionId"], function={"equals": "usleep"}, **more)
        return int(found["totalCount"])

    wait_until(lambda: counted(where="$duration > 50000000") >= 3, "pauses in the C library")
    assert counted() >= 2 * 3000  # of the library's in the meantime; entries and returns
    wire.good("debug_stop", sessionId=answer["sessionId"])
