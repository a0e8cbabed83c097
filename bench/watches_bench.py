"""What watches and deep arguments cost a traced call.

Stresses the part of the recorder that reads the program's memory. A figure is what one evaluation adds: the best batch
of 50,000 calls of a function with 2 int arguments, without and with watches, which are read at the call and at the
return; so the difference is divided by twice their number. Baseline: the same call without watches.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strobe.model import Watch

from . import callers
from .call_program import Timing, line_of
from .harness import Figure

ROUNDS = 3
CALLS = 1_000_000
SLOW_CALLS = 50_000
FEW_CALLS = 4_000
WATCHES = 8
BAR_NS = 30.0
CONDITION_BAR_NS = 50.0  # over an untraced call
PROBE_BAR_NS = 100.0
SCAN_BAR_NS = 5000.0


def measure(folder: Path) -> list[Figure]:
    program = callers.build(folder, "calls")
    home = folder / "home"
    plain = _best(program, home, CALLS)
    numbers = [Watch("gWatched", label=f"global {number}") for number in range(WATCHES)]
    fields = [Watch("gWatchedNode->value", label=f"field {number}") for number in range(WATCHES)]
    scripts = [Watch(expr="1 + 1")]
    return [
        *_deep(program, home),
        _figure("one of 8 watches of globals", _best(program, home, CALLS, numbers), plain, 2 * WATCHES, BAR_NS),
        _figure("a watch of a global, alone", _best(program, home, CALLS, numbers[:1]), plain, 2, None),
        _figure(
            "a watch behind a pointer to the heap", _best(program, home, CALLS, fields), plain, 2 * WATCHES, BAR_NS
        ),
        _figure("a watch behind a pointer, alone", _best(program, home, CALLS, fields[:1]), plain, 2, BAR_NS),
        _figure("a watch in JavaScript", _best(program, home, SLOW_CALLS, scripts), plain, 2, None),
        _figure("a watch of an argument, alone", _best(program, home, CALLS, [Watch("b")]), plain, 2, None),
        *_conditions(program, home, plain),
        *_probes(program, home),
    ]


def _conditions(program: Path, home: Path, plain: Timing) -> list[Figure]:
    """Calls for which the condition does not hold, so that only totals are kept; above an untraced call."""
    untraced = min((callers.untraced(program, "two", CALLS) for _ in range(ROUNDS)), key=lambda one: one.best)
    found = []
    for name, where, calls, bar in (
        ("an argument", "b < 0", CALLS, CONDITION_BAR_NS),
        ("a global behind a pointer", "gWatchedNode->value == -7", CALLS, None),
        ("all of 700 elements", "!all(i in 0..700: gNumbers[i] >= 0)", SLOW_CALLS, SCAN_BAR_NS),
        (
            "all of 700 elements, 2 comparisons",
            "!all(i in 0..700: gNumbers[i] >= 0 && gNumbers[i] < 9)",
            SLOW_CALLS,
            SCAN_BAR_NS,
        ),
        (
            "all of 700 elements, with arithmetic",
            "!all(i in 0..700: gNumbers[i] + i >= 0)",
            SLOW_CALLS,
            SCAN_BAR_NS,
        ),
        (
            "all of 700 elements, of two arrays",
            "!all(i in 0..700: gNumbers[i] == gOthers[i])",
            SLOW_CALLS,
            SCAN_BAR_NS,
        ),
        (
            "all of 700 elements, behind a pointer each",
            "!all(i in 0..700: gNodes[i]->value >= i - 700)",
            SLOW_CALLS,
            SCAN_BAR_NS,
        ),
        ("all of 700 elements, of texts", "!all(i in 0..700: gNodes[i]->name != 'last')", FEW_CALLS, None),
    ):
        runs = [callers.traced(program, home, "two", calls, where=where) for _ in range(ROUNDS)]
        best = min(timing.best for timing in runs) - untraced.best
        figure = Figure(f"a call with a false condition on {name}", best, "ns", "a recorded call", plain.best, bar=bar)
        found.append(figure)
    return found


def _probes(program: Path, home: Path) -> list[Figure]:
    """Lines of a function that is not traced, above the same without a probe."""
    alone = min((callers.untraced(program, "passes", CALLS) for _ in range(ROUNDS)), key=lambda one: one.best)
    long, short = (f"{program.name}.c:{line_of(marker)}" for marker in ("/* long */", "/* short */"))
    found = []
    for name, probe, calls, bar in (
        ("a probe at a line with a false condition, by a jump", f"{long} if b < 0", CALLS, PROBE_BAR_NS),
        ("a probe that records 2 values, by a jump", f"{long} : a, b", CALLS, None),
        ("a probe with a false condition, by a breakpoint", f"{short} if b < 0", SLOW_CALLS, None),
    ):
        runs = [callers.probed(program, home, "passes", calls, probe) for _ in range(ROUNDS)]
        best = min(timing.best for timing in runs) - alone.best
        found.append(Figure(name, best, "ns", "the call without", alone.best, bar=bar))
    return found


def _deep(program: Path, home: Path) -> list[Figure]:
    """A list of 2 nodes with a text each, recorded whole."""
    plain = min((callers.traced(program, home, "linked", CALLS) for _ in range(ROUNDS)), key=lambda one: one.best)
    deep = [callers.traced(program, home, "linked", SLOW_CALLS, depth=3) for _ in range(ROUNDS)]
    best = min(timing.best for timing in deep)
    return [Figure("a call with a list of 2 structs and 2 texts, 3 deep", best, "ns", "its address alone", plain.best)]


def _figure(name: str, watched: Timing, plain: Timing, evaluations: int, bar: float | None) -> Figure:
    each = (watched.best - plain.best) / evaluations
    return Figure(f"{name}, each evaluation", each, "ns", "the call itself", plain.best, bar=bar)


def _best(program: Path, home: Path, calls: int, watches: Sequence[Watch] = ()) -> Timing:
    runs = [callers.traced(program, home, "two", calls, watches=watches) for _ in range(ROUNDS)]
    return min(runs, key=lambda timing: timing.best)
