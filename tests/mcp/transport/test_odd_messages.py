"""Any JSON value at any place of a message: it is answered or ignored, and the connection with its calls goes on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from support.mcp_wire import MODERN, Wire

DEEP: Any = None
for _ in range(100):
    DEEP = [{"a": DEEP}]

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.5, -0.0, 1e300, 2**53, 2**63 - 1, 2**64 - 1, -(2**63)),
    *("", "x", "1", "null", "\0", "\ud7ff\U0010ffff", "y" * 100_000),
    *([], [1], [[]], [None] * 1000, {}, {"a": 1}, {"requestId": []}, {"": {"": None}}, DEEP),
]
VERSION, CAPABILITIES = MODERN
PATHS: list[tuple[str, ...]] = [
    ("params",),
    ("params", "_meta"),
    ("params", "_meta", VERSION),
    ("params", "_meta", CAPABILITIES),
    ("params", "_meta", "progressToken"),
    ("params", "requestId"),
    ("params", "reason"),
    ("params", "name"),
    ("params", "arguments"),
    ("params", "arguments", "sessionId"),
    ("params", "arguments", "function"),
    ("params", "arguments", "targets"),
    ("params", "cursor"),
    ("params", "protocolVersion"),
    ("params", "capabilities"),
    ("params", "clientInfo"),
    ("params", "progressToken"),
    ("params", "level"),
    ("params", "uri"),
    ("jsonrpc",),
    ("method",),
    ("more",),
]
REQUESTS = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "server/discover",
    "strobe/status",
    "resources/read",
    "no",
]
NOTIFICATIONS = [
    f"notifications/{name}" for name in ("cancelled", "initialized", "progress", "roots/list_changed", "message", "no")
]
TOOLS = ["debug_query", "debug_read", "debug_list_sessions"]


def placed(message: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The message with the value there; what lies on the way to it becomes an object."""
    copy: dict[str, Any] = orjson.loads(orjson.dumps(message))
    inner = copy
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value
    return copy


def messages(method: str) -> Iterator[dict[str, Any]]:
    """Of one method, with every value at every place."""
    for tool in TOOLS if method == "tools/call" else [""]:
        whole = {"jsonrpc": "2.0", "method": method, "params": {"name": tool, "arguments": {}} if tool else {}}
        for path, value in itertools.product(PATHS, VALUES):
            yield placed(whole, path, value)


@pytest.mark.parametrize("method", REQUESTS)
def test_every_request_is_answered(wire: Wire, method: str) -> None:
    for number, message in enumerate(messages(method)):
        wire.send({**message, "id": f"request {number}"})
        answer = wire.receive()
        assert answer["id"] == f"request {number}", orjson.dumps(message)[:300]
        assert ("result" in answer) != ("error" in answer)
        text = orjson.dumps(answer)
        assert b"Internal error" not in text, orjson.dumps(message)[:300]
        assert b"INTERNAL: " not in text, (orjson.dumps(message)[:300], text[:500])


@pytest.mark.parametrize("method", NOTIFICATIONS)
def test_no_notification_is_answered(wire: Wire, method: str) -> None:
    for message in messages(method):
        if message["jsonrpc"] == "2.0" and isinstance(message["method"], str):
            if not isinstance(message["params"] or {}, dict):
                continue  # the message itself is wrong, and that is said
            wire.send(message)
    assert wire.request("ping")["result"] == {}


def test_every_id_is_taken_or_refused(wire: Wire) -> None:
    for value in VALUES:
        wire.send({"jsonrpc": "2.0", "id": value, "method": "ping"})
        answer = wire.receive()
        if isinstance(value, str | int) and not isinstance(value, bool):
            assert answer == {"jsonrpc": "2.0", "id": value, "result": {}}
        else:
            assert answer["error"]["code"] == -32600, repr(value)[:100]
            # a number could be read, and is given back
            assert answer["id"] == (value if isinstance(value, float) else None), repr(value)[:100]


@pytest.mark.parametrize("text", ["18446744073709551616", "-9223372036854775809", "1.25", "1" * 400, '"\\ud800 x"'])
def test_an_id_that_cannot_be_taken_is_given_back(wire: Wire, text: str) -> None:
    wire.send(b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}\n' % text.encode())
    answer = wire.receive()
    assert answer["id"] == json.loads(text)
    assert answer["error"]["code"] in (-32600, -32700)


def test_a_lone_surrogate_elsewhere(wire: Wire) -> None:
    wire.send(b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\\udfff"}}\n')
    answer = wire.receive()
    assert (answer["id"], answer["error"]["code"]) == (7, -32700)
    wire.send(b'{"jsonrpc": "2.0", "id": 8, "method"\n')
    answer = wire.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)


def test_every_value_alone_is_answered(wire: Wire) -> None:
    for value in VALUES:
        wire.send(value)
        assert wire.receive()["error"]["code"] in (-32600, -32700), repr(value)[:100]
    assert wire.request("ping")["result"] == {}
