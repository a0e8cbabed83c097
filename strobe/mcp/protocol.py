"""The revisions of MCP and what each asks of a server.

Handshake era, 2024-11-05 to 2025-11-25: opened with `initialize`. Modern era, 2026-07-28: no handshake, every request
carries the version in `_meta`, and every result says that it is complete. A request belongs to the modern era if it
names a version, so one connection may carry both. Nothing else depends on the connection.
"""

from __future__ import annotations

from typing import Any

import strobe
from strobe.mcp import artefacts, jsonrpc
from strobe.mcp.instructions import INSTRUCTIONS
from strobe.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Message, ProtocolError
from strobe.mcp.prompts import PROMPTS
from strobe.mcp.tool import Context, Registry, Tool

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
SUPPORTED_VERSIONS = HANDSHAKE_VERSIONS + MODERN_VERSIONS

UNSUPPORTED_VERSION = -32022

_PROGRESS_KEY = "progressToken"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_SERVER_INFO = {"name": "strobe", "title": "Strobe debugger", "version": strobe.__version__}
_CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
# The lists of tools and prompts are the same for everybody until another version of Strobe runs.
_CACHEABLE = {"ttlMs": 300_000, "cacheScope": "public"}
_CHANGING = {"ttlMs": 0, "cacheScope": "private"}


def version_of(request: Message) -> Any:
    """What the request says of its revision, which need not be one; None of the handshake era."""
    return request.meta.get(_VERSION_KEY)


def is_modern(request: Message) -> bool:
    """Whether the request is of the modern era. Raises ProtocolError where it says so and is not valid there."""
    if _VERSION_KEY not in request.meta:
        if request.method == "server/discover":
            raise ProtocolError(INVALID_PARAMS, f"'_meta' must have '{_VERSION_KEY}'", request.id)
        return False
    version = request.meta[_VERSION_KEY]
    if version not in MODERN_VERSIONS:
        data = {"supported": list(SUPPORTED_VERSIONS), "requested": version}
        raise ProtocolError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version}", request.id, data)
    if not isinstance(request.meta.get(_CAPABILITIES_KEY), dict):
        raise ProtocolError(INVALID_PARAMS, f"'_meta' must have '{_CAPABILITIES_KEY}'", request.id)
    return True


def answer(request: Message, registry: Registry, context: Context) -> dict[str, Any]:
    """The result of any request but a tool call. Raises ProtocolError."""
    modern = is_modern(request)
    if request.method.startswith("resources/"):
        result = _resources(request, context, modern)
        return complete({**result, **_CHANGING}) if modern else result
    if request.method == "tools/list":
        result = {"tools": registry.listing}
        return complete({**result, **_CACHEABLE}) if modern else result
    if request.method == "prompts/list":
        result = {"prompts": [prompt.listing() for prompt in PROMPTS.values()]}
        return complete({**result, **_CACHEABLE}) if modern else result
    if request.method == "prompts/get":
        return complete(_prompt(request)) if modern else _prompt(request)
    if modern and request.method == "server/discover":
        return complete({**_introduction(), "supportedVersions": list(SUPPORTED_VERSIONS), **_CACHEABLE})
    if not modern and request.method == "initialize":
        return {"protocolVersion": _agreed(request), "serverInfo": _SERVER_INFO, **_introduction()}
    if not modern and request.method == "ping":
        return {}
    raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method}", request.id)


def tool_of(request: Message, registry: Registry) -> tuple[Tool, Any]:
    """The tool that a `tools/call` request names, and its arguments, unchecked. Raises ProtocolError."""
    tool = registry.find(request.params.get("name"))
    if tool is None:
        known = ", ".join(registry.names())
        raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {request.params.get('name')}. Tools: {known}", request.id)
    arguments = request.params.get("arguments")
    return tool, {} if arguments is None else arguments


def wants_progress(request: Message) -> bool:
    """Whether the client asks for progress while the call goes on."""
    return jsonrpc.is_id(request.meta.get(_PROGRESS_KEY))


def progress(request: Message, tool: str, seconds: float) -> bytes:
    """The line which says that the call of `tool` has been going on for so long."""
    parameters = {
        "progressToken": request.meta[_PROGRESS_KEY],
        "progress": seconds,
        "message": f"{tool}: {seconds:g} s",
    }
    return jsonrpc.notification("notifications/progress", parameters)


def _resources(request: Message, context: Context, modern: bool) -> dict[str, Any]:
    if request.method == "resources/list":
        return artefacts.listing(context)
    if request.method == "resources/templates/list":
        return artefacts.templates()
    if request.method == "resources/read":
        fault = INVALID_PARAMS if modern else artefacts.NOT_FOUND
        return artefacts.read(request.params.get("uri"), context, request.id, fault)
    raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method}", request.id)


def _prompt(request: Message) -> dict[str, Any]:
    """Raises ProtocolError for one that is not there, and where a required argument is missing."""
    name, given = request.params.get("name"), request.params.get("arguments") or {}
    prompt = PROMPTS.get(name) if isinstance(name, str) else None
    if prompt is None:
        raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {name}. Prompts: {', '.join(PROMPTS)}", request.id)
    if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
        raise ProtocolError(INVALID_PARAMS, "Arguments of a prompt are texts", request.id)
    if missing := prompt.missing(given):
        raise ProtocolError(INVALID_PARAMS, f"Missing arguments: {', '.join(missing)}", request.id)
    return prompt.message(given)


def complete(result: dict[str, Any]) -> dict[str, Any]:
    """A result as the modern era wants it."""
    return {"resultType": "complete", **result, "_meta": {_SERVER_KEY: _SERVER_INFO}}


def _introduction() -> dict[str, Any]:
    return {"capabilities": _CAPABILITIES, "instructions": INSTRUCTIONS}


def _agreed(request: Message) -> str:
    asked = request.params.get("protocolVersion")
    return asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
