"""Runs inside of gdb: the program up to all_set(), then the values of variables as JSON (see gdb_oracle.ask)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import gdb

_MAX_ELEMENTS = 100
_POINTERS = (gdb.TYPE_CODE_PTR,)
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_CHARACTERS = ("char", "wchar_t", "char8_t", "char16_t", "char32_t")


def told(value: Any) -> Any:
    """Numbers as they are, floats as [bytes, text], pointers as "null", "<symbol>" or "address"."""
    type_ = value.type.strip_typedefs().unqualified()
    code = type_.code
    if code in _REFERENCES:
        return told(value.referenced_value())
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return fields_of(value, type_)
    if code == gdb.TYPE_CODE_ARRAY:
        return array_of(value, type_)
    if code in _POINTERS:
        return pointer(value, type_)
    if code == gdb.TYPE_CODE_FLT:
        return [type_.sizeof, str(float(value))]
    if code == gdb.TYPE_CODE_COMPLEX:
        return str(value)
    return str(int(value))


def fields_of(value: Any, type_: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in type_.fields():
        if not hasattr(field, "bitpos") or field.artificial or (field.name or "").startswith("_vptr"):
            continue  # static, or the compiler's
        inner = told(value[field])
        found.update(inner if field.is_base_class or not field.name else {field.name: inner})
    return found


def array_of(value: Any, type_: Any) -> Any:
    low, high = type_.range()
    element = type_.target().unqualified()
    if element.name in _CHARACTERS or element.strip_typedefs().name in _CHARACTERS:
        codes = [int(value[index]) & ((1 << 8 * element.sizeof) - 1) for index in range(low, high + 1)]
        return text_of(codes[: codes.index(0)] if 0 in codes else codes, element.sizeof)
    return [told(value[index]) for index in range(low, min(high + 1, _MAX_ELEMENTS))]


def text_of(codes: list[int], width: int) -> str:
    data = b"".join(code.to_bytes(width, "little") for code in codes)
    return data.decode({1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}[width])


def pointer(value: Any, type_: Any) -> Any:
    if int(value) == 0:
        return "null"
    target = type_.target().strip_typedefs().unqualified()
    if target.name == "char":
        return value.string()
    symbol = gdb.execute(f"info symbol {int(value):#x}", to_string=True)
    if symbol.startswith("No symbol"):
        return "address"
    return "<" + symbol.partition(" in section")[0].replace(" + ", "+").strip() + ">"


gdb.execute("set confirm off")
gdb.execute("break all_set")
gdb.execute("run < /dev/null > /dev/null")
names = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
answer = {}
for name in names:
    try:
        answer[name] = told(gdb.parse_and_eval(name))
    except gdb.error as error:
        answer[name] = f"gdb: {error}"
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps(answer))
gdb.execute("kill")
