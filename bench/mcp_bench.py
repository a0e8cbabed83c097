"""`strobe mcp` from its start to the answer to `initialize`: what a client waits before its model's first turn.

Baseline: the interpreter alone, `python -c pass`, from start to end.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from strobe.mcp import daemon

from .harness import Figure

ROUNDS = 15
COLD_ROUNDS = 5
WARM_BAR_MS = 30.0
PUMP = [sys.executable, "-c", "from strobe.cli.main import main; main()", "mcp"]
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"bench","version":"0"}}}\n'
)


def measure(folder: Path) -> list[Figure]:
    home = folder / "home"
    baseline = statistics.median(_interpreter_ms() for _ in range(ROUNDS))
    try:
        cold = statistics.median(_cold_ms(home) for _ in range(COLD_ROUNDS))
        warm = statistics.median(_initialize_ms(home) for _ in range(ROUNDS))
    finally:
        daemon.stop(home)
    return [
        Figure("strobe mcp to initialize, daemon warm", warm, "ms", "python -c pass", baseline, WARM_BAR_MS),
        Figure("strobe mcp to initialize, daemon cold", cold, "ms", "python -c pass", baseline),
    ]


def _interpreter_ms() -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - begun) * 1e3


def _cold_ms(home: Path) -> float:
    daemon.stop(home)
    return _initialize_ms(home)


def _initialize_ms(home: Path) -> float:
    environment = {**os.environ, "STROBE_HOME": str(home)}
    begun = time.perf_counter()
    with subprocess.Popen(PUMP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        answer = process.stdout.readline()
        took = time.perf_counter() - begun
        process.kill()
    assert b'"protocolVersion"' in answer
    return took * 1e3
