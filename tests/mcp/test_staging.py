"""What staged patterns and probes match is told when they are staged, where the program is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.mcp_wire import Wire

Build = Callable[..., Path]
PROBES = [{"at": "Pool::take:return"}, {"at": "pool.cpp:1"}]


def test_matches_are_told_before_the_launch(wire: Wire, build_program: Build, tmp_path: Path) -> None:
    program = str(build_program("pool", "-O0"))
    root = str(tmp_path)
    unknown = wire.good("debug_trace", projectRoot=root, add=["main"], probes={"add": [{"at": "pool.cpp:1"}]})
    assert unknown["status"].endswith(
        "What they match is not known before the launch, as no program of this folder has run."
    )
    assert unknown["probes"] == [{"label": "pool.cpp:1"}]
    assert not {"matchedFunctions", "hookedFunctions"} & unknown.keys()

    known = wire.good("debug_trace", projectRoot=root, command=program, add=["mian"], probes={"add": PROBES})
    assert known["matchedFunctions"] == 1
    assert known["probes"][1] == {
        "label": "Pool::take:return",
        "places": 2,
        "in": ["Pool<Node>::take", "Pool<Other>::take"],
    }
    assert "No function matches 'mian'. Names like it: main." in known["status"]
    assert "There is no code at pool.cpp:1. The nearest line with code" in known["status"]

    several = wire.good("debug_trace", projectRoot=root, command=program, add=["main, Pool::take"])["status"]
    assert "'main, Pool::take'. Several patterns are given one by one: 'main', 'Pool::take'." in several
    wire.good("debug_trace", projectRoot=root, remove=["mian", "main, Pool::take"], probes={"remove": ["pool.cpp:1"]})
    launched = wire.good("debug_launch", command=program, projectRoot=root, wait={"until": "exit"})
    assert launched["probes"][0]["places"] == 2
    again = wire.good("debug_trace", projectRoot=root, add=["**::take"])
    assert again["matchedFunctions"] == 3  # in the program of the last session
    said = wire.bad("debug_trace", projectRoot=root, command="/nowhere", add=["main"])
    assert "/nowhere" in said
