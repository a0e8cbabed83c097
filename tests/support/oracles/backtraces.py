"""The stacks with which a function is reached, as gdb sees them: who else says what recorded ones say."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

GDB_SECONDS = 120
SIGNAL = "<signal handler called>"
_SCRIPT = """
import gdb, json
gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set backtrace past-main off")
gdb.execute("handle SIGUSR1 nostop noprint pass")
gdb.execute("starti > /dev/null 2>&1")
gdb.Breakpoint({place})
stacks = []
while True:
    gdb.execute("continue")
    try:
        frame = gdb.newest_frame().older()
    except gdb.error:
        break
    stack = []
    while frame is not None:
        line = frame.find_sal()
        name = {signal} if frame.type() == gdb.SIGTRAMP_FRAME else frame.name()
        known = line.symtab is not None and frame.type() != gdb.SIGTRAMP_FRAME
        if frame.type() != gdb.TAILCALL_FRAME:  # which gdb has worked out, and no stack has any more
            file = line.symtab.filename.rpartition("/")[2] if known else None
            stack.append([name, file, line.line if known else None])
        frame = frame.older()
    stacks.append(stack)
print("STACKS", json.dumps(stacks))
"""


def stacks(program: Path, function: str) -> list[list[tuple[str, str | None, int | None]]]:
    """For each time that the program comes to the function's first instruction its callers, up to main: name, file and
    line, None where gdb does not know it."""
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("gdb is not installed")
    script = _SCRIPT.format(place=json.dumps(f"*{function}"), signal=json.dumps(SIGNAL))
    found = subprocess.run(
        [gdb, "-batch", "-nx", "-ex", f"python exec({script!r})", program],
        capture_output=True,
        text=True,
        timeout=GDB_SECONDS,
    )
    lines = [line for line in found.stdout.splitlines() if line.startswith("STACKS ")]
    assert lines, found.stdout + found.stderr
    return [[tuple(frame) for frame in stack] for stack in json.loads(lines[0].removeprefix("STACKS "))]
