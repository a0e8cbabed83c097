"""Runs inside of gdb, with the printers that come with libstdc++: what is in variables of library types, as JSON.

Texts are text; all else that has a printer is {"count", "items"}, of maps each item is [key, value].
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import gdb

_MAX_ELEMENTS = 100


def told(value: Any) -> Any:
    printer = gdb.default_visualizer(value)
    type_ = value.type.strip_typedefs().unqualified()
    if printer is not None:
        return printed(printer)
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return told(value.referenced_value())
    if type_.code == gdb.TYPE_CODE_STRUCT:
        return {field.name: told(value[field]) for field in type_.fields() if not field.is_base_class}
    if type_.code == gdb.TYPE_CODE_ARRAY:  # of characters
        return "".join(chr(int(value[at])) for at in range(type_.range()[1] + 1)).partition("\0")[0]
    return float(value) if type_.code == gdb.TYPE_CODE_FLT else int(value)


def printed(printer: Any) -> Any:
    hint = printer.display_hint() if hasattr(printer, "display_hint") else None
    if hint == "string":
        return text_of(printer.to_string())
    children = [child for _, child in printer.children()]
    items = [told(child) if isinstance(child, gdb.Value) else int(child) for child in children[: 2 * _MAX_ELEMENTS]]
    if hint == "map":
        items = [list(pair) for pair in zip(items[::2], items[1::2], strict=True)]
    return {"count": len(children) // (2 if hint == "map" else 1), "items": items[:_MAX_ELEMENTS]}


def text_of(found: Any) -> str:
    if isinstance(found, str):
        return found
    value = found.value() if hasattr(found, "value") else found
    return value.string(length=found.length) if found.length >= 0 else value.string()


gdb.execute("set confirm off")
gdb.execute("set print elements 0")
gdb.execute("break all_set")
gdb.execute("run < /dev/null > /dev/null")
answer: dict[str, Any] = {}
for name in json.loads(Path(os.environ["STROBE_REQUEST"]).read_text()):
    try:
        answer[name] = told(gdb.parse_and_eval(name))
    except (gdb.error, ArithmeticError, ValueError, RuntimeError) as error:
        answer[name] = f"gdb: {error!r}"
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps(answer))
gdb.execute("kill")
