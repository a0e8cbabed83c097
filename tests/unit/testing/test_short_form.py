"""What `make test` leaves out of what `make test-all` runs: sets of parameters, never a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.short_form import COMPILERS, choose, missing, short

ROOT = Path(__file__).resolve().parents[3]
MATRIX = "tests/core/test_dwarf.py"  # each test with each program


def collected(path: str, *options: str) -> list[tuple[str, str]]:
    """(test, set of parameters) of the matrix, where PATH is `path`."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        *options,
        MATRIX,
    ]
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    return [(test, parameters) for test, _, parameters in (name.partition("[") for name in names)]


def words(sets: list[tuple[str, str]], unknown: list[str]) -> set[str]:
    """Of the sets that can be built without these compilers: all names and flags in them."""
    split = [parameters.rstrip("]").split() for _, parameters in sets]
    return {word for found in split if not set(found) & set(unknown) for word in found}


@pytest.mark.parametrize("has_compilers", [True, False])
def test_each_test_and_each_flag_is_there_and_few_of_all_sets(has_compilers: bool, tmp_path: Path) -> None:
    """Each flag that the compilers of this machine can be met with; on a bare one that is gcc and g++ alone."""
    path, unknown = (os.environ["PATH"], missing()) if has_compilers else (str(tmp_path), list(COMPILERS))
    whole, part = collected(path), collected(path, "-m", "not long")
    assert set(part) < set(whole) and len(part) < len(whole) / 2
    assert {test for test, _ in part} == {test for test, _ in whole}
    assert words(part, unknown) == words(whole, unknown)


@pytest.mark.parametrize(("asked", "rounds"), [("not long", 3), ("", 20), ("scenario", 20)])
def test_rounds_are_fewer_in_the_short_form_alone(
    pytestconfig: pytest.Config, request: pytest.FixtureRequest, asked: str, rounds: int
) -> None:
    request.addfinalizer(lambda: choose(pytestconfig.getoption("markexpr")))
    choose(asked)
    assert short(20, 3) == rounds
