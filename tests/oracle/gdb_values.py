"""Runs inside of gdb: the program up to all_set(), then the values of variables at depths 1 to 5 as JSON."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import gdb

_MAX_ELEMENTS = 100
_MAX_CHARACTERS = 1024
_POINTERS = (gdb.TYPE_CODE_PTR,)
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_CHARACTERS = ("char", "wchar_t", "char8_t", "char16_t", "char32_t")
_PARTS = (("re", "real"), ("im", "imag"))
_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}


def told(value: Any, depth: int) -> Any:
    """Numbers as they are, floats as [bytes, text], pointers as "null", "<symbol>", "address" or their text."""
    type_ = value.type.strip_typedefs().unqualified()
    code = type_.code
    if code in _REFERENCES:
        return told(value.referenced_value(), depth)
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return fields_of(value, type_, depth)
    if code == gdb.TYPE_CODE_ARRAY:
        return array_of(value, type_, depth)
    if code in _POINTERS:
        return pointer(value, type_)
    if code == gdb.TYPE_CODE_FUNC:
        return symbol_at(int(value.address))
    if code == gdb.TYPE_CODE_METHODPTR:
        return "null" if word_of(value) == 0 else symbol_at(word_of(value))
    if code == gdb.TYPE_CODE_MEMBERPTR:
        return str(word_of(value))
    return number(value, type_)


def number(value: Any, type_: Any) -> Any:
    if type_.code == gdb.TYPE_CODE_FLT:
        return [type_.sizeof, str(float(value)) if type_.sizeof <= 8 else value.format_string()]
    if type_.code == gdb.TYPE_CODE_COMPLEX:
        gdb.set_convenience_variable("complex", value)
        return {part: told(gdb.parse_and_eval(f"$_c{name}($complex)"), 1) for part, name in _PARTS}
    if type_.sizeof <= 8:
        return str(int(value))
    return str(int.from_bytes(bytes_of(value), "little", signed="unsigned" not in str(type_)))


def bytes_of(value: Any) -> bytes:
    return bytes(gdb.selected_inferior().read_memory(int(value.address), value.type.sizeof))


def word_of(value: Any) -> int:
    return int.from_bytes(bytes_of(value)[:8], "little", signed=True)


def fields_of(value: Any, type_: Any, depth: int, seen: set[Any] | None = None) -> Any:
    if depth < 1:
        return "<struct>"
    seen = set() if seen is None else seen
    found: dict[str, Any] = {}
    for field in type_.fields():
        if not hasattr(field, "bitpos") or field.artificial or (field.name or "").startswith("_vptr"):
            continue  # static, or the compiler's
        is_spread = field.is_base_class or not field.name
        place = (str(field.type), int(value[field].address)) if field.is_base_class else None
        if place is not None and place in seen:
            continue  # a virtual base class, of which there is one
        seen.add(place)
        inner = field_of(value, field, depth if is_spread else depth - 1, seen)
        for name, content in (inner if is_spread else {field.name: inner}).items():
            while name in found:  # bases may have fields of one name
                name += "'"
            found[name] = content
    return found


def field_of(value: Any, field: Any, depth: int, seen: set[Any]) -> Any:
    if field.bitsize and (field.bitpos % 8 + field.bitsize) > 64:  # which gdb refuses to read
        word = int.from_bytes(bytes_of(value), "little") >> field.bitpos & (1 << field.bitsize) - 1
        is_negative = field.type.is_signed and word >> (field.bitsize - 1)
        return str(word - (1 << field.bitsize) if is_negative else word)
    if field.is_base_class:
        return fields_of(value[field], value[field].type.strip_typedefs(), depth, seen)
    return told(value[field], depth)


def array_of(value: Any, type_: Any, depth: int) -> Any:
    low, high = type_.range()
    element = type_.target().unqualified()
    if type_.sizeof == 0 and high >= low:  # a flexible one, of which gdb shows the place
        return text_at(value[0].address, element.sizeof) if is_character(element) else "<length not known>"
    if is_character(element):
        codes = [int(value[index]) & ((1 << 8 * element.sizeof) - 1) for index in range(low, high + 1)]
        return text_of(codes[: codes.index(0)] if 0 in codes else codes, element.sizeof)
    return [told(value[index], depth) for index in range(low, min(high + 1, _MAX_ELEMENTS))]


def is_character(type_: Any) -> bool:
    return type_.name in _CHARACTERS or type_.strip_typedefs().unqualified().name in _CHARACTERS


def text_of(codes: list[int], width: int) -> str:
    data = b"".join(code.to_bytes(width, "little") for code in codes[:_MAX_CHARACTERS])
    return data.decode(_ENCODINGS[width], "backslashreplace") + ("…" if len(codes) > _MAX_CHARACTERS else "")


def text_at(value: Any, width: int) -> str:
    codes: list[int] = []
    while len(codes) <= _MAX_CHARACTERS and (code := int(value[len(codes)]) & ((1 << 8 * width) - 1)):
        codes.append(code)
    return text_of(codes, width)


def pointer(value: Any, type_: Any) -> Any:
    if int(value) == 0:
        return "null"
    target = type_.target().unqualified()
    return text_at(value, target.sizeof) if is_character(target) else symbol_at(int(value))


def symbol_at(address: int) -> str:
    """`<gState+8>`, `<ns::function>`; "address" where nothing with a name lies."""
    symbol = gdb.execute(f"info symbol {address:#x}", to_string=True)
    if symbol.startswith("No symbol"):
        return "address"
    name = symbol.partition(" in section")[0].replace(" + ", "+").strip()
    return "<" + re.sub(r"\(.*\)( const)?", "", name.replace("(anonymous namespace)", "{unnamed}")) + ">"


gdb.execute("set confirm off")
gdb.execute("break all_set")
gdb.execute("run < /dev/null > /dev/null")
names = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
answer: dict[str, Any] = {}
for name in names:
    try:
        answer[name] = [told(gdb.parse_and_eval(name), depth) for depth in range(1, 6)]
    except gdb.error as error:
        answer[name] = f"gdb: {error}"
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps(answer))
gdb.execute("kill")
