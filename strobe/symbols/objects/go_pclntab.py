"""Go's own table of functions, `.gopclntab`, which a stripped program keeps: its runtime needs it.

Four forms of 64-bit little-endian tables, by the number they begin with (Go's internal/abi/symtab.go, runtime/symtab.go
and runtime2.go; "Go 1.2 Runtime Symbol Information"). Every read is bounded; damage ends in ValueError or struct.error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_GO_1_2, _GO_1_16, _GO_1_18, _GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
MAGICS = (_GO_1_20, _GO_1_18, _GO_1_16, _GO_1_2)
_START = struct.Struct("<IHBB")  # magic, two zero bytes, least instruction size, pointer size
_WORD, _HALF, _SIGNED = struct.Struct("<Q"), struct.Struct("<I"), struct.Struct("<i")
_TABLES = struct.Struct("<QQQQQ")  # offsets of names, units, files, pc values, functions
# since Go 1.18 addresses are offsets of 4 bytes from the start of all code, absolute ones of 8 bytes before
_NEAR_ENTRY, _FAR_ENTRY = struct.Struct("<II"), struct.Struct("<QQ")
# behind the entry's address: name, arguments, deferreturn, pcsp, pcfile, pcln, npcdata, unit
_FUNCTION = struct.Struct("<iiIIIIII")
_START_LINE = struct.Struct("<i")
_NO_FILE = _NO_LINE = 0xFFFFFFFF
_TEXT_START = 8 + 2 * 8  # where a table of Go 1.18 or later has the start of all code; 0 since Go 1.26
_NOT_CODE = frozenset(
    {"go:buildid", "go.buildid", "go:textfipsstart", "go:textfipsend", "runtime.text", "runtime.etext"}
)


class GoFunction(NamedTuple):
    """`size` in bytes, up to the next function. `file` None: the compiler made it, or it is not known."""

    name: str
    address: int
    size: int
    file: str | None
    line: int | None


class PclnTable:
    """One table. `text_start`: what relative addresses count from; to be set where the table itself has 0."""

    def __init__(self, content: bytes) -> None:
        magic, zero, _, pointer_size = _START.unpack_from(content)
        if magic not in MAGICS or zero != 0 or pointer_size != 8:
            raise ValueError("it is not a table of 64-bit Go")
        self._content = content
        self._magic = magic
        self.text_start = 0
        self._paths: dict[int, str | None] = {}
        self._read_header()
        self._entry = _NEAR_ENTRY if self.is_relative else _FAR_ENTRY
        if self._count * self._entry.size > len(content) - self._functions:
            raise ValueError("it counts more functions than it has")

    @property
    def is_relative(self) -> bool:
        """Whether addresses are offsets from the start of all code."""
        return self._magic in (_GO_1_18, _GO_1_20)

    def span(self) -> tuple[int, int]:
        """Where the code of Go begins and ends."""
        size = self._entry.size // 2
        end = self._integer(self._functions + self._count * self._entry.size, size)
        start = self._integer(self._functions, size)
        return self.text_start + start, self.text_start + end

    def functions(self) -> Iterator[GoFunction]:
        """By address. Those without code of their own are left out."""
        first, size = self._functions, self._entry.size
        rows = list(self._entry.iter_unpack(self._content[first : first + self._count * size]))
        ends = [*(address for address, _ in rows[1:]), self.span()[1] - self.text_start]
        for (address, offset), end in zip(rows, ends, strict=True):
            if end < address:
                raise ValueError("its functions are not in order")
            function = self._function(offset, address, end - address) if end > address else None
            if function is not None:
                yield function

    def _read_header(self) -> None:
        (self._count,) = _WORD.unpack_from(self._content, 8)
        if self._magic == _GO_1_2:
            self._names = self._units = self._values = 0
            self._functions, self._offset_base = 16, 0
            (self._files,) = _HALF.unpack_from(self._content, 16 + self._count * _FAR_ENTRY.size + 8)
            return
        if self.is_relative:
            (self.text_start,) = _WORD.unpack_from(self._content, _TEXT_START)
        tables = _TABLES.unpack_from(self._content, _TEXT_START + (8 if self.is_relative else 0))
        self._names, self._units, self._files, self._values, self._functions = tables
        self._offset_base = self._functions
        if max(tables) > len(self._content):
            raise ValueError("it is truncated")

    def _function(self, offset: int, address: int, size: int) -> GoFunction | None:
        entry = self._offset_base + offset + (4 if self.is_relative else 8)
        name, _, _, _, file, line, _, unit = _FUNCTION.unpack_from(self._content, entry)
        text = self._text(self._names + name)
        if text in _NOT_CODE:
            return None
        path = self._path(file, unit)
        number = self._line(line, entry)
        known = path is not None and 0 < number < _NO_LINE
        return GoFunction(text, self.text_start + address, size, path if known else None, number if known else None)

    def _line(self, table: int, entry: int) -> int:
        if self._magic == _GO_1_20:
            (start,) = _START_LINE.unpack_from(self._content, entry + _FUNCTION.size)
            return int(start)
        return self._first_value(table)

    def _path(self, table: int, unit: int) -> str | None:
        number = self._first_value(table)
        if number < 0:
            return None
        entry = self._files + 4 * number if self._magic == _GO_1_2 else self._units + 4 * (unit + number)
        if entry not in self._paths:
            self._paths[entry] = self._path_at(self._integer(entry, 4))
        return self._paths[entry]

    def _path_at(self, offset: int) -> str | None:
        if offset == _NO_FILE:
            return None
        path = self._text(offset if self._magic == _GO_1_2 else self._files + offset)
        return None if path == "<autogenerated>" else path

    def _first_value(self, offset: int) -> int:
        """Of a table of values by address: the one at the function's first byte, as a difference to -1. 0: no table."""
        if offset == 0:
            return -1
        position, number, shift = self._values + offset, 0, 0
        while shift < 35:
            byte = self._content[position]
            number |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return -1 + (number >> 1 ^ -(number & 1))
            position, shift = position + 1, shift + 7
        raise ValueError("an unterminated number")

    def _integer(self, position: int, size: int) -> int:
        (number,) = (_WORD if size == 8 else _HALF).unpack_from(self._content, position)
        return int(number)

    def _text(self, position: int) -> str:
        end = self._content.find(b"\0", position) if 0 <= position < len(self._content) else -1
        if end < 0:
            raise ValueError("a name outside it")
        return self._content[position:end].decode("utf-8", "replace")
