"""Damaged and random messages, many: each request is answered or refused, and the daemon stays as it is."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import INITIALIZE, MODERN, Wire
from support.torture.daemon_state import held

from strobe.mcp import daemon, endpoint

SEED = 4711
LINES = 50  # that are sent before their answers are read
GROWN_KB = 24 << 10
WORDS = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "_meta",
    "name",
    "arguments",
    "sessionId",
    "uri",
    "progressToken",
    *MODERN,
]
SIMPLE: list[Any] = [None, True, 0, 1, -1, 2**53, 2**64, 1.5, 1e308, "", "x", "2.0", "\0", "\u2028", "a" * 5000]
CALLS = ["debug_list_sessions", "debug_query", "debug_read", "debug_write", "debug_trace", "debug_stop", "debug_fly"]
METHODS = [
    *("initialize", "ping", "tools/list", "prompts/list", "prompts/get", "resources/list", "resources/read"),
    *("resources/templates/list", "server/discover", "no/such", "notifications/cancelled", "notifications/initialized"),
]


def whole(chance: random.Random, number: int) -> dict[str, Any]:
    """A message as a client might send it."""
    if chance.random() < 0.4:
        arguments = {"sessionId": "none", "where": "a == 1", "patterns": ["f"], "targets": ["a"], "limit": 5}
        kept = {name: value for name, value in arguments.items() if chance.random() < 0.5}
        params: dict[str, Any] = {"name": chance.choice(CALLS), "arguments": kept}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    meta = {"_meta": MODERN} if chance.random() < 0.3 else {}
    params = {
        **chance.choice([INITIALIZE, {"name": "why-crash"}, {"uri": "strobe://log"}, {"requestId": number}]),
        **meta,
    }
    return {"jsonrpc": "2.0", "id": number, "method": chance.choice(METHODS), "params": params}


def anything(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(4 if depth < 4 else 1)
    if kind < 2:
        return chance.choice(SIMPLE)
    count = chance.randrange(4)
    if kind == 2:
        return [anything(chance, depth + 1) for _ in range(count)]
    return {chance.choice([*WORDS, "x"]): anything(chance, depth + 1) for _ in range(count)}


def damaged(chance: random.Random, line: bytes) -> bytes:
    """A few bytes changed, cut out, doubled or put in."""
    held_bytes = bytearray(line)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(held_bytes) + 1)
        kind = chance.randrange(4)
        if kind == 0 and at < len(held_bytes):
            held_bytes[at] = chance.randrange(256)
        elif kind == 1:
            del held_bytes[at : at + chance.randrange(20)]
        elif kind == 2:
            held_bytes[at:at] = held_bytes[at : at + chance.randrange(50)]
        else:
            held_bytes[at:at] = chance.randbytes(chance.randrange(8))
    return bytes(held_bytes)


def a_line(chance: random.Random, number: int) -> bytes:
    """One line, without its end."""
    message = whole(chance, number)
    kind = chance.randrange(4)
    if kind == 0:
        message[chance.choice(WORDS)] = anything(chance)
    elif kind == 1 and isinstance(message["params"], dict):
        message["params"][chance.choice(WORDS)] = anything(chance)
    elif kind == 2:
        return damaged(chance, orjson.dumps(message)).replace(b"\n", b" ").replace(b"\r", b" ")
    return orjson.dumps(message) if all_fit(message) else b"{}"


def all_fit(message: Any) -> bool:
    """Whether it has no number beyond 64 bits, which orjson does not write."""
    try:
        orjson.dumps(message)
    except orjson.JSONEncodeError:
        return False
    return True


def expected(line: bytes) -> Any:
    """The id that must be answered; None where no answer with an id is due."""
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    found = message.get("id") if isinstance(message, dict) else None
    is_id = isinstance(found, str | int) and not isinstance(found, bool)
    is_request = is_id and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    return found if is_request else None


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_random_messages(strobe_home: Path, count: int) -> None:
    chance = random.Random(SEED)
    with Wire.to(strobe_home) as first:
        first.request("ping")
        pid = daemon.status(strobe_home).pid or 0
        before = None
        for batch in range(count // LINES):
            with Wire.to(strobe_home) as wire:
                lines = [a_line(chance, batch * LINES + number) for number in range(LINES)]
                due = Counter(repr(one) for one in map(expected, lines) if one is not None)
                wire.send(b"".join(line + b"\n" for line in lines))
                last = f"last of {batch}"
                wire.send({"jsonrpc": "2.0", "id": last, "method": "ping"})
                due[repr(last)] += 1
                while due:
                    answer = wire.receive()
                    if "id" not in answer:
                        assert answer["method"] == "notifications/progress"
                        continue
                    assert ("result" in answer) != ("error" in answer)
                    assert "Internal error" not in str(answer.get("error")), answer
                    due -= Counter([repr(answer["id"])])
            if batch == count // LINES // 4:
                before = held(pid)
        after = held(pid)
        assert first.request("ping")["result"] == {}
    assert daemon.status(strobe_home).pid == pid
    assert before is not None
    assert after.memory_kb <= before.memory_kb + GROWN_KB
    assert after.descriptors <= before.descriptors + 4
    assert "Traceback" not in Path(endpoint.log_path(str(strobe_home))).read_text()
