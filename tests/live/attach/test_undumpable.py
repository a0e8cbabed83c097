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

LONE = """
import sys, time
import strobe

with strobe.launch([sys.argv[1], "undumpable"], home=sys.argv[2], stdin="\\n\\n") as program:
    for _ in range(6000):
        if "unshare:" in program.stdout:
            break
        time.sleep(0.01)
    for _ in range(1500):  # a call waits 30 s for who does not come
        if "beside a thread:" in program.stdout:
            break
        time.sleep(0.01)
    print(program.stdout)
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
    told = _run_unprivileged(folder, SCRIPT, str(program), str(folder / "home"))
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


def test_a_call_that_waited_for_the_agents_end_does_not_wait_any_more(
    build_program: Callable[..., Path], folder: Path
) -> None:
    """What it waits for is written by the descriptor of its memory that was opened when that was permitted."""
    program = shutil.copy(build_program("enters_namespaces"), folder / "enters_namespaces")
    told = _run_unprivileged(folder, LONE, str(program), str(folder / "home"))
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[:3] == ["ready 2", "unshare: 0 ", "beside a thread: -1 Invalid argument"]


def _run_unprivileged(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    nobody = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    unprivileged = [require("setpriv"), *nobody] if os.geteuid() == 0 else []
    environment = os.environ | {"HOME": str(folder)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*unprivileged, sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=folder, env=environment)

    if run("-c", "import strobe, frida").returncode != 0:
        lack("another user cannot run Strobe from here")
    return run("-c", script, *arguments)
