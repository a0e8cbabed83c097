"""The ABI headers as cffi sees them, and their layout as a table that any C compiler can be asked for."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "csrc" / "abi"


def _generator() -> Any:
    spec = importlib.util.spec_from_file_location("strobe_abi_generate", FOLDER / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = _generator()


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of the layout: what it is called, how C says it, and what cffi takes it for."""

    name: str
    expression: str
    value: int


def source() -> str:
    """The headers as one C text."""
    return "".join(header.read_text() for header in generator.HEADERS)


def layout() -> list[Measure]:
    """Size of every struct; offset and size of every field."""
    ffi = generator.parsed()
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
