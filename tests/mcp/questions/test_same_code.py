"""Functions that share their code with others are found by each of their names. The program is folded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.mcp_wire import Wire
from support.programs import PROGRAMS


def test_a_query_for_the_other_name_finds_its_calls(wire: Wire, build_program: Callable[..., Path]) -> None:
    """And says under which name they are recorded."""
    program = str(build_program("folded", "-O2"))
    asked = {"projectRoot": str(PROGRAMS), "trace": ["first", "second"], "wait": {"until": "exit"}}
    answer = wire.good("debug_launch", command=program, **asked)
    (kept,) = [total["function"] for total in answer["totals"]]
    other = "second" if kept == "first" else "first"
    for more in ({}, {"groupBy": "function"}, {"where": "$return > 0"}):
        found = wire.good("debug_query", sessionId=answer["sessionId"], function={"equals": other}, **more)
        assert found.get("events") or found["groups"][0]["count"] == 2
        assert found["note"] == f"{other} has the same code as {kept}: calls of both are recorded as {kept}."
    within = wire.good("debug_query", sessionId=answer["sessionId"], inside={"function": other})
    assert within["inside"] == {"calls": 2}
    own = wire.good("debug_query", sessionId=answer["sessionId"], function={"equals": kept})
    assert len(own["events"]) == 4 and "note" not in own
