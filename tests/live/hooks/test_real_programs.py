"""sqlite3, zstd and redis with all of their functions traced do what they do untraced; on demand, it takes minutes.

STROBE_BENCH_PROGRAMS names the folder where they are built, as for `strobe bench programs`.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

from strobe.cli.bench_command import _harness

programs = importlib.import_module(f"{_harness().__package__}.programs_bench")
FOLDER = os.environ.get("STROBE_BENCH_PROGRAMS")


@pytest.mark.skipif(not FOLDER, reason="fetches, builds and runs for minutes: STROBE_BENCH_PROGRAMS=FOLDER")
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("case", programs.CASES, ids=lambda case: case.name)
def test_same_results_in_both_forms(case: Any, tmp_path: Path) -> None:
    """Also that every event is kept or counted; measured() raises where something differs."""
    figures = programs.measured(case, Path(str(FOLDER)).absolute(), tmp_path, rounds=1)
    assert len(figures) >= 3
    print(*figures, sep="\n")
