"""A program that refuses memory that becomes executable: its later threads are recorded, and what is not is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.sessions import Build, Launch, outcome, totals


def test_later_threads_are_recorded(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("refuses_code", "-O1"), "100", patterns=["hit"], sampling="off")
    said = outcome(session)
    if said.stdout == "unknown\n":
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert (said.stdout, said.status) == ("right\n", 0)
    assert totals(session)["hit"].count == 100 * 100
    assert session.timeline.loss().lost == 0


@pytest.mark.usefixtures("strobe_home")
def test_as_many_events_as_there_are(build_program: Build, tmp_path: Path) -> None:
    """Calls of threads beyond those that are prepared are in no total, and are not taken from them."""
    program = build_program("refuses_code", "-O1")
    report = tmp_path / "report"
    wanted = ["--json", "--no-sampling", "--summary", "-t", "hit", "-o", str(report)]
    command = [sys.executable, "-m", "strobe", "run", *wanted, "--", str(program), "900"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if result.stdout.startswith("unknown"):
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert result.returncode == 0, result.stderr
    summary = json.loads(report.read_text().splitlines()[-1])
    (function,) = summary["totals"]
    assert summary["loss"]["lost"] > 50_000
    assert summary["eventsRecorded"] == 2 * function["count"] > 0
