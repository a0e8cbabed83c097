"""CI's second try: what it forgives is told, and it forgives no more than tests that have failed by chance."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[3] / ".ci"
FAILED = ".pytest_cache/v/cache/lastfailed"
# `first` and `second` are the statuses of the two; what pytest notes of the first is in `noted`, where there is one.
MAKE = """
test-all:
\t@if [ -e tried ]; then exit {second}; fi; touch tried; cp noted {failed} || true; exit {first}
"""
# as .ci/run, with this step alone
RUN = "step test 60 .ci/test"


def outcome(folder: Path, noted: list[str] | None, first: int, second: int, script: str) -> tuple[int, str]:
    ci = folder / ".ci"
    ci.mkdir()
    shutil.copy(CI / "test", ci)
    lines = (CI / "run").read_text().splitlines()
    assert any(line.startswith("step test ") for line in lines)
    kept = [RUN if line.startswith("step test ") else line for line in lines]
    kept = [line for line in kept if line == RUN or not line.startswith("step ")]
    (ci / "run").write_text("\n".join(kept) + "\n")
    (ci / "run").chmod(0o755)
    (folder / "Makefile").write_text(MAKE.format(failed=FAILED, first=first, second=second))
    if noted is not None:
        (folder / FAILED).parent.mkdir(parents=True, exist_ok=True)
        (folder / "noted").write_text(json.dumps(dict.fromkeys(noted, True)))
    done = subprocess.run([ci / script], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


ONE, OTHER = "tests/unit/test_a.py::test_one[a b]", "tests/live/test_b.py::test_other"


def test_what_passes_at_the_second_try_is_listed_at_the_end(tmp_path: Path) -> None:
    status, printed = outcome(tmp_path, [ONE, OTHER], 1, 0, "run")
    assert status == 0
    *_, told, one, other, empty, last = printed.splitlines()
    assert told.startswith("!!! 2 of the tests failed, and passed at the second try")
    assert (one.strip(), other.strip(), empty) == (ONE, OTHER, "")
    assert last.startswith("CI passed in ")


def test_nothing_is_said_where_all_pass_at_once(tmp_path: Path) -> None:
    status, printed = outcome(tmp_path, None, 0, 1, "run")
    assert status == 0 and "second try" not in printed


@pytest.mark.parametrize(
    ("noted", "second"),
    [
        pytest.param([ONE], 1, id="a test fails again"),
        pytest.param(None, 0, id="no test has failed"),
        pytest.param([ONE, "tests/live/test_b.py"], 0, id="a file could not be read"),
    ],
)
def test_all_else_fails(tmp_path: Path, noted: list[str] | None, second: int) -> None:
    status, printed = outcome(tmp_path, noted, 1, second, "run")
    assert status == 1
    assert printed.splitlines()[-1].startswith("CI failed after ")
    assert "!!!" not in printed


def test_what_an_earlier_run_has_noted_is_not_tried(tmp_path: Path) -> None:
    (tmp_path / FAILED).parent.mkdir(parents=True)
    (tmp_path / FAILED).write_text(json.dumps({ONE: True}))
    assert outcome(tmp_path, None, 1, 0, "test")[0] == 1
