"""`strobe query --join-before`: pairs of events in a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Build = Callable[..., Path]
STORED = '$function == "store" && $type == "function_enter"'
MISSED = '$function == "lookup" && $return == -1'


def strobe(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "strobe", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


@pytest.fixture
def session(build_program: Build) -> str:
    """One run of slots: 2 threads store and look up 20 keys each; every third value is spoilt."""
    done = strobe("run", "--summary", "--keep", "-t", "store", "-t", "lookup", "--", build_program("slots", "-O0"))
    return done.stderr.split()[-1]


def test_each_with_the_one_before_it(session: str) -> None:
    joined = ("--join-before", STORED, "--join-on", "key", "--join-select", "value", "--join-select", "key")
    found = strobe("query", session, "--where", MISSED, "--select", "key", *joined)
    heads, *rows, below = found.stdout.splitlines()
    assert heads.split("  ")[0] == "key" and heads.endswith("before: key")
    cells = [row.split() for row in rows]
    assert rows and all(
        key == other and int(value) == 10 * int(key) + 2
        for key, value, other in cells  # the newer one
    )
    assert below == f"{len(rows)} events with one before, 0 without, of 80 that fulfil the condition"
    page = json.loads(strobe("query", session, "--where", MISSED, *joined, "--json").stdout)
    assert (page["paired"], page["unpaired"]) == (len(rows), 0)
    assert [str(one["before"]["values"]["key"]) for one in page["events"]] == [row.split()[2] for row in rows]


def test_those_that_have_none(session: str) -> None:
    joined = ("--join-after", MISSED, "--join-on", "key", "--join-missing")
    found = strobe("query", session, "--where", STORED, *joined)
    _, *rows, _ = found.stdout.splitlines()
    assert rows and all(row.rstrip().endswith("none") for row in rows)


def test_where_there_are_no_other_events_it_says_why(session: str) -> None:
    joined = ("--join-before", '$function == "never"', "--last", "1")
    *_, counts, why = strobe("query", session, "--where", MISSED, *joined).stdout.splitlines()
    assert counts.endswith("of 0 that fulfil the condition")
    assert why.startswith("no such event: No event that the other conditions select")
    page = json.loads(strobe("query", session, "--where", MISSED, *joined, "--json").stdout)
    assert "othersMissing" not in page
    assert f"no such event: {page['othersAbsence']}" == why


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--join-on", "key"), "--join-before or --join-after says which"),
        (("--join-before", STORED, "--join-after", STORED), "before or after"),
        (("--join-before", STORED, "--group-by", "key"), "do not go with"),
        (("--join-before", "key =="), "VALIDATION_ERROR"),
    ],
)
def test_what_does_not_go_together_is_refused(session: str, asked: tuple[str, ...], said: str) -> None:
    found = strobe("query", session, *asked)
    assert found.returncode != 0
    assert said in found.stderr
