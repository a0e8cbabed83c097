"""Reads and polls of variables through MCP while the program runs.

Reads, from the question to the answer, stress the path through the daemon, the recipes and how values are put together;
baseline: an MCP ping over the same connection. A poll must keep to its clock, with the program busy beside it, and must
not slow that down; baseline: the same program, not polled, its loops for each second of CPU time.
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
POLL_MS = 50
POLL_SECONDS = 30
POLL_BAR = 590
COST_ROUNDS = 5
COST_SECONDS = 2.0
SOURCE = """
#include <stdio.h>
#include <string.h>
#include <unistd.h>
struct voice { float freq; int note; char name[8]; };
struct node { int value; struct node* next; };
struct state { struct voice voices[4]; const char* title; struct node* head; double gain[8];
               unsigned on : 1, kind : 7; };
int gTempo = 120;
struct node gLast = {2, 0}, gFirst = {1, &gLast};
struct state gState = {.voices = {[3] = {440.0f, 69, "a"}}, .title = "song", .head = &gFirst};
volatile unsigned long gLoops;
int main(int argc, char** argv) {
    puts("ready");
    fflush(stdout);
    while (argc < 2 || strcmp(argv[1], "busy")) pause();
    for (;;) {
        gState.voices[gLoops % 4].note++;
        gState.gain[gLoops % 8] += 0.5;
        gLoops = gLoops + 1;
    }
}
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
            client = Client(link)
            return [*_reads(client, program), *_polls(client, program)]
    finally:
        daemon.stop(home)


def _launched(client: Client, program: Path, *arguments: str) -> tuple[str, int]:
    """Session and process id."""
    root = str(program.parent)
    answer = client.call("debug_launch", command=str(program), args=list(arguments), projectRoot=root)
    _wait_until_ready(client, answer["sessionId"])
    return answer["sessionId"], answer["pid"]


def _polls(client: Client, program: Path) -> list[Figure]:
    session, pid = _launched(client, program, "busy")
    samples = _samples(client, session)
    polled, alone = [], []
    for _ in range(COST_ROUNDS):
        alone.append(_loops_per_cpu_second(client, session, pid))
        _begin_poll(client, session, round(COST_SECONDS * 1000) + 500)
        polled.append(_loops_per_cpu_second(client, session, pid))
        _wait_for_end(client, session)
    client.call("debug_stop", sessionId=session)
    expected = POLL_SECONDS * 1000 // POLL_MS
    every = f"{STRUCTS} structs polled every {POLL_MS} ms"
    speed = [statistics.median(rates) / 1e6 for rates in (polled, alone)]
    return [
        Figure(f"{every} for {POLL_SECONDS} s", samples, "samples", "due", expected, POLL_BAR, higher_is_better=True),
        Figure(f"{every}: the program", speed[0], "M loops/CPU s", "not polled", speed[1], higher_is_better=True),
    ]


def _begin_poll(client: Client, session: str, duration_ms: int) -> None:
    targets = [{"variable": "gState"}, *[{"variable": f"gState.voices[{at % 4}]"} for at in range(STRUCTS - 1)]]
    poll = {"intervalMs": POLL_MS, "durationMs": duration_ms}
    client.call("debug_read", sessionId=session, targets=targets, depth=3, poll=poll)


def _samples(client: Client, session: str) -> int:
    _begin_poll(client, session, POLL_SECONDS * 1000)
    return int(_wait_for_end(client, session)["samples"])


def _wait_for_end(client: Client, session: str) -> dict[str, Any]:
    deadline = time.monotonic() + POLL_SECONDS + READY_SECONDS
    while True:
        (poll, *_) = client.call("debug_query", sessionId=session, eventType="variable_snapshot", limit=1)["polls"]
        if "ended" in poll:
            found: dict[str, Any] = poll
            return found
        if time.monotonic() > deadline:
            raise Skipped("the poll did not end in time")
        time.sleep(0.1)


def _loops_per_cpu_second(client: Client, session: str, pid: int) -> float:
    begun = _loops_and_cpu(client, session, pid)
    time.sleep(COST_SECONDS)
    ended = _loops_and_cpu(client, session, pid)
    return (ended[0] - begun[0]) / (ended[1] - begun[1])


def _loops_and_cpu(client: Client, session: str, pid: int) -> tuple[int, float]:
    """Loops so far, and the main thread's CPU time in seconds."""
    (loops,) = client.call("debug_read", sessionId=session, targets=[{"variable": "gLoops"}])["results"]
    return int(loops["value"]), int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def _reads(client: Client, program: Path) -> list[Figure]:
    session, _ = _launched(client, program)
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
