"""What a pump owes its client when a daemon dies."""

from __future__ import annotations

import orjson
import pytest

from strobe.mcp import journal, jsonrpc
from strobe.mcp.journal import Journal

MARK = ',"result":'


def request(request_id: object, method: str = "ping") -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method}) + b"\n"


def owed(kept: Journal) -> list[object]:
    answers, _ = kept.lost()
    return [orjson.loads(line)["id"] for line in answers.splitlines()]


def test_requests_without_an_answer_are_owed_one() -> None:
    kept = Journal()
    for request_id in (1, "1", f'"{MARK}', 2):
        kept.up(request(request_id))
    kept.up(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\nnonsense\n[1]\n\n')
    for request_id in (1, f'"{MARK}'):
        answer = jsonrpc.success(request_id, {"id": 2})
        assert kept.down(answer) == answer
    fault = jsonrpc.failure(jsonrpc.ProtocolError(-32700, "no"))
    assert kept.down(fault) == fault
    assert owed(kept) == ["1", 2]
    assert owed(kept) == []


def test_lines_are_noted_however_they_are_cut() -> None:
    kept = Journal()
    sent = request(1) + request(2)
    for byte in sent:
        kept.up(bytes([byte]))
    answer = jsonrpc.success(1, {})
    assert [kept.down(part) for part in (answer[:9], answer[9:-1], answer[-1:] + answer[:5])] == [b"", b"", answer]
    assert owed(kept) == [2]


def test_a_line_that_the_client_has_begun_goes_to_the_next_daemon() -> None:
    kept = Journal()
    kept.up(request(1)[:10])
    kept.down(b'{"jsonrpc":"2.0","id":9,"resu')
    assert kept.lost() == (b"", request(1)[:10])
    kept.up(request(1)[10:])
    answer = jsonrpc.success(2, {})
    assert kept.down(answer) == answer
    assert owed(kept) == [1]


def test_it_does_not_grow_with_what_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_KEPT_BYTES", 1000)
    kept = Journal()
    kept.up(request("open"))
    for number in range(1000):
        kept.up(request(number))
        kept.down(jsonrpc.success(number, {}))
    assert len(kept._asked) < 30
    assert owed(kept) == ["open"]
