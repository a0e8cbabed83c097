"""What a binary is, at a glance: kind, build id, debug information, compilers, and where most of its functions are."""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strobe.cli.symbols_producers import compilers
from strobe.cli.symbols_subject import Subject
from strobe.model import FunctionSymbol
from strobe.symbols import unsafe_reason
from strobe.symbols.debug_files import CompleteImage
from strobe.symbols.image import Image, open_image
from strobe.symbols.names import SCOPE

_LARGEST = 5
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
_ELF_LINKED = (2, 3)  # ET_EXEC, ET_DYN
_ET_DYN = 3
_MACHO = b"\xcf\xfa\xed\xfe"
_MACHO_KINDS = {1: "object file", 2: "program", 6: "shared library", 8: "plugin", 10: "debug information (dSYM)"}


@dataclass(frozen=True)
class Group:
    name: str
    functions: int
    code_bytes: int


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
    functions = subject.functions
    with_source = [function for function in functions if function.source_file]
    in_folders = [(os.path.dirname(f.source_file or ""), f) for f in with_source]  # noqa: PTH120
    with contextlib.closing(CompleteImage(open_image(subject.path))) as image:
        kind, sections = _kind(image.program), image.program.sections()
        debug_bytes = image.section_size(".debug_info")
        others = [other.path for other in (image.debug, image.alternate) if other not in (None, image.program)]
    return Summary(
        kind=kind,
        debug_bytes=debug_bytes,
        debug_files=others,
        compilers=compilers(subject, sections),
        languages=_languages(with_source),
        with_source=len(with_source),
        untraceable=sum(unsafe_reason(function) is not None for function in functions),
        code_bytes=sum(function.size for function in functions),
        scopes=_grouped((_scope(name, f), f) for name, f in zip(subject.module.scoped_names, functions, strict=True)),
        folders=_grouped((folder, function) for folder, function in in_folders if folder),
        largest=sorted(functions, key=lambda function: -function.size)[:_LARGEST],
    )


def _kind(program: Image) -> str:
    """Format, machine and kind: "ELF x86-64 program"."""
    with Path(program.path).open("rb") as file:
        head = file.read(_HEADER_BYTES)
    sections = {section.name for section in program.sections()}
    if head[:4] != b"\x7fELF":
        number = struct.unpack_from("<I", head, 12)[0] if head[:4] == _MACHO else 0
        return f"Mach-O {program.machine} {_MACHO_KINDS.get(number, 'part of a universal file')}"
    if ".text" not in sections and ".debug_info" in sections:
        return f"ELF {program.machine} debug information, apart from its program"
    return f"ELF {program.machine} {_elf_kind(head, '.interp' in sections, Path(program.path).name)}"


def _elf_kind(head: bytes, has_interpreter: bool, name: str) -> str:
    """libc.so.6 can be run, too, and static programs that may lie anywhere are shared objects by their type."""
    number, entry = struct.unpack_from("<H6xQ", head, 16)
    if number not in _ELF_LINKED:
        return {1: "object file", 4: "core file"}.get(number, "file")
    if number == _ET_DYN and (".so" in name or not entry):
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
    module = subject.module
    return {
        "path": subject.path,
        "buildId": module.build_id,
        "linkBase": hex(module.link_base),
        "hasDebugInformation": module.has_debug_info,
        "hasSymbolTable": module.has_symtab,
        "warnings": module.warnings,
    }


def summary_json(subject: Subject, summary: Summary) -> dict[str, Any]:
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
