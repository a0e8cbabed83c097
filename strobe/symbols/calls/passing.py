"""From a type in debug information to how it is passed: System V classes, C++ classes, what is certain of Rust."""

from __future__ import annotations

from elftools.dwarf.die import DIE

from strobe.symbols.calls.classes import class_shape, elements_of
from strobe.symbols.calls.copies import CLASS_TAGS
from strobe.symbols.calls.scalars import COMPLEX_FLOAT, IN_ONE_WORD, is_vector, scalar_shape, size_of
from strobe.symbols.calls.system_v import (
    BY_REFERENCE,
    IN_X87,
    NOTHING,
    ONE_FLOAT,
    ONE_VECTOR,
    TWO_INTEGERS,
    Passing,
    Shape,
)
from strobe.symbols.dwarf.dies import Doubt, bare, children, number, target, text

_FAT_MEMBERS = ({"data_ptr", "length"}, {"pointer", "vtable"})


def shape_of(die: DIE | None, language: str) -> Shape:
    """`language`: "c", "c++" or "rust". Raises Doubt."""
    plain = bare(die)
    if plain is None:
        return NOTHING
    if language == "rust" and plain.tag == "DW_TAG_base_type" and size_of(plain) > 8:
        raise Doubt("a 128-bit integer of Rust")
    scalar = scalar_shape(plain)
    if scalar is not None:
        return scalar
    if language == "rust":
        return _rust_shape(plain)
    if plain.tag in CLASS_TAGS:
        return class_shape(plain, language)
    if plain.tag == "DW_TAG_array_type" and is_vector(plain):
        return _vector_shape(plain)
    raise Doubt(f"how {plain.tag} is passed is not known")


def returned_shape(die: DIE | None, language: str) -> Shape:
    """The same of a return value: memory and reference mean a hidden pointer in rdi. Raises Doubt.

    The x87 stack returns what as an argument lies in memory: long doubles, complex ones, small structs of them.
    NOTHING: no hidden pointer, and nothing else is certain.
    """
    plain = bare(die)
    if plain is None:
        return NOTHING
    size = size_of(plain)
    if plain.tag == "DW_TAG_base_type":
        if number(plain, "DW_AT_encoding") == COMPLEX_FLOAT and size > 16 and "long double" not in text(plain):
            raise Doubt("a complex type of more than 16 bytes")
        return _returned_base(plain, language)
    if language == "rust" and 0 < size <= 8 and plain.tag not in IN_ONE_WORD:
        return NOTHING
    shape = shape_of(plain, language)
    if shape.passing is Passing.MEMORY and size <= 16:
        raise Doubt("a small struct that is packed or holds a long double")
    return shape


def _returned_base(die: DIE, language: str) -> Shape:
    try:
        shape = shape_of(die, language)
    except Doubt:
        return NOTHING
    return IN_X87 if shape.passing is Passing.MEMORY else shape


def _vector_shape(die: DIE) -> Shape:
    element = bare(target(die))
    length = 1
    for dimension in children(die, "DW_TAG_subrange_type"):
        length *= elements_of(dimension)
    size = size_of(die) or length * (0 if element is None else size_of(element))
    if size not in (8, 16) or length == 1:  # one element: compilers differ
        raise Doubt("a wide vector")
    return ONE_FLOAT if size == 8 else ONE_VECTOR


def _rust_shape(die: DIE) -> Shape:
    """Rust promises nothing, so only what has held for years: large values by address, fat pointers in two words."""
    size = number(die, "DW_AT_byte_size")
    if size is None or (number(die, "DW_AT_alignment") or 0) > 8:
        raise Doubt("a Rust type of unusual alignment")
    if size == 0:
        return NOTHING
    if size > 16:
        return BY_REFERENCE
    if {text(member) for member in children(die, "DW_TAG_member")} in _FAT_MEMBERS:
        return TWO_INTEGERS
    raise Doubt("a small Rust aggregate")
