"""How often threads come to an instruction or a line, counted by gdb's breakpoints: who else says what probes say."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

GDB_SECONDS = 120
_SCRIPT = """
import gdb, json
gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set breakpoint pending off")
gdb.execute("handle SIGTRAP nostop noprint pass") if {passes} else None
gdb.execute("starti {arguments} > /dev/null 2>&1")
points = []
for place in {places}:
    try:
        points.append(gdb.Breakpoint(place))
    except gdb.error:
        points.append(None)
for point in points:
    if point is not None:
        point.ignore_count = 1 << 30
gdb.execute("continue")
found = [None if point is None else point.hit_count for point in points]
print("COUNTS", json.dumps(found))
"""


def instructions(program: Path, function: str) -> list[int]:
    """How far behind its entry each instruction of a function begins."""
    found = subprocess.run(
        [_gdb(), "-batch", "-nx", "-ex", f"disassemble {function}", program], capture_output=True, text=True, timeout=60
    )
    places = [line.split("<", 1)[1].split(">")[0] for line in found.stdout.splitlines() if "<+" in line]
    return [int(place.lstrip("+")) for place in places]


def hits(program: Path, places: Sequence[str], *arguments: str) -> list[int | None]:
    """For each of gdb's places how often the program comes there; None where gdb finds no such place."""
    script = _SCRIPT.format(arguments=" ".join(arguments), places=json.dumps(list(places)), passes=False)
    found = subprocess.run(
        [_gdb(), "-batch", "-nx", "-ex", f"python exec({script!r})", program],
        capture_output=True,
        text=True,
        timeout=GDB_SECONDS,
    )
    lines = [line for line in found.stdout.splitlines() if line.startswith("COUNTS ")]
    assert lines, found.stdout + found.stderr
    counts: list[int | None] = json.loads(lines[0].removeprefix("COUNTS "))
    return counts


def _gdb() -> str:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("gdb is not installed")
    return gdb
