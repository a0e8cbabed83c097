"""`strobe symbols`: what is in a binary, without running it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from strobe.cli import completion
from strobe.cli.output.progress import announced
from strobe.cli.symbols.addresses import address_json, address_lines, asked_addresses, find_address
from strobe.cli.symbols.functions import find_functions, function_lines, functions_json
from strobe.cli.symbols.lines import find_line, line_json, line_lines
from strobe.cli.symbols.page import Page
from strobe.cli.symbols.subject import Subject, find
from strobe.dataclass import dataclass
from strobe.report.palette import Palette
from strobe.symbols import ElfResolver, Pattern

_EPILOG = """\b
Examples:
  strobe symbols ./server                         what it is, and where most of its functions are
  strobe symbols ./server 'net::**'               functions of a namespace, with arguments and lines
  strobe symbols ./server --lines conn.cpp:81     where the code of a line is, inlined copies too
  strobe symbols ./server --addr 0x4a10           function, line and inlined calls at an address
  strobe symbols ./server --type net::Packet      offsets, sizes and holes of a structure
"""


@dataclass
class _Questions:
    """What is asked; everything empty asks for the summary."""

    patterns: Sequence[Pattern]
    lines: Sequence[str]
    addresses: Sequence[str]
    types: Sequence[str]
    variables: Sequence[str]

    @property
    def any(self) -> bool:
        return bool(self.patterns or self.lines or self.addresses or self.types or self.variables)


@click.command(epilog=_EPILOG)
@click.argument("binary", shell_complete=completion.files)
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@click.option("--lines", multiple=True, metavar="FILE:LINE", help="Where the code of a source line is.")
@click.option(
    "--addr", "addresses", multiple=True, metavar="ADDRESS", help="What lies at ADDRESS; - reads addresses from stdin."
)
@click.option("--type", "types", multiple=True, metavar="NAME", help="Layout of a type; names like 'ns::*' are listed.")
@click.option("--variable", "variables", multiple=True, metavar="NAME", help="Globals and statics: NAME or 'ns::*'.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Root of your own code, for @usercode. Default: this folder.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N rows of a list. Default: a screenful.")
@click.option("--all", "everything", is_flag=True, help="All rows of a list.")
@click.option("-v", "--verbose", is_flag=True, help="Names in full, linkage names, variables at an address.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document with everything (docs/symbols.md).")
def symbols(
    binary: str,
    patterns: Sequence[str],
    lines: Sequence[str],
    addresses: Sequence[str],
    types: Sequence[str],
    variables: Sequence[str],
    root: str | None,
    limit: int | None,
    everything: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Show what is in BINARY, a program or library, without running it.

    By default, a summary. With PATTERN, its functions: foo::bar, foo::*, foo::**, *, @file:NAME, @usercode,
    or @lib:NAME for what it exports. Addresses are those of the file, before it is loaded. The exit status is 1
    if something was not found.
    """
    folder = str(Path(root or ".").absolute())
    parsed = [Pattern.parse(text, folder) for text in patterns]
    questions = _Questions(parsed, lines, addresses, types, variables)
    subject = Subject(binary, find(binary), folder, ElfResolver(_to_stderr))
    if as_json:
        misses = _print_json(subject, questions, limit)
    else:
        misses = _print(subject, questions, Page.of(limit, everything, verbose))
    sys.exit(int(misses > 0))


def _to_stderr(sentence: str) -> None:
    click.echo(f"strobe: {sentence}", err=True)


def _print(subject: Subject, questions: _Questions, page: Page) -> int:
    """Answers one after the other; returns how many there were none to."""
    label = Palette.of(sys.stderr).warning("warning:")
    for warning in (*subject.module.warnings, *subject.module.missing_parts):
        _to_stderr(f"{label} {warning}")
    missed = 0
    before = ""
    for section, lines, misses in _answers(subject, questions, page):
        if lines:
            apart = before and (section != "addresses" or before != section)
            click.echo("\n".join(["", *lines] if apart else lines))
            before = section
        for miss in misses:
            _to_stderr(miss)
        missed += len(misses)
    return missed


_Answer = tuple[str, list[str], list[str]]  # section, lines, what could not be answered


def _answers(subject: Subject, questions: _Questions, page: Page) -> Iterator[_Answer]:
    if not questions.any:
        from strobe.cli.symbols.summary import summarize, summary_lines

        yield "summary", summary_lines(subject, summarize(subject), page), []
    if questions.patterns:
        found = find_functions(subject, questions.patterns)
        yield "functions", function_lines(subject, found, page), found.misses
    for text in questions.lines:
        line = find_line(subject, text)
        yield "lines", line_lines(subject, line, page), _listed(line.miss)
    for text in asked_addresses(questions.addresses):
        answer = find_address(subject, text)
        yield "addresses", address_lines(subject, answer, page), _listed(answer.miss)
    if questions.types:
        from strobe.cli.symbols.types import find_type, type_lines

        for text in questions.types:
            type_answer = find_type(subject, text)
            yield "types", type_lines(subject, type_answer, page), _listed(type_answer.miss)
    if questions.variables:
        from strobe.cli.symbols.variables import find_variables, variable_lines

        variables = find_variables(subject, questions.variables)
        yield "variables", variable_lines(subject, variables, page), variables.misses


def _listed(miss: str | None) -> list[str]:
    return [] if miss is None else [miss]


def _print_json(subject: Subject, questions: _Questions, limit: int | None) -> int:
    """The same as one document."""
    from strobe.cli.output.json_form import dumps  # brings the tools of MCP along

    with announced(f"reading {subject.named}"):
        document, misses = _document(subject, questions, limit)
    click.echo(dumps(document, indent=True))
    for miss in misses:
        _to_stderr(miss)
    return len(misses)


def _document(subject: Subject, questions: _Questions, limit: int | None) -> tuple[dict[str, Any], list[str]]:
    from strobe.cli.symbols.summary import binary_json, summarize, summary_json

    document: dict[str, Any] = {"binary": binary_json(subject)}
    misses: list[str] = []
    if not questions.any:
        document["summary"] = summary_json(subject, summarize(subject))
    if questions.patterns:
        found = find_functions(subject, questions.patterns)
        document |= functions_json(subject, found, limit)
        misses += found.misses
    if questions.lines:
        lines = [find_line(subject, text) for text in questions.lines]
        document["lines"] = [line_json(subject, line) for line in lines]
        misses += [line.miss for line in lines if line.miss]
    if questions.addresses:
        answers = [find_address(subject, text) for text in asked_addresses(questions.addresses)]
        document["addresses"] = [address_json(answer) for answer in answers]
        misses += [answer.miss for answer in answers if answer.miss]
    if questions.types:
        from strobe.cli.symbols.type_json import type_json
        from strobe.cli.symbols.types import find_type

        found_types = [find_type(subject, text) for text in questions.types]
        document["types"] = [type_json(subject, found) for found in found_types]
        misses += [found.miss for found in found_types if found.miss]
    if questions.variables:
        from strobe.cli.symbols.variables import find_variables, variables_json

        variables = find_variables(subject, questions.variables)
        document["variables"] = variables_json(subject, variables, limit)
        misses += variables.misses
    return document, misses
