"""What `strobe symbols FILE` says of a whole module: as facts, for JSON, and as text."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from strobe.cli.output.tables import table
from strobe.cli.symbols import page as layout
from strobe.cli.symbols.page import Page
from strobe.cli.symbols.producers import compilers
from strobe.cli.symbols.subject import ADVICE, Subject
from strobe.dataclass import dataclass, replace
from strobe.model import FunctionSymbol
from strobe.report import wording
from strobe.symbols import unsafe_reason
from strobe.symbols.names import SCOPE
from strobe.symbols.objects.debug_files import CompleteImage
from strobe.symbols.objects.elf_headers import ET_CORE, ET_DYN, ET_EXEC, ET_REL, MAGIC, ElfHeaders, reader_of
from strobe.symbols.objects.formats import open_image
from strobe.symbols.objects.image import Image

_LARGEST = 5
_COUNTS = "counts-1"  # to be raised with every change of what is counted, or of how
_LANGUAGES = {
    ".c": "C",
    ".cc": "C++",
    ".cpp": "C++",
    ".cxx": "C++",
    ".c++": "C++",
    ".C": "C++",
    ".h": "C or C++",
    ".hh": "C++",
    ".hpp": "C++",
    ".hxx": "C++",
    ".tcc": "C++",
    ".inl": "C++",
    "": "C++",  # <vector>
    ".rs": "Rust",
    ".go": "Go",
    ".s": "assembly",
    ".S": "assembly",
    ".m": "Objective-C",
    ".mm": "Objective-C++",
    ".swift": "Swift",
    ".zig": "Zig",
    ".f90": "Fortran",
    ".d": "D",
}
_GO_PACKAGE = re.compile(r"((?:[^/(\[]+/)*[^./(\[]+)\.")
_HEADER_BYTES = 32
_MACHO = b"\xcf\xfa\xed\xfe"
_MACHO_KINDS = {1: "object file", 2: "program", 6: "shared library", 8: "plugin", 10: "debug information (dSYM)"}


@dataclass(frozen=True)
class Group:
    """Functions of one namespace, class or package: how many, and the size of their code."""

    name: str
    functions: int
    code_bytes: int


@dataclass(frozen=True)
class Counts:
    """What takes a look at each function. The lists are sorted, most first."""

    languages: list[str]
    with_source: int
    untraceable: int
    code_bytes: int
    scopes: list[Group]
    folders: list[Group]
    largest: list[FunctionSymbol]


@dataclass(frozen=True)
class Summary:
    """`debug_bytes` of .debug_info, uncompressed; `debug_files`: where it is, none: in the file itself.

    The lists are sorted, most first.
    """

    kind: str
    debug_bytes: int
    debug_files: list[str]
    compilers: list[str]
    languages: list[str]
    with_source: int
    untraceable: int
    code_bytes: int
    scopes: list[Group]
    folders: list[Group]
    largest: list[FunctionSymbol]


def summarize(subject: Subject) -> Summary:
    """Reads the whole binary once. Errors as ElfResolver.module."""
    with contextlib.closing(CompleteImage(open_image(subject.path))) as image:
        kind, sections = _kind(image.program), image.program.sections()
        debug_bytes = image.section_size(".debug_info")
        others = [other.path for other in (image.debug, image.alternate) if other not in (None, image.program)]
    counts = _kept_counts(subject)
    return Summary(
        kind=kind,
        debug_bytes=debug_bytes,
        debug_files=others,
        compilers=compilers(subject, sections),
        languages=counts.languages,
        with_source=counts.with_source,
        untraceable=counts.untraceable,
        code_bytes=counts.code_bytes,
        scopes=counts.scopes,
        folders=counts.folders,
        largest=counts.largest,
    )


def _kept_counts(subject: Subject) -> Counts:
    """They take half a second for 100,000 functions, so they are kept where the functions are."""
    kept = json.loads(subject.resolver.derived(subject.path, _COUNTS, lambda: _count(subject)))
    lists = {name: [Group(*group) for group in kept[name]] for name in ("scopes", "folders")}
    largest = [
        FunctionSymbol(name, raw_name, subject.path, address, size, file, line, exported=exported, is_go=is_go)
        for name, raw_name, address, size, file, line, exported, is_go in kept["largest"]
    ]
    return Counts(**{**kept, **lists, "largest": largest})


def _count(subject: Subject) -> bytes:
    functions = subject.functions
    with_source = [function for function in functions if function.source_file]
    in_folders = [(os.path.dirname(f.source_file or ""), f) for f in with_source]  # noqa: PTH120
    counts = Counts(
        languages=_languages(with_source),
        with_source=len(with_source),
        untraceable=sum(unsafe_reason(function) is not None for function in functions),
        code_bytes=sum(function.size for function in functions),
        scopes=_grouped((_scope(name, f), f) for name, f in zip(subject.module.scoped_names, functions, strict=True)),
        folders=_grouped((folder, function) for folder, function in in_folders if folder),
        largest=sorted(functions, key=lambda function: -function.size)[:_LARGEST],
    )
    lists = {
        name: [(group.name, group.functions, group.code_bytes) for group in found]
        for name, found in (("scopes", counts.scopes), ("folders", counts.folders))
    }
    largest = [
        (f.name, f.raw_name, f.address, f.size, f.source_file, f.line, f.exported, f.is_go) for f in counts.largest
    ]
    return json.dumps(vars(counts) | lists | {"largest": largest}).encode()


def _kind(program: Image) -> str:
    """Format, machine and kind: "ELF x86-64 program"."""
    with Path(program.path).open("rb") as file:
        head = file.read(_HEADER_BYTES)
        headers = ElfHeaders(reader_of(file)) if head.startswith(MAGIC) else None
    sections = {section.name for section in program.sections()}
    if headers is None:
        number = struct.unpack_from("<I", head, 12)[0] if head[:4] == _MACHO else 0
        return f"Mach-O {program.machine} {_MACHO_KINDS.get(number, 'part of a universal file')}"
    if ".text" not in sections and ".debug_info" in sections:
        return f"ELF {program.machine} debug information, apart from its program"
    return f"ELF {program.machine} {_elf_kind(headers, '.interp' in sections, Path(program.path).name)}"


def _elf_kind(headers: ElfHeaders, has_interpreter: bool, name: str) -> str:
    """libc.so.6 can be run, too, and static programs that may lie anywhere are shared objects by their type."""
    if headers.file_type not in (ET_EXEC, ET_DYN):
        return {ET_REL: "object file", ET_CORE: "core file"}.get(headers.file_type, "file")
    if headers.file_type == ET_DYN and (".so" in name or not headers.entry):
        return "shared library"
    return "program" if has_interpreter else "program, statically linked: cannot be traced"


def _scope(scoped_name: str, function: FunctionSymbol) -> str:
    """The outermost namespace, class or crate, or the package of Go; "" for what stands in none."""
    scope, separator, _ = scoped_name.partition(SCOPE)
    if separator:
        return re.sub(r"<.*", "<*>", scope)  # as a pattern has it
    found = _GO_PACKAGE.match(scope) if (function.source_file or "").endswith(".go") else None
    return found[1] if found else ""


def _grouped(named: Iterable[tuple[str, FunctionSymbol]]) -> list[Group]:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for name, function in named:
        counts[name] += 1
        sizes[name] += function.size
    return [Group(name, count, sizes[name]) for name, count in counts.most_common()]


def _languages(functions: Iterable[FunctionSymbol]) -> list[str]:
    """By the endings of source files, most functions first; a header says nothing where another file does."""
    files = (function.source_file or "" for function in functions)
    endings = Counter(os.path.splitext(file)[1] for file in files if not file.startswith("<"))  # noqa: PTH122
    counts: Counter[str] = Counter()
    for ending, count in endings.items():
        if ending in _LANGUAGES:
            counts[_LANGUAGES[ending]] += count
    if len(counts) > 1:
        del counts["C or C++"]
    return [name for name, _ in counts.most_common()]


def binary_json(subject: Subject) -> dict[str, Any]:
    """What identifies the binary, and what was found of its symbols."""
    module = subject.module
    return {
        "path": subject.path,
        "buildId": module.build_id,
        "linkBase": hex(module.link_base),
        "hasDebugInformation": module.has_debug_info,
        "hasSymbolTable": module.has_symtab,
        "warnings": [*module.warnings, *module.missing_parts],
    }


def summary_json(subject: Subject, summary: Summary) -> dict[str, Any]:
    """The summary; sizes in bytes."""
    module = subject.module
    return {
        "kind": summary.kind,
        "debugBytes": summary.debug_bytes,
        "debugFiles": summary.debug_files,
        "compilers": summary.compilers,
        "languages": summary.languages,
        "functionCount": len(subject.functions),
        "functionsWithSource": summary.with_source,
        "functionsNeverTraced": summary.untraceable,
        "functionsInlinedEverywhere": len(module.inlined_only),
        "inlinedSites": sum(module.inlined_sites.values()),
        "codeBytes": summary.code_bytes,
        "scopes": [_group_json(group) for group in summary.scopes],
        "folders": [_group_json(group) for group in summary.folders],
        "largest": [
            {"name": f.name, "size": f.size, "address": hex(f.address), "file": f.source_file, "line": f.line}
            for f in summary.largest
        ],
    }


def _group_json(group: Group) -> dict[str, Any]:
    return {"name": group.name, "functions": group.functions, "codeBytes": group.code_bytes}


_GROUPS = 8
_SYSTEM = ("/usr/include/", "/usr/lib/", "/rustc/", "/rust/", "/usr/local/go/")
_RUST_RELEASE = re.compile(r"/rustc/[0-9a-f]{40}/")
_NAME_WIDTH = 80


def summary_lines(subject: Subject, summary: Summary, page: Page) -> list[str]:
    """The summary as text, as `strobe symbols BINARY` prints it."""
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
    rows: list[tuple[str, ...]] = [
        (layout.size(f.size), _source(f), layout.shorten(f.name, _NAME_WIDTH)) for f in sized
    ]
    headings: tuple[str, ...] = ("size", "", "largest functions")
    if not any(row[1] for row in rows):
        rows, headings = [(row[0], row[2]) for row in rows], ("size", "largest functions")
    return ["", *table(headings, rows, page.palette, frozenset((0,)))] if rows else []


def _source(function: FunctionSymbol) -> str:
    return layout.position(Path(function.source_file).name, function.line) if function.source_file else ""
