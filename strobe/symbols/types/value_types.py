"""How parameters and results show a type: kind, size, name, members. Derived from the full description."""

from __future__ import annotations

from collections.abc import Iterator

from strobe.dataclass import replace
from strobe.model import ValueKind, ValueType
from strobe.symbols.types import library_types
from strobe.symbols.types.model import (
    SIGNED_ENCODINGS,
    Array,
    Base,
    Encoding,
    Enum,
    Field,
    Function,
    MemberPointer,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
    Void,
)

MAX_BYTES = 64  # of a struct that is recorded by value
_MAX_ENUMERATORS = 4096
_MAX_MEMBERS = 32
_MAX_DEPTH = 3
_FLOATS = {4: None, 8: None, 2: ("_Float16", "f16"), 16: ("long double",)}  # by size: names of known formats
_COMPLEX_PARTS = {8: "float", 16: "double", 32: "long double"}

Member = tuple[str, int, ValueType]


def value_type(type_: Type, depth: int = 0) -> ValueType:
    """Raises one of UNREADABLE where what it stands for is damaged."""
    plain, name = type_.bare, type_.name
    size = plain.size or 0
    if isinstance(plain, Enum):
        listed = tuple((one.value, one.name) for one in plain.enumerators[:_MAX_ENUMERATORS])
        return ValueType(ValueKind.ENUM, size, name, listed, is_flags=plain.is_flags, is_unsigned=_is_unsigned(plain))
    if isinstance(plain, Record) and size <= MAX_BYTES and depth < _MAX_DEPTH:
        known = _of_library(plain, name, depth)
        if known is not None:
            return known
        members = _members(plain, depth)
        return ValueType(ValueKind.AGGREGATE, size, name, members=members if len(members) <= _MAX_MEMBERS else ())
    if isinstance(plain, Array) and 0 < size <= MAX_BYTES and depth < _MAX_DEPTH:
        return _of_array(plain, len(plain.dimensions), name, depth)
    if isinstance(plain, Scalar) and plain.encoding is Encoding.COMPLEX:
        return ValueType(ValueKind.AGGREGATE, size, name, members=_complex_parts(plain.name, size))
    return ValueType(_kind(plain, size), size, name)


def is_shown(of: ValueType) -> bool:
    """Whether its bytes can be read as a value."""
    if of.kind in (ValueKind.ARRAY, ValueKind.OPTIONAL):
        return is_shown(of.members[0][2])
    return of.kind not in (ValueKind.AGGREGATE, ValueKind.VOID) or any(is_shown(member) for _, _, member in of.members)


def _is_unsigned(enum: Enum) -> bool:
    """As the type beneath it; of C it is not recorded: then as its enumerators need it."""
    beneath = None if enum.underlying is None else enum.underlying.bare
    if isinstance(beneath, Scalar):
        return not beneath.is_signed
    return all(one.value >= 0 for one in enum.enumerators)


def _members(record: Record, depth: int) -> tuple[Member, ...]:
    """Base classes' own come first. All of a union's, as which one is meant is not known; nothing of Rust's enums."""
    parts = record.parts
    if parts.variants is not None:
        return ()
    found: list[Member] = []
    for base in parts.bases:
        found += _of_base(base, depth)
    for field in parts.fields:
        found += _of_field(field, depth)
    return tuple(_distinct(found))


def _distinct(members: list[Member]) -> Iterator[Member]:
    """Those of several bases may have one name: `x`, `x'`."""
    seen: set[str] = set()
    for name, offset, member in members:
        while name in seen:
            name += "'"
        seen.add(name)
        yield name, offset, member


def _of_base(base: Base, depth: int) -> list[Member]:
    plain = base.type.bare
    if base.offset is None or not isinstance(plain, Record):
        return []
    return [(name, base.offset + offset, member) for name, offset, member in _members(plain, depth)]


def _of_field(field: Field, depth: int) -> list[Member]:
    if field.is_vtable_pointer or field.offset is None:
        return []
    plain = field.type.bare
    if not field.name and isinstance(plain, Record):
        return [(name, field.offset + offset, member) for name, offset, member in _members(plain, depth + 1)]
    if isinstance(plain, Record) and plain.size is not None and not plain.parts.fields and not plain.parts.bases:
        return []  # empty: an allocator
    shown = value_type(field.type, depth + 1)
    if field.bit_size is not None:
        shown = replace(shown, bits=((field.bit_offset or 0) % 8, field.bit_size))
    return [(field.name, field.offset, shown)]


def _of_array(array: Array, dimensions: int, name: str, depth: int) -> ValueType:
    """Of the last `dimensions` of its dimensions; what cannot be shown where its size is not that of its elements."""
    own = array.dimensions[len(array.dimensions) - dimensions :]
    if not own:
        return value_type(array.element, depth + 1)
    element = _of_array(array, dimensions - 1, array.element.name, depth)
    size = element.size * (own[0].count or 0)
    if not size or array.stride != (array.element.size or 0):
        return ValueType(ValueKind.AGGREGATE, size, name)
    return ValueType(ValueKind.ARRAY, size, name, members=(("", 0, element),))


def _of_library(record: Record, name: str, depth: int) -> ValueType | None:
    """Classes of the standard library that show as what they stand for."""
    found = library_types.meaning(record)
    if found is None:
        return None
    parts = tuple((part, offset, value_type(inner, depth + 1)) for part, offset, inner in found.parts)
    if found.kind is ValueKind.VOID:  # a number
        return replace(parts[0][2], name=name)
    if found.kind is ValueKind.POINTER:
        return ValueType(ValueKind.POINTER, 8, name)
    return ValueType(found.kind, record.size or 0, name, members=parts)


def _complex_parts(name: str, size: int) -> tuple[Member, ...]:
    if size not in _COMPLEX_PARTS or "int" in name or "128" in name:
        return ()
    part = ValueType(ValueKind.FLOAT, size // 2, _COMPLEX_PARTS[size])
    return ("re", 0, part), ("im", size // 2, part)


def _kind(plain: Type, size: int) -> ValueKind:
    if isinstance(plain, Void):
        return ValueKind.VOID
    if isinstance(plain, Scalar):
        return _scalar_kind(plain, size)
    if isinstance(plain, Pointer):
        return ValueKind.FUNCTION if isinstance(plain.target.bare, Function) else ValueKind.POINTER
    if isinstance(plain, Reference):
        return ValueKind.REFERENCE
    is_offset = isinstance(plain, MemberPointer) and not plain.is_function
    return ValueKind.SIGNED if is_offset else ValueKind.AGGREGATE


def _scalar_kind(plain: Scalar, size: int) -> ValueKind:
    if plain.encoding is Encoding.FLOAT:
        known = _FLOATS.get(size, ())
        return ValueKind.FLOAT if known is None or plain.own_name in known else ValueKind.AGGREGATE
    if plain.encoding is Encoding.DECIMAL:
        return ValueKind.AGGREGATE
    if size == 0:
        return ValueKind.VOID  # `()` and `!` of Rust
    if size > 8:
        is_number = size == 16 and plain.encoding in (Encoding.SIGNED, Encoding.UNSIGNED)
        return ValueKind.AGGREGATE if not is_number else _signedness(plain)
    if plain.encoding is Encoding.BOOL:
        return ValueKind.BOOL
    if plain.is_character:
        return ValueKind.CHAR
    return _signedness(plain)


def _signedness(plain: Scalar) -> ValueKind:
    return ValueKind.SIGNED if plain.encoding in SIGNED_ENCODINGS else ValueKind.UNSIGNED
