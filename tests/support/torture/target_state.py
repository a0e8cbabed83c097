"""What is left of Strobe in a process that it has let go of: no tracer, no thread, no jump in its code. And where one
that does not end stands."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_AGENT_THREADS = re.compile(r"gum-js-loop|gmain|gdbus|pool-frida|frida|pool-spawner")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+\s*(.*)")
_COMPARED = re.compile(r"/libc\.so\.6$|/plugged$")

_LOOKS_APART_S = 2.0
_STACK_SECONDS = 60
_IDLE_SECONDS = 60.0
_CPU_SECONDS = 30.0
_LONGEST_SECONDS = 400.0
_POLL_SECONDS = 0.02
_T = TypeVar("_T")


def wait_while_it_works(condition: Callable[[], _T | None], pid: int, what: str) -> _T:
    """The first true value of `condition`. Fails once the process has used no CPU time for a minute, or half a minute
    of it in all: on a loaded machine a program that records each call may get a hundredth of a CPU."""
    begun = moved = time.monotonic()
    first = used = _cpu_seconds(pid)
    while True:
        if value := condition():
            return value
        now = time.monotonic()
        if (cpu := _cpu_seconds(pid)) > used:
            used, moved = cpu, now
        if now - moved > _IDLE_SECONDS or used - first > _CPU_SECONDS or now - begun > _LONGEST_SECONDS:
            raise AssertionError(
                f"{what}: not after {now - begun:.0f} s, {used - first:.1f} of CPU\n{where_it_stands(pid)}"
            )
        time.sleep(_POLL_SECONDS)


def _cpu_seconds(pid: int) -> float:
    """0 of one that is gone."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def where_it_stands(pid: int) -> str:
    """Its threads at two moments: state, CPU time of its own code in 10 ms, name,
    what it waits in; then their stacks, where gdb is."""
    looks = []
    for _ in range(2):
        for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(OSError):
                state, cpu, *_ = (task / "stat").read_text().rpartition(")")[2].split()[:12:11]
                read = [(task / name).read_text().strip() for name in ("comm", "wchan", "syscall")]
                looks.append(" ".join([task.name, state, cpu, *read]))
        looks.append("")
        time.sleep(_LOOKS_APART_S)
    if shutil.which("gdb"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            command = ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all bt 30"]
            looks.append(subprocess.run(command, capture_output=True, text=True, timeout=_STACK_SECONDS).stdout)
    return "\n".join(looks)


def traces_of_strobe(pid: int, program: Path) -> list[str]:
    """One line each; empty where the process is clean, or gone."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                status = (task / "status").read_text()
                if "TracerPid:\t0\n" not in status:
                    found.append(f"thread {task.name} is traced")
                name = status.splitlines()[0].removeprefix("Name:\t")
                if _AGENT_THREADS.match(name):
                    found.append(f"thread {task.name} is called {name}")
        found += _mapped(pid, program)
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                leads_to = str(descriptor.readlink())
                if leads_to.startswith(("socket:", "anon_inode")) or "strobe" in leads_to or "frida" in leads_to:
                    found.append(f"descriptor {descriptor.name} leads to {leads_to}")
    return found


def _mapped(pid: int, program: Path) -> list[str]:
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        match = _MAPPING.match(line)
        if match is None:
            continue
        begin, end, rights, offset = int(match[1], 16), int(match[2], 16), match[3], int(match[4], 16)
        path = match[5]
        if path.startswith("/dev/shm/strobe"):
            found.append(f"mapped: {line}")
        if "x" in rights and (path == str(program) or _COMPARED.search(path)):
            found += _changed(pid, path, begin, end, offset)
    return found


def _changed(pid: int, path: str, begin: int, end: int, offset: int) -> list[str]:
    """Where code differs from its file."""
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory, Path(path).open("rb") as file:
            memory.seek(begin)
            is_there = memory.read(end - begin)
            file.seek(offset)
            should_be = file.read(end - begin)
    except OSError:
        return []  # it was unmapped meanwhile
    size = min(len(is_there), len(should_be))
    if is_there[:size] == should_be[:size]:
        return []
    places = [place for place in range(size) if is_there[place] != should_be[place]]
    return [f"{len(places)} bytes of {path} differ from the file, the first at offset {offset + places[0]:#x}"]
