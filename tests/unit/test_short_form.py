"""What `make test` leaves out of what `make test-all` runs: sets of parameters, never a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.short_form import choose, short

ROOT = Path(__file__).resolve().parents[2]
MATRIX = "tests/core/test_dwarf.py"  # each test with each program


def collected(*options: str) -> list[tuple[str, str]]:
    """(test, set of parameters) of the matrix."""
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
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    return [(test, parameters) for test, _, parameters in (name.partition("[") for name in names)]


def test_each_test_and_each_flag_is_there_and_few_of_all_sets() -> None:
    whole, part = collected(), collected("-m", "not long")
    assert set(part) < set(whole) and len(part) < len(whole) / 2
    assert {test for test, _ in part} == {test for test, _ in whole}
    words = [{word for _, parameters in sets for word in parameters.rstrip("]").split()} for sets in (part, whole)]
    assert words[0] == words[1]


@pytest.mark.parametrize(("asked", "rounds"), [("not long", 3), ("", 20), ("scenario", 20)])
def test_rounds_are_fewer_in_the_short_form_alone(
    pytestconfig: pytest.Config, request: pytest.FixtureRequest, asked: str, rounds: int
) -> None:
    request.addfinalizer(lambda: choose(pytestconfig.getoption("markexpr")))
    choose(asked)
    assert short(20, 3) == rounds
