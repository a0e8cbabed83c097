"""The group of all commands: a command's module is imported when it is called, so that `strobe --help` is quick."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click

import strobe as package
from strobe.errors import StrobeError

# command -> what `strobe --help` says of it; it is the function of the same name in strobe/cli/<command>_command.py,
# or in strobe/cli/<command>/command.py
COMMANDS = {
    "run": "Run a program and print its calls while it runs.",
    "query": "Read the events of a session, or their totals.",
    "history": "Find where an address appears, and what led to it.",
    "compare": "Compare two runs: call counts, the first call that differs, values.",
    "heap": "Show memory that was allocated and not freed, by stack.",
    "export": "Export a session as a flame chart for Perfetto or speedscope.",
    "sql": "Read the events of a session with SQL.",
    "read": "Read variables of a running program.",
    "write": "Write variables of a running program.",
    "watch": "Show variables of a running program live.",
    "sessions": "List running and kept sessions; delete kept ones.",
    "symbols": "Show what is in a binary: functions, lines, types, variables, addresses.",
    "demo": "A guided tour: find a bug that no print statement shows.",
    "bench": "Measure what tracing costs on this machine.",
    "doctor": "Check what works on this machine.",
    "install": "Add Strobe to coding agents.",
    "uninstall": "Remove Strobe from coding agents.",
    "mcp": "Serve a language model over MCP on standard input and output.",
    "daemon": "Start, stop or look at the process behind `strobe mcp`.",
}


_FOLDERS = ("run", "symbols")


def load(words: Sequence[str]) -> None:
    """Imports what the command that `words` begin with needs."""
    if words and words[0] in COMMANDS:
        importlib.import_module(_module(words[0]))


def _module(command: str) -> str:
    return f"strobe.cli.{command}.command" if command in _FOLDERS else f"strobe.cli.{command}_command"


class LazyGroup(click.Group):
    """Commands by name from COMMANDS; failures become one line on standard error and exit status 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(_module(cmd_name)), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except StrobeError as error:
            click.echo(f"strobe: {error}", err=True)
            ctx.exit(1)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package.__version__, prog_name="strobe", message="%(prog)s %(version)s")
def strobe() -> None:
    """See what a program does while it runs: its calls, their arguments, results and times."""
