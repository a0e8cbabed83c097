"""`join`: with each event the newest one before it, or the next behind it, that has the same values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(wire: Wire, build_program: Callable[..., Path]) -> Ask:
    """Questions about one run of slots: 2 threads store and look up 20 keys each; every third value is spoilt."""
    answer = wire.good(
        "debug_launch",
        command=str(build_program("slots", "-O0")),
        projectRoot=str(PROGRAMS),
        trace=["store", "lookup"],
        probes=[
            {"at": "spoil", "label": "spoilt", "show": ["which = key", "was = slots[key]"]},
            {"at": "lookup:return", "label": "looked", "show": ["$return", "key"]},
        ],
        wait={"until": "exit", "timeoutMs": 30_000},
    )
    assert answer["ended"]["exitCode"] == 0

    def asked(**arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = wire.good("debug_query", sessionId=answer["sessionId"], **arguments)
        return found

    asked.refused = lambda **arguments: wire.bad(  # type: ignore[attr-defined]
        "debug_query", sessionId=answer["sessionId"], **arguments
    )
    return asked


def test_for_each_wrong_lookup_the_call_that_has_stored_it(ask: Ask) -> None:
    found = ask(
        where="$function == 'lookup' && $return == -1",
        select=["key", "$return"],
        join={"before": "$function == 'store'", "on": "key == key", "select": ["key", "value"]},
    )
    assert (found["totalCount"], found["paired"], found["unpaired"], found["others"]) == (14, 14, 0, 80)
    assert all(one["values"]["key"] == one["before"]["values"]["key"] for one in found["events"])
    # of the same thread each value was stored twice: the newer one is found
    assert {one["before"]["values"]["value"] - 10 * one["values"]["key"] for one in found["events"]} == {2}


def test_probes_and_what_comes_next(ask: Ask) -> None:
    found = ask(
        where="$label == 'spoilt'",
        select=["which", "was"],
        join={"after": "$label == 'looked'", "on": "which == key", "select": ["$return", "key"]},
        limit=3,
    )
    assert (found["totalCount"], found["paired"], found["unpaired"]) == (14, 14, 0)
    assert [one["after"]["values"] for one in found["events"]] == [
        {"$return": -1, "key": one["values"]["which"]} for one in found["events"]
    ]
    assert found["nextOffset"] == 3
    page = ask(where="$label == 'looked' && $return == -1")  # of a probe, that shows it
    assert page["totalCount"] == 14


def test_those_that_have_none(ask: Ask) -> None:
    join = {"before": "$label == 'spoilt'", "on": "key == which", "missing": True}
    found = ask(where="$function == 'lookup' && $type == 'function_enter'", select=["key"], join=join, limit=500)
    assert (found["totalCount"], found["paired"], found["unpaired"]) == (26, 14, 26)
    assert {one["values"]["key"] % 3 for one in found["events"]} == {1, 2}
    assert {str(one["before"]) for one in found["events"]} == {"None"}


def test_any_thread_and_the_last_ones(ask: Ask) -> None:
    join = {"before": "$function == 'store' && value % 10 == 1", "anyThread": True}
    found = ask(where="$function == 'lookup' && $type == 'function_enter'", join=join, last=2)
    assert len(found["events"]) == 2 and found["paired"] == 40
    assert all(one["before"]["function"] == "store" for one in found["events"])
    assert found["events"][0]["timestampNs"] < found["events"][1]["timestampNs"]


def test_what_is_refused(ask: Ask) -> None:
    refused = ask.refused  # type: ignore[attr-defined]
    assert "before or after" in refused(join={"on": "key"})
    assert "does not go together" in refused(join={"before": "key == 1"}, groupBy="key")
    assert "'nokey'" in refused(
        where="$label == 'looked'", join={"before": "$label == 'spoilt'", "on": "nokey == which"}
    )
