"""What a model asks about mistakes of six kinds: in three calls at most, and 8 KB of answers in all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.asked import Asked
from support.mcp_wire import Wire
from support.programs import line_of


@pytest.fixture(params=["-O0", "-O1"])
def asked(wire: Wire, build_program: Callable[..., Path], request: pytest.FixtureRequest) -> Asked:
    return Asked(wire, build_program("bugs", request.param, "-pthread"), 3, 8192)


def line(marker: str) -> str:
    return f"bugs.cpp:{line_of('bugs.cpp', marker)}"


def test_a_table_is_shrunk_after_its_base_was_changed(asked: Asked) -> None:
    """Before and after in one event: the second shrink is short by the base."""
    watches = [{"variable": "$changed(*this)"}, {"variable": "base"}, {"variable": "to"}]
    asked.launch("table", trace=["Table::shrink"], watches=watches)
    events = asked.query(eventType="function_exit", verbose=True)["events"]
    first, second = (one["watchValues"] for one in events)
    assert first["$changed(*this)"]["size"] == {"old": 8, "new": 7}
    assert second["$changed(*this)"]["size"] == {"old": 7, "new": 2}
    assert (second["to"], second["base"]) == (6, 4)


def test_an_object_is_freed_while_it_is_referred_to(asked: Asked) -> None:
    """Of 2,000 closings the one that left it white, and the release."""
    answer = asked.launch(
        "collector",
        probes=[
            {"at": line("// closed"), "where": "object->colour == WHITE", "show": ["object", "object->number"]},
            {"at": line("// released"), "show": ["object", "object->references"], "where": "object->references > 0"},
        ],
    )
    assert [(one["hits"], one.get("held", one["hits"])) for one in answer["probeTotals"]] == [(2000, 1), (1, 1)]
    closed, released = (one["values"] for one in answer["probeEvents"]["first"])
    assert closed["object->number"] == 1999
    assert released["object->references"] == 1
    assert str(closed["object"]).split(" ")[0] == str(released["object"]).split(" ")[0]


def test_a_cache_that_is_never_hit(asked: Asked) -> None:
    """What is asked for, and what is put."""
    asked.launch("cache", trace=["cache_get", "cache_put"])
    keys = asked.query(function={"equals": "cache_get"}, groupBy="key")["groups"]
    assert sorted(one["value"] for one in keys) == [f"file:{number}" for number in range(4)]
    put = asked.query(function={"equals": "cache_put"}, select=["key"], limit=3)["events"]
    assert [one["values"]["key"] for one in put] == ["file:0:0", "file:1:0", "file:2:0"]


def test_one_call_of_a_hundred_thousand(asked: Asked) -> None:
    answer = asked.launch("payments", trace=["post"], where="cents < 0")
    (total,) = answer["totals"]
    assert (total["count"], total["conditionFalse"]) == (100000, 99999)
    assert answer["events"]["first"][0]["arguments"] == {"article": 61234 % 7 + 1, "cents": -28523}


def test_a_handle_is_not_closed(asked: Asked) -> None:
    asked.launch("leak", trace=["open_handle", "close_handle"])
    groups = asked.query(eventType="function_enter", groupBy="handle")["groups"]
    assert [one["value"] for one in groups if one["count"] == 1] == [17]


def test_an_update_is_lost(asked: Asked) -> None:
    """Both threads have read before one has written."""
    asked.launch(
        "updates",
        probes=[
            {"at": line("// read"), "show": ["before", "amount"], "label": "read"},
            {"at": line("// written"), "show": ["gBalance"], "label": "written"},
        ],
    )
    events = asked.query(eventType="probe", verbose=True)["events"]
    assert [one["label"] for one in events] == ["read", "read", "written", "written"]
    assert [one["values"]["before"] for one in events[:2]] == [100, 100]
    assert [(one["threadName"], one["values"]["gBalance"]) for one in events[2:]] == [("first", 110), ("second", 120)]
