"""The ABI header as cffi sees it, and its layout as a table that any C compiler can be asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import cffi

HEADER = Path(__file__).parents[2] / "csrc" / "abi" / "strobe_abi.h"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of the layout: what it is called, how C says it, and what cffi takes it for."""

    name: str
    expression: str
    value: int


def declarations() -> str:
    """The header for cffi.cdef: no comments, no assertions, and of the preprocessor's lines only plain numbers."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text().replace("\\\n", ""), flags=re.DOTALL)
    text = re.sub(r"^STROBE_STATIC_ASSERT\(.*?\);$", "", text, flags=re.DOTALL | re.MULTILINE)
    number = re.compile(r"#define (\w+)\s+(0x[0-9a-f]+|\d+)(?:u|ull)?\s*$")
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            lines.append(line)
        elif match := number.match(line):
            lines.append(f"#define {match[1]} {match[2]}")
    return "\n".join(lines)


def read_header() -> cffi.FFI:
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    return ffi


def layout() -> list[Measure]:
    """Size of every struct; offset and size of every field."""
    ffi = read_header()
    measures = []
    for name in sorted(ffi.list_types()[1]):
        kind = ffi.typeof(f"struct {name}")
        measures.append(Measure(f"sizeof {name}", f"sizeof(struct {name})", ffi.sizeof(kind)))
        for field, description in kind.fields:
            place = f"{name}.{field}"
            offset, size = f"offsetof(struct {name}, {field})", f"sizeof(((struct {name} *)0)->{field})"
            measures.append(Measure(f"offset {place}", offset, description.offset))
            measures.append(Measure(f"size {place}", size, ffi.sizeof(description.type)))
    return measures


def expected() -> dict[str, int]:
    return {measure.name: measure.value for measure in layout()}


def table_source() -> str:
    """C (and C++) that defines `layout_table` and `layout_count`, the measures in the order of layout()."""
    entries = ",\n".join(f"    (uint64_t){measure.expression}" for measure in layout())
    return f"""
extern const uint64_t layout_table[];
extern const uint32_t layout_count;
const uint64_t layout_table[] = {{
{entries}
}};
const uint32_t layout_count = sizeof layout_table / sizeof layout_table[0];
"""


def named(values: list[int]) -> dict[str, int]:
    """What a compiler says, by name as in expected()."""
    return dict(zip((measure.name for measure in layout()), values, strict=True))
