"""A program whose memory is limited is told of what Strobe takes of that."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.sessions import Build, Launch, all_events, outcome

from strobe.model import EventFilter, TextMatch

WARNING = "The 2 GB of addresses that Strobe reserves count as well"


@pytest.mark.parametrize("call", ["setrlimit", "prlimit", "system call"])
def test_a_program_that_limits_its_memory(launch: Launch, build_program: Build, call: str) -> None:
    session = launch(build_program("limits_memory"), call, patterns=["main"])
    assert outcome(session).stdout == "0\n"
    main = all_events(session, EventFilter(function=TextMatch(equals="main")))
    entered, returned = [event.timestamp_ns / 1e9 for event in main]
    (warning,) = [text for text in session.warnings if WARNING in text]
    since = re.search(r"limits its memory \(RLIMIT_AS or RLIMIT_DATA\) since (\d+\.\d+) s", warning)
    assert since, warning
    assert entered - 0.001 < float(since[1]) < returned + 0.001


def test_one_that_limits_something_else(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("limits_memory"), "", patterns=["main"])
    assert outcome(session).stdout == "0\n"
    assert not [text for text in session.warnings if WARNING in text]


@pytest.mark.parametrize(
    ("limit", "status", "said"),
    [
        ("-v 50000000", 0, "The program's memory is limited"),
        ("-d 300000", 1, "LIMIT_REACHED: The limit of data (ulimit -d) is 300,000 KB"),
        ("-d 800000", 1, "has no room for the recorder"),
    ],
)
def test_one_that_is_started_with_a_limit(
    build_program: Build, strobe_home: Path, limit: str, status: int, said: str
) -> None:
    command = f'ulimit {limit}; exec "$0" -m strobe run -t main "$1"'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, str(build_program("limits_memory"))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    assert said in done.stderr
