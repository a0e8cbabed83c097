"""Classes of C++'s standard library that stand for one value: found by their names, read by their fields' places."""

from __future__ import annotations

from collections.abc import Iterator

from strobe.dataclass import dataclass
from strobe.model import ValueKind
from strobe.symbols.types.model import Field, Function, Pointer, Record, Scalar, Type

_MAX_DEPTH = 12  # libc++ has seven classes in an optional
_NUMBERS = ("duration<", "time_point<")
_OWNERS = ("unique_ptr<", "shared_ptr<")
_SHARED = ("_M_ptr", "__ptr_")  # beside it is a pointer to the counters
_ENGAGED = ("_M_engaged", "__engaged_")


@dataclass(frozen=True, slots=True)
class Meaning:
    """`kind` OPTIONAL: `parts` are the value and the bool that says whether it is there. AGGREGATE: `parts` are what
    to show. VOID: the one part alone. POINTER: what it owns. Offsets in bytes."""

    kind: ValueKind
    parts: tuple[tuple[str, int, Type], ...] = ()


def meaning(record: Record) -> Meaning | None:
    """None for all other classes, and where the fields are not as expected."""
    inner = _inner_name(record)
    if inner.startswith(_NUMBERS):
        leaves = list(_leaves(record))
        return Meaning(ValueKind.VOID, (leaves[0],)) if len(leaves) == 1 else None
    if inner.startswith(_OWNERS):
        return None if owned_pointer(record) is None else Meaning(ValueKind.POINTER)
    if inner.startswith("span<"):
        return _span(record)
    return _optional(record) if inner.startswith("optional<") else None


def owned_pointer(record: Record) -> int | None:
    """Where in a smart pointer the address of its object is."""
    if not _inner_name(record).startswith(_OWNERS):
        return None
    pointers = [leaf for leaf in _leaves(record) if _is_to_data(leaf[2])]
    shared = [leaf for leaf in pointers if leaf[0] in _SHARED]
    return (shared or pointers)[0][1] if len(shared or pointers) == 1 else None


def _inner_name(record: Record) -> str:
    """Within std, its inline namespaces and chrono; empty elsewhere."""
    name = record.name
    for prefix in ("std::", "__1::", "chrono::"):
        name = name.removeprefix(prefix)
    return name if record.name.startswith("std::") else ""


def _span(record: Record) -> Meaning | None:
    leaves = list(_leaves(record))
    pointers = [leaf for leaf in leaves if isinstance(leaf[2].bare, Pointer)]
    if len(pointers) != 1 or len(leaves) > 2:
        return None
    parts = [("size" if leaf is not pointers[0] else "data", *leaf[1:]) for leaf in leaves]
    return Meaning(ValueKind.AGGREGATE, tuple(parts))


def _optional(record: Record) -> Meaning | None:
    """The value is the member of a union that is not its empty one."""
    engaged = next((leaf for leaf in _leaves(record) if leaf[0] in _ENGAGED), None)
    value = next(_values_of_unions(record, 0, 0), None)
    return None if engaged is None or value is None else Meaning(ValueKind.OPTIONAL, (value, engaged))


def _values_of_unions(record: Record, base: int, depth: int) -> Iterator[tuple[str, int, Type]]:
    for name, offset, type_ in _parts(record, base):
        plain = type_.bare
        if record.kind == "union" and name in ("_M_value", "__val_"):
            yield name, offset, type_
        elif isinstance(plain, Record) and depth < _MAX_DEPTH:
            yield from _values_of_unions(plain, offset, depth + 1)


def _leaves(record: Record, base: int = 0, depth: int = 0) -> Iterator[tuple[str, int, Type]]:
    """Scalars and pointers with their names and offsets, of bases, too; not within unions."""
    for name, offset, type_ in _parts(record, base):
        plain = type_.bare
        if isinstance(plain, (Scalar, Pointer)):
            yield name, offset, type_
        elif isinstance(plain, Record) and plain.kind != "union" and depth < _MAX_DEPTH:
            yield from _leaves(plain, offset, depth + 1)


def _parts(record: Record, base: int) -> Iterator[tuple[str, int, Type]]:
    for one in record.parts.bases:
        if one.offset is not None:
            yield "", base + one.offset, one.type
    for field in record.parts.fields:
        if field.offset is not None and not _is_bits(field):
            yield field.name, base + field.offset, field.type


def _is_to_data(type_: Type) -> bool:
    """A deleter may be a pointer to a function."""
    plain = type_.bare
    return isinstance(plain, Pointer) and not isinstance(plain.target.bare, Function)


def _is_bits(field: Field) -> bool:
    return field.bit_size is not None
