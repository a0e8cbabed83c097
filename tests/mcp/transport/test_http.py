"""`strobe mcp --http`: the official client over it, who may ask, what is refused, and calls that are given up."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from support.mcp_wire import INITIALIZE, MODERN, Wire
from support.official import FORMS
from support.programs import PROGRAMS
from support.wait import wait_until

from strobe.mcp import daemon

WAIT_SECONDS = 60.0
COMMAND = [sys.executable, "-m", "strobe.cli.main", "mcp", "--http", "--port", "0"]
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
LIST = {"name": "debug_list_sessions", "arguments": {}}


class Http:
    """`strobe mcp --http`, and requests to it as they are."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url, self.token = (self.process.stdout.readline().split()[-1] for _ in range(2))
        self.process.stdout.readline()
        self.own = {"Authorization": f"Bearer {self.token}", **JSON}

    def end(self) -> int:
        """Its exit status."""
        self.process.terminate()
        self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode

    def connect(self) -> http.client.HTTPConnection:
        found = urllib.parse.urlsplit(self.url)
        return http.client.HTTPConnection(found.hostname or "", found.port, timeout=WAIT_SECONDS)

    def ask(
        self, body: object, method: str = "POST", path: str = "/mcp", **headers: Any
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers with small names and body; of `headers`, None leaves one out, `_` stands for `-`."""
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in {**self.own, **changed}.items() if value is not None}
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body if isinstance(body, bytes) else orjson.dumps(body), sent)
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, told, answer.read()

    def request(self, method: str, params: object, **headers: Any) -> Any:
        status, told, content = self.ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **headers)
        assert (status, told["content-type"]) == (200, "application/json"), content
        return orjson.loads(content)

    def modern(self, method: str, params: dict[str, Any], **headers: str | None) -> tuple[int, Any]:
        """The same of the era without sessions."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": MODERN}}
        right: dict[str, Any] = {
            "MCP_Protocol_Version": "2026-07-28",
            "Mcp_Method": method,
            "Mcp_Name": params.get("name"),
        }
        status, _, content = self.ask(body, **{**right, **headers})
        return status, orjson.loads(content)


@pytest.fixture
def served(strobe_home: Path) -> Iterator[Http]:
    served = Http()
    yield served
    assert served.end() == 0


@pytest.fixture
def endless(build_program: Callable[..., Path], strobe_home: Path) -> Iterator[dict[str, Any]]:
    """Arguments of a launch whose wait lasts until it is given up."""
    program = build_program("ledger", "-O1")
    wait = {"until": "output", "match": "never printed", "timeoutMs": 45_000}
    yield {"command": str(program), "args": ["3", "until"], "projectRoot": str(PROGRAMS), "wait": wait}
    with Wire.to(strobe_home) as wire:
        for session in wire.good("debug_list_sessions")["sessions"]:
            tool = "debug_stop" if session["status"] == "running" else "debug_delete_session"
            id_ = session["sessionId"]  # which may still be being started
            wait_until(lambda tool=tool, id_=id_: not wire.call(tool, sessionId=id_)["isError"], "its end")


def nobody_asks(home: Path) -> bool:
    return daemon.status(home).clients == 0


@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
def test_the_official_client_debugs_over_it(
    served: Http, mode: str, version: str, build_program: Callable[..., Path]
) -> None:
    program = build_program("ledger", "-O1")
    told: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def go() -> None:
        own = httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}, timeout=WAIT_SECONDS)
        at = Client(streamable_http_client(served.url, http_client=own), mode=mode)
        async with asyncio.timeout(WAIT_SECONDS), own, at as client:
            assert client.protocol_version == version
            assert (await client.list_tools()).tools[0].name == "debug_launch"
            launch = {"command": str(program), "args": ["3"], "projectRoot": str(PROGRAMS), "trace": ["shop::*"]}
            result = await client.call_tool("debug_launch", {**launch, "wait": {"until": "exit"}})
            assert result.structured_content is not None
            assert result.structured_content["ended"] == {"exitCode": 3, "reason": "exit"}
            slow = {**launch, "args": ["3", "until"], "wait": {"until": "time", "timeoutMs": 1_500}}
            result = await client.call_tool("debug_launch", slow, progress_callback=progress)
            assert result.structured_content is not None
            await client.call_tool("debug_stop", {"sessionId": result.structured_content["sessionId"]})

    asyncio.run(go())
    assert told[:1] == ["debug_launch: 0.5 s"]


def test_answers_are_valid_to_the_letter(served: Http) -> None:
    opened = served.request("initialize", {**INITIALIZE, "protocolVersion": "2025-11-25"})
    FORMS["2025-11-25"].InitializeResult.model_validate(opened["result"])
    for version, form in FORMS.items():
        if version == "2026-07-28":
            status, answer = served.modern("tools/call", LIST)
            assert status == 200
        else:
            answer = served.request("tools/call", LIST, MCP_Protocol_Version=version)
        form.CallToolResult.model_validate(answer["result"])
    assert served.request("tools/call", LIST)["result"]["structuredContent"] == {"sessions": []}


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (401, {"Authorization": None}),
        (401, {"Authorization": "Bearer wrong"}),
        (401, {"Authorization": "Basic YTpi"}),
        (401, {"Authorization": "Bearer \xe9"}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://[::1"}),
        (200, {"Origin": "http://localhost:3000"}),
        (415, {"Content_Type": "text/plain"}),
        (413, {"Content_Length": "99999999"}),
        (411, {"Content_Length": "-1"}),
        (400, {"MCP_Protocol_Version": "1999-01-01"}),
        (404, {"path": "/"}),
        (405, {"method": "GET"}),
        (200, {"method": "DELETE"}),
        (501, {"method": "PUT"}),
    ],
)
def test_who_may_ask_and_what(served: Http, status: int, headers: dict[str, Any]) -> None:
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert served.ask(body, **headers)[0] == status


def test_an_address_that_is_none(served: Http) -> None:
    """As http.client does not send it."""
    found = urllib.parse.urlsplit(served.url)
    own = "".join(f"{name}: {value}\r\n" for name, value in served.own.items())
    asked = f"POST http://[::1/mcp HTTP/1.1\r\nHost: {found.netloc}\r\n{own}Content-Length: 2\r\n\r\n{{}}"
    with socket.create_connection((found.hostname or "", found.port or 0), WAIT_SECONDS) as link:
        link.sendall(asked.encode())
        assert b" 404 " in link.recv(4096).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 200, None),
        ({"Mcp_Name": "=?base64?ZGVidWdfbGlzdF9zZXNzaW9ucw==?="}, 200, None),
        ({"Mcp_Name": "debug_launch"}, 400, -32020),
        ({"Mcp_Name": None}, 400, -32020),
        ({"Mcp_Name": "=?base64?!?="}, 400, -32020),
        ({"Mcp_Method": "tools/list"}, 400, -32020),
        ({"Mcp_Method": None}, 400, -32020),
        ({"MCP_Protocol_Version": "2025-06-18"}, 400, -32020),
        ({"MCP_Protocol_Version": None}, 400, -32020),
    ],
)
def test_modern_headers_say_what_the_message_does(
    served: Http, headers: dict[str, str | None], status: int, code: int | None
) -> None:
    found, answer = served.modern("tools/call", LIST, **headers)
    assert (found, answer.get("error", {}).get("code")) == (status, code)


def test_modern_errors_have_their_status(served: Http) -> None:
    assert served.modern("no/such", {})[0] == 404
    assert served.modern("tools/call", {"name": "debug_fly"})[0] == 400
    assert served.request("no/such", {})["error"]["code"] == -32601


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b"{}", b'{"jsonrpc":"2.0","id":{},"method":"ping"}'])
def test_what_is_no_message_is_told(served: Http, body: bytes) -> None:
    status, _, content = served.ask(body)
    assert status == 400
    assert orjson.loads(content)["error"]["code"] in (-32700, -32600)


def test_a_message_of_several_lines_and_notifications(served: Http) -> None:
    status, _, content = served.ask(b'{"jsonrpc": "2.0",\n "id": "a",\r\n "method": "ping"}\n')
    assert (status, orjson.loads(content)) == (200, {"jsonrpc": "2.0", "id": "a", "result": {}})
    for body in ({"method": "notifications/initialized"}, {"id": 1, "result": {}}):
        assert served.ask({"jsonrpc": "2.0", **body})[::2] == (202, b"")


def test_a_call_is_cancelled_by_its_client_alone(served: Http, endless: dict[str, Any], strobe_home: Path) -> None:
    _, told, _ = served.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
    session = told["mcp-session-id"]
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "debug_launch", "arguments": endless}}
    answers: list[tuple[int, dict[str, str], bytes]] = []
    asking = threading.Thread(target=lambda: answers.append(served.ask(call, Mcp_Session_Id=session)))
    asking.start()
    with Wire.to(strobe_home) as wire:
        wait_until(lambda: wire.good("debug_list_sessions")["sessions"], "the launch")
        given_up = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        assert served.ask(given_up, Mcp_Session_Id="another")[0] == 202
        assert served.ask(given_up)[0] == 202
        asking.join(0.5)
        assert asking.is_alive(), answers
        assert served.ask(given_up, Mcp_Session_Id=session)[0] == 202
        asking.join(WAIT_SECONDS)
        assert [(status, content) for status, _, content in answers] == [(202, b"")]
        (session_,) = wire.good("debug_list_sessions")["sessions"]
        assert session_["status"] == "running"


def test_a_modern_client_cancels_by_going_away(served: Http, endless: dict[str, Any], strobe_home: Path) -> None:
    call = {"name": "debug_launch", "arguments": endless, "_meta": MODERN}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    names = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "debug_launch"}
    connection = served.connect()
    connection.request("POST", "/mcp", body, {**served.own, **names})
    wait_until(lambda: daemon.status(strobe_home).running_sessions, "the launch")
    assert not nobody_asks(strobe_home)
    connection.close()
    wait_until(lambda: nobody_asks(strobe_home), "the call to be given up", 20)


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_daemon_that_dies_in_the_middle_of_a_call(
    served: Http, endless: dict[str, Any], strobe_home: Path, is_stream: bool
) -> None:
    call = {"name": "debug_launch", "arguments": endless, "_meta": {"progressToken": 0} if is_stream else {}}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call})
    connection = served.connect()
    connection.request("POST", "/mcp", body, served.own)
    with Wire.to(strobe_home) as wire:  # while the program is being made nothing is known of it yet
        wait_until(lambda: any(one["pid"] for one in wire.good("debug_list_sessions")["sessions"]), "the launch")
    response = connection.getresponse() if is_stream else None  # as soon as it tells of its progress
    pid = daemon.status(strobe_home).pid
    assert pid is not None  # 0 would be this test itself
    os.kill(pid, signal.SIGKILL)
    response = response or connection.getresponse()
    content = response.read()
    connection.close()
    assert response.status == 200
    if is_stream:
        assert response.headers["Content-Type"] == "text/event-stream"
        *progress, answer = (orjson.loads(line[6:]) for line in content.split(b"\n") if line.startswith(b"data: "))
        assert progress[0]["params"]["progress"] == 0.5
    else:
        answer = orjson.loads(content)
    assert answer["id"] == 5
    assert answer["result"]["content"][0]["text"].startswith("INTERNAL: The Strobe daemon ended")
    assert "sessions" in served.request("tools/call", LIST)["result"]["structuredContent"]


def test_many_clients_with_the_same_ids_get_their_own_answers(served: Http) -> None:
    wrong: list[object] = []

    def ask(number: int) -> None:
        for _ in range(5):
            name = f"no-such-{number}"
            answer = served.request("tools/call", {"name": "debug_query", "arguments": {"sessionId": name}})
            if name not in answer["result"]["content"][0]["text"]:
                wrong.append(answer)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert not wrong


def test_bytes_at_random_harm_nobody(served: Http) -> None:
    chance = random.Random(4711)
    found = urllib.parse.urlsplit(served.url)
    for _ in range(300):
        with socket.create_connection((found.hostname, found.port), WAIT_SECONDS) as link:
            start = chance.choice([b"", b"POST /mcp HTTP/1.1\r\n", b"GET /mcp HTTP/1.1\r\nContent-Length: 5\r\n"])
            link.sendall(start + chance.randbytes(chance.randrange(400)))
    assert served.request("ping", {})["result"] == {}


def test_a_long_answer_comes_whole(served: Http, build_program: Callable[..., Path], strobe_home: Path) -> None:
    with Wire.to(strobe_home) as wire:
        launch = {"command": "/usr/bin/seq", "args": ["-f", "%060.0f", "40000"], "projectRoot": "/", "trace": []}
        session = wire.good("debug_launch", **launch, wait={"until": "exit"})["sessionId"]
        uri = f"strobe://sessions/{session}/output.txt"
        (direct,) = wire.request("resources/read", {"uri": uri})["result"]["contents"]
        assert served.request("resources/read", {"uri": uri})["result"]["contents"] == [direct]
        wire.good("debug_stop", sessionId=session)


@pytest.mark.parametrize("left", [b"", b" \n"])
def test_a_token_that_is_empty_lets_nobody_in(strobe_home: Path, left: bytes) -> None:
    strobe_home.mkdir(mode=0o700)
    (strobe_home / "http.token").write_bytes(left)  # as a full disk leaves it
    served = Http()
    try:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert [served.ask(ping, Authorization=wrong)[0] for wrong in ("Bearer ", "Bearer", "bearer  ")] == [401] * 3
        assert len(served.token) > 40 and served.ask(ping)[0] == 200
        assert sorted(path.name for path in strobe_home.glob("http.token*")) == ["http.token"]
    finally:
        assert served.end() == 0


def test_slow_strangers_take_nobodys_place_for_long(served: Http) -> None:
    found = urllib.parse.urlsplit(served.url)
    address = (found.hostname or "", found.port or 0)
    with contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(socket.create_connection(address)) for _ in range(140)]

        def is_served() -> bool:
            for stranger in strangers:
                with contextlib.suppress(OSError):  # closed
                    stranger.sendall(b"X")
            try:
                return bool(served.request("ping", {})["result"] == {})
            except (OSError, http.client.HTTPException):  # there is no place
                return False

        assert not is_served()
        wait_until(is_served, "a place", WAIT_SECONDS)


def test_the_token_stays_and_is_its_owners_alone(served: Http, strobe_home: Path) -> None:
    token = strobe_home / "http.token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    another = Http()
    assert another.token == served.token == token.read_text()
    assert another.end() == 0


def test_a_port_that_is_taken_is_told(served: Http) -> None:
    port = str(urllib.parse.urlsplit(served.url).port)
    done = subprocess.run([*COMMAND[:-1], port], capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    assert (done.returncode, done.stderr) == (1, "Error: HTTP cannot be served: Address already in use\n")
