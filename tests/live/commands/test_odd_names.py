"""Names that a program gives its threads and functions change nothing in a terminal, and make no lines of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import require
from support.sessions import Build

FUNCTION = "st\x1b]0;title\x07ep\nmain"


def strobe(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "strobe", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def program(build_program: Build, tmp_path: Path) -> Path:
    renamed = tmp_path / "odd_names"
    source = build_program("odd_names", "-g0")
    command: list[str | Path] = [require("objcopy"), "--redefine-sym", f"step={FUNCTION}", source, renamed]
    subprocess.run(command, check=True, timeout=60)
    return renamed


def test_names_are_shown_in_one_line_without_control_characters(program: Path, strobe_home: Path) -> None:
    shown = "st\\x1b]0;title\\x07ep\\nmain"
    done = strobe("run", "--keep", "-t", "**", program)
    assert done.returncode == 3
    assert "[a\\n} main\\x1b[31m " in done.stderr
    assert f"  {shown}(" in done.stderr and f"us  {shown}\n" in done.stderr.replace("ns  ", "us  ")
    asked = strobe("query", done.stderr.split()[-1])
    assert f"{shown}(" in asked.stdout and "a\\n} main\\x1b[31m " in asked.stdout
    for output in (done.stderr, asked.stdout):
        assert [letter for letter in output if not letter.isprintable() and letter != "\n"] == []


def test_json_has_them_as_they_are(program: Path, strobe_home: Path, tmp_path: Path) -> None:
    assert strobe("run", "--json", "-t", "**", "-o", tmp_path / "events", program).returncode == 3
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert {event["function"] for event in events if "function" in event} == {"main", "run", FUNCTION}
