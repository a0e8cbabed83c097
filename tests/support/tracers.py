"""Another debugger, as far as a process notices."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from support import processes

_TRACER = """
import ctypes, sys
PTRACE_SEIZE = 0x4206
assert ctypes.CDLL(None, use_errno=True).ptrace(PTRACE_SEIZE, int(sys.argv[1]), None, None) == 0
print("traced", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def traced(pid: int) -> Iterator[None]:
    """A process of its own traces the main thread of process `pid`."""
    command = [sys.executable, "-c", _TRACER, str(pid)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "traced\n"
        yield
    finally:
        processes.end(process)
