"""`strobe compare` of two runs of bins, one of which has less room."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support.programs import PROGRAMS

STROBE = [sys.executable, "-m", "strobe"]
ITEMS = 60


def ran(*words: str | Path) -> str:
    return subprocess.run(
        [*STROBE, *words], capture_output=True, text=True, timeout=60, check=True, cwd=PROGRAMS
    ).stdout


def kept(program: Path, limit: int) -> str:
    report = subprocess.run(
        [*STROBE, "run", "--keep", "--no-sampling", "-t", "bins::*", "--", program, str(limit), str(ITEMS)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stderr
    return report.partition("kept as session ")[2].split(";")[0]


def test_the_first_call_that_differs_stands_in_the_terminal(build_program: Callable[..., Path]) -> None:
    program = build_program("bins", "-O1", "-pthread")
    plenty, tight = kept(program, 100_000), kept(program, 100)
    shown = ran("compare", tight, plenty).splitlines()
    assert shown[0] == f"here: {tight}, there: {plenty}"
    (rejected,) = (line for line in shown if line.endswith("bins::reject"))
    assert rejected.split()[1] == "0" and int(rejected.split()[0]) > 0
    (first,) = (place for place, line in enumerate(shown) if line.startswith("the first call that differs"))
    assert "bins::reject(item=" in shown[first + 1] and "bins::put(bin=" in shown[first + 2]
    assert shown[first + 3] == "  within bins::fill"
    (limit,) = (line.split() for line in shown if line.endswith("  limit    bins::fill"))
    assert limit[:6] == ["100", "100000", "1", "of", "1", "limit"]
    found = json.loads(ran("compare", tight, plenty, "--json"))
    assert found["firstDivergence"]["here"]["function"] == "bins::reject"
    same = ran("compare", plenty, kept(program, 100_000)).splitlines()
    assert same[1:3] == ["5 functions were called equally often", ""]
    assert same[-1] == "the same calls in 2 threads, 482 events"  # before it mean times, where chance made them differ
