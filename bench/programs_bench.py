"""Real programs with all of their functions traced: the same results as untraced, and how much slower they are.

STROBE_BENCH_PROGRAMS names a folder: sqlite3, zstd and redis are fetched from Debian's sources, built there with
-g -O2, and kept. A figure is CPU time of the program, the median of 3 runs, which take turns with those untraced. A run
with another result than the untraced one, or with an event that is neither kept nor counted, is an error.
STROBE_BENCH_CASES=redis measures those alone whose names begin so.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .harness import Figure, Skipped
from .programs import redis, sqlite, zstd
from .programs.runs import UFTRACE, UNTRACED, WAYS, Cost, Way
from .programs.sources import REDIS, SQLITE, ZSTD, Package, built

ROUNDS = 3
Run = Callable[[Way, Path, Path], tuple[Cost, dict[str, bytes]]]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    package: Package
    run: Run
    has_uftrace: bool = False


CASES = (
    Case("sqlite3, a script", SQLITE, sqlite.case, has_uftrace=True),
    Case("zstd -8", ZSTD, partial(zstd.case, threads=1), has_uftrace=True),
    Case("zstd -8 -T2", ZSTD, partial(zstd.case, threads=2)),
    Case("redis-server, its benchmark", REDIS, partial(redis.case, threads=1, each=2_000)),
    Case("redis-server, 2 I/O threads", REDIS, partial(redis.case, threads=2, each=200)),
)


def measure(folder: Path) -> list[Figure]:
    kept = os.environ.get("STROBE_BENCH_PROGRAMS")
    if not kept:
        raise Skipped("real programs are fetched and built on demand: STROBE_BENCH_PROGRAMS=FOLDER, minutes")
    wanted = os.environ.get("STROBE_BENCH_CASES", "")
    chosen = [case for case in CASES if case.name.startswith(wanted)]
    return [figure for case in chosen for figure in measured(case, Path(kept).absolute(), folder, ROUNDS)]


def measured(case: Case, kept: Path, folder: Path, rounds: int) -> list[Figure]:
    """Of one program built in `kept`, run in `folder`. AssertionError where it does not do as it does untraced."""
    ways = [*WAYS, UFTRACE] if case.has_uftrace and shutil.which("uftrace") else list(WAYS)
    costs: dict[str, list[Cost]] = {way.name: [] for way in ways}
    expected: dict[str, bytes] = {}
    for _ in range(rounds):
        for way in ways:
            program = built(kept, case.package, "-pg" if way.is_profiled else "")
            cost, results = _one(case.run, way, program, folder)
            costs[way.name].append(cost)
            expected = expected or results
            _compare(f"{case.name}, {way.name}", expected, results)
    return _figures(case.name, costs)


def _one(run: Run, way: Way, program: Path, folder: Path) -> tuple[Cost, dict[str, bytes]]:
    """In an empty folder."""
    place = folder / "run"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return run(way, program, place)


def _compare(what: str, expected: dict[str, bytes], results: dict[str, bytes]) -> None:
    """The untraced run comes first, so `expected` is what it gave."""
    other = [name for name, value in results.items() if value != expected[name]]
    if other or results.keys() != expected.keys() or not all(results.values()):
        raise AssertionError(f"{what}: not as untraced: {other}")


def _figures(name: str, costs: dict[str, list[Cost]]) -> list[Figure]:
    untraced = statistics.median(cost.cpu for cost in costs.pop(UNTRACED.name))
    figures = []
    for way, runs in costs.items():
        calls, functions = runs[0].calls, runs[0].functions
        called = f" ({calls / 1e6:,.1f} million calls of {functions:,} functions)" if calls else ""
        value = statistics.median(run.cpu for run in runs)
        figures.append(Figure(f"{name}: {way}{called}", value, "s", "untraced", untraced))
    return figures
