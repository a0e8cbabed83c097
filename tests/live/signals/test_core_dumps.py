"""A core dump shows what it would without Strobe: the signal and whence it came, the instruction, the calls of all
threads. Program: dumps."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sessions import Build

import strobe

SECONDS = 60.0
# Frida's own threads have none of these
_CALLS = {"wait_within", "wait_for_ever", "first", "again", "end_by", "call", "fork_and_call", "main"}
_FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(", re.MULTILINE)
_ACCESSES = ("write", "wild", "first", "child")  # of these the address is always the same
_ASKED = ["p $_siginfo.si_signo", "p $_siginfo.si_code", "p/x $_siginfo._sifields._sigfault.si_addr"]


@pytest.fixture
def dumping() -> Iterator[None]:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern != "core" or shutil.which("gdb") is None:
        pytest.skip("needs gdb, and core dumps in the working directory")
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard != resource.RLIM_INFINITY:
        pytest.skip("core dumps are limited")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def dumped(program: Path, folder: Path, how: str) -> tuple[list[str], list[str]]:
    """What gdb finds of the signal, and the program's own calls, thread by thread, the one that got it first."""
    (core,) = folder.glob("core*")
    asked = [word for line in [*_ASKED, "bt", "echo OTHERS\\n", "thread apply all bt"] for word in ("-ex", line)]
    found = subprocess.run(
        ["gdb", "-batch", "-nx", *asked, program, core], capture_output=True, text=True, timeout=SECONDS, check=True
    ).stdout
    core.unlink()
    own, _, others = found.partition("OTHERS")
    facts = re.findall(r"^\$\d = (\S+)", own, re.MULTILINE)
    return facts[: 3 if how in _ACCESSES else 2], [
        name for name in _FRAME.findall(own) + _FRAME.findall(others) if name in _CALLS
    ]


@pytest.mark.parametrize(
    "how", ["write", "wild", "divide", "first", "abort", "assert", "raise", "sent", "own", "child"]
)
def test_a_core_dump_is_as_without_strobe(dumping: None, build_program: Build, tmp_path: Path, how: str) -> None:
    program = build_program("dumps", "-g", "-O1")
    subprocess.run([program, how], cwd=tmp_path, capture_output=True, timeout=SECONDS)
    alone = dumped(program, tmp_path, how)
    with strobe.launch([str(program), how], trace=["**"], cwd=str(tmp_path)) as run:
        run.wait(timeout=SECONDS)
    assert dumped(program, tmp_path, how) == alone
    assert alone[1].count("fork_and_call" if how == "child" else "wait_within") >= 3
