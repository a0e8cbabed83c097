"""Questions about results leave out calls that have not returned: how many these are is said. Program: unreturned."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS

Build = Callable[..., Path]
Ask = Callable[..., dict[str, Any]]
TRACE = ["visit", "noted"]
OPEN = "1 is open"
LEFT = "were left by an exception, a jump or the end of their thread"


def session_of(wire: Wire, program: Path, *arguments: str, until: str = "exit", trace: list[str] = TRACE) -> str:
    match = {"match": "waits"} if until == "output" else {}
    wait = {"until": until, "timeoutMs": 40_000, **match}
    common = {"projectRoot": str(PROGRAMS), "sampling": "off", "wait": wait}
    answer = wire.good("debug_launch", command=str(program), args=list(arguments), trace=trace, **common)
    assert answer["ended"]["reason"] in (until, "signal")
    return str(answer["sessionId"])


@pytest.fixture(params=["exit", "crash", "wait"])
def ask(wire: Wire, build_program: Build, request: pytest.FixtureRequest) -> Ask:
    """Questions about one run of each kind."""
    until = "output" if request.param == "wait" else "exit"
    session = session_of(wire, build_program("unreturned", "-O1"), request.param, until=until)
    return lambda **asked: wire.good("debug_query", sessionId=session, **asked)


def test_how_many_have_not_returned(ask: Ask) -> None:
    found = ask(where="$return >= 0 && key >= 5", select=["key", "$return"], function={"equals": "visit"})
    assert {int(one["values"]["key"]) for one in found["events"]} == {*range(5, 20)} - {7}
    assert found["notReturned"] == 3
    assert OPEN in found["notReturnedWhy"] and f"2 {LEFT}" in found["notReturnedWhy"]
    entries = ask(where="key == 7 || key == 19", eventType="function_enter", function={"equals": "visit"})["events"]
    assert [entries[index]["id"] in found["notReturnedWhy"] for index in range(4)] == [True, False, True, True]


def test_those_of_which_the_rest_holds(ask: Ask) -> None:
    assert ask(where="key == 7 && $return == 1")["notReturned"] == 2
    assert ask(where="$return == 1 && key == 19")["notReturned"] == 1
    returned = ask(where="key == 8 && $return == 16")
    assert returned["held"] == 2
    assert "notReturned" not in returned and "notReturnedWhy" not in returned
    assert "notReturned" not in ask(select=["$return"], function={"equals": "noted"})


def test_of_values_durations_and_counts(ask: Ask) -> None:
    visits = {"function": {"equals": "visit"}}
    assert ask(select=["$return"], **visits)["notReturned"] == 3
    assert ask(where="$duration > 1000000", **visits)["notReturned"] == 3
    assert ask(groupBy="key, $return", **visits)["notReturned"] == 3
    assert ask(groupBy="$return", where="key == 7", **visits)["notReturned"] == 2
    assert ask(where="$return > 0", format="tree", **visits)["notReturned"] == 3


def test_of_pairs(ask: Ask) -> None:
    """Both sides are told apart."""
    visit = "$function == 'visit' && $return >= 0"
    noted = "$function == 'noted' && $type == 'function_enter'"
    found = ask(where=visit, select=["key"], join={"before": noted, "on": "key"})
    assert found["notReturned"] == 3 and "othersNotReturned" not in found
    found = ask(where=noted, select=["key"], join={"after": f"{visit} && key < 10", "on": "key"})
    assert found["othersNotReturned"] == 2 and "notReturned" not in found


def test_of_a_part_of_the_time(ask: Ask) -> None:
    first, second = ask(where="key == 7", eventType="function_enter", function={"equals": "visit"})["events"]
    visits = {"where": "$return >= 0", "function": {"equals": "visit"}}
    assert ask(**visits, to=first["id"])["notReturned"] == 1
    assert ask(**visits, **{"from": second["id"]})["notReturned"] == 2
    assert ask(**visits, depth=0)["notReturned"] == 3
    assert "notReturned" not in ask(**visits, depth=1)
    inside = ask(**visits, inside={"function": "noted"})
    assert "notReturned" not in inside


def test_who_asks_for_returns_is_told_nothing(ask: Ask) -> None:
    assert "notReturned" not in ask(where="$return >= 0", eventType="function_exit", function={"equals": "visit"})


def test_evicted_ones_are_told(wire: Wire, build_program: Build, strobe_home: Path) -> None:
    strobe_home.mkdir(mode=0o700, exist_ok=True)
    (strobe_home / "settings.json").write_text('{"events": {"maxPerSession": 2000}}')
    session = session_of(wire, build_program("unreturned", "-O1"), "exit", "2000", trace=[*TRACE, "main"])
    found = wire.good("debug_query", sessionId=session, where="$return >= 0", function={"equals": "main"})
    assert found["notReturned"] == 0
    assert found["notReturnedWhy"].startswith("of 1 more calls of these functions the entry is not among the events")
    visits = wire.good("debug_query", sessionId=session, where="key == 7 && $return >= 0")
    assert 0 < visits["notReturned"] < 1000
    assert re.search(r"; of 1,\d{3} more calls of these functions the entry", visits["notReturnedWhy"])


def test_too_many_to_be_looked_at(wire: Wire, build_program: Build) -> None:
    session = session_of(wire, build_program("unreturned", "-O1"), "exit", "2500")
    found = wire.good("debug_query", sessionId=session, where="key == 19 && $return >= 0")
    assert found["notReturned"] == 2501
    assert "too many to be looked at one by one: whether the condition holds is not known" in found["notReturnedWhy"]
    every = wire.good("debug_query", sessionId=session, select=["$return"], function={"equals": "visit"})
    assert every["notReturned"] == 2501 and "condition" not in every["notReturnedWhy"]


def test_at_the_terminal(build_program: Build) -> None:
    command = [sys.executable, "-m", "strobe"]

    def strobe(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )

    run = ("run", "--summary", "--keep", "-t", "visit", "-t", "noted", "--")
    session = strobe(*run, str(build_program("unreturned", "-O1")), "exit").stderr.split()[-1]
    asked = ("query", session, "--where", "key > 5 && $return >= 0")
    assert f"3 calls have not returned, and are not among these: {OPEN}" in strobe(*asked).stdout
    assert json.loads(strobe(*asked, "--json").stdout)["notReturned"] == 3
    grouped = ("query", session, "--where", "key == 7", "--group-by", "$return")
    assert "2 calls have not returned" in strobe(*grouped).stdout
    assert json.loads(strobe(*grouped, "--json").stdout)["notReturned"] == 2
    noted = "$function == 'noted' && $type == 'function_enter'"
    joined = (*asked, "--join-before", noted, "--join-on", "key")
    assert "3 calls have not returned" in strobe(*joined).stdout
    assert json.loads(strobe(*joined, "--json").stdout)["notReturned"] == 3
