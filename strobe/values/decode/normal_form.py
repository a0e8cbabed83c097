"""What was recorded, or read, in the form in which expressions take it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from strobe.expressions.normal import (
    Character,
    CutText,
    Elements,
    Entries,
    Fields,
    NamedNumber,
    Normal,
    NoValue,
    Pointer,
    Undecided,
)
from strobe.model import ByteCharacter, Enumerator, Text
from strobe.timeline.decode import captured
from strobe.values.decode import text
from strobe.values.model import Char, Mapping, Pairs, PointerTo, Problem, Quantity, Record, Rows, Tuple

_ELLIPSIS = "…"
_ESCAPES = {text: code for code, text in captured.ESCAPES.items()}
_NO_VALUES = ("nullopt", "None")
_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan"), "-nan": float("nan")}
_ENUMERATOR = re.compile(r"([^\W\d][\w|:]*)\((-?\d+)\)\Z")


def normal(raw: Any) -> Normal:
    """Of a recorded value; its members and elements stay as they are. Raises Undecided where there is none."""
    match raw:
        case None:
            raise Undecided("it was not recorded")
        case Problem():
            raise Undecided(str(raw))
        case Char():
            return Character(chr(raw.code) if 0 <= raw.code < 0x110000 else str(raw), is_byte=raw.is_byte)
        case Enumerator():
            return raw
        case Text():
            return CutText(raw[:-1]) if raw.endswith(_ELLIPSIS) else str(raw)
        case Quantity():
            return normal(raw.number)
        case str():
            return _word(raw)
        case int() | float():
            return raw
        case PointerTo():
            return Pointer(raw.address, raw.symbol, raw.to)
        case Record():
            return Fields(dict(iter(raw)))
    return _collection(raw)


def plain(raw: Any) -> Normal:
    """Of a value of a sample, which is as JSON has it: texts, and words about values, are the same there."""
    if isinstance(raw, str):
        named = _ENUMERATOR.match(raw)
        return Enumerator(named[1], int(named[2])) if named else _word(raw) if raw.startswith("0x") else raw
    return normal(raw)


def _collection(raw: Any) -> Normal:
    match raw:
        case Mapping():
            return Entries(list(raw.items()), raw.total)
        case Pairs():
            return Entries(list(raw), raw.total)
        case Rows():
            return Elements([item for item in raw if not _is_problem(item)], raw.total)
        case Tuple() | list() | tuple():
            return Elements(raw, len(raw))
        case dict():
            return Fields(raw)
    raise Undecided(f"a value of an unknown kind: {type(raw).__name__}")


def _is_problem(item: Any) -> bool:
    """Why there are no more elements, at their end."""
    return isinstance(item, Problem)


def _word(raw: str) -> Normal:
    """A word about a value: an address, a character, the name of a function, or of a variant without content."""
    if raw.startswith("0x"):
        try:
            return Pointer(int(raw, 16))
        except ValueError:
            return raw
    if raw.startswith("&"):
        return Pointer(None, raw[1:])
    if len(raw) >= 3 and raw[0] == raw[-1] == "'":
        return _character(raw[1:-1], isinstance(raw, ByteCharacter))
    if raw in _NO_VALUES:
        return NoValue(raw)
    return _FLOATS.get(raw, raw)


def _character(shown: str, is_byte: bool) -> Normal:
    if len(shown) == 1:
        return Character(shown, is_byte=is_byte)
    if shown in _ESCAPES:
        return Character(chr(_ESCAPES[shown]))
    if shown.startswith("\\x"):
        return Character(chr(int(shown[2:], 16)), is_byte=is_byte)
    return shown


def as_json(value: Normal, raw: Callable[[Any], Any]) -> Any:
    """As answers have it. `raw`: what was recorded of a member, an element, or what a pointer leads to; may raise
    Undecided."""
    match value:
        case NoValue():
            return value.shown
        case Enumerator():
            return value.shown
        case Character():
            return text.shown(Char(value.code))
        case CutText():
            return value + _ELLIPSIS
        case NamedNumber():
            return int(value)
        case Pointer():
            return _pointer(value, raw)
        case Fields():
            return {name: _plain(raw(member)) for name, member in value.members.items()}
        case Elements():
            elements = [_plain(raw(item)) for item in value.items]
            return {"count": value.total, "elements": elements} if value.total > len(elements) else elements
        case Entries():
            return _plain(Mapping([(str(_plain(raw(key))), raw(content)) for key, content in value.items], value.total))
    return captured.plain(value)


def _pointer(value: Pointer, raw: Callable[[Any], Any]) -> Any:
    shown = f"&{value.name}" if value.address is None else f"{value.address:#x}"
    shown += f" <{value.name}>" if value.name and value.address is not None else ""
    if value.to is None:
        return shown
    try:
        return {"pointer": shown, "to": _plain(raw(value.to))}
    except Undecided:
        return shown


def _plain(value: Any) -> Any:
    return captured.plain(text.plain(value))
