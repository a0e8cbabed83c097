"""Lines and messages of JSON-RPC 2.0, good and bad."""

from __future__ import annotations

from collections.abc import Iterable

import orjson
import pytest

from strobe.mcp import jsonrpc
from strobe.mcp.jsonrpc import Message, ProtocolError


class Parts:
    """A stream that arrives in the given parts."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)

    def recv(self, size: int, /) -> bytes:
        return next(self._parts, b"")


def lines(*parts: bytes) -> list[bytes | None]:
    return list(jsonrpc.lines(Parts(parts)))


def test_lines_are_put_together_from_any_parts() -> None:
    assert lines(b"ab", b"c\nde", b"f\n\n \ng", b"\nrest") == [b"abc", b"def", b"g"]


def test_a_line_too_long_is_reported_once_and_the_next_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonrpc, "LINE_BYTES", 10)
    assert lines(b"x" * 8, b"x" * 8, b"x" * 8, b"x\nnext\n") == [None, b"next"]


def test_a_request_and_a_notification() -> None:
    request = jsonrpc.parse(b'{"jsonrpc":"2.0","id":"seven","method":"ping","params":{"_meta":{"progressToken":0}}}')
    assert request == Message("ping", "seven", {"_meta": {"progressToken": 0}})
    assert request.meta == {"progressToken": 0}
    assert jsonrpc.parse(b'{"jsonrpc":"2.0","method":"notifications/initialized"}') == Message(
        "notifications/initialized"
    )


def test_an_answer_is_nobodys() -> None:
    assert jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"result":{}}') is None
    assert jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}') is None


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"a":"\\ud800"}', -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        (b"7", -32600, None),
        (b"{}", -32600, None),
        (b'{"id":1,"method":"ping"}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, 1.5),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"x","method":"ping","params":[1]}', -32602, "x"),
    ],
)
def test_what_is_no_message_is_answered_with_its_code(line: bytes, code: int, request_id: str | float | None) -> None:
    with pytest.raises(ProtocolError) as caught:
        jsonrpc.parse(line)
    answer = orjson.loads(jsonrpc.failure(caught.value))
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)
