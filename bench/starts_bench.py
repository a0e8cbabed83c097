"""From the start of a command to its end, for what takes no time itself: what somebody waits who asks a small question.

Stresses imports, Frida's way into a program and out of it, and what is read of kept symbols. Beside it, in the same run
and one after the other: gdb and uftrace doing the same where they are there, else the interpreter alone.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from strobe.mcp import daemon

from . import harness
from .harness import Figure

ROUNDS = 5
RUN_BAR_MS, SYMBOLS_BAR_MS, LAUNCH_BAR_MS = 350.0, 200.0, 150.0
LIBRARY_FUNCTIONS = 200_000  # a symbol table that is worth keeping
TIMEOUT_S = 60
STROBE = [sys.executable, "-c", "from strobe.cli.main import main; main()"]
ALONE = [sys.executable, "-c", "pass"]
INITIALIZE: dict[str, object] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}


def measure(folder: Path) -> list[Figure]:
    home = folder / "home"
    program = harness.compile_c(folder, "empty", "int main(void) { return 0; }\n", "-g")
    profiled = harness.compile_c(folder, "profiled", "int main(void) { return 0; }\n", "-pg")
    library = harness.compile_c(folder, "large.so", _library(), "-xassembler", "-shared", "-g0")
    run = [*STROBE, "run", "-t", "**", str(program)]
    symbols = [*STROBE, "symbols", str(library)]
    ways = {"run": _command(run, home), "symbols": _command(symbols, home), "python -c pass": _command(ALONE, home)}
    if gdb := shutil.which("gdb"):
        quiet = [gdb, "-nx", "-batch"]
        ways["gdb, run"] = _command([*quiet, "-ex", "break main", "-ex", "run", str(program)], home)
        ways["gdb, info functions"] = _command([*quiet, "-ex", "info functions part_1_only", str(library)], home)
    if uftrace := shutil.which("uftrace"):
        ways["uftrace, -pg"] = _command([uftrace, "live", str(profiled)], home)
    for way in ways.values():
        way()  # what is kept is kept now
    try:
        with _Client(home) as client:
            client.launch(program)
            ways["launch"] = lambda: client.launch(program)
            rounds = [{name: way() for name, way in ways.items()} for _ in range(ROUNDS)]
    finally:
        daemon.stop(home)
    took = {name: statistics.median(one[name] for one in rounds) for name in ways}
    return [
        *_beside(took, "strobe run, an empty program", "run", RUN_BAR_MS, ("gdb, run", "uftrace, -pg")),
        *_beside(took, "strobe symbols, of 200,000 functions", "symbols", SYMBOLS_BAR_MS, ("gdb, info functions",)),
        *_beside(took, "debug_launch, daemon warm", "launch", LAUNCH_BAR_MS, ("gdb, run", "uftrace, -pg")),
    ]


def _beside(took: dict[str, float], name: str, way: str, bar: float, baselines: tuple[str, ...]) -> list[Figure]:
    there = [other for other in baselines if other in took] or ["python -c pass"]
    return [Figure(name, took[way], "ms", other, took[other], bar) for other in there]


def _command(command: list[str], home: Path) -> Callable[[], float]:
    environment = {**os.environ, "STROBE_HOME": str(home)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run() -> float:
        begun = time.perf_counter()
        subprocess.run(command, env=environment, cwd=home.parent, capture_output=True, check=True, timeout=TIMEOUT_S)
        return (time.perf_counter() - begun) * 1e3

    return run


def _library() -> str:
    """In assembly: a compiler would take minutes."""
    names = (f"part_{number % 300}_of_{number}" for number in range(LIBRARY_FUNCTIONS))
    return ".section .note.GNU-stack\n.text\n" + "".join(
        f".globl {name}\n.type {name}, @function\n{name}: ret\n.size {name}, 1\n" for name in names
    )


class _Client:
    """Of `strobe mcp`, which goes on between launches."""

    def __init__(self, home: Path) -> None:
        environment = {**os.environ, "STROBE_HOME": str(home)}
        self._process = subprocess.Popen(
            [*STROBE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._number = 0

    def __enter__(self) -> _Client:
        self._ask("initialize", INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()

    def launch(self, program: Path) -> float:
        """How long the launch took, in ms; the session is stopped afterwards."""
        begun = time.perf_counter()
        session = self._call("debug_launch", command=str(program), projectRoot=str(program.parent))["sessionId"]
        took = (time.perf_counter() - begun) * 1e3
        self._call("debug_stop", sessionId=session)
        return took

    def _call(self, tool: str, **arguments: str) -> dict[str, str]:
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise AssertionError(result)
        return json.loads(result["content"][0]["text"])  # type: ignore[index]

    def _ask(self, method: str, parameters: dict[str, object]) -> dict[str, object]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        while True:
            answer = json.loads(_opened(self._process.stdout).readline())
            if answer.get("id") == self._number:
                return answer["result"]

    def _send(self, message: dict[str, object]) -> None:
        stream = _opened(self._process.stdin)
        stream.write(json.dumps(message).encode() + b"\n")
        stream.flush()


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
