"""Two clients, each with its own `strobe mcp`, and one session: what one asks while the other one stops it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import INITIALIZE, pump
from support.programs import PROGRAMS
from support.wait import wait_until

Client = Callable[..., dict[str, Any]]
QUESTIONS: list[dict[str, Any]] = [
    {"groupBy": "function"},
    {"last": 3},
    {"where": "value > 3", "limit": 3},
    {"function": {"equals": "called"}, "limit": 3},
    {"eventType": "stdout"},
    {"inside": {"function": "called"}, "limit": 3},
]


@pytest.fixture
def connect() -> Iterator[Callable[[], Client]]:
    """`connect()` starts a `strobe mcp`; what it gives calls a tool and returns the result."""
    with ExitStack() as opened:

        def connected() -> Client:
            process = opened.enter_context(pump())
            opened.callback(process.kill)
            numbers = itertools.count(1)

            def request(method: str, params: dict[str, Any]) -> dict[str, Any]:
                assert process.stdin is not None and process.stdout is not None
                message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
                process.stdin.write(orjson.dumps(message) + b"\n")
                process.stdin.flush()
                result: dict[str, Any] = orjson.loads(process.stdout.readline())["result"]
                return result

            request("initialize", INITIALIZE)
            return lambda tool, **arguments: request("tools/call", {"name": tool, "arguments": arguments})

        yield connected


def text(result: dict[str, Any]) -> str:
    shown: str = result["content"][0]["text"]
    return shown


def launched(client: Client, program: Path) -> str:
    result = client("debug_launch", command=str(program), projectRoot=str(PROGRAMS), trace=["called"])
    assert not result["isError"], text(result)
    session: str = result["structuredContent"]["sessionId"]
    return session


@pytest.mark.parametrize("retain", [True, False])
def test_a_question_while_another_client_stops_the_session(
    connect: Callable[[], Client], build_program: Callable[..., Path], retain: bool
) -> None:
    """It is answered, from what was kept where that is so; or there is no such session any more."""
    program = build_program("calls_all_the_time", "-O1")
    one, other = connect(), connect()
    for _ in range(4):
        session = launched(one, program)
        with asking(other, session) as answers:
            wait_until(lambda: len(answers) > len(QUESTIONS), "answers")
            stopped = one("debug_stop", sessionId=session, retain=retain)
        assert not stopped["isError"], text(stopped)
        refused = [text(answer) for answer in answers if answer["isError"]]
        assert not [said for said in refused if retain or not said.startswith("SESSION_NOT_FOUND: ")]
        assert one("debug_query", sessionId=session)["isError"] != retain


@contextmanager
def asking(client: Client, session: str) -> Iterator[list[dict[str, Any]]]:
    """Asks one question after the other meanwhile, and once more; gives the answers so far."""
    answers: list[dict[str, Any]] = []
    is_over = threading.Event()

    def ask() -> None:
        for question in itertools.cycle(QUESTIONS):
            is_last = is_over.is_set()
            answers.append(client("debug_query", sessionId=session, **question))
            if is_last:
                return

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        is_over.set()
        thread.join()


def test_two_clients_stop_a_session_at_once(connect: Callable[[], Client], build_program: Callable[..., Path]) -> None:
    """Both are told how many events it had. Where both want it kept, it is; else the one that does not may have come
    after the other one was done, and dropped what was kept."""
    program = build_program("calls_all_the_time", "-O1")
    clients = [connect(), connect()]
    for retained in ((True, False), (False, True), (True, True)) * 2:
        session = launched(clients[0], program)
        results = stopped_at_once(clients, session, retained)
        refused = [text(result) for result in results if result["isError"]]
        if refused:  # the other one was done before it came
            assert [said.startswith("SESSION_NOT_FOUND: ") for said in refused] == [True]
            continue
        first, second = (result["structuredContent"]["eventsCollected"] for result in results)
        assert first == second > 0
        kept = clients[0]("debug_query", sessionId=session, groupBy="function")
        assert not kept["isError"] or (text(kept).startswith("SESSION_NOT_FOUND: ") and not all(retained)), text(kept)


def stopped_at_once(clients: list[Client], session: str, retained: tuple[bool, bool]) -> list[dict[str, Any]]:
    both = threading.Barrier(2)

    def stop(client: Client, retain: bool) -> dict[str, Any]:
        both.wait()
        return client("debug_stop", sessionId=session, retain=retain)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(stop, clients, retained))
