"""From a location to a term: numbers, bit-fields and texts as they lie in memory."""

from __future__ import annotations

from strobe.dataclass import replace
from strobe.expressions.integers import Kind, promoted
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.types.model import Array, Encoding, Enum, Field, Pointer, Record, Scalar, Type
from strobe.symbols.types.texts import points_to_text, text_object
from strobe.values.decode.shaping import Shaping, character_width
from strobe.values.language.terms import (
    Float,
    Number,
    Row,
    Rows,
    Term,
    Text,
    constant,
    extended,
    joined,
    pushed,
    steps,
)
from strobe.values.lookup.locations import ValueLocation, into_only_field, variant_of, variant_test
from strobe.values.memory.recipes import CONSTANTS, rows
from strobe.values.printers.containers import Container
from strobe.values.printers.inside import value_in
from strobe.values.printers.known import Printers

_OPTION = "core::option::Option<"
_SPARE = 0  # the variable that is used between two steps
_MOST_TEXT = CONSTANTS["MAX_TEXT"]


def rows_of(location: ValueLocation) -> Rows:
    """The steps to it, with what it is called where one of them fails."""
    nulls = {step: f"Null pointer at {name}" for step, name in location.dereferenced.items()}
    reasons = location.refused | nulls
    code = location.recipe.code
    return tuple(Row(row, reasons[at]) if at in reasons else row for at, row in enumerate(code))


def loaded(location: ValueLocation, printers: Printers, at: int) -> Term:
    """What lies there: of a smart pointer its address, of an optional whether it has a value. `at`: its position in the
    expression."""
    record = location.type.bare
    if isinstance(record, Record) and value_in(location.type, printers) is None and into_only_field(location, record):
        return loaded(location, printers, at)  # of a variant with one value that
    before = rows_of(location)
    if location.is_value:
        return _of_value(before, location.type, at)
    plain = location.type.bare
    if location.bits is not None:
        return _of_bits(before, location.bits)
    if (text := _text(before, location.type)) is not None:
        return text
    if (held := _held(before, location.type, printers)) is not None:
        return held
    if isinstance(plain, Scalar) and plain.encoding is Encoding.FLOAT:
        return _float(before, plain, at)
    return _integer(before, location.type, at)


def _text(before: Rows, type_: Type) -> Text | None:
    plain = type_.bare
    if points_to_text(type_) == 1:
        pointer = Number((*before, *steps(("NUMBER", 8, 0, 0))), Kind.UNSIGNED_LONG, is_address=True)
        return Text((*before, *steps(("DEREF", 0, 0, 0))), _MOST_TEXT, pointer)
    if isinstance(plain, Array) and character_width(plain.element) == 1 and plain.size:
        return Text(before, plain.size)
    found = text_object(type_)
    if found is None or found.unit != 1 or found.is_libcxx:
        return None
    return Text((*before, *steps(("NUMBER", 8, 0, found.length_offset), ("DEREF", 0, 0, found.pointer_offset))), 0)


def characters(location: ValueLocation) -> Number | None:
    """Where its characters begin, of one byte each; None of what has none."""
    before, plain = rows_of(location), location.type.bare
    if isinstance(plain, Pointer) and plain.target.bare.size == 1:
        load = ("LOCATION", 0, 0, 0) if location.is_value else ("NUMBER", 8, 0, 0)
        return Number((*before, *steps(load)), Kind.UNSIGNED_LONG)
    found = text_object(location.type)
    if found is not None and found.unit == 1 and not found.is_libcxx:
        return Number((*before, *steps(("NUMBER", 8, 0, found.pointer_offset))), Kind.UNSIGNED_LONG)
    is_row = isinstance(plain, Array) and len(plain.dimensions) == 1 and plain.element.bare.size == 1
    if is_row and not location.is_value:
        return Number((*before, *steps(("LOCATION", 0, 0, 0))), Kind.UNSIGNED_LONG)
    return None


def _held(before: Rows, type_: Type, printers: Printers) -> Number | None:
    plain = type_.bare
    if isinstance(plain, Pointer) and plain.own_name.startswith("&"):  # of Rust, where it is what it refers to
        return _some((*before, *steps(("DEREF", 0, 0, 0))), plain.target)
    inside = value_in(type_, printers) if isinstance(plain, Record) else None
    if inside is None:
        return _some(before, type_)
    if inside.condition:
        found = pushed(inside.condition)
        return replace(found, rows=(*before, *rows(inside.condition)), kind=Kind.INT, is_truth=True)
    if not inside.is_away:
        return None
    return Number((*before, *rows(inside.address)), Kind.UNSIGNED_LONG, height=6, is_address=True)


def _some(before: Rows, type_: Type) -> Number | None:
    """Whether an Option of Rust is Some."""
    record = type_.bare
    if not isinstance(record, Record) or not record.own_name.startswith(_OPTION):
        return None
    some = variant_of(record, "Some")
    test = () if some is None else variant_test(record, some)
    if not test:
        return None
    code = (*before, *rows(test), *steps(("SET", 0, _SPARE, 0), ("DROP", 0, 0, 0), ("GET", 0, _SPARE, 0)))
    return Number(code, Kind.INT, height=4, is_truth=True)


def size_of(location: ValueLocation, printers: Printers, at: int) -> Number:
    """How many elements there are, or bytes of a text: a size_t."""
    found, before = text_object(location.type), rows_of(location)
    if found is not None and found.unit == 1 and not found.is_libcxx:
        return Number((*before, *steps(("NUMBER", 8, 0, found.length_offset))), Kind.UNSIGNED_LONG)
    plain = location.type.bare
    if isinstance(plain, Array) and plain.dimensions and plain.dimensions[0].count is not None:
        return constant(plain.dimensions[0].count, Kind.UNSIGNED_LONG)
    shape = Shaping(printers).shape(location.type, 1)
    if not isinstance(shape, Container) or not shape.count:
        raise ExpressionError(at, f"it is {location.type.name}, whose elements are not counted here")
    number = pushed(shape.count)
    return replace(number, rows=(*before, *number.rows), kind=Kind.UNSIGNED_LONG)


def integer_type(type_: Type) -> tuple[int, bool] | None:
    """Bytes of an integer, and whether it is signed; None of what is none."""
    plain = type_.bare
    size, is_signed = plain.size or 0, False
    if isinstance(plain, Scalar) and plain.encoding is not Encoding.FLOAT:
        is_signed = plain.is_signed
    elif isinstance(plain, Enum):
        underlying = None if plain.underlying is None else plain.underlying.bare
        is_signed = isinstance(underlying, Scalar) and underlying.is_signed
        is_signed = is_signed or (underlying is None and any(one.value < 0 for one in plain.enumerators))
    elif not isinstance(plain, Pointer):
        return None
    return (size, is_signed) if size in (1, 2, 4, 8) else None


def kind_of(type_: Type) -> Kind:
    """What C makes of an integer, an enum or a pointer before it calculates with it. An enum without `class` is an int
    in C++ where that has all of its enumerators; in C, and where it is a class, what lies beneath it."""
    plain = type_.bare
    size, is_signed = integer_type(type_) or (8, False)
    if isinstance(plain, Enum) and size == 4 and _are_ints(plain):
        return Kind.INT
    return promoted(8 * size, is_signed)


def _are_ints(enum: Enum) -> bool:
    is_free = not enum.is_scoped and not enum.is_of_c
    return is_free and all(Kind.INT.wrapped(one.value) == one.value for one in enum.enumerators)


def _of_value(before: Rows, type_: Type, at: int) -> Term:
    """Of a location that is the value: a pointer, or a number that lies nowhere, spread with its sign over 64 bits."""
    plain = type_.bare
    load = (*before, *steps(("LOCATION", 0, 0, 0)))
    if isinstance(plain, Scalar) and plain.encoding is Encoding.FLOAT:
        return _as_float(load, plain, at)
    if isinstance(plain, Scalar | Enum):
        return _as_integer(load, type_, at)
    pointer = Number(load, Kind.UNSIGNED_LONG, is_address=True)
    return Text(before, _MOST_TEXT, pointer) if points_to_text(type_) == 1 else pointer


def _integer(before: Rows, type_: Type, at: int) -> Number:
    size, is_signed = integer_type(type_) or (8, False)
    return _as_integer((*before, *steps(("NUMBER", size, int(is_signed), 0))), type_, at)


def _as_integer(load: Rows, type_: Type, at: int) -> Number:
    """Of rows that push it."""
    plain = type_.bare
    found = integer_type(type_)
    if found is None:
        if isinstance(plain, Scalar | Enum | Pointer):
            raise ExpressionError(at, f"it is {type_.name}, of {plain.size} bytes, which is not compared")
        hint = "; & before it is its address" if isinstance(plain, Record) else ""
        raise ExpressionError(at, f"it is {type_.name}, which is neither a number nor a text{hint}")
    enum = plain if isinstance(plain, Enum) else None
    is_truth = isinstance(plain, Scalar) and plain.encoding is Encoding.BOOL
    return Number(load, kind_of(type_), enum=enum, is_truth=is_truth, is_address=isinstance(plain, Pointer))


def _float(before: Rows, plain: Scalar, at: int) -> Float:
    if plain.size == 16 and plain.own_name == "long double":  # of x87
        both = steps(("NUMBER", 8, 0, 0), ("NUMBER", 2, 0, 8), ("FROM_EXTENDED", 0, 0, 0))
        return Float((*before, *both), height=2)
    return _as_float((*before, *steps(("NUMBER", plain.size or 0, 0, 0))), plain, at)


def _as_float(load: Rows, plain: Scalar, at: int) -> Float:
    """Of rows that push its bits."""
    if plain.size == 8:
        return Float(load)
    if plain.size == 4:
        found = (("CONSTANT", 0, 0, CONSTANTS["FROM_FLOAT"]), ("TO_DOUBLE", 0, 0, 0))
        return Float((*load, *steps(*found)), height=2, is_single=True)
    raise ExpressionError(at, f"it is {plain.name}, of {plain.size} bytes, which is not compared")


def _of_bits(before: Rows, field: Field) -> Number:
    """A bit-field: the bytes around it, moved and cut."""
    start, bits = field.bit_offset or 0, field.bit_size or 0
    first, shift = start // 8, start % 8
    needed = (shift + bits + 7) // 8
    width = next((one for one in (1, 2, 4, 8) if one >= needed), 8)
    plain = field.type.bare
    found = steps(("NUMBER", width, 0, first), ("CONSTANT", 0, 0, shift), ("RIGHT", 0, 0, 0))
    number = joined("BIT_AND", Number((*before, *found), height=2), constant((1 << bits) - 1))
    _, is_signed = integer_type(field.type) or (8, False)
    if is_signed:
        number = extended(number, bits)
    if isinstance(plain, Enum):
        return replace(number, kind=kind_of(field.type), enum=plain)
    is_truth = isinstance(plain, Scalar) and plain.encoding is Encoding.BOOL
    return replace(number, kind=promoted(bits, is_signed), is_truth=is_truth)
