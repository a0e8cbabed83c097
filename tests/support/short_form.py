"""What `make test` leaves out, so that it takes minutes. `make test-all`, which CI runs, leaves out nothing.

The short form is whatever is asked for with `-m "not long"`. Of a test with many sets of parameters it has one in
six, other ones in each test, so that each compiler, flag and form of the recorder is met by some. A test whose own
sets are marked `long` says itself which ones it has: where each takes seconds, or a program of its own to build.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

ONE_IN = 6
MATRICES = (  # elsewhere a set takes no time
    "tests/live",
    "tests/mcp",
    "tests/oracle",
    "tests/core/test_dwarf.py",
    "tests/core/test_result_uses.py",
    "tests/core/test_sieve.py",
    "tests/unit/symbols/test_symbols_debug_files.py",
    "tests/unit/test_programs.py",
)
COMPILERS = ("clang", "clang++", "rustc")
NEVER = 1_000_000  # more often than any set is met
_ROOT = Path(__file__).resolve().parents[2]
_short = False


def choose(markexpr: str) -> None:
    """At the start of pytest, before tests are collected."""
    global _short
    _short = markexpr == "not long"


def short(whole: int, few: int) -> int:
    """How many rounds or files: `few` of them in the short form."""
    return few if _short else whole


def missing() -> list[str]:
    """Compilers that this machine lacks: sets that need one are chosen last."""
    return [compiler for compiler in COMPILERS if shutil.which(compiler) is None]


def mark_long(items: Sequence[pytest.Item]) -> None:
    """Marks all but one in six sets of parameters of each test, unless it has marked some itself."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and any(item.path.is_relative_to(_ROOT / folder) for folder in MATRICES):
            tests.setdefault(f"{item.path.name}::{item.name.partition('[')[0]}", []).append(item)
    met = Counter(dict.fromkeys(missing(), NEVER))
    for sets in tests.values():
        if any(item.get_closest_marker("long") for item in sets):
            continue
        left = list(sets)
        for _ in range(-(-len(sets) // ONE_IN)):
            chosen = min(left, key=lambda item: _rank(item, met))
            left.remove(chosen)
            met.update(_parts(chosen))
        for item in left:
            item.add_marker("long")


def _rank(item: pytest.Item, met: Counter[str]) -> tuple[bool, int, float]:
    """Less is better: the set can be built here, has parts that were not met yet, else those that were met least."""
    parts = _parts(item)
    return (
        any(met[part] >= NEVER for part in parts),
        -sum(met[part] == 0 for part in parts),
        sum(met[part] for part in parts) / max(len(parts), 1),
    )


def _parts(item: pytest.Item) -> list[str]:
    """Of "native-g++ -O2": native, g++ and O2."""
    return item.name.partition("[")[2].rstrip("]").replace("-", " ").split()
