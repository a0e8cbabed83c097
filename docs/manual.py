"""Manual pages and the pages of the commands, from what `strobe COMMAND --help` is made of.

`python docs/manual.py FOLDER` writes `strobe.1`, `strobe-run.1`, … there (`make man`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path

import click

import strobe as package
from strobe.cli.group import COMMANDS
from strobe.cli.group import strobe as commands

VERBATIM = "\b"  # click: what follows, up to an empty line, is printed as it is


@dataclass(frozen=True, slots=True)
class Page:
    """`name`: of the command, "strobe sessions delete". `paragraphs`: text, and whether it is printed as it is."""

    name: str
    short: str
    usage: str
    paragraphs: list[tuple[str, bool]]
    options: list[tuple[str, str]]
    subcommands: list[tuple[str, str]]

    @property
    def file(self) -> str:
        return self.name.replace(" ", "-")


def pages() -> Iterator[Page]:
    """One for each command, that of the whole group first."""
    top = click.Context(commands, info_name="strobe", **commands.context_settings)
    yield _page(top, commands.help or "")
    for name, short in COMMANDS.items():
        command = commands.get_command(top, name)
        assert command is not None
        yield from _pages(click.Context(command, info_name=name, parent=top), short)


def _pages(context: click.Context, short: str) -> Iterator[Page]:
    command = context.command
    yield _page(context, short)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _pages(click.Context(inner, info_name=name, parent=context), inner.get_short_help_str(200))


def _page(context: click.Context, short: str) -> Page:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    records = [item.get_help_record(context) for item in command.get_params(context)]
    subcommands = []
    if command is commands:
        subcommands = list(COMMANDS.items())
    elif isinstance(command, click.Group):
        found = {name: command.get_command(context, name) for name in command.list_commands(context)}
        subcommands = [(name, one.get_short_help_str(200)) for name, one in found.items() if one is not None]
    texts = [part for text in (command.help, command.epilog) if text for part in _split(cleandoc(text))]
    paragraphs = [(text.removeprefix(VERBATIM).strip("\n"), text.startswith(VERBATIM)) for text in texts]
    options = [record for record in records if record is not None and record[1]]
    return Page(context.command_path, short, usage, paragraphs, options, subcommands)


def _split(text: str) -> list[str]:
    """At empty lines. click marks what is printed as it is, by a line of its own at its begin."""
    return [part for part in re.split(r"\n[ \t]*\n", text) if part.strip(VERBATIM + "\n ")]


def roff(page: Page) -> str:
    """As `man` reads it."""
    lines = [f'.TH "{page.file.upper()}" "1" "" "strobe {package.__version__}" "Strobe"']
    lines += [".SH NAME", f"{_plain(page.file)} \\- {_plain(page.short.rstrip('.'))}"]
    lines += [".SH SYNOPSIS", f".B {_plain(page.usage)}", ".SH DESCRIPTION"]
    for text, is_verbatim in page.paragraphs:
        body = [_plain(line) for line in text.splitlines()]
        lines += [".PP", ".nf", *body, ".fi"] if is_verbatim else [".PP", *body]
    for title, rows in (("OPTIONS", page.options), ("COMMANDS", page.subcommands)):
        lines += [f".SH {title}"] if rows else []
        for name, text in rows:
            lines += [".TP", f"\\fB{_plain(name)}\\fR", _plain(text)]
    if page.subcommands:
        lines += [".SH SEE ALSO", ", ".join(f"{_plain(f'{page.file}-{name}')}(1)" for name, _ in page.subcommands)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Nothing in it means anything to roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def markdown(title: str, shown: list[Page]) -> str:
    """The same as one page of the site."""
    lines = [f"# {title}", ""]
    for page in shown:
        lines += [f"## {page.name}", "", "```", page.usage, "```", ""]
        for text, is_verbatim in page.paragraphs:
            lines += ["```", text, "```", ""] if is_verbatim else [_escaped(text), ""]
        for name, rows in (("option", page.options), ("command", page.subcommands)):
            if rows:
                lines += [f"| {name} | |", "|---|---|"]
                lines += [f"| `{left.replace('|', chr(92) + '|')}` | {_escaped(right)} |" for left, right in rows]
                lines.append("")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return re.sub(r"([*_<>|])", r"\\\1", text)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        (folder / f"{page.file}.1").write_text(roff(page))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
