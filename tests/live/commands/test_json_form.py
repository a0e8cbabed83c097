"""Events as JSON: a call, of which there are many, has a way of its own."""

from __future__ import annotations

from strobe.cli.output.json_form import event_json
from strobe.dataclass import replace
from strobe.model import Argument, CodeAddress, Enumerator, Event, Text, Value
from strobe.values.model import PointerTo, Record

CALL = Event("s-7", 12, "function_enter", 41, "till-1", 40, function="f", depth=0)
WHERE = {"threadId": 41, "threadName": "till-1", "pid": 40}


def value_of(value: Value) -> object:
    shown = event_json(replace(CALL, arguments=(Argument("a", value),)))["arguments"]
    assert isinstance(shown, list)
    assert shown[0]["name"] == "a"
    return shown[0]["value"]


def test_what_a_call_has_is_shown_and_nothing_else() -> None:
    assert event_json(CALL) == {"id": "s-7", "timestampNs": 12, "eventType": "function_enter", "function": "f"} | {
        **WHERE,
        "depth": 0,
    }
    whole = replace(
        CALL,
        event_type="function_exit",
        source_file="a.c",
        line=3,
        duration_ns=0,
        return_value=False,
        function_raw="_f",
        parent_event_id="s-3",
        return_type="bool",
        sampled=True,
        watch_values={"w": 1 << 60},
    )
    assert event_json(whole) == {
        "id": "s-7",
        "timestampNs": 12,
        "eventType": "function_exit",
        "function": "f",
        "sourceFile": "a.c",
        "line": 3,
        "durationNs": 0,
        "returnValue": False,
        "functionRaw": "_f",
        **WHERE,
        "parentEventId": "s-3",
        "returnType": "bool",
        "sampled": True,
        "watchValues": {"w": str(1 << 60)},
        "depth": 0,
    }


def test_values() -> None:
    cases: list[tuple[Value, object]] = [
        (7, 7),
        (-(1 << 53) + 1, -(1 << 53) + 1),
        (1 << 53, str(1 << 53)),
        (-(1 << 53), str(-(1 << 53))),
        (1 << 100, str(1 << 100)),
        (True, True),
        (0.5, 0.5),
        (None, None),
        (Text("bread"), "bread"),
        ("0x10", "0x10"),
        (CodeAddress("0x10"), "0x10"),
        (Enumerator("SALE", 1), "SALE(1)"),
        ([1, 1 << 60], [1, str(1 << 60)]),
        ({"a": Enumerator("SALE", 1)}, {"a": "SALE(1)"}),
    ]
    assert [value_of(given) for given, _ in cases] == [expected for _, expected in cases]
    pointer = PointerTo(16, None, Record("Node", {"number": 1}))
    assert event_json(replace(CALL, return_value=pointer))["returnValue"] == {"pointer": "0x10", "to": {"number": 1}}  # type: ignore[arg-type]
