"""A program that no other process may read: its agent reads and writes it. As under Yama where it permits nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.programs import lack, require

NOBODY = 65534
SCRIPT = """
import json, pathlib, sys, time
import strobe
from strobe.errors import StrobeError

told = {}
with strobe.launch([sys.argv[1]], home=sys.argv[2]) as program:
    for _ in range(3000):
        if "ready" in program.stdout:
            break
        time.sleep(0.01)
    try:
        pathlib.Path(f"/proc/{program.pid}/maps").read_text()
        told["maps"] = "readable"
    except PermissionError:
        told["maps"] = "refused"
    for name in ("gTempo", "gTitle", "gLocal", "gFirst.next->value"):
        told[name] = program.read(name)
    told["previous"] = program.write("gTempo", 140)
    told["written"] = program.read("gTempo")
    for name in ("gWild->value", "gNope"):
        try:
            program.read(name)
        except StrobeError as error:
            told[name] = error.message
    try:
        program.write("*(char*)gTitle", "x")
    except StrobeError as error:
        told["refused"] = "r--p" in error.message
print(json.dumps(told))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where an unprivileged user may come, unlike to pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="strobe-undumpable-"))
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


def test_what_the_system_refuses_the_agent_reads(build_program: Callable[..., Path], folder: Path) -> None:
    program = shutil.copy(build_program("undumpable", "-O0"), folder / "undumpable")
    nobody = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    unprivileged = [require("setpriv"), *nobody] if os.geteuid() == 0 else []
    environment = os.environ | {"HOME": str(folder)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*unprivileged, sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=folder, env=environment)

    if run("-c", "import strobe, frida").returncode != 0:
        lack("another user cannot run Strobe from here")
    told = run("-c", SCRIPT, str(program), str(folder / "home"))
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == {
        "maps": "refused",
        "gTempo": 120,
        "gTitle": "hello",
        "gLocal": 5,
        "gFirst.next->value": 2,
        "previous": 120,
        "written": 140,
        "gWild->value": "Address not readable: 0x10, for gWild->value.",
        "gNope": "Variable 'gNope' not found in debug symbols.",
        "refused": True,
    }
