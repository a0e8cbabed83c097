"""The list of tools as clients need it: small, plain, and complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from strobe.mcp.tool import Registry
from strobe.mcp.tools.all_tools import TOOLS

LISTING = Registry(TOOLS).listing
CHARACTERS_PER_TOKEN = 4


@pytest.fixture(params=LISTING, ids=[tool["name"] for tool in LISTING])
def tool(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all inside it."""
    yield schema
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from schemas(inner)


def test_the_tools_of_this_version() -> None:
    assert [tool["name"] for tool in LISTING] == [
        "debug_launch",
        "debug_trace",
        "debug_logpoint",
        "debug_query",
        "debug_read",
        "debug_write",
        "debug_stop",
        "debug_list_sessions",
        "debug_delete_session",
    ]


def test_all_schemas_stay_below_6000_tokens() -> None:
    assert len(orjson.dumps(LISTING)) / CHARACTERS_PER_TOKEN < 6000


def test_a_tool_introduces_itself(tool: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,39}", tool["name"])
    assert tool["title"]
    assert tool["description"]
    assert tool["_meta"] == {"anthropic/alwaysLoad": True}
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert hints == {name for name, value in tool["annotations"].items() if isinstance(value, bool)}


def test_a_root_is_a_plain_object(tool: dict[str, Any]) -> None:
    root = tool["inputSchema"]
    assert root["type"] == "object"
    assert root["additionalProperties"] is False
    assert set(root) <= {"type", "properties", "required", "additionalProperties"}
    assert set(root.get("required", ())) <= set(root["properties"])


def test_every_field_has_one_type_and_says_its_range(tool: dict[str, Any]) -> None:
    for schema in schemas(tool["inputSchema"]):
        assert isinstance(schema["type"], str)
        assert not {"oneOf", "anyOf", "allOf", "$ref", "const"} & set(schema)
        assert schema["type"] != "array" or "items" in schema
        for bound in ("minimum", "maximum"):
            if bound in schema and schema["type"] == "integer" and schema.get("description"):
                assert str(schema[bound]) in schema["description"]


REQUIRED_AND_OPTIONAL = {
    "debug_launch": (
        "command projectRoot",
        "args cwd env pid stdin trace watches probes depth where stack sampling anyway wait repeat",
    ),
    "debug_trace": (
        "",
        "sessionId add remove projectRoot command sampling serializationDepth watches probes where stack wait",
    ),
    "debug_logpoint": ("sessionId", "add remove"),
    "debug_query": (
        "sessionId",
        "where select heap join eventType function caller sourceFile returnValue threadName threadId depth pid "
        "timeFrom timeTo minDurationNs order last around address from to limit offset afterEventId verbose "
        "groupBy format inside compare compareFrom compareTo maxTokens",
    ),
    "debug_read": ("sessionId targets", "depth poll"),
    "debug_write": ("sessionId targets", ""),
    "debug_stop": ("sessionId", "retain"),
    "debug_list_sessions": ("", ""),
    "debug_delete_session": ("sessionId", ""),
}


def test_the_parameters_are_those_of_the_contract(tool: dict[str, Any]) -> None:
    required, optional = (set(names.split()) for names in REQUIRED_AND_OPTIONAL[tool["name"]])
    assert set(tool["inputSchema"].get("required", ())) == required
    assert set(tool["inputSchema"]["properties"]) == required | optional


def test_the_official_types_accept_the_list(tool: dict[str, Any]) -> None:
    from mcp_types import Tool

    assert Tool.model_validate(tool).input_schema == tool["inputSchema"]
