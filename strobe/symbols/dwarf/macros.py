"""Macros without parameters, of programs built with -g3: `.debug_macro` (DWARF 5, section 6.3; version 4 is GNU's)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

Content: TypeAlias = bytes | memoryview

_DEFINE, _UNDEFINE, _START, _END = 1, 2, 3, 4
_DEFINE_STRP, _UNDEFINE_STRP, _IMPORT = 5, 6, 7
_DEFINE_SUP, _UNDEFINE_SUP, _IMPORT_SUP = 8, 9, 10
_DEFINE_STRX, _UNDEFINE_STRX = 11, 12
_WIDE, _HAS_LINES, _HAS_OPERANDS = 1, 2, 4  # flags of a unit's head
_OBJECT = re.compile(r"([^\W\d]\w*)(?: (.*))?", re.S)  # with parameters a parenthesis stands right behind the name
_MOST_TEXT = 4096


class _Damaged(ValueError):
    pass


class _Reader:
    def __init__(self, content: Content) -> None:
        self._content = memoryview(content)
        self.offset = 0

    @property
    def is_at_end(self) -> bool:
        return self.offset >= len(self._content)

    def number(self, size: int) -> int:
        end = self.offset + size
        if end > len(self._content):
            raise _Damaged("the section ends within a number")
        found = int.from_bytes(self._content[self.offset : end], "little")
        self.offset = end
        return found

    def uleb(self) -> int:
        found = shift = 0
        while shift < 70:
            byte = self.number(1)
            found |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return found
        raise _Damaged("a number has more than 64 bits")

    def text(self) -> str:
        found = text_at(self._content, self.offset)
        self.offset += len(found.encode("utf-8", "surrogateescape")) + 1
        return found


def text_at(content: Content, offset: int) -> str:
    """The text at an offset of a section, up to its zero. Raises ValueError where there is none."""
    if not 0 <= offset < len(content):
        raise _Damaged("a text lies outside of its section")
    piece = bytes(content[offset : offset + _MOST_TEXT])
    end = piece.find(b"\0")
    if end < 0:
        raise _Damaged("a text does not end")
    return piece[:end].decode("utf-8", "surrogateescape")


def macros(content: Content, strings: Content, offsets: Content) -> Mapping[str, frozenset[str]]:
    """What each stands for, in all units of the file: several texts where it is not defined alike everywhere.

    `strings`: `.debug_str`; `offsets`: `.debug_str_offsets`, where it is of one unit. What follows after something that
    is damaged is left out.
    """
    found: dict[str, set[str]] = {}
    reader = _Reader(content)
    try:
        while not reader.is_at_end:
            _read_unit(reader, strings, offsets, found)
    except _Damaged:
        pass
    return {name: frozenset(texts) for name, texts in found.items()}


def _read_unit(reader: _Reader, strings: Content, offsets: Content, found: dict[str, set[str]]) -> None:
    version, flags = reader.number(2), reader.number(1)
    if version not in (4, 5) or flags & _HAS_OPERANDS:
        raise _Damaged("a unit of another form")
    width = 8 if flags & _WIDE else 4
    if flags & _HAS_LINES:
        reader.number(width)
    while opcode := reader.number(1):
        text = None
        if opcode > _UNDEFINE_STRX:
            raise _Damaged("an entry that is not known")
        if opcode not in (_END, _IMPORT, _IMPORT_SUP):
            reader.uleb()  # the line
        if opcode in (_DEFINE, _UNDEFINE):
            text = reader.text()
        elif opcode == _START:
            reader.uleb()
        elif opcode in (_DEFINE_STRP, _UNDEFINE_STRP):
            text = text_at(strings, reader.number(width))
        elif opcode in (_IMPORT, _IMPORT_SUP, _DEFINE_SUP, _UNDEFINE_SUP):
            reader.number(width)
        elif opcode in (_DEFINE_STRX, _UNDEFINE_STRX):
            text = _indexed(strings, offsets, reader.uleb(), width)
        if text is not None and opcode in (_DEFINE, _DEFINE_STRP, _DEFINE_STRX):
            _add(text, found)


def _indexed(strings: Content, offsets: Content, index: int, width: int) -> str | None:
    """None where the offsets are of several units: which of them is meant stands elsewhere."""
    size = int.from_bytes(bytes(offsets[:4]), "little")
    if width != 4 or size + 4 != len(offsets):
        return None
    offset = 8 + 4 * index
    return text_at(strings, int.from_bytes(bytes(offsets[offset : offset + 4]), "little"))


def _add(text: str, found: dict[str, set[str]]) -> None:
    parts = _OBJECT.fullmatch(text)
    if parts is not None:
        found.setdefault(parts[1], set()).add((parts[2] or "").strip())
