"""One session from launch to deletion, over the official client: what the product is for.

The program is threads3: threads `audio`, `midi` and `ui`, each calling into namespaces of its own until it is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp.client.client import Client
from support.official import strobe_client
from support.programs import PROGRAMS

WAIT_SECONDS = 60.0
PAGE = 20


class Debugger:
    """The tools as a model calls them; every answer is checked for what all answers promise."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments)
        text: str = result.content[0].text  # type: ignore[union-attr]
        assert not result.is_error, text
        answer: dict[str, Any] = result.structured_content
        assert orjson.loads(text) == answer
        return answer

    async def failure(self, tool: str, **arguments: Any) -> str:
        result = await self._client.call_tool(tool, arguments)
        assert result.is_error
        assert result.structured_content is None
        text: str = result.content[0].text  # type: ignore[union-attr]
        return text

    async def until(self, found: Callable[[dict[str, Any]], bool], tool: str, **arguments: Any) -> dict[str, Any]:
        """Asks again until the answer is as wished."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not found(answer := await self(tool, **arguments)):
                await asyncio.sleep(0.02)
        return answer


def counts(answer: dict[str, Any]) -> dict[str, int]:
    return {group["function"]: group["count"] for group in answer["groups"]}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_launch_trace_query_stop_delete(mode: str, strobe_home: Path, build_program: Callable[..., Path]) -> None:
    program = build_program("threads3", "-g", "-O0")

    async def go() -> None:
        async with asyncio.timeout(100), strobe_client(strobe_home, mode) as client:
            await session(Debugger(client), program)

    asyncio.run(go())


async def session(debug: Debugger, program: Path) -> None:
    launched = await debug("debug_launch", command=str(program), projectRoot=str(PROGRAMS))
    own = launched["sessionId"]
    assert own.startswith("threads3-")
    assert launched["pid"] > 1
    assert any("debug_trace" in step for step in launched["nextSteps"])
    printed = await debug.until(lambda a: bool(a["events"]), "debug_query", sessionId=own, eventType="stdout")
    assert [event["text"] for event in printed["events"]] == ["ready\n"]

    traced = await debug("debug_trace", sessionId=own, add=["audio::**", "midi::*", "ui::**"])
    assert traced["mode"] == "runtime"
    assert traced["activePatterns"] == ["audio::**", "midi::*", "ui::**"]
    assert (traced["matchedFunctions"], traced["hookedFunctions"]) == (8, 8)
    await debug.until(lambda a: len(a["groups"]) == 8, "debug_query", sessionId=own, groupBy="function")

    await by_function(debug, own)
    await by_thread(debug, own)
    await by_duration(debug, own)
    await by_time(debug, own)
    await pages(debug, own)
    await removed_patterns_record_nothing(debug, own)
    await kept_then_deleted(debug, own)


async def by_function(debug: Debugger, own: str) -> None:
    enters = {"sessionId": own, "eventType": "function_enter", "function": {"equals": "audio::engine::mix"}}
    answer = await debug("debug_query", **enters, verbose=True, limit=5)
    assert {event["function"] for event in answer["events"]} == {"audio::engine::mix"}
    for event in answer["events"]:
        assert event["sourceFile"].endswith("threads3.cpp")
        assert [argument["name"] for argument in event["arguments"]] == ["left", "right"]
        assert event["arguments"][1]["value"] in (1, 2)
        assert event["depth"] == 2
    exits = await debug(
        "debug_query", sessionId=own, eventType="function_exit", function={"contains": "parse"}, limit=9
    )
    assert {event["returnValue"] - ord("n") for event in exits["events"]} <= set(range(16))
    matched = await debug("debug_query", sessionId=own, function={"matches": r"^ui::.*::(draw|tick)$"}, limit=9)
    assert {event["function"] for event in matched["events"]} <= {"ui::view::Window::draw", "ui::view::tick"}
    nothing = await debug("debug_query", sessionId=own, function={"equals": "audio::engine::flush"})
    assert (nothing["events"], nothing["totalCount"]) == ([], 0)
    assert nothing["absence"]


async def by_thread(debug: Debugger, own: str) -> None:
    answer = await debug("debug_query", sessionId=own, threadName={"contains": "midi"}, verbose=True)
    assert answer["totalCount"] >= len(answer["events"]) > 0
    assert {event["threadName"] for event in answer["events"]} == {"midi"}
    assert {event["function"] for event in answer["events"]} <= {"midi::tick", "midi::parse"}
    assert len({event["threadId"] for event in answer["events"]}) == 1
    groups = (await debug("debug_query", sessionId=own, groupBy="thread"))["groups"]
    assert {group["threadName"] for group in groups} == {"audio", "midi", "ui"}


async def by_duration(debug: Debugger, own: str) -> None:
    render = {"sessionId": own, "eventType": "function_exit", "function": {"contains": "render"}, "timeTo": "-1ms"}
    exits = (await debug("debug_query", **render))["events"]
    middle = sorted(event["durationNs"] for event in exits)[len(exits) // 2]
    slow = (await debug("debug_query", **render, minDurationNs=middle))["events"]
    assert {event["id"] for event in exits if event["durationNs"] >= middle} <= {event["id"] for event in slow}
    assert min(event["durationNs"] for event in slow) >= middle


async def by_time(debug: Debugger, own: str) -> None:
    first = (await debug("debug_query", sessionId=own, eventType="function_enter", limit=30))["events"]
    begin, end = first[10]["timestampNs"], first[20]["timestampNs"]
    window = await debug("debug_query", sessionId=own, eventType="function_enter", timeFrom=str(begin), timeTo=str(end))
    assert {event["id"] for event in first[10:20]} <= {event["id"] for event in window["events"]}
    assert all(begin <= event["timestampNs"] <= end for event in window["events"])


async def pages(debug: Debugger, own: str) -> None:
    whole: list[str] = []
    while len(whole) < 3 * PAGE:
        answer = await debug("debug_query", sessionId=own, limit=3 * PAGE - len(whole), offset=len(whole))
        whole += [event["id"] for event in answer["events"]]
        assert answer["hasMore"]
    by_offset: list[str] = []
    by_cursor: list[str] = []
    for offset in range(0, 3 * PAGE, PAGE):
        page = await debug("debug_query", sessionId=own, limit=PAGE, offset=offset)
        by_offset += [event["id"] for event in page["events"]]
        assert page["nextOffset"] == offset + PAGE
        after = {"afterEventId": by_cursor[-1]} if by_cursor else {}
        page = await debug("debug_query", sessionId=own, limit=PAGE, **after)
        by_cursor += [event["id"] for event in page["events"]]
        assert page["nextCursor"] == by_cursor[-1]
    assert by_offset == by_cursor == whole


async def removed_patterns_record_nothing(debug: Debugger, own: str) -> None:
    totals = {"sessionId": own, "groupBy": "function"}
    left = await debug("debug_trace", sessionId=own, remove=["audio::**"])
    assert left["activePatterns"] == ["midi::*", "ui::**"]
    before = counts(await debug("debug_query", **totals))
    # The other threads' calls show that time has passed.
    later = await debug.until(lambda a: counts(a)["midi::tick"] >= before["midi::tick"] + 20, "debug_query", **totals)
    settled = counts(later)
    last = await debug.until(lambda a: counts(a)["midi::tick"] >= settled["midi::tick"] + 20, "debug_query", **totals)
    audio = [name for name in settled if name.startswith("audio::")]
    assert len(audio) == 3
    assert [counts(last)[name] for name in audio] == [settled[name] for name in audio]


async def kept_then_deleted(debug: Debugger, own: str) -> None:
    stopped = await debug("debug_stop", sessionId=own, retain=True)
    assert stopped["success"] is True
    assert stopped["eventsCollected"] > 100
    (listed,) = (await debug("debug_list_sessions"))["sessions"]
    assert (listed["sessionId"], listed["status"]) == (own, "stopped")
    assert listed["endedAt"]
    recent = await debug("debug_query", sessionId=own, timeFrom="-5ms", limit=500)
    times = [event["timestampNs"] for event in recent["events"]]
    assert times == sorted(times)
    assert times[-1] - times[0] <= 5_000_000
    kept = await debug("debug_query", sessionId=own, limit=3)
    assert kept["totalCount"] >= stopped["eventsCollected"]
    assert counts(await debug("debug_query", sessionId=own, groupBy="function"))["audio::tick"] > 0
    assert await debug("debug_delete_session", sessionId=own) == {"success": True}
    assert (await debug("debug_list_sessions"))["sessions"] == []
    assert (await debug.failure("debug_query", sessionId=own)).startswith("SESSION_NOT_FOUND: ")
