"""The official client, in each of its modes, against `strobe mcp` as a client would start it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from mcp import MCPError
from mcp.client.client import Client
from support.official import FORMS, strobe_client
from support.programs import PROGRAMS

LIST = "debug_list_sessions"


def run(mode: str, home: Path, visit: Callable[[Client], Awaitable[None]]) -> None:
    async def go() -> None:
        async with asyncio.timeout(30), strobe_client(home, mode) as client:
            await visit(client)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
def test_it_connects_lists_and_calls(mode: str, version: str, strobe_home: Path) -> None:
    async def visit(client: Client) -> None:
        assert client.protocol_version == version
        tools = (await client.list_tools()).tools
        assert tools[0].name == "debug_launch"
        result = await client.call_tool("debug_query", {"sessionId": "x", "limit": 501})
        assert result.is_error
        assert result.content[0].text.startswith("VALIDATION_ERROR: 'limit' is 501")  # type: ignore[union-attr]

    run(mode, strobe_home, visit)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_prompts_are_listed_and_filled_in(mode: str, strobe_home: Path) -> None:
    async def visit(client: Client) -> None:
        prompts = (await client.list_prompts()).prompts
        assert [one.name for one in prompts] == [
            "why-crash",
            "why-slow",
            "why-wrong-value",
            "why-hang",
            "why-memory",
            "trace-test",
        ]
        for one in prompts:
            given = {item.name: f"the {item.name} {{of}} mine" for item in one.arguments or ()}
            found = await client.get_prompt(one.name, given)
            text = found.messages[0].content.text  # type: ignore[union-attr]
            assert all(value in text for value in given.values())
            assert "debug_launch" in text or "probe" in text
        with pytest.raises(MCPError, match="Missing arguments: program"):
            await client.get_prompt("why-crash", {})
        with pytest.raises(MCPError, match="Unknown prompt: why"):
            await client.get_prompt("why", {})

    run(mode, strobe_home, visit)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_session_can_be_read_as_resources(mode: str, strobe_home: Path, build_program: Callable[..., Path]) -> None:
    program = build_program("ledger", "-O1")

    async def visit(client: Client) -> None:
        launch = {"command": str(program), "args": ["2"], "projectRoot": str(PROGRAMS), "trace": ["shop::*"]}
        result = await client.call_tool("debug_launch", {**launch, "wait": {"until": "exit"}})
        assert result.structured_content is not None
        session = result.structured_content["sessionId"]
        listed = {one.uri: one for one in (await client.list_resources()).resources}
        of_it = [f"strobe://sessions/{session}/{name}" for name in ("trace.json", "output.txt")]
        assert list(listed) == [*of_it, "strobe://log"]
        known = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template.replace("{sessionId}", session) for one in known] == of_it
        trace, output, log = [(await client.read_resource(uri)).contents[0] for uri in listed]
        assert [one.mime_type for one in (trace, output, log)] == ["application/json", "text/plain", "text/plain"]
        entries = json.loads(trace.text)["traceEvents"]  # type: ignore[union-attr]
        assert sum(one["ph"] == "B" and one["name"] == "shop::book" for one in entries) == 6
        assert output.text == "open\nrate 4.0\nbooked 6\n"  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="There is no session 'none'"):
            await client.read_resource("strobe://sessions/none/trace.json")
        with pytest.raises(MCPError, match="Unknown resource: strobe://none"):
            await client.read_resource("strobe://none")

    run(mode, strobe_home, visit)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_it_introduces_itself(mode: str, strobe_home: Path) -> None:
    async def visit(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.name == "strobe"
        assert client.instructions is not None
        assert "debug_launch" in client.instructions

    run(mode, strobe_home, visit)


def test_two_clients_share_one_daemon(strobe_home: Path) -> None:
    async def go() -> None:
        async with asyncio.timeout(30), strobe_client(strobe_home) as one, strobe_client(strobe_home) as two:
            answers = await asyncio.gather(*(client.call_tool(LIST, {}) for client in (one, two) * 5))
            assert [answer.structured_content for answer in answers] == [{"sessions": []}] * 10

    asyncio.run(go())


def test_every_wire_message_is_valid_to_the_letter(strobe_home: Path) -> None:
    """What the daemon sends, against the types of the revision it was asked in."""
    from support.mcp_wire import INITIALIZE, MODERN, Wire

    with Wire.to(strobe_home) as wire:
        for version, meta in (("2025-11-25", {}), ("2026-07-28", {"_meta": MODERN})):
            form = FORMS[version]
            form.ListPromptsResult.model_validate(wire.request("prompts/list", dict(meta))["result"])
            prompt = {"name": "why-crash", "arguments": {"program": "a"}, **meta}
            form.GetPromptResult.model_validate(wire.request("prompts/get", prompt)["result"])
            form.ListToolsResult.model_validate(wire.request("tools/list", dict(meta))["result"])
            form.ListResourcesResult.model_validate(wire.request("resources/list", dict(meta))["result"])
            templates = wire.request("resources/templates/list", dict(meta))["result"]
            form.ListResourceTemplatesResult.model_validate(templates)
            log = wire.request("resources/read", {"uri": "strobe://log", **meta})["result"]
            form.ReadResourceResult.model_validate(log)
            missing = wire.request("resources/read", {"uri": "strobe://sessions/x/output.txt", **meta})["error"]
            assert missing["code"] == (-32602 if meta else -32002)
            call = {"name": LIST, "arguments": {"no": 1}, **meta}
            form.CallToolResult.model_validate(wire.request("tools/call", call)["result"])
        opening = {**INITIALIZE, "protocolVersion": "2025-11-25"}
        FORMS["2025-11-25"].InitializeResult.model_validate(wire.request("initialize", opening)["result"])
        discovered = wire.request("server/discover", {"_meta": MODERN})["result"]
        FORMS["2026-07-28"].DiscoverResult.model_validate(discovered)


def test_closing_the_client_ends_the_pump_and_not_the_daemon(strobe_home: Path) -> None:
    from support.wait import wait_until

    from strobe.mcp import daemon

    run("auto", strobe_home, lambda client: client.call_tool(LIST, {}))  # type: ignore[arg-type,return-value]
    wait_until(lambda: daemon.status(strobe_home).clients == 0, "the pump to go")
    pid = daemon.status(strobe_home).pid
    assert pid is not None
    os.kill(pid, 0)
