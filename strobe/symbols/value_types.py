"""How parameters and results show a type: kind, size, name. Derived from the full description."""

from __future__ import annotations

from strobe.model import ValueKind, ValueType
from strobe.symbols.type_model import (
    SIGNED_ENCODINGS,
    Encoding,
    Enum,
    MemberPointer,
    Pointer,
    Reference,
    Scalar,
    Type,
    Void,
)

_MAX_ENUMERATORS = 4096
_FLOATS = frozenset({Encoding.FLOAT, Encoding.COMPLEX, Encoding.DECIMAL})


def value_type(type_: Type) -> ValueType:
    """Raises one of UNREADABLE where what it stands for is damaged."""
    plain, name = type_.bare, type_.name
    size = plain.size or 0
    if isinstance(plain, Enum):
        listed = tuple((one.value, one.name) for one in plain.enumerators[:_MAX_ENUMERATORS])
        return ValueType(ValueKind.ENUM, size, name, listed)
    return ValueType(_kind(plain, size), size, name)


def _kind(plain: Type, size: int) -> ValueKind:
    if isinstance(plain, Void):
        return ValueKind.VOID
    if isinstance(plain, Scalar):
        return _scalar_kind(plain, size)
    if isinstance(plain, Pointer):
        return ValueKind.POINTER
    if isinstance(plain, Reference):
        return ValueKind.REFERENCE
    is_offset = isinstance(plain, MemberPointer) and not plain.is_function
    return ValueKind.SIGNED if is_offset else ValueKind.AGGREGATE


def _scalar_kind(plain: Scalar, size: int) -> ValueKind:
    if plain.encoding in _FLOATS:
        return ValueKind.FLOAT
    if size == 0:
        return ValueKind.VOID  # `()` and `!` of Rust
    if size > 8:
        return ValueKind.AGGREGATE  # 128-bit integers take two registers
    if plain.encoding is Encoding.BOOL:
        return ValueKind.BOOL
    if plain.is_character:
        return ValueKind.CHAR
    return ValueKind.SIGNED if plain.encoding in SIGNED_ENCODINGS else ValueKind.UNSIGNED
