"""Every limit of every tool: what lies at its bounds is taken, what lies beyond is refused and the bound is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS
from support.wait import wait_until

from strobe.limits import POLLS

ROOT = str(PROGRAMS)
TEMPO = {"variable": "gTempo"}
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Bound:
    """A number that a tool takes from `low` to `high` (None: it has no bound there). `arguments` makes a call of it."""

    tool: str
    field: str
    low: int | None
    high: int | None
    arguments: Callable[[Any], Arguments]
    named: bool = True  # the message says both bounds

    def __str__(self) -> str:
        return f"{self.tool}-{self.field}"


def read(*targets: Arguments, **more: Any) -> Arguments:
    return {"targets": list(targets), **more}


def at(size: int) -> Arguments:
    return {"address": "ADDRESS", "type": "bytes", "size": size}


def polled(interval: int, duration: int) -> Arguments:
    return read(TEMPO, poll={"intervalMs": interval, "durationMs": duration})


def write(count: int) -> Arguments:
    return {"targets": [{"variable": "gTempo", "value": 120}] * count}


def characters(count: int) -> str:
    """An expression of so many."""
    return "gTempo".rjust(count) if count else ""


def watched(**watch: Any) -> Arguments:
    return {"watches": {"add": [watch]}}


BOUNDS = [
    Bound("debug_trace", "serializationDepth", 1, 10, lambda depth: {"serializationDepth": depth}),
    Bound("debug_trace", "watches.add[0].variable", 1, 256, lambda count: watched(variable=characters(count)), False),
    Bound("debug_trace", "watches.add[0].expr", 1, 2048, lambda count: watched(expr="1".rjust(count)[:count]), False),
    Bound(
        "debug_trace",
        "watches.add[0].label",
        1,
        256,
        lambda count: watched(variable="gTempo", label="l" * count),
        False,
    ),
    Bound("debug_query", "limit", 1, 500, lambda limit: {"limit": limit}),
    Bound("debug_query", "offset", 0, None, lambda offset: {"offset": offset}),
    Bound("debug_query", "minDurationNs", 0, None, lambda duration: {"minDurationNs": duration}),
    Bound("debug_query", "pid", 1, None, lambda pid: {"pid": pid}),
    Bound("debug_read", "targets", 1, 16, lambda count: read(*[TEMPO] * count)),
    Bound("debug_read", "targets[0].variable", 1, 256, lambda count: read({"variable": characters(count)}), False),
    Bound("debug_read", "targets[0].size", 1, 65536, lambda size: read(at(size))),
    Bound("debug_read", "targets[0].address", 0, 2**64 - 1, lambda at: read({"address": hex(at), "type": "u8"}), False),
    Bound(
        "debug_read",
        "targets[0].threadId",
        1,
        None,
        lambda thread: read({"variable": "gTempo", "threadId": thread}),
    ),
    Bound("debug_read", "depth", 1, 5, lambda depth: read(TEMPO, depth=depth)),
    Bound("debug_read", "poll.intervalMs", 50, 5000, lambda interval: polled(interval, 100)),
    Bound("debug_read", "poll.durationMs", 100, 30000, lambda duration: polled(5000, duration)),
    Bound("debug_write", "targets", 1, 16, write),
    Bound(
        "debug_write",
        "targets[0].variable",
        1,
        256,
        lambda count: {"targets": [{"variable": characters(count), "value": 120}]},
        False,
    ),
]


@pytest.fixture
def session(wire: Wire, build_program: Callable[..., Path]) -> str:
    answer = wire.good("debug_launch", command=str(build_program("polled", "-O0")), projectRoot=ROOT)
    name: str = answer["sessionId"]
    stdout = {"sessionId": name, "eventType": "stdout"}
    wait_until(lambda: wire.good("debug_query", **stdout)["totalCount"], "the program to be ready")
    return name


def values(wire: Wire, session: str, *targets: Arguments, **more: Any) -> list[Arguments]:
    results: list[Arguments] = wire.good("debug_read", sessionId=session, targets=list(targets), **more)["results"]
    return results


def shown(wire: Wire, session: str, variable: str, **more: Any) -> Arguments:
    (result,) = values(wire, session, {"variable": variable}, **more)
    assert "error" not in result
    return result


def address_of(wire: Wire, session: str, variable: str) -> str:
    (address,) = {shown(wire, session, variable)["address"]}
    return str(address)


def refused(wire: Wire, tool: str, field: str, **arguments: Any) -> str:
    text = wire.bad(tool, **arguments)
    assert text.startswith(f"VALIDATION_ERROR: '{field}' is "), text
    assert "Valid: " in text
    return text


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_a_bound(wire: Wire, session: str, bound: Bound) -> None:
    bytes_at = address_of(wire, session, "gBytes")

    def call(number: int) -> Arguments:
        arguments = bound.arguments(number)
        for target in arguments.get("targets", ()):
            target.update({"address": bytes_at} if target.get("address") == "ADDRESS" else {})
        return {"sessionId": session, **arguments}

    for number in {one for one in (bound.low, bound.high) if one is not None}:
        answer = wire.good(bound.tool, **call(number))
        if bound.field != "targets[0].address":  # nothing can be read at either
            assert "error" not in str(answer.get("results"))
    beyond = ([bound.low - 1] if bound.low is not None else []) + ([bound.high + 1] if bound.high is not None else [])
    if bound.field.endswith(".variable"):  # an expression of one character is not to be found, yet is no bad argument
        beyond = [0, 257]
    for number in beyond:
        text = refused(wire, bound.tool, bound.field, **call(number))
        if bound.named:
            assert str(bound.low) in text.partition("Valid: ")[2]
            assert bound.high is None or str(bound.high) in text.partition("Valid: ")[2]
    assert values(wire, session, TEMPO)[0]["value"] == 120


TEXTS: list[tuple[str, str, Arguments]] = [
    ("debug_launch", "command", {"command": ""}),
    ("debug_launch", "projectRoot", {"projectRoot": ""}),
    ("debug_launch", "projectRoot", {"projectRoot": f"/{'x' * 256}"}),  # longer than a name of a file may be
    ("debug_launch", "cwd", {"cwd": "x/" * 2048}),
    ("debug_launch", "pid", {"pid": 0}),
    ("debug_launch", "pid", {"pid": -1}),
    ("debug_trace", "sessionId", {"sessionId": ""}),
    ("debug_trace", "projectRoot", {"projectRoot": ""}),
    ("debug_trace", "projectRoot", {"projectRoot": f"/{'x' * 256}"}),
    ("debug_trace", "add[0]", {"add": [""]}),
    ("debug_trace", "add", {"add": ["f"] * 1001}),
    ("debug_trace", "remove", {"remove": ["f"] * 1001}),
    ("debug_query", "sessionId", {"sessionId": ""}),
    ("debug_query", "afterEventId", {"afterEventId": ""}),
    ("debug_stop", "sessionId", {"sessionId": ""}),
    ("debug_delete_session", "sessionId", {"sessionId": ""}),
    ("debug_read", "sessionId", {"sessionId": ""}),
    ("debug_write", "sessionId", {"sessionId": ""}),
    ("debug_write", "targets[0].value", {"targets": [TEMPO | {"value": "x" * 65535}]}),
]
WHOLE: dict[str, Arguments] = {
    "debug_launch": {"command": "env", "projectRoot": ROOT},
    "debug_trace": {"projectRoot": ROOT},
    "debug_query": {"sessionId": "none"},
    "debug_stop": {"sessionId": "none"},
    "debug_delete_session": {"sessionId": "none"},
    "debug_read": {"sessionId": "none", "targets": [TEMPO]},
    "debug_write": {"sessionId": "none", "targets": [TEMPO | {"value": 1}]},
}


def test_what_is_empty_or_too_much(wire: Wire) -> None:
    for tool, field, arguments in TEXTS:
        refused(wire, tool, field, **{**WHOLE[tool], **arguments})
    assert wire.good("debug_list_sessions") == {"sessions": []}


def test_a_thousand_patterns_are_taken_and_a_hundred_are_shown(wire: Wire) -> None:
    def staged(first: int, last: int) -> Arguments:
        return wire.good("debug_trace", projectRoot=ROOT, add=[f"f{at}" for at in range(first, last)])

    for count in (99, 100):
        answer = staged(0, count)
        assert (len(answer["activePatterns"]), "truncated" in answer) == (count, False)
    answer = staged(100, 101)
    assert (len(answer["activePatterns"]), answer["truncated"], answer["totalPatterns"]) == (100, True, 101)
    assert staged(0, 1000)["totalPatterns"] == 1000


def test_warnings_of_which_twenty_are_shown(wire: Wire) -> None:
    def warned(count: int) -> list[str]:
        answer = wire.good("debug_trace", projectRoot=ROOT, remove=[f"f{at}" for at in range(count)])
        warnings: list[str] = answer["warnings"]
        return warnings

    assert [len(warned(count)) for count in (19, 20)] == [19, 20]
    assert warned(21)[19:] == ["'f19' was not staged.", "… and 1 more"]
    longest = "f" * (8_000 - len("'' was not staged."))
    for name, shown in ((longest, f"'{longest}' was not staged."), (longest + "f", "… and 1 more")):
        assert wire.good("debug_trace", projectRoot=ROOT, remove=[name])["warnings"] == [shown]


def test_a_page_of_events(wire: Wire) -> None:
    session = wire.good("debug_launch", command="seq", args=["600"], projectRoot=ROOT)["sessionId"]
    asked = {"sessionId": session, "eventType": "stdout"}
    wait_until(lambda: wire.good("debug_query", **asked)["totalCount"] == 600, "all lines")
    assert len(wire.good("debug_query", **asked)["events"]) == 50
    for limit in (1, 2, 49, 51, 60):
        answer = wire.good("debug_query", **asked, limit=limit)
        assert [event["text"] for event in answer["events"]] == [f"{line}\n" for line in range(1, limit + 1)]
    assert len(wire.good("debug_query", **asked, limit=500)["events"]) <= 500
    for offset, left in ((598, 2), (599, 1), (600, 0), (601, 0)):
        answer = wire.good("debug_query", **asked, offset=offset)
        assert (len(answer["events"]), answer["hasMore"], answer["totalCount"]) == (left, False, 600)
    wire.good("debug_stop", sessionId=session)


def test_numbers_beyond_all_that_there_can_be(wire: Wire, session: str) -> None:
    """An empty answer, with what is known about it, and no fault of Strobe."""
    for number in (2**53, 2**63 - 1, 2**63, 2**64 - 1):
        for kind in ({}, {"eventType": "stdout"}, {"eventType": "variable_snapshot"}):
            for field in ("offset", "pid", "minDurationNs", "timeFrom"):
                answer = wire.good("debug_query", sessionId=session, **{field: number}, **kind)
                assert answer["events"] == [], (field, number, kind)
            assert wire.good("debug_query", sessionId=session, timeTo=number, **kind)
            for time in ("-999999999h", "-1h"):
                assert wire.good("debug_query", sessionId=session, timeTo=time, **kind)["totalCount"] == 0
        assert wire.good("debug_query", sessionId=session, groupBy="function", offset=number)["groups"] == []
    last, beyond = values(wire, session, *({"variable": f"*(char*){address:#x}"} for address in (2**64 - 1, 2**64)))
    assert last["error"].startswith("Address not readable: 0xffffffffffffffff")
    assert "this number has more than 64 bits" in beyond["error"]


def test_watches_at_once(wire: Wire, session: str) -> None:
    def watch(first: int, last: int) -> Arguments:
        return {
            "sessionId": session,
            "watches": {"add": [{"variable": f"gHundred[{at}]"} for at in range(first, last)]},
        }

    for first, last in ((0, 1), (1, 31), (31, 32)):
        assert len(wire.good("debug_trace", **watch(first, last))["activeWatches"]) == last
    assert ": 32 watches are active; at most 32 are possible. Remove one" in wire.bad("debug_trace", **watch(32, 33))
    removed = {"sessionId": session, "watches": {"remove": ["gHundred[0]"]}}
    assert len(wire.good("debug_trace", **removed)["activeWatches"]) == 31
    assert len(wire.good("debug_trace", **watch(32, 33))["activeWatches"]) == 32
    refused(wire, "debug_trace", "watches.add", **watch(0, 33))


def test_four_pointers_in_a_watch(wire: Wire, session: str) -> None:
    def watch(count: int) -> Arguments:
        variable = f"gLinks[0].next{'->next' * (count - 1)}->value"
        return {"sessionId": session, "watches": {"add": [{"variable": variable, "label": f"{count}"}]}}

    for count in (1, 3, 4):
        assert str(count) in str(wire.good("debug_trace", **watch(count))["activeWatches"])
    assert ": One expression follows at most 4 pointers." in wire.bad("debug_trace", **watch(5))


def test_four_pointers_in_an_expression(wire: Wire, session: str) -> None:
    def follow(count: int) -> Arguments:
        (result,) = values(wire, session, {"variable": f"gLinks[0]{'.next' if count else ''}{'->next' * (count - 1)}"})
        return result

    for count in (1, 2, 4):
        assert "error" not in follow(count)
    chain = "gLinks[0].next" + "->next" * 3
    assert shown(wire, session, f"{chain}->value")["value"] == 5
    bad, good = values(wire, session, {"variable": f"{chain}->next->value"}, TEMPO)
    assert bad["error"] == "One expression follows at most 4 pointers. Read it in steps."
    assert good["value"] == 120


def test_structs_within_structs(wire: Wire, session: str) -> None:
    for depth in (1, 2, 4, 5):
        link = shown(wire, session, "gLinks[0]", depth=depth)["fields"]
        seen = [link["value"]]
        while isinstance(link["next"], dict) and "to" in link["next"]:
            link = link["next"]["to"]
            seen.append(link["value"])
        assert seen == list(range(1, depth + 1))
        assert str(link["next"]).startswith("0x")


def test_a_hundred_elements(wire: Wire, session: str) -> None:
    for name, count in (("gNinetyNine", 99), ("gHundred", 100), ("gHundredOne", 101)):
        found = shown(wire, session, name)
        assert (found["count"], len(found["value"])) == (count, min(count, 100))
        address = {"address": found["address"], "type": "i32", "size": 4 * count}
        (raw,) = values(wire, session, address)
        assert (raw["count"], raw["value"]) == (count, found["value"])


def test_a_thousand_and_twenty_four_characters(wire: Wire, session: str) -> None:
    for name, text in (("gShort", "x" * 1023), ("gLongest", "x" * 1024), ("gTooLong", "x" * 1024 + "…")):
        assert shown(wire, session, name)["value"] == text
        assert shown(wire, session, f"{name}Text")["value"] == text


def test_a_preview_of_thirty_two_bytes(wire: Wire, session: str) -> None:
    bytes_at = address_of(wire, session, "gBytes")
    for size in (1, 31, 32, 33, 65536):
        (found,) = values(wire, session, {"address": bytes_at, "type": "bytes", "size": size})
        assert found["preview"] == " ".join(["78"] * min(size, 32))
        assert Path(found["file"]).read_bytes() == b"x" * size


def test_polls_at_once(wire: Wire, session: str) -> None:
    poll = {"sessionId": session, **polled(5000, 30000)}
    for _ in range(POLLS):
        assert wire.good("debug_read", **poll)["expectedSamples"] == 6
    assert wire.bad("debug_read", **poll).startswith(f"LIMIT_REACHED: {POLLS} polls of this session are already")
    assert values(wire, session, TEMPO)[0]["value"] == 120


def test_how_many_samples_are_expected(wire: Wire, session: str) -> None:
    for interval, duration, expected in (
        (50, 100, 2),
        (50, 101, 3),
        (5000, 100, 1),
        (5000, 30000, 6),
        (50, 30000, 600),
    ):
        answer = wire.good("debug_read", sessionId=session, **polled(interval, duration))
        assert answer["expectedSamples"] == expected


def test_sizes_of_types(wire: Wire, session: str) -> None:
    """A type alone is one value; a size must be a multiple of it."""
    bytes_at = address_of(wire, session, "gBytes")
    for type_ in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "pointer"):
        width = 8 if type_ == "pointer" else int(type_[1:]) // 8
        at = {"address": bytes_at, "type": type_}
        sizes = (width, 2 * width, 2 * width - 1)
        one, same, two, odd = values(wire, session, at, *(at | {"size": size} for size in sizes))
        assert one["value"] == same["value"]
        assert (two["count"], two["value"]) == (2, [one["value"]] * 2)
        assert ("error" in odd) == (width > 1)
