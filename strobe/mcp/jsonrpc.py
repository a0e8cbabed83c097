"""JSON-RPC 2.0 as MCP uses it: one message per line, in and out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

from strobe.dataclass import dataclass, field
from strobe.limits import LINE_BYTES

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_READ_BYTES = 65536
_BAD_ID = "'id' must be a string or an integer of 64 bits"

RequestId = str | int | None


class ProtocolError(Exception):
    """A fault of the message itself: answered as a JSON-RPC error, never as a tool's result."""

    def __init__(self, code: int, message: str, request_id: RequestId | float = None, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id
        self.data = data


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or a notification where `id` is None."""

    method: str
    id: RequestId = None
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def meta(self) -> dict[str, Any]:
        """`params._meta`; {} where there is none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


class Readable(Protocol):
    """Where messages come from: a socket, or what reads as one."""

    def recv(self, size: int, /) -> bytes:
        """As socket.recv: b"" at the end."""


def lines(stream: Readable) -> Iterator[bytes | None]:
    """Complete lines without their end, empty ones left out; None for one longer than LINE_BYTES."""
    held = bytearray()
    skipping = False
    while part := stream.recv(_READ_BYTES):
        *whole, rest = part.split(b"\n")
        for piece in whole:
            held += piece
            if skipping:
                yield None
            elif held.strip():
                yield bytes(held)
            held.clear()
            skipping = False
        held += rest
        if len(held) > LINE_BYTES:
            skipping = True
        if skipping:
            held.clear()


def parse(line: bytes) -> Message | None:
    """The request or notification in a line; None for an answer, which nobody here waits for. Raises ProtocolError."""
    try:
        raw = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(PARSE_ERROR, f"Parse error: {error}", _readable_id(line)) from None
    if isinstance(raw, list):
        raise ProtocolError(INVALID_REQUEST, "Batches are not supported: send one message per line")
    if not isinstance(raw, dict):
        raise ProtocolError(INVALID_REQUEST, "A message is a JSON object")
    if raw.get("id") is not None and not is_id(raw["id"]):
        raise ProtocolError(INVALID_REQUEST, _BAD_ID, _readable_id(line))
    return _message(raw)


def is_id(value: object) -> bool:
    """Whether a request may have it as its id. `True` is no 1, though Python takes it for one."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _readable_id(line: bytes) -> RequestId | float:
    """The id of a message that cannot be taken: a string, lone surrogates included, or any number; None where the text
    has none, or is no JSON at all."""
    try:
        found = json.loads(line).get("id")
    except (ValueError, AttributeError, RecursionError):
        return None
    is_finite = isinstance(found, float) and math.isfinite(found)
    return found if is_id(found) or is_finite else None


def _message(raw: dict[str, Any]) -> Message | None:
    request_id = raw.get("id")
    method = raw.get("method")
    if method is None and ("result" in raw or "error" in raw):
        return None
    if raw.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "A request has 'jsonrpc': \"2.0\" and a 'method' string", request_id)
    if "id" in raw and request_id is None:
        raise ProtocolError(INVALID_REQUEST, _BAD_ID)
    params = raw.get("params") or {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "'params' must be an object", request_id)
    return Message(method, request_id, params)


def success(request_id: RequestId, result: dict[str, Any]) -> bytes:
    """An answer as one line, without the line's end."""
    return _encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def notification(method: str, params: dict[str, Any]) -> bytes:
    """A message that nobody answers, as one line."""
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})


def is_notification(line: bytes) -> bool:
    """Whether `notification` has made it: no answer begins so."""
    return line.startswith(b'{"jsonrpc":"2.0","method":')


def failure(error: ProtocolError) -> bytes:
    """The answer to what broke the protocol, as one line."""
    body: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    return _encode({"jsonrpc": "2.0", "id": error.request_id, "error": body})


def _encode(message: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # an id of more than 64 bits, or with lone surrogates
        return json.dumps(message).encode() + b"\n"
