"""Checking a tool's arguments: what is taken, and how a mistake is explained."""

from __future__ import annotations

from typing import Any

import pytest

from strobe.errors import StrobeError
from strobe.mcp.schema import Array, Boolean, Integer, Record, Text, TextMap

RECORD = Record(
    fields={
        "sessionId": Text(description="from debug_launch", min_length=1),
        "eventType": Text(choices=("stdout", "stderr")),
        "limit": Integer(low=1, high=500, default=50),
        "offset": Integer(low=0),
        "retain": Boolean(),
        "add": Array(items=Text(min_length=1), max_items=2),
        "env": TextMap(),
        "function": Record(fields={"equals": Text(), "contains": Text()}),
        "timeFrom": Text(numbers=True),
    },
    required=("sessionId",),
    later=("watches",),
)


def mistake(**arguments: Any) -> str:
    with pytest.raises(StrobeError) as caught:
        RECORD.check({"sessionId": "s", **arguments})
    return str(caught.value)


def test_good_arguments_come_back_ready_for_use() -> None:
    given = {
        "sessionId": "s",
        "eventType": None,
        "limit": 50.0,
        "retain": True,
        "add": ["a::*"],
        "env": {"A": "1"},
        "function": {"contains": "x", "equals": None},
        "timeFrom": 9007199254740993,
    }
    assert RECORD.check(given) == {
        "sessionId": "s",
        "limit": 50,
        "retain": True,
        "add": ["a::*"],
        "env": {"A": "1"},
        "function": {"contains": "x"},
        "timeFrom": "9007199254740993",
    }


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"limit": 0}, "VALIDATION_ERROR: 'limit' is 0: it is out of range. Valid: 1 to 500."),
        ({"limit": 501}, "VALIDATION_ERROR: 'limit' is 501: it is out of range. Valid: 1 to 500."),
        ({"limit": "5"}, "VALIDATION_ERROR: 'limit' is '5': it must be an integer. Valid: 1 to 500."),
        ({"limit": True}, "VALIDATION_ERROR: 'limit' is True: it must be an integer. Valid: 1 to 500."),
        ({"offset": -1}, "VALIDATION_ERROR: 'offset' is -1: it is out of range. Valid: an integer of 0 or more."),
        ({"retain": "yes"}, "VALIDATION_ERROR: 'retain' is 'yes': it must be a boolean. Valid: true, false."),
        ({"sessionId": 5}, "VALIDATION_ERROR: 'sessionId' is 5: it must be a string. Valid: a string of at least 1"),
        ({"add": "a"}, "VALIDATION_ERROR: 'add' is 'a': it must be an array. Valid: a JSON array, also for a single"),
        ({"add": ["a", ""]}, "VALIDATION_ERROR: 'add[1]' is '': it is too short."),
        ({"add": ["a", "b", "c"]}, "VALIDATION_ERROR: 'add' is ['a', 'b', 'c']: it has 3 items. Valid: at most 2"),
        ({"env": {"A": 1}}, "VALIDATION_ERROR: 'env.A' is 1: it must be a string."),
        ({"function": "x"}, "VALIDATION_ERROR: 'function' is 'x': it must be an object. Valid: equals, contains."),
        ({"function": {"like": "x"}}, "VALIDATION_ERROR: 'function.like' is not a parameter here. Valid: equals,"),
        ({"eventType": "stdot"}, "it is not one of the values (did you mean 'stdout'?). Valid: stdout, stderr."),
        ({"session_id": "s"}, "'session_id' is not a parameter here (did you mean 'sessionId'?). Valid: sessionId, "),
        ({"watches": {}}, "VALIDATION_ERROR: 'watches' is not supported by this version of Strobe."),
        ({"sessionId": None}, "VALIDATION_ERROR: 'sessionId' is missing. It is: from debug_launch."),
    ],
)
def test_a_mistake_names_the_field_the_fault_and_what_is_valid(arguments: dict[str, Any], text: str) -> None:
    assert text in mistake(**arguments)


def test_a_long_value_is_not_repeated_whole() -> None:
    assert len(mistake(limit="x" * 10_000)) < 300


def test_arguments_that_are_no_object() -> None:
    with pytest.raises(StrobeError, match="'arguments' is 5: it must be an object"):
        RECORD.check(5)
