"""The five revisions of MCP as the wire shows them."""

from __future__ import annotations

import pytest
from support.mcp_wire import INITIALIZE, MODERN, Wire

SERVER = "io.modelcontextprotocol/serverInfo"


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),  # has no handshake
        ("1999-01-01", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_the_handshake_agrees_on_a_revision(wire: Wire, asked: str | None, agreed: str) -> None:
    result = wire.request("initialize", {**INITIALIZE, "protocolVersion": asked})["result"]
    assert result["protocolVersion"] == agreed
    assert result["serverInfo"]["name"] == "strobe"
    assert "tools" in result["capabilities"]
    assert len(result["instructions"]) < 4096


def test_notifications_and_answers_are_never_answered(wire: Wire) -> None:
    for method in ("notifications/initialized", "notifications/unheard-of", "notifications/cancelled", "ping"):
        wire.send({"jsonrpc": "2.0", "method": method, "params": {"requestId": 99}})
    wire.send({"jsonrpc": "2.0", "id": 7, "result": {}})
    assert wire.request("ping")["result"] == {}


def test_the_modern_era_needs_no_handshake(wire: Wire) -> None:
    found = wire.request("server/discover", {"_meta": MODERN})["result"]
    assert found["supportedVersions"][-1] == "2026-07-28"
    assert len(found["supportedVersions"]) == 5
    tools = wire.request("tools/list", {"_meta": {**MODERN, "someone/else": [1]}})["result"]
    for result in (found, tools):
        assert result["resultType"] == "complete"
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] == "public"
        assert result["_meta"][SERVER]["name"] == "strobe"


def test_a_modern_tool_call_is_complete(wire: Wire) -> None:
    params = {"name": "debug_list_sessions", "arguments": {"unknown": 1}, "_meta": {**MODERN, "progressToken": 0}}
    result = wire.request("tools/call", params)["result"]
    assert (result["resultType"], result["isError"]) == ("complete", True)


def test_both_eras_list_the_same_tools(wire: Wire) -> None:
    modern = wire.request("tools/list", {"_meta": MODERN})["result"]["tools"]
    assert wire.request("tools/list")["result"]["tools"] == modern


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such/method", None, -32601),
        ("resources/subscribe", None, -32601),
        ("server/discover", None, -32602),
        ("ping", {"_meta": MODERN}, -32601),
        ("initialize", {"_meta": MODERN}, -32601),
        ("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}, -32602),
        ("tools/list", {"_meta": {**MODERN, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}}, -32022),
        ("tools/call", {"name": "debug_lunch", "arguments": {}}, -32602),
        ("tools/call", {"arguments": {}}, -32602),
        ("tools/call", {"name": ["debug_launch"]}, -32602),
    ],
)
def test_faults_of_the_protocol_are_json_rpc_errors(wire: Wire, method: str, params: object, code: int) -> None:
    answer = wire.request(method, params)
    assert answer["error"]["code"] == code


def test_an_unknown_modern_revision_is_told_what_there_is(wire: Wire) -> None:
    meta = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    data = wire.request("tools/list", {"_meta": meta})["error"]["data"]
    assert data["requested"] == "2031-01-01"
    assert "2026-07-28" in data["supported"]


@pytest.mark.parametrize("line", [b"{bad\n", b"\xff\n", b'"text"\n', b"[]\n", b'{"jsonrpc":"2.0"}\n'])
def test_a_malformed_line_is_answered_and_the_connection_goes_on(wire: Wire, line: bytes) -> None:
    wire.send(line)
    answer = wire.receive()
    assert answer["error"]["code"] in (-32700, -32600)
    assert answer["id"] is None
    assert wire.request("ping")["result"] == {}


def test_ids_come_back_as_they_were(wire: Wire) -> None:
    for request_id in ("a", "", 0, -1, 2**53, "7"):
        wire.send({"jsonrpc": "2.0", "id": request_id, "method": "ping"})
        assert wire.receive() == {"jsonrpc": "2.0", "id": request_id, "result": {}}
