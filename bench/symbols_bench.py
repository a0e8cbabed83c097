"""Functions of a program from its debug information: cold, with an empty home, and warm, from what was kept of it.

Measured on the native core of Strobe itself, and on the file that STROBE_BENCH_SYMBOLS names: libjvm.so.debug of
openjdk-17-dbg is a large one. Baselines: a walk over all DIEs with pyelftools for what is small, for what is large
`info functions` of gdb.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from strobe import _core
from strobe.symbols.cache import WORTH_BYTES

from .harness import Figure, Skipped

ROUNDS = 5
COLD_BAR_MS = 50.0
SMALL_BYTES = 30 << 20
TIMEOUT_S = 300

MODULE = """
import sys, time
from strobe.symbols import ElfResolver
start = time.perf_counter()
symbols = ElfResolver().module(sys.argv[1])
print((time.perf_counter() - start) * 1e3)
assert symbols.has_debug_info, symbols.warnings
"""
WALK = """
import sys, time
from elftools.elf.elffile import ELFFile
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    for unit in ELFFile(file).get_dwarf_info(follow_links=False).iter_CUs():
        for _ in unit.iter_DIEs():
            pass
print((time.perf_counter() - start) * 1e3)
"""


def measure(folder: Path) -> list[Figure]:
    figures = _figures(Path(_core.__file__ or ""), folder, COLD_BAR_MS)
    large = os.environ.get("STROBE_BENCH_SYMBOLS")
    return figures + (_figures(Path(large), folder, None) if large else [])


def _figures(program: Path, folder: Path, cold_bar: float | None) -> list[Figure]:
    size = program.stat().st_size
    name = f"functions of {program.name.partition('.')[0]} ({size / 2**20:.0f} MB)"
    if size <= SMALL_BYTES:
        baseline, baseline_ms = "pyelftools, all DIEs", _printed_ms(WALK, program, folder)
    else:
        baseline, baseline_ms = "gdb info functions", _gdb_ms(program)
    cold = statistics.median(_printed_ms(MODULE, program, folder / f"home{turn}") for turn in range(ROUNDS))
    figures = [Figure(f"{name}, cold", cold, "ms", baseline, baseline_ms, cold_bar)]
    if size > WORTH_BYTES and any((folder / "home0").rglob("*.db")):
        warm = statistics.median(_printed_ms(MODULE, program, folder / "home0") for _ in range(ROUNDS))
        figures.append(Figure(f"{name}, warm", warm, "ms", baseline, baseline_ms))
    for turn in range(ROUNDS):
        shutil.rmtree(folder / f"home{turn}", ignore_errors=True)
    return figures


def _printed_ms(code: str, program: Path, home: Path) -> float:
    """What a fresh interpreter measures, its own start left out."""
    environment = os.environ | {"STROBE_HOME": str(home)}
    command = [sys.executable, "-c", code, str(program)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return float(run.stdout)


def _gdb_ms(program: Path) -> float:
    gdb = shutil.which("gdb")
    if gdb is None:
        raise Skipped("gdb is not installed")
    command = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "info functions ^main$", str(program)]
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT_S)
    return (time.perf_counter() - start) * 1e3
