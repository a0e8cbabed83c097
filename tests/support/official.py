"""The official MCP client on `strobe mcp`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import _v2025_11_25, _v2026_07_28

from support.mcp_wire import MCP_COMMAND

FORMS: dict[str, ModuleType] = {"2025-11-25": _v2025_11_25, "2026-07-28": _v2026_07_28}
# All else of our environment the client leaves out; a tree that is not installed is found by PYTHONPATH.
PASSED_ON = ("PYTHONPATH",)


@asynccontextmanager
async def strobe_client(home: Path, mode: str = "auto", cwd: Path | None = None, **env: str) -> AsyncIterator[Client]:
    """A connected client, whose pump is a process of its own."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    parameters = StdioServerParameters(
        command=MCP_COMMAND[0], args=MCP_COMMAND[1:], env={**passed_on, "STROBE_HOME": str(home), **env}, cwd=cwd
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client
