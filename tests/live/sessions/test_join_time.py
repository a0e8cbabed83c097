"""A join whose condition has to be tried for each pair stops in time, and says up to where it came, and why."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.sessions import Build, Launch, status

from strobe.mcp.answers import join_json
from strobe.model import EventFilter
from strobe.session import Session
from strobe.session.questions import joining

CALLS = 3_000
ENTERED = "$type == 'function_enter' && $function == '{}'"
NEVER = "$other.number > number + 100000"
SECONDS, MOST_S = 0.3, 20.0


def asked(session: Session, on: str) -> dict[str, Any]:
    wanted = EventFilter(where=ENTERED.format("handle"), select=("number",), limit=10)
    join = {"before": ENTERED.format("read_request"), "on": [on], "select": ["number"]}
    began = time.monotonic()
    found = join_json.of(session, {"join": join}, wanted, 8_000)
    assert time.monotonic() - began < MOST_S
    return found


def test_what_was_not_compared_is_said(launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    session = launch(build_program("forgets", "-O0"), "leak", str(CALLS), patterns=["handle", "read_request"])
    status(session)
    monkeypatch.setattr(joining, "SECONDS", SECONDS)
    cut = asked(session, NEVER)
    assert cut["unpaired"] < CALLS and cut["paired"] == 0
    assert cut["note"].startswith(f"There was no time to look at the events behind {session.id}-")
    assert "pairs were compared one by one, as `on` has nothing that is equal in both events" in cut["note"]
    monkeypatch.undo()
    # what has to be equal is looked up: a request of the same number is one of those before, or none
    whole = asked(session, "$other.number == number - 1 && $other.number < 100000")
    assert (whole["paired"], whole["unpaired"]) == (CALLS - 1, 1)
    assert "note" not in whole
