"""What one traced call costs: enter and exit recorded, arguments, return value, duration.

Stresses the hook and the recorder. A figure is the program's best batch of 50,000 calls, in several runs, which take
turns with those of the baselines: the same loop untraced, the portable form of the recorder (the same C, compiled by
TinyCC), a hook in JavaScript that does nothing, and uftrace, where there is one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from . import callers
from .call_program import CASES, Timing
from .harness import Figure

ROUNDS = 3
CALLS = 2_000_000
PORTABLE_CALLS = 400_000
JAVASCRIPT_CALLS = 80_000
BARS_NS = {"two": 45, "heap": 80}
OF_UFTRACE = 0.5
OF_ONE_THREAD = 1.1  # "no more than one", and what two runs of the same differ by
PORTABLE = "the portable form, compiled by TinyCC"
NAME = "a traced call, {}"


def measure(folder: Path) -> list[Figure]:
    program = callers.build(folder, "calls")
    figures = [*_cases(folder, program), *_others(folder, program), *_sampled(folder, program)]
    return [*figures, *_threads(folder, program)]


def _cases(folder: Path, program: Path) -> list[Figure]:
    figures = []
    for case, text in CASES.items():
        name = NAME.format(f"{text} and result")
        traced, alone = _best(
            lambda case=case: callers.traced(program, folder / "home", case, CALLS),
            lambda case=case: callers.untraced(program, case, CALLS),
        )
        bar = BARS_NS.get(case)
        figures.append(Figure(name, traced.best, "ns", "the same loop untraced", alone.best, bar=bar))
        if case == "two":
            figures.append(Figure(f"{name}, fresh memory", traced.all, "ns", "best batch of it", traced.best))
    return figures


def _others(folder: Path, program: Path) -> list[Figure]:
    """The same call caught in other ways."""
    instrumented = callers.build(folder, "instrumented", "-pg")
    uftrace = callers.under_uftrace(folder, instrumented, "two", CALLS)
    ways = [
        lambda: callers.traced(program, folder / "home", "two", CALLS),
        lambda: callers.traced(program, folder / "home", "two", PORTABLE_CALLS, form="portable"),
        lambda: callers.under_javascript(program, "two", JAVASCRIPT_CALLS),
    ]
    if uftrace is not None:
        ways.append(lambda: callers.under_uftrace(folder, instrumented, "two", CALLS) or uftrace)
    traced, portable, javascript, *instrumenting = (timing.best for timing in _best(*ways))
    name = NAME.format("2 int arguments and result")
    figures = [
        Figure(name, traced, "ns", PORTABLE, portable),
        Figure(name, traced, "ns", "empty JavaScript hook (Frida)", javascript),
    ]
    return figures + [Figure(name, traced, "ns", "uftrace, -pg", own, bar=OF_UFTRACE * own) for own in instrumenting]


def _sampled(folder: Path, program: Path) -> list[Figure]:
    sampled, recorded = _best(
        lambda: callers.traced(program, folder / "home", "two", CALLS, sampling="auto"),
        lambda: callers.traced(program, folder / "home", "two", CALLS),
    )
    return [Figure("a call whose events are sampled out", sampled.best, "ns", "one that is recorded", recorded.best)]


def _threads(folder: Path, program: Path) -> list[Figure]:
    if len(os.sched_getaffinity(0)) < 2:
        return []
    two, one = _best(
        lambda: callers.traced(program, folder / "home", "two", CALLS, threads=2),
        lambda: callers.traced(program, folder / "home", "two", CALLS),
    )
    name = "a traced call, each of 2 threads on 2 cores"
    return [Figure(name, two.best, "ns", "one thread", one.best, bar=OF_ONE_THREAD * one.best)]


def _best(*ways: Callable[[], Timing]) -> list[Timing]:
    """The least of each figure; the ways take turns, so that what else the machine does falls on all of them."""
    rounds = [[way() for way in ways] for _ in range(ROUNDS)]
    return [
        Timing(min(t.best for t in runs), min(t.all for t in runs), min(t.peak_mb for t in runs))
        for runs in zip(*rounds, strict=True)
    ]
