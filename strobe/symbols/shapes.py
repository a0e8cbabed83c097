"""From a type in debug information to how it is passed: System V classes, C++ classes, what is certain of Rust."""

from __future__ import annotations

from elftools.dwarf.die import DIE

from strobe.symbols.abi import (
    BY_REFERENCE,
    IN_X87,
    NOTHING,
    ONE_FLOAT,
    ONE_INTEGER,
    ONE_VECTOR,
    TWO_FLOATS,
    TWO_INTEGERS,
    WIDE_INTEGER,
    Doubt,
    Eightbytes,
    Place,
    Shape,
    in_memory,
)
from strobe.symbols.dies import bare, children, is_data_member_pointer, number, target
from strobe.symbols.dies import text as _name

_POINTER_TAGS = frozenset({"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"})
_CLASS_TAGS = frozenset({"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"})
_IN_ONE_WORD = _POINTER_TAGS | {"DW_TAG_enumeration_type"}
_PASS_BY_REFERENCE, _PASS_BY_VALUE = 4, 5  # DWARF 5, section 7.15
_COMPLEX_FLOAT, _FLOAT, _DECIMAL_FLOAT, _UTF = 0x03, 0x04, 0x0F, 0x10  # section 7.8
_MAX_DEPTH = 32
_MAX_ELEMENTS = 16
_FAT_MEMBERS = ({"data_ptr", "length"}, {"pointer", "vtable"})


def shape_of(die: DIE | None, language: str) -> Shape:
    """`language`: "c", "c++" or "rust". Raises Doubt."""
    plain = bare(die)
    if plain is None:
        return NOTHING
    if plain.tag == "DW_TAG_base_type":
        if language == "rust" and _size(plain) > 8:
            raise Doubt("a 128-bit integer of Rust")
        return _base_shape(plain)
    if plain.tag in _POINTER_TAGS:
        return ONE_INTEGER
    if plain.tag == "DW_TAG_enumeration_type":
        return ONE_INTEGER if _size(plain) <= 8 else TWO_INTEGERS
    if plain.tag == "DW_TAG_unspecified_type" and _name(plain) == "decltype(nullptr)":
        return ONE_INTEGER
    if plain.tag == "DW_TAG_ptr_to_member_type":
        return ONE_INTEGER if is_data_member_pointer(plain) else TWO_INTEGERS
    if language == "rust":
        return _rust_shape(plain)
    if plain.tag in _CLASS_TAGS:
        return _class_shape(plain, language)
    if plain.tag == "DW_TAG_array_type" and _is_vector(plain):
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
    size = _size(plain)
    if plain.tag == "DW_TAG_base_type":
        if number(plain, "DW_AT_encoding") == _COMPLEX_FLOAT and size > 16:
            raise Doubt("a complex type of more than 16 bytes")
        return _returned_base(plain, language)
    if language == "rust" and 0 < size <= 8 and plain.tag not in _IN_ONE_WORD:
        return NOTHING
    shape = shape_of(plain, language)
    if shape.place is Place.MEMORY and size <= 16:
        raise Doubt("a small struct that is packed or holds a long double")
    return shape


def _returned_base(die: DIE, language: str) -> Shape:
    try:
        shape = shape_of(die, language)
    except Doubt:
        return NOTHING
    return IN_X87 if shape.place is Place.MEMORY else shape


def _base_shape(die: DIE) -> Shape:
    size, encoding, name = _size(die), number(die, "DW_AT_encoding"), _name(die)
    if encoding == _FLOAT:
        return ONE_FLOAT if size <= 8 else _long_float(name)
    if encoding == _COMPLEX_FLOAT:
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
    raise Doubt(f"a float that is no long double, {name}")


def _complex_shape(size: int) -> Shape:
    if size == 8:
        return ONE_FLOAT
    return TWO_FLOATS if size == 16 else in_memory(size, 16)


def _vector_shape(die: DIE) -> Shape:
    element = bare(target(die))
    length = 1
    for dimension in children(die, "DW_TAG_subrange_type"):
        length *= _elements(dimension)
    size = _size(die) or length * (0 if element is None else _size(element))
    if size not in (8, 16) or length == 1:  # one element: compilers differ
        raise Doubt("a wide vector")
    return ONE_FLOAT if size == 8 else ONE_VECTOR


def _class_shape(die: DIE, language: str) -> Shape:
    if "DW_AT_declaration" in die.attributes or number(die, "DW_AT_byte_size") is None:
        raise Doubt("the type is only declared here")
    if language == "c++" and _has_copies_that_run_code(die, 0):
        return BY_REFERENCE
    size = _size(die)
    if size > 16:
        return _large_shape(die, size)
    classes = Eightbytes(size)
    fields = _add_fields(classes, die, 0, 0)
    return classes.shape(_alignment(die, size)) if fields else NOTHING


def _large_shape(die: DIE, size: int) -> Shape:
    """Memory, save for a struct around one wide vector, which is left open."""
    members = list(children(die, "DW_TAG_member", "DW_TAG_inheritance"))
    only = bare(target(members[0])) if len(members) == 1 else None
    if only is not None and only.tag == "DW_TAG_array_type" and _is_vector(only):
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
    if die.tag in _CLASS_TAGS:
        parts = children(die, "DW_TAG_member", "DW_TAG_inheritance")
        return max([own, *(_part_alignment(part, depth) for part in parts)])
    if die.tag == "DW_TAG_array_type" and not _is_vector(die):
        return max(own, _natural_alignment(bare(target(die)), depth + 1))
    if number(die, "DW_AT_encoding") == _COMPLEX_FLOAT:
        return max(own, _size(die) // 2)
    return max(own, _size(die) or 8)


def _part_alignment(member: DIE, depth: int) -> int:
    if "DW_AT_external" in member.attributes or "DW_AT_declaration" in member.attributes:
        return 1
    own = number(member, "DW_AT_alignment") or 1
    return max(own, _natural_alignment(bare(target(member)), depth + 1))


def _add_fields(classes: Eightbytes, die: DIE, base: int, depth: int) -> int:
    """Adds all scalars of an aggregate that begins `base` bytes into the whole; gives their number."""
    if depth > _MAX_DEPTH:
        raise Doubt("types nested without end")
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
            raise Doubt("a member whose place is computed")
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
    if die.tag in _CLASS_TAGS:
        return _add_fields(classes, die, offset, depth)
    if die.tag == "DW_TAG_array_type":
        return _add_array(classes, die, offset, depth)
    shape = shape_of(die, "c")
    size = number(die, "DW_AT_byte_size") or 8
    if shape.place is Place.MEMORY:
        classes.send_to_memory()
    elif shape.integers == 2 or number(die, "DW_AT_encoding") == _COMPLEX_FLOAT:
        half = size // 2
        classes.add(offset, half, is_float=bool(shape.floats))
        classes.add(offset + half, half, is_float=bool(shape.floats))
    elif size > 8:
        raise Doubt("a quad float in an aggregate")
    else:
        classes.add(offset, size, is_float=bool(shape.floats))
    return 1


def _add_array(classes: Eightbytes, die: DIE, offset: int, depth: int) -> int:
    if _is_vector(die):
        raise Doubt("a vector in an aggregate")
    element = bare(target(die))
    length = 1
    for dimension in children(die, "DW_TAG_subrange_type"):
        length *= _elements(dimension)
    if element is None or length > _MAX_ELEMENTS:
        raise Doubt("an array of unusual size")
    size = number(element, "DW_AT_byte_size") or 8
    return sum(_add_value(classes, element, offset + index * size, depth + 1) for index in range(length))


def _elements(dimension: DIE) -> int:
    count = number(dimension, "DW_AT_count")
    if count is not None:
        return count
    bound = number(dimension, "DW_AT_upper_bound")
    if bound is None:
        return 0  # a flexible array member
    return 0 if bound in (2**32 - 1, 2**64 - 1) else bound + 1  # upper bound -1: no element


def _has_copies_that_run_code(die: DIE, depth: int) -> bool:
    """Non-trivial for the purposes of calls (Itanium C++ ABI 3.1.1).

    clang says so; gcc 12 does not, so it follows from the members. Raises Doubt where these leave it open.
    """
    stated = number(die, "DW_AT_calling_convention")
    if stated in (_PASS_BY_REFERENCE, _PASS_BY_VALUE):
        return stated == _PASS_BY_REFERENCE
    if depth > _MAX_DEPTH or "DW_AT_declaration" in die.attributes:
        raise Doubt("a class that is only declared here")
    open_questions = False
    for child in children(die):
        if child.tag == "DW_TAG_subprogram":
            verdict = _runs_code(child, die)
            if verdict:
                return True
            open_questions = open_questions or verdict is None
        elif child.tag in ("DW_TAG_member", "DW_TAG_inheritance") and _part_runs_code(child, depth):
            return True
    if open_questions:
        raise Doubt("a class with deleted or unusual copies")
    return False


def _part_runs_code(member: DIE, depth: int) -> bool:
    if "DW_AT_external" in member.attributes or "DW_AT_declaration" in member.attributes:
        return False
    if member.tag == "DW_TAG_inheritance" and "DW_AT_virtuality" in member.attributes:
        return True
    if _name(member).startswith("_vptr"):
        return True
    part = bare(target(member))
    while part is not None and part.tag == "DW_TAG_array_type":
        part = bare(target(part))
    return part is not None and part.tag in _CLASS_TAGS and _has_copies_that_run_code(part, depth + 1)


def _runs_code(method: DIE, owner: DIE) -> bool | None:
    """Of a destructor, copy or move constructor: whether it is the user's own. None: it depends."""
    if "DW_AT_virtuality" in method.attributes:
        return True
    name, class_name = _name(method), _name(owner).partition("<")[0]
    given = [p for p in children(method, "DW_TAG_formal_parameter") if "DW_AT_artificial" not in p.attributes]
    if name != f"~{class_name}" and (name != class_name or not _takes_its_own(given, owner)):
        return False
    if len(given) > 1:
        return None  # a copy constructor only if the others have defaults, which is not recorded
    if "DW_AT_deleted" in method.attributes:
        return None
    return "DW_AT_artificial" not in method.attributes and number(method, "DW_AT_defaulted") != 1


def _takes_its_own(given: list[DIE], owner: DIE) -> bool:
    first = bare(target(given[0])) if given else None
    if first is None or first.tag not in ("DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
        return False
    referred = bare(target(first))
    return referred is not None and referred.offset == owner.offset


def _rust_shape(die: DIE) -> Shape:
    """Rust promises nothing, so only what has held for years: large values by address, fat pointers in two words."""
    size = number(die, "DW_AT_byte_size")
    if size is None or (number(die, "DW_AT_alignment") or 0) > 8:
        raise Doubt("a Rust type of unusual alignment")
    if size == 0:
        return NOTHING
    if size > 16:
        return BY_REFERENCE
    if {_name(member) for member in children(die, "DW_TAG_member")} in _FAT_MEMBERS:
        return TWO_INTEGERS
    raise Doubt("a small Rust aggregate")


def _size(die: DIE) -> int:
    return number(die, "DW_AT_byte_size") or 0


def _is_vector(die: DIE) -> bool:
    return "DW_AT_GNU_vector" in die.attributes
