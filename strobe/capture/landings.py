"""Functions of the program itself that are called where an exception was caught: of a C++ library that is linked into
it, and of Rust. That of a shared library the agent finds by its exported name (agent/observers.ts)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from strobe.dataclass import dataclass
from strobe.symbols.objects.elf_headers import ElfHeaders, reader_of

_OF_CXX = b"\0__cxa_begin_catch\0"
# Rust's std::panicking::catch_unwind::cleanup, which was std::panicking::try::cleanup, in both of its manglings
_OF_RUST = re.compile(
    rb"_RNv\w*3std9panicking(?:12catch_unwind|3try)7cleanup"
    rb"|_ZN3std9panicking(?:12catch_unwind|3try)7cleanup17h[0-9a-f]{16}E"
)
_IN_RUST = b"7cleanup"
_SYMBOL_BYTES = 24  # Elf64_Sym: name, info, other, section, value, size
_SYMBOL = struct.Struct("<IBBHQQ")
_FUNCTION, _UNDEFINED = 2, 0
_MOST_BYTES = 1 << 28  # of one table: a larger one is not looked through


@dataclass(frozen=True, slots=True)
class Landing:
    """A function that is called once an exception was caught, by the function that goes on. `offset`: from where the
    program begins in memory; `size`: in bytes."""

    offset: int
    size: int


def landings(pid: int) -> list[Landing]:
    """Of the program itself, by its symbols; none where it has none, or they cannot be read."""
    try:
        with Path(f"/proc/{pid}/exe").open("rb") as file:
            headers = ElfHeaders(reader_of(file))
            tables = {section.name: section for section in headers.sections}
            if ".symtab" not in tables or ".strtab" not in tables:
                return []
            names, symbols = (
                headers.read(tables[name].offset, min(tables[name].size, _MOST_BYTES), name)
                for name in (".strtab", ".symtab")
            )
            base = headers.link_base
    except (OSError, ValueError, struct.error):
        return []
    found = (one for name in _starts(names) for one in _symbols(symbols, name))
    return [Landing(value - base, size) for value, size in dict.fromkeys(found) if value >= base]


def _starts(names: bytes) -> Iterator[int]:
    """Where the names of such functions begin. Found as plain bytes: an expression takes ten times as long."""
    for at in _occurrences(names, _OF_CXX):
        yield at + 1
    for at in _occurrences(names, _IN_RUST):
        start, end = names.rfind(b"\0", 0, at) + 1, names.find(b"\0", at)
        if _OF_RUST.fullmatch(names, start, end):
            yield start


def _occurrences(content: bytes, wanted: bytes) -> Iterator[int]:
    at = content.find(wanted)
    while at >= 0:
        yield at
        at = content.find(wanted, at + 1)


def _symbols(symbols: bytes, name: int) -> Iterator[tuple[int, int]]:
    """Address and size of functions whose name begins there in the table of names."""
    wanted = struct.pack("<I", name)
    for at in _occurrences(symbols, wanted):
        if at % _SYMBOL_BYTES == 0 and at + _SYMBOL_BYTES <= len(symbols):
            _, info, _, section, value, size = _SYMBOL.unpack_from(symbols, at)
            if info & 15 == _FUNCTION and section != _UNDEFINED:
                yield value, size
