"""What `make test` leaves out, so that it takes minutes. `make test-all`, which CI runs, leaves out nothing.

The short form is whatever is asked for with `-m "not long"`. Of a test with many sets of parameters it has one in
three, other ones in each test, so that each program, compiler and form of the recorder is met by some.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

ONE_IN = 3
MATRICES = ("tests/live", "tests/mcp", "tests/oracle", "tests/core/test_dwarf.py")  # elsewhere a set takes no time
_ROOT = Path(__file__).resolve().parents[2]
_short = False


def choose(markexpr: str) -> None:
    """At the start of pytest, before tests are collected."""
    global _short
    _short = markexpr == "not long"


def short(whole: int, few: int) -> int:
    """How many rounds or files: `few` of them in the short form."""
    return few if _short else whole


def mark_long(items: Sequence[pytest.Item]) -> None:
    """Marks all but one in three sets of parameters of each test, unless it has marked some itself."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and any(item.path.is_relative_to(_ROOT / folder) for folder in MATRICES):
            tests.setdefault(f"{item.path.name}::{item.name.partition('[')[0]}", []).append(item)
    met: set[str] = set()
    for sets in tests.values():
        if any(item.get_closest_marker("long") for item in sets):
            continue
        choices = [sets[first::ONE_IN] for first in range(min(len(sets), ONE_IN))]
        chosen = max(choices, key=lambda some: len(_ids(some) - met))
        met |= _ids(chosen)
        for item in sets:
            if item not in chosen:
                item.add_marker("long")


def _ids(items: Sequence[pytest.Item]) -> set[str]:
    """Of their sets of parameters."""
    return {item.name.partition("[")[2] for item in items}
