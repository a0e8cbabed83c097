"""What types take: classes that stand for one value, pointers that may be assigned, and what to say of others."""

from __future__ import annotations

from typing import Any

from strobe.symbols.types.fields import field_names
from strobe.symbols.types.model import Array, Base, Field, Function, Pointer, Record, Type, Void
from strobe.values.decode.elements import row_of

_LIBRARIES = ("std::", "alloc::", "core::", "hashbrown::")
# Classes of the libraries that hold one value and nothing else
_TRANSPARENT = (
    "std::atomic<",
    "std::array<",
    "std::__1::atomic<",
    "std::__1::array<",
    "std::__atomic",
    "std::chrono::duration<",
    "std::chrono::time_point<",
    "core::sync::atomic::Atomic",
    "core::cell::Cell<",
    "core::cell::UnsafeCell<",
    "core::num::wrapping::Wrapping<",
    "core::mem::manually_drop::ManuallyDrop<",
)


def is_transparent(record: Record) -> bool:
    """Whether a value for it is one for its only part."""
    return record.name.startswith(_TRANSPARENT)


def only_part(record: Record) -> tuple[int, Type] | None:
    """Offset and type of the one part that has a size."""
    parts: list[Field | Base] = [*record.parts.fields, *record.parts.bases]
    sized = [part for part in parts if part.offset is not None and not _is_empty(part.type.bare)]
    return (sized[0].offset or 0, sized[0].type) if len(sized) == 1 else None


def _is_empty(type_: Type) -> bool:
    if not type_.size:
        return True
    return (
        isinstance(type_, Record) and not type_.parts.fields and all(_is_empty(b.type.bare) for b in type_.parts.bases)
    )


def fits(wanted: Type, given: Type) -> bool:
    """Whether a pointer to the one may be assigned to one to the other, in C++ or in C."""
    one, other = wanted.bare, given.bare
    if one is other or isinstance(one, Void) or isinstance(other, Void) or one.name == other.name:
        return True
    if isinstance(one, Record) and isinstance(other, Record):
        bases = [base for base in other.parts.bases if base.offset == 0]
        return any(fits(one, base.type) for base in bases)
    if isinstance(other, Array):
        return fits(wanted, row_of(other))
    return isinstance(one, Function) and isinstance(other, Function)


def why_no_record(record: Record, value: Any) -> str:
    """Why a value is none for the class."""
    if record.is_declaration:
        return "it is only declared: its fields are not known"
    if record.parts.variants is not None:
        return "the variant of an enum cannot be changed"
    if record.name.startswith(_LIBRARIES):
        return "a class of the standard library cannot be written as a whole"
    text = isinstance(value, str) and not value.lstrip().startswith("{")
    return "text cannot be written to this type" if text else "it is not an object of members"


def members_of(record: Record) -> str:
    """What can be given for it instead."""
    if record.is_declaration:
        return "the address of what is meant, with a type"
    if record.name.startswith(_LIBRARIES):
        return "what is in it: v[1], *optional, p->x, pair.second"
    names = field_names(record)[:6]
    return "{" + ", ".join(f'"{name}": …' for name in names) + "}" if names else "nothing: it has no fields"


def valid_pointer(pointer: Pointer) -> str:
    """What can be given for one."""
    return '"0x…", null, "&function"' if isinstance(pointer.target.bare, Function) else '"0x…", null, "&gFoo"'
