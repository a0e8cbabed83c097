"""Programs from their debug information: cold, with an empty home, and warm, from what was kept of them.

Measured on the native core of Strobe itself and on a generated C++ library of 5 MB; with STROBE_BENCH_SYMBOLS=large on
one of 100 MB, too, or on the file that it names: libjvm.so.debug of openjdk-17-dbg is a large one. Baselines: a walk
over all DIEs with pyelftools where the file is small, and gdb answering `info functions`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from strobe import _core
from strobe.symbols.objects.formats import open_image

from .generated import debug_build, large_library
from .harness import Figure, Skipped

ROUNDS = 3
WARM_BAR_MS, MEMORY_BAR_MB = 60.0, 400.0
# (MB of debug sections up to which it holds, ms uncompressed, ms compressed)
COLD_BARS = ((8, 50.0, 75.0), (120, 1000.0, 1500.0), (380, 2000.0, 3000.0))
WALKED_BYTES = 12 << 20
TIMEOUT_S = 600
POLL_S = 0.004

MODULE = """
import sys, time
from strobe.symbols import ElfResolver
start = time.perf_counter()
symbols = ElfResolver().module(sys.argv[1])
print((time.perf_counter() - start) * 1e3)
assert symbols.has_debug_info, symbols.warnings
"""
# What people ask for next, all in one go.
QUESTIONS = """
import sys, time
from strobe.symbols import ElfResolver, Pattern, select
start = time.perf_counter()
resolver = ElfResolver()
symbols = resolver.module(sys.argv[1])
found = select([Pattern.parse("**::add")], [symbols]).functions
function = symbols.functions[len(symbols.functions) // 2]
assert symbols.function_at(function.address + 1) is not None
details = resolver.details(sys.argv[1])
details.lines.at(function.address)
details.debug_info.find_types("Entry")
details.debug_info.find_variables("store")
print((time.perf_counter() - start) * 1e3)
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


@dataclass(frozen=True, slots=True)
class Run:
    """Of one process: what it measured itself, and the most memory it had, that of mapped files left out."""

    ms: float
    anonymous_mb: float


class Subject:
    """A file to measure."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self._folder = path, folder
        image = open_image(str(path))
        sections = [section for section in image.sections() if section.name.startswith((".debug", ".zdebug"))]
        image.close()
        self.debug_bytes = sum(section.plain_size for section in sections)
        self.is_compressed = any(section.is_compressed for section in sections)

    @property
    def name(self) -> str:
        packed = ", compressed" if self.is_compressed else ""
        return f"{self.path.name.partition('.')[0]} ({self.debug_bytes / 2**20:.0f} MB of DWARF{packed})"

    @property
    def cold_bar_ms(self) -> float | None:
        for megabytes, plain, compressed in COLD_BARS:
            if self.debug_bytes <= megabytes << 20:
                return compressed if self.is_compressed else plain
        return None

    @cached_property
    def baseline(self) -> tuple[str, Run]:
        gdb = shutil.which("gdb")
        if self.debug_bytes <= WALKED_BYTES:
            return "pyelftools, all DIEs", self.run([sys.executable, "-c", WALK, str(self.path)], "walk")
        if gdb is None:
            raise Skipped("gdb is not installed (Debian: apt-get install gdb)")
        return self.gdb(gdb)

    def gdb(self, gdb: str) -> tuple[str, Run]:
        quiet = ["-nx", "-batch", "-iex", "set debuginfod enabled off"]
        return "gdb, info functions", self.run([gdb, *quiet, "-ex", "info functions ^main$", str(self.path)], "gdb")

    def python(self, code: str, home: str) -> Run:
        """What a fresh interpreter measures, its own start left out."""
        return self.run([sys.executable, "-c", code, str(self.path)], home)

    def run(self, command: list[str], home: str) -> Run:
        environment = os.environ | {"STROBE_HOME": str(self.home(home))}
        start = time.perf_counter()
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            peak = _watched(process, start + TIMEOUT_S)
            printed = process.stdout.read() if process.stdout is not None else ""
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}")
        own = printed.strip().splitlines()[-1:] if command[0] == sys.executable else []
        return Run(float(own[0]) if own else (time.perf_counter() - start) * 1e3, peak)

    def home(self, name: str) -> Path:
        return self._folder / self.path.name / name


def measure(folder: Path) -> list[Figure]:
    subjects = [Path(_core.__file__ or ""), debug_build()]
    wanted = os.environ.get("STROBE_BENCH_SYMBOLS")
    if wanted:
        subjects.append(large_library() if wanted == "large" else Path(wanted))
    return [figure for path in subjects for figure in _figures(Subject(path, folder))]


def _figures(subject: Subject) -> list[Figure]:
    baseline, base = subject.baseline
    cold = [subject.python(MODULE, f"home{turn}") for turn in range(ROUNDS)]
    cold_ms = statistics.median(run.ms for run in cold)
    figures = [Figure(f"{subject.name}: functions, cold", cold_ms, "ms", baseline, base.ms, subject.cold_bar_ms)]
    gdb = shutil.which("gdb")
    if gdb is not None and not baseline.startswith("gdb"):
        baseline, base = subject.gdb(gdb)
        figures.append(Figure("the same", cold_ms, "ms", baseline, base.ms))
    peak_mb = max(run.anonymous_mb for run in cold)
    figures.append(
        Figure("memory for it, mapped files left out", peak_mb, "MB", baseline, base.anonymous_mb, MEMORY_BAR_MB)
    )
    if not list(subject.home("home0").rglob("*.db")):  # so small that nothing is kept
        return figures
    warm = [subject.python(MODULE, "home0") for _ in range(ROUNDS)]
    asked = [subject.python(QUESTIONS, "home0") for _ in range(ROUNDS)]
    for name, runs, bar in (
        ("functions, warm", warm, WARM_BAR_MS),
        ("a pattern, an address, its line, a type, a variable, warm", asked, None),
    ):
        ms = statistics.median(run.ms for run in runs)
        figures.append(Figure(f"{subject.name}: {name}", ms, "ms", baseline, base.ms, bar))
    return figures


def _watched(process: subprocess.Popen[str], deadline: float) -> float:
    """The most anonymous memory, in MB, that a process had when it was looked at; waits until it ends."""
    peak_kb = 0
    while process.poll() is None:
        if time.perf_counter() > deadline:
            process.kill()
            raise TimeoutError(f"{process.args!r} takes too long")
        peak_kb = max(peak_kb, _anonymous_kb(process.pid))
        time.sleep(POLL_S)
    return peak_kb / 1024


def _anonymous_kb(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon:")), 0)
