"""`join`: with each event the newest one before it, or the next behind it, that has the same values."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS
from support.short_form import short

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


def test_what_two_events_have_alike_may_be_several_things(ask: Ask) -> None:
    looked, join = "$label == 'looked'", {"before": "$function == 'store'", "select": ["key", "value"]}
    by_list = ask(where=looked, join={**join, "on": ["key == key", "$thread"]}, limit=4)
    assert (by_list["paired"], by_list["unpaired"]) == (40, 0)
    for on in ("key == key && $thread == $thread", "((key == key)) && $thread", "key == key, $thread"):
        found = ask(where=looked, join={**join, "on": on}, limit=4)
        assert found["events"] == by_list["events"]
    whether = ask(where=looked, join={**join, "on": "(key < 5)"}, limit=1)  # is to be the same of both
    assert whether["events"][0]["before"]["values"]["key"] == 4
    refused = ask.refused  # type: ignore[attr-defined]
    for on in ("key < key", "key == key || key", "key == key && key != key"):
        assert "in brackets" in refused(where=looked, join={**join, "on": on})


def test_pairs_that_do_not_fit_are_rows(ask: Ask) -> None:
    """What all have alike stands once, and pages go on where the one before ended."""
    join = {"before": "$label == 'spoilt'", "on": "key == which", "select": ["which", "was"]}
    asked = {"where": "$function == 'lookup' && $type == 'function_exit'", "join": join, "limit": 500}
    whole = ask(**asked, select=["key", "$return"], maxTokens=12_000)["events"]
    rows: list[list[Any]] = []
    pages = []
    while not pages or "nextOffset" in pages[-1]:
        pages.append(ask(**asked, select=["key", "$return"], maxTokens=500, offset=len(rows)))
        assert len(orjson.dumps(pages[-1])) <= 2_000
        assert pages[-1]["columns"] == ["id", "key", "$return", "before.id", "before.which", "before.was"]
        rows += pages[-1]["rows"]
    begin = pages[0]["idsBegin"]
    assert len(whole) == len(rows) == 40 and 1 < len(pages) <= 8
    for one, (number, key, result, other, which, was) in zip(whole, rows, strict=True):
        assert (begin + number, {"key": key, "$return": result}) == (one["id"], one["values"])
        values = None if other is None else {"id": begin + other, "values": {"which": which, "was": was}}
        assert values == one["before"]
    del join["select"]
    found = ask(**asked, maxTokens=500)
    assert found["truncated"] and found["common"]["sourceFile"].endswith("slots.c")
    assert found["events"] and "sourceFile" not in found["events"][0]


def test_other_events_than_there_are_say_so(ask: Ask) -> None:
    found = ask(where="$label == 'looked'", join={"before": "$function == 'never'"}, limit=1)
    assert (found["paired"], found["unpaired"], found["others"]) == (0, 40, 0)
    assert "can have what is asked for" in found["othersAbsence"]
    assert found["events"][0]["before"] is None


def test_behind_all_there_are(ask: Ask) -> None:
    for more in ({"join": {"before": "$function == 'store'"}}, {}):
        found = ask(where="$label == 'looked'", offset=(1 << 63) - 1, **more)
        assert (found["events"], found["totalCount"], found["hasMore"]) == ([], 40, False)


def test_a_crash_is_of_its_thread_and_output_of_none(wire: Wire, build_program: Callable[..., Path]) -> None:
    answer = wire.good(
        "debug_launch",
        command=str(build_program("steps", "-O0")),
        projectRoot=str(PROGRAMS),
        trace=["step"],
        wait={"until": "exit", "timeoutMs": 30_000},
    )
    steps = {"before": "$function == 'step' && $type == 'function_enter'", "select": ["key"]}
    session = {"sessionId": answer["sessionId"]}
    crash = wire.good("debug_query", eventType="crash", join=steps, **session)
    assert [one["before"]["values"] for one in crash["events"]] == [{"key": 3}]
    after = {"after": "$type == 'crash'"}
    found = wire.good("debug_query", where="$function == 'step' && $depth == 0", join=after, last=2, **session)
    assert (found["paired"], found["unpaired"]) == (8, 4)  # those of the main thread have none
    printed = wire.good("debug_query", eventType="stdout", join=steps, **session)
    assert (printed["totalCount"], printed["undecided"]) == (0, 1)
    assert "of the program" in printed["undecidedWhy"]
    printed = wire.good("debug_query", eventType="stdout", join={**steps, "anyThread": True}, **session)
    assert (printed["paired"], printed["unpaired"]) == (1, 0)


def test_events_that_are_evicted_meanwhile(wire: Wire, build_program: Callable[..., Path], strobe_home: Path) -> None:
    (strobe_home / "settings.json").write_text('{"events": {"maxPerSession": 1000}}')
    program, until = build_program("steps", "-O1"), time.monotonic() + short(20, 3)
    session = wire.good(
        "debug_launch",
        command=str(program),
        args=["endless"],
        projectRoot=str(PROGRAMS),
        trace=["step"],
        sampling="off",
    )["sessionId"]
    questions = 0
    while time.monotonic() < until:
        join = {"before": "$function == 'step'", "on": "key == key + 1", "select": ["key"], "anyThread": True}
        found = wire.good("debug_query", sessionId=session, where="key >= 0", select=["key"], join=join, limit=500)
        for one in found.get("events", []):
            assert one["before"] is None or one["before"]["values"]["key"] == one["values"]["key"] - 1
        assert found.get("columns") in (None, ["id", "key", "before.id", "before.key"])
        for _, key, before, own in found.get("rows", []):
            assert before is None or own == key - 1
        questions += 1
    assert questions > 2
    wire.good("debug_stop", sessionId=session)


def test_what_is_refused(ask: Ask) -> None:
    refused = ask.refused  # type: ignore[attr-defined]
    assert "compareFrom" in refused(join={"before": "key == 1"}, compareFrom="1")
    assert "before or after" in refused(join={"on": "key"})
    assert "does not go together" in refused(join={"before": "key == 1"}, groupBy="key")
    assert "'nokey'" in refused(
        where="$label == 'looked'", join={"before": "$label == 'spoilt'", "on": "nokey == which"}
    )
