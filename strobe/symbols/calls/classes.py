"""How classes, structs and unions of C and C++ are passed: by address, in memory, or part by part in registers."""

from __future__ import annotations

from elftools.dwarf.die import DIE

from strobe.symbols.calls.copies import CLASS_TAGS, has_copies_that_run_code
from strobe.symbols.calls.scalars import COMPLEX_FLOAT, is_vector, scalar_shape, size_of
from strobe.symbols.calls.system_v import BY_REFERENCE, NOTHING, Eightbytes, Passing, Shape, in_memory
from strobe.symbols.dwarf.dies import Doubt, bare, children, number, target

_MAX_DEPTH = 32
_MAX_ELEMENTS = 16


def class_shape(die: DIE, language: str) -> Shape:
    """Of a class, struct or union. Raises Doubt."""
    if "DW_AT_declaration" in die.attributes or number(die, "DW_AT_byte_size") is None:
        raise Doubt("the type is only declared here")
    if language == "c++" and has_copies_that_run_code(die, 0):
        return BY_REFERENCE
    size = size_of(die)
    if size > 16:
        return _large_shape(die, size)
    classes = Eightbytes(size)
    fields = _add_fields(classes, die, 0, 0)
    return classes.shape(_alignment(die, size)) if fields else NOTHING


def _large_shape(die: DIE, size: int) -> Shape:
    """Memory, save for a struct around one wide vector, which is left open."""
    members = list(children(die, "DW_TAG_member", "DW_TAG_inheritance"))
    only = bare(target(members[0])) if len(members) == 1 else None
    if only is not None and only.tag == "DW_TAG_array_type" and is_vector(only):
        raise Doubt("a wide vector")
    return in_memory(size, _alignment(die, size))


def _alignment(die: DIE, size: int) -> int:
    """On the stack, at least a word."""
    found = _natural_alignment(die, 0)
    if found > 8 and size % found != 0:
        raise Doubt("a packed type with parts of large alignment")
    return max(8, found)


def _natural_alignment(die: DIE | None, depth: int) -> int:
    """Of a type, as far as it is more than a word, else 8 or less."""
    if die is None or depth > _MAX_DEPTH:
        raise Doubt("a member of unknown type")
    own = number(die, "DW_AT_alignment") or 1
    if die.tag in CLASS_TAGS:
        parts = children(die, "DW_TAG_member", "DW_TAG_inheritance")
        return max([own, *(_part_alignment(part, depth) for part in parts)])
    if die.tag == "DW_TAG_array_type" and not is_vector(die):
        return max(own, _natural_alignment(bare(target(die)), depth + 1))
    if number(die, "DW_AT_encoding") == COMPLEX_FLOAT:
        return max(own, size_of(die) // 2)
    return max(own, size_of(die) or 8)


def _part_alignment(member: DIE, depth: int) -> int:
    if "DW_AT_external" in member.attributes or "DW_AT_declaration" in member.attributes:
        return 1
    own = number(member, "DW_AT_alignment") or 1
    return max(own, _natural_alignment(bare(target(member)), depth + 1))


def _add_fields(classes: Eightbytes, die: DIE, base: int, depth: int) -> int:
    """Adds all scalars of an aggregate that begins `base` bytes into the whole; gives their number."""
    if depth > _MAX_DEPTH:
        raise Doubt("types nested too deeply")
    count = 0
    for member in children(die, "DW_TAG_member", "DW_TAG_inheritance"):
        if "DW_AT_external" in member.attributes or "DW_AT_declaration" in member.attributes:
            continue  # static
        bits = number(member, "DW_AT_bit_size")
        if bits is not None:
            _add_bit_field(classes, member, base, bits)
            count += 1
            continue
        offset = number(member, "DW_AT_data_member_location")
        if offset is None and "DW_AT_data_member_location" in member.attributes:
            raise Doubt("a member whose location is computed")
        count += _add_value(classes, bare(target(member)), base + (offset or 0), depth + 1)
    return count


def _add_bit_field(classes: Eightbytes, member: DIE, base: int, bits: int) -> None:
    if bits == 0:
        return
    first = number(member, "DW_AT_data_bit_offset")
    if first is None:  # DWARF 3 way: big-endian bits in a storage unit, which never spans two eightbytes
        first = 8 * (number(member, "DW_AT_data_member_location") or 0)
        bits = 1
    classes.add_bits(8 * base + first, bits)


def _add_value(classes: Eightbytes, die: DIE | None, offset: int, depth: int) -> int:
    if die is None:
        raise Doubt("a member without type")
    if die.tag in CLASS_TAGS:
        return _add_fields(classes, die, offset, depth)
    if die.tag == "DW_TAG_array_type":
        return _add_array(classes, die, offset, depth)
    shape = scalar_shape(die)
    if shape is None:
        raise Doubt(f"how {die.tag} is passed is not known")
    size = number(die, "DW_AT_byte_size") or 8
    if shape.passing is Passing.MEMORY:
        classes.send_to_memory()
    elif shape.integers == 2 or number(die, "DW_AT_encoding") == COMPLEX_FLOAT:
        half = size // 2
        classes.add(offset, half, is_float=bool(shape.floats))
        classes.add(offset + half, half, is_float=bool(shape.floats))
    elif size > 8:
        raise Doubt("a quad float in an aggregate")
    else:
        classes.add(offset, size, is_float=bool(shape.floats))
    return 1


def _add_array(classes: Eightbytes, die: DIE, offset: int, depth: int) -> int:
    if is_vector(die):
        raise Doubt("a vector in an aggregate")
    element = bare(target(die))
    length = 1
    for dimension in children(die, "DW_TAG_subrange_type"):
        length *= elements_of(dimension)
    if element is None or length > _MAX_ELEMENTS:
        raise Doubt("an array of unusual size")
    size = number(element, "DW_AT_byte_size") or 8
    return sum(_add_value(classes, element, offset + index * size, depth + 1) for index in range(length))


def elements_of(dimension: DIE) -> int:
    """How many an array has in one of its dimensions; 0 where that is left open."""
    count = number(dimension, "DW_AT_count")
    if count is not None:
        return count
    bound = number(dimension, "DW_AT_upper_bound")
    if bound is None:
        return 0  # a flexible array member
    return 0 if bound in (2**32 - 1, 2**64 - 1) else bound + 1  # upper bound -1: no element
