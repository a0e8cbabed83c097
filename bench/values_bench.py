"""Reads of variables through MCP, from the question to the answer, while the program runs.

Stresses the path through the daemon, the recipes and how values are put together. Baseline: an MCP ping over the same
connection.
"""

from __future__ import annotations

import itertools
import json
import socket
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from strobe.mcp import daemon, endpoint

from .harness import Figure, Skipped

ROUNDS = 300
STRUCTS = 16
ONE_BAR_MS = 2.0
STRUCTS_BAR_MS = 10.0
READY_SECONDS = 30.0
SOURCE = """
#include <stdio.h>
#include <unistd.h>
struct voice { float freq; int note; char name[8]; };
struct node { int value; struct node* next; };
struct state { struct voice voices[4]; const char* title; struct node* head; double gain[8];
               unsigned on : 1, kind : 7; };
int gTempo = 120;
struct node gLast = {2, 0}, gFirst = {1, &gLast};
struct state gState = {.voices = {[3] = {440.0f, 69, "a"}}, .title = "song", .head = &gFirst};
int main(void) { puts("ready"); fflush(stdout); for (;;) pause(); }
"""


class Client:
    """A client of the daemon over its own socket; answers come in the order of the questions."""

    def __init__(self, link: socket.socket) -> None:
        self._reader = link.makefile("rwb")
        self._numbers = itertools.count(1)
        parameters = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"},
        }
        self.request("initialize", parameters)

    def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": parameters}
        self._reader.write(json.dumps(body).encode() + b"\n")
        self._reader.flush()
        answer: dict[str, Any] = json.loads(self._reader.readline())
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        if result["isError"]:
            raise RuntimeError(result["content"][0]["text"])
        answer: dict[str, Any] = result["structuredContent"]
        return answer


def measure(folder: Path) -> list[Figure]:
    program = _compiled(folder)
    home = folder / "home"
    try:
        with endpoint.establish(str(home)) as link:
            return _figures(Client(link), program)
    finally:
        daemon.stop(home)


def _figures(client: Client, program: Path) -> list[Figure]:
    session = client.call("debug_launch", command=str(program), projectRoot=str(program.parent))["sessionId"]
    _wait_until_ready(client, session)
    one, many = [{"variable": "gTempo"}], [{"variable": "gState"}] * STRUCTS
    assert client.call("debug_read", sessionId=session, targets=one)["results"][0]["value"] == 120
    ping = _median_ms(lambda: client.request("ping", {}))
    read = _median_ms(lambda: client.call("debug_read", sessionId=session, targets=one))
    structs = _median_ms(lambda: client.call("debug_read", sessionId=session, targets=many, depth=3))
    client.call("debug_stop", sessionId=session)
    return [
        Figure("debug_read of a global", read, "ms", "MCP ping", ping, ONE_BAR_MS),
        Figure(f"debug_read of {STRUCTS} structs at depth 3", structs, "ms", "MCP ping", ping, STRUCTS_BAR_MS),
    ]


def _wait_until_ready(client: Client, session: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not client.call("debug_query", sessionId=session, eventType="stdout")["totalCount"]:
        if time.monotonic() > deadline:
            raise Skipped("the program did not start in time")
        time.sleep(0.01)


def _median_ms(ask: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        ask()
        times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


def _compiled(folder: Path) -> Path:
    source, program = folder / "values.c", folder / "values"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-g", "-O1", str(source), "-o", str(program)], check=True, timeout=60)
    return program
