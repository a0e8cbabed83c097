"""Abbreviation tables for pyelftools, found by a regular expression and decoded one entry at a time.

pyelftools decodes a unit's whole table for its first DIE, 10 ms for the usual 240 entries, where a type needs ten.
"""

from __future__ import annotations

import re
from typing import IO, Any, NamedTuple

from elftools.construct.lib.container import Container
from elftools.dwarf.abbrevtable import AbbrevDecl, AbbrevTable
from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG

_LEB = rb"[\x80-\xff]*[\x00-\x7f]"
# DWARF 5, section 7.5.3: code, tag, children, then pairs of attribute and form up to a pair of zeros. The form
# DW_FORM_implicit_const (0x21) has a number behind it. What a lookahead has found is not tried again shorter, for which
# damaged tables would take long; possessive quantifiers say the same, but match wrongly before Python 3.11.5.
_ENTRY = re.compile(
    rb"(?P<code>%(leb)s)(?P<tag>%(leb)s)(?P<children>[\x00\x01])"
    rb"(?=(?P<pairs>(?:(?!\x00\x00)%(leb)s(?:\x21%(leb)s|%(leb)s))*))(?P=pairs)\x00\x00" % {b"leb": _LEB}
)
_TOKEN = re.compile(_LEB)
_IMPLICIT_CONST = 0x21
_FIRST_BYTES = 1 << 15


class AttributeSpec(NamedTuple):
    """As pyelftools wants it; names it does not know stay numbers."""

    name: str | int
    form: str | int
    value: int | None


class LazyAbbreviations(AbbrevTable):
    """One table of .debug_abbrev."""

    __slots__ = ("_content", "_offsets")

    def __init__(self, stream: IO[bytes], offset: int) -> None:
        self.stream = stream
        self.offset = offset
        self._content, self._offsets = _entries(stream, offset)
        self._abbrev_map: dict[int, AbbrevDecl] = {}

    def get_abbrev(self, code: int) -> AbbrevDecl:
        """KeyError where there is none."""
        if code not in self._abbrev_map:
            entry = _ENTRY.match(self._content, self._offsets[code])
            assert entry is not None  # as _entries has seen it
            self._abbrev_map[code] = _declaration(code, entry)
        return self._abbrev_map[code]


def _entries(stream: IO[bytes], offset: int) -> tuple[bytes, dict[int, int]]:
    """The table, and where in it the entries are, by code. ValueError where it has no end."""
    size = _FIRST_BYTES
    while True:
        stream.seek(offset)
        content = stream.read(size)
        found: dict[int, int] = {}
        position = 0
        while (entry := _ENTRY.match(content, position)) is not None and entry["code"] != b"\0":
            found[_uleb(entry["code"])] = position
            position = entry.end()
        if content[position : position + 1] == b"\0":
            return content[:position], found
        if len(content) < size:
            raise ValueError("an unterminated abbreviation table")
        size *= 4


def _declaration(code: int, entry: re.Match[bytes]) -> AbbrevDecl:
    specs = []
    tokens = iter(_TOKEN.findall(entry["pairs"]))
    for name in tokens:
        form = _uleb(next(tokens))
        value = _sleb(next(tokens)) if form == _IMPLICIT_CONST else None
        specs.append(AttributeSpec(_named(_ATTRIBUTES, _uleb(name)), _named(_FORMS, form), value))
    has_children = "DW_CHILDREN_yes" if entry["children"] == b"\1" else "DW_CHILDREN_no"
    tag = _named(_TAGS, _uleb(entry["tag"]))
    return AbbrevDecl(code, Container(tag=tag, children_flag=has_children, attr_spec=specs))


def _by_number(names: dict[str, Any]) -> dict[int, str]:
    """Of several names of one number pyelftools takes the last."""
    return {number: name for name, number in names.items() if isinstance(number, int)}


_TAGS, _ATTRIBUTES, _FORMS = (_by_number(names) for names in (ENUM_DW_TAG, ENUM_DW_AT, ENUM_DW_FORM))


def _named(names: dict[int, str], number: int) -> str | int:
    return names.get(number, number)


def _uleb(token: bytes) -> int:
    value = 0
    for shift, byte in enumerate(token):
        value |= (byte & 127) << 7 * shift
    return value


def _sleb(token: bytes) -> int:
    value, bits = _uleb(token), 7 * len(token)
    return value - (1 << bits) if value >> (bits - 1) else value
