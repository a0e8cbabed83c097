"""`join.on` as a condition on both events: `$other.` names the other one's values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS

Ask = Callable[..., dict[str, Any]]
LATE_NS = 40_000_000
LOOKED = "$function == 'lookup' && $type == 'function_exit'"
STORED = "$function == 'store' && $type == 'function_enter'"


@pytest.fixture
def ask_of(wire: Wire, build_program: Callable[..., Path]) -> Callable[..., Ask]:
    """Questions about one run of a program with these functions traced."""

    def asker(program: str, *traced: str) -> Ask:
        answer = wire.good(
            "debug_launch",
            command=str(build_program(program, "-O0")),
            projectRoot=str(PROGRAMS),
            trace=list(traced),
            stack=2,
            wait={"until": "exit", "timeoutMs": 30_000},
        )
        assert answer["ended"]["exitCode"] == 0

        def asked(is_refused: bool = False, **arguments: Any) -> Any:
            ask = wire.bad if is_refused else wire.good
            return ask("debug_query", sessionId=answer["sessionId"], **arguments)

        return asked

    return asker


def test_the_next_one_of_another_thread_within_a_time(ask_of: Callable[..., Ask]) -> None:
    ask = ask_of("handoffs", "obtain", "give_back")
    obtained = {"where": "$function == 'obtain' && $type == 'function_exit'", "select": ["number", "$time", "$thread"]}
    given = {"after": "$function == 'give_back' && $type == 'function_enter'", "select": ["room", "$time", "$thread"]}
    every = ask(**obtained, limit=100, join={**given, "on": "$return == block", "anyThread": True})
    assert (every["paired"], every["unpaired"]) == (16, 0)
    both = [(one["values"], one["after"]["values"]) for one in every["events"]]
    expected = {
        own["number"]: other["room"]
        for own, other in both
        if own["$thread"] != other["$thread"] and other["$time"] < own["$time"] + LATE_NS
    }
    assert expected and set(expected) <= {1, 5, 9, 13}
    for on in (
        f"$other.block == $return && $other.$thread != $thread && $other.$time < $time + {LATE_NS}",
        f"($return == $other.block and $thread != $other.$thread) and ($other.$time - $time < {LATE_NS})",
        ["$return == block", f"!($thread == $other.$thread || $other($time - {LATE_NS}) >= $time)"],
    ):
        found = ask(**obtained, limit=100, join={**given, "on": on})
        assert (found["paired"], found["unpaired"]) == (len(expected), 16 - len(expected)), on
        pairs = {one["values"]["number"]: one["after"] for one in found["events"]}
        assert {number: other["values"]["room"] for number, other in pairs.items() if other} == expected
        assert len(pairs) == 16
        missing = ask(**obtained, limit=100, join={**given, "on": on, "missing": True})
        numbers = [one["values"]["number"] for one in missing["events"]]
        assert numbers == [number for number in range(16) if number not in expected]


def test_the_newest_one_for_which_it_holds(ask_of: Callable[..., Ask]) -> None:
    ask = ask_of("slots", "store", "lookup")
    join = {"before": STORED, "select": ["key", "value"]}
    found = ask(
        where=LOOKED, select=["key"], limit=100, join={**join, "on": "$other.key == key && $other.value % 10 == 1"}
    )
    assert (found["paired"], found["unpaired"], found["others"]) == (40, 0, 80)
    assert all(one["before"]["values"]["value"] == 10 * one["values"]["key"] + 1 for one in found["events"])
    found = ask(where=LOOKED, select=["key"], limit=100, join={**join, "on": "$other.key < key - 1"})
    assert (found["paired"], found["unpaired"]) == (36, 4)
    assert all(
        one["before"] is None
        if one["values"]["key"] < 2
        else one["before"]["values"] == {"key": one["values"]["key"] - 2, "value": 10 * one["values"]["key"] - 18}
        for one in found["events"]
    )
    after = {"after": LOOKED, "on": "$other.key > key || $other.$return == -7", "select": ["key"]}
    found = ask(where=STORED, select=["key"], limit=100, order="desc", join=after, maxTokens=12_000)
    assert (found["paired"], found["unpaired"]) == (76, 4)
    assert [one["values"]["key"] for one in found["events"] if one["after"] is None] == [19, 19, 19, 19]
    assert all(
        one["after"] is None or one["after"]["values"]["key"] == one["values"]["key"] + 1 for one in found["events"]
    )


def test_the_stacks_of_both(ask_of: Callable[..., Ask]) -> None:
    ask = ask_of("slots", "store", "lookup")
    join = {"before": STORED, "on": "$other.key == key && $other.value % 10 == 2", "select": ["value", "stack"]}
    found = ask(
        where=f"{LOOKED} && any(f in $stack: f startswith 'work slots.c:')", select=["stack"], join=join, limit=3
    )
    assert (found["paired"], found["unpaired"]) == (40, 0)
    for one in found["events"]:
        own, other = one["values"]["stack"], one["before"]["values"]["stack"]
        assert own[0].startswith("work slots.c:") and other[0].startswith("work slots.c:") and own[0] != other[0]
        assert 0 < len(own) <= 2
    assert ask(where=f"{LOOKED} && first($stack) startswith 'main'")["held"] == 0


def test_names_that_are_not_there(ask_of: Callable[..., Ask]) -> None:
    ask = ask_of("slots", "store", "lookup")

    def refused(on: str) -> str:
        return str(ask(True, where=LOOKED, join={"before": STORED, "on": on}))

    assert "'valu'" in (told := refused("key == key && $other.valu > 3")) and "value" in told.partition("Nearest")[2]
    assert "'kei'" in (told := refused("kei != $other.key")) and "key" in told.partition("Nearest")[2]
    assert "$other.value, of the other event" in refused("value > $other.key")  # lookup has none
    assert "there is one other event" in refused("$other($other.key) == key")
    assert "$other.key" in refused("key < key")
    assert "a value of the other event" in refused("$other == key")
    assert "$other" in str(ask(True, where="$other.key == 1"))  # there is one event alone


def test_what_one_side_never_has_is_said(wire: Wire, build_program: Callable[..., Path]) -> None:
    """And not that these events have no partner, without a word."""
    answer = wire.good(
        "debug_launch",
        command=str(build_program("slots", "-O0")),
        projectRoot=str(PROGRAMS),
        probes=[
            {"at": "store", "label": "stored", "show": ["value"]},
            {"at": "lookup", "label": "asked", "show": ["key"]},
        ],
        wait={"until": "exit", "timeoutMs": 30_000},
    )

    def asked(where: str, **more: Any) -> Any:
        return wire.good("debug_query", sessionId=answer["sessionId"], where=where, limit=1, **more)

    def joined(on: str) -> Any:
        return asked("$label == 'stored'", join={"after": "$label == 'asked'", "on": on, "missing": True})

    def told(on: str) -> Any:
        return joined(on)["noValue"]

    assert told("$other.value == value") == ["40 other events are left out: the probe 'asked' does not show 'value'."]
    absence = joined("$other.value == value")["othersAbsence"]
    assert absence.startswith("It held for 40, which never have what `on` is about: the probe 'asked' does not show")
    assert told("key == $other.key") == ["80 events are left out: the probe 'stored' does not show 'key'."]
    (pairs,) = told("(u64)$other.value == (u64)value")
    assert pairs.startswith("`on` does not hold for ") and pairs.endswith(": the probe 'asked' does not show 'value'.")
    join = {"after": "$label == 'asked'", "on": "value % 10 == $other.key % 10"}
    assert "noValue" not in asked("$label == 'stored'", join=join)
    for condition in ("key == 5", "key != 5"):
        absence = asked(f"$label == 'stored' && {condition}")["absence"]
        assert absence.startswith("It held for none of 80 checked events. Already the first one cannot have")
        assert "the probe 'stored' does not show 'key'" in absence
    assert asked("$label == 'stored' && value == -77")["absence"] == "It held for none of 80 checked events."
