"""Patterns over 100,000 names, of each kind, and the nearest names to one that is misspelled.

The names are those of Strobe's native core, or of the file that STROBE_BENCH_SYMBOLS names, repeated below other
namespaces until there are enough. Baseline: the same as a regular expression over the names as they are, compiled
before; for the nearest names, difflib on a hundredth of the names, times a hundred.
"""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from strobe import _core
from strobe.model import FunctionSymbol
from strobe.symbols import ElfResolver, ModuleSymbols, Pattern
from strobe.symbols.names import scoped_all
from strobe.symbols.select.nearest import nearest_functions

from .harness import Figure

COUNT = 100_000
ROUNDS = 5
FAST_BAR_MS = 10.0
SLOW_BAR_MS = 50.0
NEAREST_BAR_MS = 100.0
# kind -> (pattern, the same as a regular expression, bar)
KINDS = {
    "exact": ("space7::{name}", "space7::{escaped}", FAST_BAR_MS),
    "ns::*": ("space7::*", "space7::[^:]*", FAST_BAR_MS),
    "ns::**": ("space7::**", "space7::.*", FAST_BAR_MS),
    "*::name": ("*::{name}", "[^:]*::{escaped}", FAST_BAR_MS),
    "ns::**::name": ("space7::**::operator*", "space7::(.*::)?operator.*", SLOW_BAR_MS),
    "**part*": ("**find*", ".*find[^:]*", SLOW_BAR_MS),
    "*a*b*": ("*a*e*", "[^:]*a[^:]*e[^:]*", SLOW_BAR_MS),
}


def measure(folder: Path) -> list[Figure]:
    names = _names(Path(os.environ.get("STROBE_BENCH_SYMBOLS") or _core.__file__ or ""))
    scoped = scoped_all(names)
    own = next(name for name in names if "::" not in name.partition("::")[2] and "<" not in name).partition("::")[2]
    figures = []
    for kind, (text, expression, bar) in KINDS.items():
        pattern = Pattern.parse(text.format(name=own))
        compiled = re.compile(expression.format(escaped=re.escape(own)))
        value = _least_ms(lambda pattern=pattern: pattern.matching_names(scoped))
        baseline = _least_ms(lambda compiled=compiled: [name for name in names if compiled.fullmatch(name)])
        figures.append(Figure(f"pattern {kind}, {COUNT:,} names", value, "ms", "re.fullmatch", baseline, bar))
    return [*figures, _nearest_figure(names, own)]


def _nearest_figure(names: list[str], own: str) -> Figure:
    module = ModuleSymbols("program", None, 0, [FunctionSymbol(name, name, "program", 1, 1) for name in names])
    _ = module.scoped_names  # made once for a module, and kept
    wanted = f"space7::{own[:-2]}{own[-1:]}{own[-2:-1]}"  # two letters exchanged
    value = _least_ms(lambda: nearest_functions(wanted, [module]))
    baseline = 100 * _least_ms(lambda: difflib.get_close_matches(wanted, names[: COUNT // 100]), 1)
    return Figure(f"nearest of {COUNT:,} names", value, "ms", "difflib", baseline, NEAREST_BAR_MS)


def _names(program: Path) -> list[str]:
    own = [function.name for function in ElfResolver().module(str(program)).functions]
    turns = COUNT // len(own) + 8
    return [f"space{turn}::{name}" for turn in range(turns) for name in own][:COUNT]


def _least_ms(work: Callable[[], Sequence[object]], rounds: int = ROUNDS) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return (time.perf_counter() - start) * 1e3

    return min(once() for _ in range(rounds))
