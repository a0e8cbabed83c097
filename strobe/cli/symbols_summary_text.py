"""The summary of a binary as text, for `strobe symbols` without a question."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from strobe.cli import symbols_page as layout
from strobe.cli import wording
from strobe.cli.symbols_page import Page
from strobe.cli.symbols_subject import ADVICE, Subject
from strobe.cli.symbols_summary import Group, Summary
from strobe.cli.tables import table
from strobe.model import FunctionSymbol

_GROUPS = 8
_SYSTEM = ("/usr/include/", "/usr/lib/", "/rustc/", "/rust/", "/usr/local/go/")
_RUST_RELEASE = re.compile(r"/rustc/[0-9a-f]{40}/")
_NAME_WIDTH = 80


def summary_lines(subject: Subject, summary: Summary, page: Page) -> list[str]:
    return [
        f"{page.palette.heading(subject.named)}: {summary.kind}",
        *_facts(subject, summary, page),
        *_scope_lines(summary, page),
        *_folder_lines(summary.folders, page),
        *_largest_lines(summary.largest, page),
        *([] if subject.module.has_debug_info else ["", f"For arguments, lines and types: {ADVICE}"]),
    ]


def _facts(subject: Subject, summary: Summary, page: Page) -> list[str]:
    facts = {
        "build id": subject.module.build_id or "none",
        "debug information": _debug_text(subject, summary),
        "compiled by": ", ".join(summary.compilers),
        "language": ", ".join(summary.languages),
        "functions": _functions_text(subject, summary),
        "inlined": _inlined_text(subject),
    }
    width = max(map(len, facts))
    return [f"  {page.palette.note(f'{name:{width}}')}  {text}" for name, text in facts.items() if text]


def _debug_text(subject: Subject, summary: Summary) -> str:
    if subject.module.has_debug_info:
        return f"{layout.size(summary.debug_bytes)}, in {' and '.join(summary.debug_files) or 'the file itself'}"
    if summary.with_source:
        return "none: names and lines of functions are all"
    return f"none: {'names of functions' if subject.module.has_symtab else 'names of exported functions'} are all"


def _functions_text(subject: Subject, summary: Summary) -> str:
    parts = [f"{len(subject.functions):,}, {layout.size(summary.code_bytes)} of code"]
    if summary.with_source:
        parts.append(f"{summary.with_source:,} with source")
    if summary.untraceable:
        parts.append(f"{summary.untraceable:,} never traced")
    return "; ".join(parts)


def _inlined_text(subject: Subject) -> str:
    if not subject.module.inlined_sites:
        return ""
    everywhere = len(subject.module.inlined_only)
    partly = len(subject.module.inlined_sites) - everywhere
    sites = wording.counted(sum(subject.module.inlined_sites.values()), "site")
    functions = wording.counted(everywhere, "function")
    return f"{functions} everywhere, so that no copy is left to trace; {partly:,} in part; {sites}"


def _scope_lines(summary: Summary, page: Page) -> list[str]:
    """As patterns that match all of one; nothing, where no function stands in any."""
    if not any(group.name for group in summary.scopes):
        return []
    if summary.languages[:1] == ["Go"]:
        return _group_lines("package", summary.scopes, page, ".*")
    return _group_lines("namespace, class or crate", summary.scopes, page, "::**")


def _group_lines(heading: str, groups: Sequence[Group], page: Page, suffix: str = "") -> list[str]:
    if not groups:
        return []
    shown = groups if page.limit is None or page.verbose else groups[:_GROUPS]
    rows = [
        (f"{group.functions:,}", layout.size(group.code_bytes), f"{group.name}{suffix}" if group.name else "(none)")
        for group in shown
    ]
    lines = table(("functions", "code", heading), rows, page.palette, frozenset((0, 1)))
    more = len(groups) - len(shown)
    return ["", *lines, *([page.palette.note(f"… and {more:,} more (--all)")] if more else [])]


def _folder_lines(folders: Sequence[Group], page: Page) -> list[str]:
    """By folder of the sources, own ones first; what all of those begin with is said once."""
    own = [group for group in folders if not group.name.startswith(_SYSTEM)]
    foreign = _merged((_library_folder(group.name), group) for group in folders if group.name.startswith(_SYSTEM))
    common = _common(group.name for group in own)
    relative = [replace(group, name=group.name[len(common) :].lstrip("/") or ".") for group in own] if common else own
    heading = f"folder of the source, below {common}" if common else "folder of the source"
    return _group_lines(heading, [*relative, *foreign], page)


def _common(names: Iterable[str]) -> str:
    """The folder that all lie in; "" where there is none worth a word."""
    folders = list(names)
    if len(folders) < 2 or len({name.startswith("/") for name in folders}) > 1:
        return ""
    common = os.path.commonpath(folders)
    return common if len(common) > 1 else ""


def _library_folder(name: str) -> str:
    """`/usr/include/c++/12/bits` is `/usr/include/c++`; the hash of a Rust release is left out."""
    return "/".join(_RUST_RELEASE.sub("/rustc/…/", name).split("/")[:5])


def _merged(named: Iterable[tuple[str, Group]]) -> list[Group]:
    merged: dict[str, Group] = {}
    for name, group in named:
        before = merged.get(name, Group(name, 0, 0))
        merged[name] = Group(name, before.functions + group.functions, before.code_bytes + group.code_bytes)
    return sorted(merged.values(), key=lambda group: -group.functions)


def _largest_lines(functions: Sequence[FunctionSymbol], page: Page) -> list[str]:
    sized = [function for function in functions if function.size]
    rows: list[tuple[str, ...]] = [(layout.size(f.size), _place(f), layout.shorten(f.name, _NAME_WIDTH)) for f in sized]
    headings: tuple[str, ...] = ("size", "", "largest functions")
    if not any(row[1] for row in rows):
        rows, headings = [(row[0], row[2]) for row in rows], ("size", "largest functions")
    return ["", *table(headings, rows, page.palette, frozenset((0,)))] if rows else []


def _place(function: FunctionSymbol) -> str:
    return layout.position(Path(function.source_file).name, function.line) if function.source_file else ""
