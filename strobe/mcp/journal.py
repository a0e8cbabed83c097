"""What went through the pump and is not answered yet, so that the death of a daemon leaves no client waiting.

Lines are kept as they are and parsed only when it matters, because importing json costs more than the pump has.
"""

from __future__ import annotations

_KEPT_BYTES = 4 << 20
_ID = b'{"jsonrpc":"2.0","id":'  # as the daemon begins every answer
_AFTER_ID = (b',"result":', b',"error":')  # no JSON string holds these bytes: its quotes are escaped
_LOST = (
    "INTERNAL: The Strobe daemon ended before it answered. What was recorded can still be read: find it with "
    "debug_list_sessions, then ask again; that starts another daemon."
)


class Journal:
    """Of one client, across the daemons that serve it one after the other."""

    def __init__(self) -> None:
        self._asked: list[bytes] = []
        self._answered: list[bytes] = []
        self._kept_bytes = 0
        self._begun = bytearray()
        self._unfinished = bytearray()

    def up(self, data: bytes) -> bytes:
        """Notes what the client sent; returns it."""
        self._asked += _lines(self._begun, data)
        self._kept_bytes += len(data)
        if self._kept_bytes > _KEPT_BYTES:
            self._forget_answered()
        return data

    def down(self, data: bytes) -> bytes:
        """Notes what the daemon sent; returns the lines that are complete now."""
        lines = _lines(self._unfinished, data)
        self._answered += map(_answered_id, lines)
        return b"".join(line + b"\n" for line in lines)

    def lost(self) -> tuple[bytes, bytes]:
        """The daemon died: (an answer for each request that waits for one, the line that the client has begun)."""
        answers = b"".join(lost_answer(line) for line in _waiting(self._asked, self._answered))
        self._asked, self._answered, self._kept_bytes = [], [], 0
        self._unfinished.clear()
        return answers, bytes(self._begun)

    def _forget_answered(self) -> None:
        self._asked, self._answered = _waiting(self._asked, self._answered), []
        self._kept_bytes = sum(map(len, self._asked))


def _waiting(asked: list[bytes], answered: list[bytes]) -> list[bytes]:
    """The requests among `asked` whose id is not among `answered`."""
    import json

    known: dict[object, int] = {}
    for text in filter(None, answered):
        request_id = json.loads(text)
        known[request_id] = known.get(request_id, 0) + 1
    waiting = []
    for line in asked:
        request_id = _request_id(line)
        if known.get(request_id, 0):
            known[request_id] -= 1
        elif request_id is not None:
            waiting.append(line)
    return waiting


def _request_id(line: bytes) -> str | int | None:
    """The id of a request; None where the line is none: what it was, the daemon has said."""
    import json

    try:
        message = json.loads(line)
        request_id = message["id"]
        is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
        return request_id if message["method"] and is_id else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def lost_answer(line: bytes) -> bytes:
    """To a request whose daemon has ended."""
    import json

    request = json.loads(line)
    result = {"content": [{"type": "text", "text": _LOST}], "isError": True, "resultType": "complete"}
    outcome = {"result": result} if request["method"] == "tools/call" else {"error": {"code": -32000, "message": _LOST}}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}).encode() + b"\n"


def _lines(held: bytearray, data: bytes) -> list[bytes]:
    """Takes the lines that `data` completes out of `held`."""
    *complete, rest = data.split(b"\n")
    if complete:
        complete[0] = bytes(held) + complete[0]
        held.clear()
    held += rest
    return complete


def _answered_id(line: bytes) -> bytes:
    """The id in an answer, still as JSON; empty where it is null or the line is no answer."""
    if not line.startswith(_ID):
        return b""
    ends = [end for end in (line.find(mark) for mark in _AFTER_ID) if end > 0]
    found = line[len(_ID) : min(ends)] if ends else b""
    return b"" if found == b"null" else found
