"""The program's descriptors are its own: those it has, the next one it opens, and what it does with them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from support.sessions import Build, Launch, outcome, totals


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("way", ["keeps", "closes"])
def test_as_untraced(build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, way: str) -> None:
    """Also where the program closes those of the agent: what it calls then is recorded."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("descriptors", "-O1")
    run = [sys.executable, "-m", "strobe", "run", "-t", "work", "--no-sampling", "--", str(program), way]
    result = subprocess.run(run, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (result.stdout, result.returncode) == ("next are 3 and 4\n200 right\n", 0)
    assert re.search(r"^ *200 .* work$", result.stderr, re.MULTILINE)


def test_a_session_goes_on_without_the_agents(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("descriptors", "-O1"), "closes", patterns=["work"], sampling="off")
    assert outcome(session).stdout == "next are 3 and 4\n200 right\n"
    assert totals(session)["work"].count == 200
