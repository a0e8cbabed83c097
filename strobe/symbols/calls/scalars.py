"""How values of types without parts are passed: numbers, pointers, enums."""

from __future__ import annotations

from elftools.dwarf.die import DIE

from strobe.symbols.calls.system_v import (
    NOTHING,
    ONE_FLOAT,
    ONE_INTEGER,
    ONE_VECTOR,
    TWO_FLOATS,
    TWO_INTEGERS,
    WIDE_INTEGER,
    Shape,
    in_memory,
)
from strobe.symbols.dwarf.dies import Doubt, is_data_member_pointer, number, text

_POINTER_TAGS = frozenset({"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"})
IN_ONE_WORD = _POINTER_TAGS | {"DW_TAG_enumeration_type"}
COMPLEX_FLOAT, _FLOAT, _DECIMAL_FLOAT, _UTF = 0x03, 0x04, 0x0F, 0x10  # DWARF 5, section 7.8


def scalar_shape(plain: DIE) -> Shape | None:
    """Of a type without typedefs and qualifiers; None where it is not a scalar. Raises Doubt."""
    if plain.tag == "DW_TAG_base_type":
        return _base_shape(plain)
    if plain.tag in _POINTER_TAGS:
        return ONE_INTEGER
    if plain.tag == "DW_TAG_enumeration_type":
        return ONE_INTEGER if size_of(plain) <= 8 else TWO_INTEGERS
    if plain.tag == "DW_TAG_unspecified_type" and text(plain) == "decltype(nullptr)":
        return ONE_INTEGER
    if plain.tag == "DW_TAG_ptr_to_member_type":
        return ONE_INTEGER if is_data_member_pointer(plain) else TWO_INTEGERS
    return None


def size_of(die: DIE) -> int:
    """In bytes; 0 where it is not stated."""
    return number(die, "DW_AT_byte_size") or 0


def is_vector(die: DIE) -> bool:
    """Whether an array is one of those that vector registers hold."""
    return "DW_AT_GNU_vector" in die.attributes


def _base_shape(die: DIE) -> Shape:
    size, encoding, name = size_of(die), number(die, "DW_AT_encoding"), text(die)
    if encoding == _FLOAT:
        return ONE_FLOAT if size <= 8 else _long_float(name)
    if encoding == COMPLEX_FLOAT:
        return _complex_shape(size)
    if encoding == _DECIMAL_FLOAT:
        return ONE_FLOAT if size <= 8 else ONE_VECTOR
    if size == 0:
        return NOTHING
    if encoding is None or encoding > _UTF or size > 16 or name.startswith("_BitInt"):
        raise Doubt(f"an unusual base type, {name}")
    return ONE_INTEGER if size <= 8 else WIDE_INTEGER


def _long_float(name: str) -> Shape:
    if name == "long double":
        return in_memory(16, 16)
    if name in ("__float128", "_Float128"):
        return ONE_VECTOR
    raise Doubt(f"a float that is not a long double, {name}")


def _complex_shape(size: int) -> Shape:
    if size == 8:
        return ONE_FLOAT
    return TWO_FLOATS if size == 16 else in_memory(size, 16)
