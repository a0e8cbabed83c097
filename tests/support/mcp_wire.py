"""A client of the daemon that shows every byte: raw JSON-RPC over the daemon's own socket."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson

from strobe.mcp import endpoint

WAIT_SECONDS = 60.0
MCP_COMMAND = [sys.executable, "-m", "strobe.cli.main", "mcp"]
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "0"},
}


class Wire:
    """One connection. `with Wire.to(home) as wire:` starts the daemon where none runs."""

    def __init__(self, link: socket.socket) -> None:
        link.settimeout(WAIT_SECONDS)
        self.link = link
        self._held = b""
        self._ids = itertools.count(1)

    @classmethod
    def to(cls, home: Path) -> Wire:
        return cls(endpoint.establish(str(home)))

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def send(self, message: object) -> None:
        self.link.sendall(message if isinstance(message, bytes) else orjson.dumps(message) + b"\n")

    def receive(self) -> dict[str, Any]:
        """The next message; EOFError where the daemon closed."""
        while b"\n" not in self._held:
            part = self.link.recv(65536)
            if not part:
                raise EOFError
            self._held += part
        line, self._held = self._held.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)  # orjson takes no lone surrogates
        return message

    def post(self, method: str, params: object = None, **more: Any) -> int:
        """Sends a request and does not wait; its id."""
        number = next(self._ids)
        body = {"jsonrpc": "2.0", "id": number, "method": method, **more}
        self.send(body if params is None else {**body, "params": params})
        return number

    def request(self, method: str, params: object = None) -> dict[str, Any]:
        """The whole answer to one request."""
        number = self.post(method, params)
        answer = self.receive()
        assert answer["id"] == number
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of one tool call."""
        result: dict[str, Any] = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result

    def good(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result["isError"], result["content"][0]["text"]
        answer: dict[str, Any] = result["structuredContent"]
        assert orjson.loads(result["content"][0]["text"]) == answer
        return answer

    def bad(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True
        assert "structuredContent" not in result
        text: str = result["content"][0]["text"]
        return text


def pump(**more: Any) -> subprocess.Popen[bytes]:
    """`strobe mcp` with its stdio in our hands."""
    return subprocess.Popen(MCP_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def wait_gone(pid: int) -> None:
    """Returns when the process, any process, has ended; fails after WAIT_SECONDS."""
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        try:
            poller = select.poll()
            poller.register(process, select.POLLIN)
            assert poller.poll(WAIT_SECONDS * 1000), f"process {pid} is still there"
        finally:
            os.close(process)
