"""`strobe mcp --help`; without arguments strobe/cli/main.py goes to the pump directly."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from strobe.mcp import proxy


@click.command()
def mcp() -> NoReturn:
    """Serve a language model over MCP on standard input and output.

    It is started by the client, which finds it through its configuration:

    \b
    claude mcp add -s user strobe -- strobe mcp
    codex mcp add strobe -- strobe mcp
    """
    sys.exit(proxy.main())
