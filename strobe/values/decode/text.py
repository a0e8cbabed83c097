"""Values as a person would write them, and as JSON has them."""

from __future__ import annotations

from typing import Any

from strobe.model import Enumerator, Text
from strobe.timeline.decode.captured import ESCAPES
from strobe.values.model import (
    Bits,
    Char,
    Mapping,
    Pairs,
    PointerTo,
    Problem,
    Quantity,
    Record,
    Rows,
    Shown,
    Tuple,
    Variant,
)


def shown(value: Shown) -> str:
    """On one line: `{left = 1, name = "abc", next = 0x55…10 <gNode>}`."""
    match value:
        case bool():
            return "true" if value else "false"
        case Char():
            return _character(value)
        case Enumerator():
            return value.shown
        case Text():
            return f'"{"".join(map(_escaped, value))}"'
        case PointerTo():
            target = "" if value.to is None else f" -> {shown(value.to)}"
            return f"{_pointer(value)}{target}"
        case Variant():
            content = value._content
            return f"{value._variant}{_elements(content) if isinstance(content, Tuple) else f' {shown(content)}'}"
        case Record():
            return "{" + ", ".join(f"{name} = {shown(field)}" for name, field in value.written()) + "}"
        case Tuple():
            return (
                value.struct_name + _elements(value)
                if value.struct_name or len(value) != 1
                else f"({shown(value[0])},)"
            )
        case Mapping() | Pairs():
            return _entries(value)
        case dict():
            return "{" + ", ".join(f"{name} = {shown(field)}" for name, field in value.items()) + "}"
        case list():
            is_cut = isinstance(value, Rows) and value.total > len(value)
            has_reason = bool(value) and isinstance(value[-1], Problem)  # why there are no more
            more = f", … {value.total} in all" if isinstance(value, Rows) and is_cut and not has_reason else ""
            return "[" + ", ".join(map(shown, value)) + more + "]"
    return str(value)


def lines(value: Shown, indent: str = "") -> list[str]:
    """On several lines, one for each field, where it is a structure; else on one."""
    if isinstance(value, Variant):
        return _lines_of_variant(value, indent)
    inner = value.to if isinstance(value, PointerTo) else value
    if not isinstance(inner, Record) or not list(inner):
        return [shown(value)]
    found = [f"{_pointer(value)} -> {{" if isinstance(value, PointerTo) else "{"]
    for name, field in inner.written():
        first, *rest = lines(field, indent)
        found += [f"  {name} = {first}", *(f"  {line}" for line in rest)]
    return [*found, "}"]


def _lines_of_variant(value: Variant, indent: str) -> list[str]:
    content, is_tuple = value._content, isinstance(value._content, Tuple)
    if is_tuple and len(content) != 1:
        return [shown(value)]
    first, *rest = lines(content[0] if is_tuple else content, indent)
    found = [f"{value._variant}({first}" if is_tuple else f"{value._variant} {first}", *rest]
    return [*found[:-1], found[-1] + ")"] if is_tuple else found


def _escaped(letter: str) -> str:
    """As C has it in a text; other letters that cannot be seen by their numbers."""
    if letter == '"':
        return '\\"'
    if letter == "'" or letter.isprintable():
        return "\\\\" if letter == "\\" else letter
    code = ord(letter)
    width, mark = (2, "x") if code < 0x100 else (4, "u") if code < 0x10000 else (8, "U")
    return ESCAPES.get(code) or f"\\{mark}{code:0{width}x}"


def _entries(value: Mapping | Pairs) -> str:
    every = list(value.items()) if isinstance(value, Mapping) else value
    parts = [f"{shown(key)}: {shown(content)}" for key, content in every]
    more = f"… {value.total} in all" if value.total > len(every) and value.trouble is None else ""
    return "{" + ", ".join(filter(None, (*parts, more, value.trouble))) + "}"


def _elements(values: Tuple) -> str:
    return f"({', '.join(map(shown, values))})"


def plain(value: Shown) -> Any:
    """As JSON has it. A pointer that was followed is {"pointer", "to"}, an array that was cut {"count", "elements"}.
    Characters of the program stay Text, so that "0x10" is distinguished from an address."""
    match value:
        case Char():
            return _character(value)
        case Enumerator():
            return value.shown
        case PointerTo():
            return _pointer(value) if value.to is None else {"pointer": _pointer(value), "to": plain(value.to)}
        case Record():
            return {name: plain(field) for name, field in value.written()}
        case Tuple() if len(value) == 1:
            return plain(value[0])
        case Tuple():
            return [plain(element) for element in value]
        case Mapping() | Pairs():
            return _plain_entries(value)
        case dict():
            return {name: plain(field) for name, field in value.items()}
        case list():
            elements = [plain(element) for element in value]
            is_cut = isinstance(value, Rows) and value.total > len(value)
            return {"count": value.total, "elements": elements} if is_cut and isinstance(value, Rows) else elements
        case Text():
            return value
        case Problem() | Quantity() | Bits():
            return str(value)
        case tuple():
            return [plain(element) for element in value]
    return value


def elements(value: Any) -> Any:
    """Of an array or a map, as JSON has them, without their count."""
    found = plain(value)
    return found["elements"] if isinstance(found, dict) and value.total > len(value) else found


def _plain_entries(value: Mapping | Pairs) -> Any:
    """An object where the keys are text or numbers, else [key, value] of each."""
    every = list(value.items()) if isinstance(value, Mapping) else value
    keys = {_key(key): plain(content) for key, content in every if _key(key) is not None}
    is_object = len(keys) == len(every)
    entries: Any = keys if is_object else [[plain(key), plain(content)] for key, content in every]
    if value.trouble is not None:
        return {"count": value.total, "elements": entries, "error": str(value.trouble)}
    return {"count": value.total, "elements": entries} if value.total > len(every) else entries


def _key(key: Any) -> str | None:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (Char, Enumerator)):
        return str(plain(key))
    return str(key) if isinstance(key, (str, int, float)) else None


def _pointer(value: PointerTo) -> str:
    return f"{value.address:#x}" + (f" <{value.symbol}>" if value.symbol else "")


def _character(value: Char) -> str:
    code = value.code
    if code in ESCAPES:
        return f"'{ESCAPES[code]}'"
    return f"'{value}'" if value.isprintable() and code != 0xFFFD and not 0x7F <= code < 0xA0 else f"'\\x{code:02x}'"
