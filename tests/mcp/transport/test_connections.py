"""Clients side by side: slow, gone, too many words, and none of them in the way of another."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import MODERN, WAIT_SECONDS, Wire
from support.official import FORMS
from support.wait import wait_until

from strobe.mcp import endpoint
from strobe.mcp.connection import Connection
from strobe.mcp.schema import Record
from strobe.mcp.server import Server
from strobe.mcp.tool import Context, Registry, Tool

Handler = Callable[[dict[str, Any], Context], dict[str, Any]]


def tool(name: str, run: Handler) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=name,
        parameters=Record(),
        run=run,
        read_only=True,
        destructive=False,
        idempotent=True,
    )


class Gate:
    """A tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.passed = threading.Event()

    def run(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        self.entered.set()
        assert self.opened.wait(WAIT_SECONDS)
        self.passed.set()
        return {"passed": True}


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.fixture
def connect(strobe_home: Path, gate: Gate) -> Iterator[Callable[[], Wire]]:
    """Connections to the real server, which has tools of the test."""
    server = Server(str(strobe_home), idle_s=60)
    server.registry = Registry(
        [
            tool("wait", gate.run),
            tool("quick", lambda arguments, context: {"cwd": context.client.cwd}),
            tool("broken", lambda arguments, context: {"x": 1 // 0}),
        ]
    )
    opened: list[tuple[Wire, threading.Thread]] = []

    def connect() -> Wire:
        ours, theirs = socket.socketpair()
        thread = threading.Thread(target=Connection(theirs, server).serve)
        thread.start()
        ours.sendall(endpoint.greeting())
        wire = Wire(ours)
        assert ours.recv(256).startswith(b"strobe-hello ok ")
        opened.append((wire, thread))
        return wire

    yield connect
    gate.opened.set()
    for wire, thread in opened:
        wire.link.close()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


def test_a_slow_call_holds_up_neither_its_own_connection_nor_another(connect: Callable[[], Wire], gate: Gate) -> None:
    first, second = connect(), connect()
    waiting = first.post("tools/call", {"name": "wait"})
    assert gate.entered.wait(WAIT_SECONDS)
    assert first.good("quick") == {"cwd": str(Path.cwd())}
    assert second.good("quick") == {"cwd": str(Path.cwd())}
    gate.opened.set()
    answer = first.receive()
    assert (answer["id"], answer["result"]["structuredContent"]) == (waiting, {"passed": True})


def test_a_client_gone_in_mid_call_leaves_the_call_to_finish(connect: Callable[[], Wire], gate: Gate) -> None:
    gone, other = connect(), connect()
    gone.post("tools/call", {"name": "wait"})
    assert gate.entered.wait(WAIT_SECONDS)
    gone.link.close()
    gate.opened.set()
    assert gate.passed.wait(WAIT_SECONDS)
    assert other.good("quick")


def test_a_client_that_only_stops_sending_still_gets_its_answer(connect: Callable[[], Wire], gate: Gate) -> None:
    wire = connect()
    waiting = wire.post("tools/call", {"name": "wait"})
    assert gate.entered.wait(WAIT_SECONDS)
    wire.link.shutdown(socket.SHUT_WR)
    gate.opened.set()
    assert wire.receive()["id"] == waiting
    with pytest.raises(EOFError):
        wire.receive()


def test_a_cancelled_call_is_not_answered_and_goes_on(connect: Callable[[], Wire], gate: Gate) -> None:
    wire = connect()
    cancelled = wire.post("tools/call", {"name": "wait"})
    assert gate.entered.wait(WAIT_SECONDS)
    for _ in range(2):  # the second one is late
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
    wire.request("ping")
    gate.opened.set()
    assert gate.passed.wait(WAIT_SECONDS)
    assert wire.good("quick")


@pytest.mark.parametrize("token", [0, 7, "seven"])
@pytest.mark.parametrize("meta", [{}, MODERN], ids=["handshake", "modern"])
def test_a_long_call_tells_of_its_progress_until_it_is_answered(
    connect: Callable[[], Wire], gate: Gate, monkeypatch: pytest.MonkeyPatch, token: str | int, meta: dict[str, Any]
) -> None:
    monkeypatch.setattr("strobe.mcp.calls.FIRST_PROGRESS_SECONDS", 0.02)
    monkeypatch.setattr("strobe.mcp.calls.PROGRESS_SECONDS", 0.05)
    wire = connect()
    waiting = wire.post("tools/call", {"name": "wait", "_meta": {**meta, "progressToken": token}})
    told = [wire.receive() for _ in range(3)]
    form = FORMS["2026-07-28" if meta else "2025-11-25"]
    for message in told:
        form.ProgressNotification.model_validate(message)
    assert [one["params"]["progress"] for one in told] == [0.02, 0.05, 0.1]
    assert [one["params"]["progressToken"] for one in told] == [token] * 3
    assert told[0]["params"]["message"] == "wait: 0.02 s"
    gate.opened.set()
    while "method" in (answer := wire.receive()):
        assert answer["method"] == "notifications/progress"
    assert answer["id"] == waiting
    time.sleep(0.2)  # four more would have come
    assert wire.request("ping")["result"] == {}


@pytest.mark.parametrize("token", [None, True, 1.5, [1], {}])
def test_nothing_but_a_token_asks_for_progress(
    connect: Callable[[], Wire], gate: Gate, monkeypatch: pytest.MonkeyPatch, token: object
) -> None:
    monkeypatch.setattr("strobe.mcp.calls.FIRST_PROGRESS_SECONDS", 0.0)
    wire = connect()
    waiting = wire.post("tools/call", {"name": "wait", "_meta": {"progressToken": token}})
    assert gate.entered.wait(WAIT_SECONDS)
    time.sleep(0.1)
    gate.opened.set()
    assert wire.receive()["id"] == waiting


def test_a_cancelled_call_tells_of_no_more_progress(
    connect: Callable[[], Wire], gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strobe.mcp.calls.FIRST_PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr("strobe.mcp.calls.PROGRESS_SECONDS", 0.02)
    wire = connect()
    cancelled = wire.post("tools/call", {"name": "wait", "_meta": {"progressToken": 1}})
    assert wire.receive()["method"] == "notifications/progress"
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
    ping = wire.post("ping")
    while (answer := wire.receive()).get("id") != ping:
        assert answer["method"] == "notifications/progress"
    time.sleep(0.1)
    assert wire.request("ping")["result"] == {}


@pytest.mark.parametrize("named", [None, [], [1], {}, {"id": 1}, True, 1.0, 1.5, "1", 2**63, "x" * 100_000, 10**30])
def test_a_cancellation_that_names_no_call_is_ignored(connect: Callable[[], Wire], gate: Gate, named: object) -> None:
    wire = connect()
    waiting = wire.post("tools/call", {"name": "wait"})
    assert waiting == 1
    assert gate.entered.wait(WAIT_SECONDS)
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": named}}
    wire.send(json.dumps(message).encode() + b"\n")
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
    assert wire.request("ping")["result"] == {}
    gate.opened.set()
    answer = wire.receive()
    assert (answer["id"], answer["result"]["structuredContent"]) == (waiting, {"passed": True})


def test_an_id_that_is_under_way_is_refused(connect: Callable[[], Wire], gate: Gate) -> None:
    wire = connect()
    waiting = wire.post("tools/call", {"name": "wait"})
    assert gate.entered.wait(WAIT_SECONDS)
    wire.send({"jsonrpc": "2.0", "id": waiting, "method": "tools/call", "params": {"name": "quick"}})
    assert wire.receive()["error"]["code"] == -32600
    gate.opened.set()
    assert wire.receive()["result"]["structuredContent"] == {"passed": True}


def test_a_fault_of_ours_is_a_result_with_a_code_and_no_traceback(connect: Callable[[], Wire]) -> None:
    text = connect().bad("broken")
    assert text.startswith("INTERNAL: ZeroDivisionError")
    assert "strobe.log" in text
    assert "Traceback" not in text


def test_many_calls_at_once_are_all_answered(connect: Callable[[], Wire]) -> None:
    wire = connect()
    ids = {wire.post("tools/call", {"name": "quick"}) for _ in range(40)}
    assert {wire.receive()["id"] for _ in ids} == ids


@pytest.mark.parametrize("opening", [b"{}\n", b"GET / HTTP/1.1\r\n", b"strobe-hello 2 0\n", b"strobe-hello 1 x\n", b""])
def test_who_does_not_greet_is_not_served(strobe_home: Path, opening: bytes) -> None:
    with Wire.to(strobe_home) as good:
        stranger = socket.socket(socket.AF_UNIX)
        with endpoint.SocketAddress(str(strobe_home)) as address:
            stranger.connect(address)
        with Wire(stranger) as wire:
            wire.send(opening)
            wire.link.shutdown(socket.SHUT_WR)
            with pytest.raises(EOFError):
                wire.receive()
        wait_until(lambda: good.request("strobe/status")["result"]["clients"] == 0, "the stranger to be forgotten")


def test_a_client_that_never_reads_is_given_up(connect: Callable[[], Wire], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strobe.mcp.connection.SEND_SECONDS", 1)
    wire = connect()
    wire.post("ping", None, id="x" * 2_000_000)
    poller = select.poll()
    poller.register(wire.link, select.POLLRDHUP)
    assert poller.poll(WAIT_SECONDS * 1000)
    with pytest.raises(EOFError):  # after what the buffers between us held
        wire.receive()
