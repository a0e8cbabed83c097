"""A condition as a recipe that the recorder runs when a call begins: it gives one number, 0 where it does not hold.

What it asks for is read in the program, and never calls anything there. Integers are calculated with in 64 bits and
compared by their value, floating-point numbers are compared, texts are compared with texts that the condition has.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.expressions import syntax
from strobe.expressions.parser import parse
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.types.model import Array, Encoding, Enum, Field, Pointer, Scalar, Type
from strobe.symbols.types.texts import points_to_text, text_object
from strobe.values.decode.shaping import Shaping, character_width
from strobe.values.lookup import expression as paths
from strobe.values.lookup.places import Call, Place, place_of
from strobe.values.lookup.scope import Scope
from strobe.values.memory.recipes import CONSTANTS, Recipe, rows
from strobe.values.printers.containers import Container

_LITERAL_BYTES = CONSTANTS["MAX_LITERAL"]
_MOST_NUMBERS = CONSTANTS["MAX_NUMBERS"] - 4  # on the recipe's stack; what containers count with may be more
_WORD = (1 << 64) - 1
_MOST_TEXT = CONSTANTS["MAX_TEXT"]
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_OPERATIONS = {"+": "PLUS", "-": "MINUS", "*": "TIMES", "&": "BIT_AND", "|": "BIT_OR", "^": "BIT_XOR", "<<": "LEFT"}
_TEXT_SIGNS = {
    "==": "TEXT_EQUALS",
    "!=": "TEXT_EQUALS",
    "startswith": "TEXT_STARTS",
    "endswith": "TEXT_ENDS",
    "contains": "TEXT_CONTAINS",
}
_NOT_HERE = "is not known when a call begins; debug_query's `where` can ask for it afterwards"

Rows: TypeAlias = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """`code`: the whole recipe. `needs`: STROBE_NEEDS_* of the call."""

    code: bytes
    needs: int


@dataclass(frozen=True, slots=True)
class _Number:
    """Rows that push one number, with `height` numbers on the stack at most. `is_big`: it may be above 2^63, and is
    never negative; else it is signed. `enum`: whose enumerators it may be compared with."""

    rows: Rows
    is_big: bool = False
    height: int = 1
    enum: Enum | None = None


@dataclass(frozen=True, slots=True)
class _Float:
    """Rows that push the bits of a double."""

    rows: Rows
    height: int = 1


@dataclass(frozen=True, slots=True)
class _Text:
    """Rows that lead to its first byte. `most`: where it ends at a zero, at most so many bytes behind; 0: its length is
    pushed as well. `pointer`: of a `char*`, as a number."""

    rows: Rows
    most: int
    pointer: _Number | None = None


@dataclass(frozen=True, slots=True)
class _Literal:
    """A text that the condition has."""

    data: bytes


_Value: TypeAlias = _Number | _Float | _Text | _Literal


def condition(text: str, scope: Scope, call: Call) -> Condition:
    """Raises ExpressionError for what is no condition, and what a read of its variables raises."""
    compiler = _Compiler(scope, call)
    found = compiler.truth(parse(text))
    if found.height > _MOST_NUMBERS:
        raise ExpressionError(0, "it has too many parts within each other")
    recipe = Recipe(list(found.rows))
    needs = call.needs(recipe)
    recipe.note()
    recipe.drop()
    return Condition(recipe.finished()[0], needs)


NEVER = Condition(b"".join(rows((("CONSTANT", 0, 0, 0), ("NOTE", 0, 0, 0), ("DROP", 0, 0, 0), ("END", 0, 0, 0)))), 0)
"""Of a function that has not what is asked for."""


class _Compiler:
    def __init__(self, scope: Scope, call: Call) -> None:
        self._scope = scope
        self._call = call

    def truth(self, node: syntax.Expression) -> _Number:
        """0 where it does not hold: the recipe's steps take any other number for true."""
        value = _as_pointer(self._value(node))
        if isinstance(value, _Float):
            zero = _double(0.0)
            equal = _joined("DOUBLE_EQUAL", _Number(value.rows, height=value.height), zero)
            return _joined("EQUAL", equal, _constant(0))
        if isinstance(value, _Number):
            return value
        raise ExpressionError(node.at, "a text is no condition", 'name == "x", name contains "x"')

    def _value(self, node: syntax.Expression) -> _Value:
        match node:
            case syntax.Literal():
                return self._literal(node)
            case syntax.Name(name=name) if name.startswith("$"):
                raise ExpressionError(node.at, f"'{name}' {_NOT_HERE}", length=len(name))
            case syntax.Name() | syntax.Member() | syntax.Element():
                return self._read(node)
            case syntax.Unary(sign="*"):
                return self._read(node)
            case syntax.Unary(sign=sign, of=of):
                return self._unary(sign, of)
            case syntax.Binary():
                return self._binary(node)
            case syntax.Choice(condition=test, yes=yes, no=no):
                return self._choice(self.truth(test), self._number(yes), self._number(no))
            case syntax.Cast(type=kind, of=of):
                return _cast(kind, self._number(of), node.at)
            case syntax.Call(name="size", of=of):
                return self._size(of)
            case syntax.Call(name="abs", of=of):
                number = self._number(of)
                return self._choice(_less(number, _constant(0)), _joined("MINUS", _constant(0), number), number)
        raise ExpressionError(
            node.at, "this is not known when a call begins", "a comparison of arguments and variables"
        )

    def _literal(self, node: syntax.Literal) -> _Value:
        match node.value:
            case bool() as holds:
                return _constant(int(holds))
            case int() as number:
                return self._integer(number, node.at)
            case float() as number:
                return _Float(_double(number).rows)
            case str() as text if node.is_character:
                return _constant(ord(text))
            case str() as text:
                data = text.encode("utf-8", "surrogateescape")
                if len(data) > _LITERAL_BYTES:
                    reason = f"the text has {len(data)} bytes, and {_LITERAL_BYTES} are compared"
                    raise ExpressionError(node.at, reason)
                return _Literal(data)
        return _Number(_constant(0).rows, is_big=True)  # null

    def _integer(self, number: int, at: int) -> _Number:
        if not -(1 << 63) <= number <= _WORD:
            raise ExpressionError(at, "this number has more than 64 bits")
        return _constant(number)

    def _unary(self, sign: str, of: syntax.Expression) -> _Number | _Float:
        if sign == "!":
            return _joined("EQUAL", self.truth(of), _constant(0))
        if isinstance(of, syntax.Literal) and isinstance(of.value, float):
            return _Float(_double(-of.value if sign == "-" else of.value).rows)
        number = self._number(of)
        if sign == "-":
            return _joined("MINUS", _constant(0), number)
        return number if sign == "+" else _joined("BIT_XOR", number, _constant(-1))

    def _number(self, node: syntax.Expression) -> _Number:
        value = self._value(node)
        if isinstance(value, _Number):
            return value
        if isinstance(value, _Float):
            raise ExpressionError(node.at, "floating-point numbers are compared only, not calculated with")
        if isinstance(value, _Text):
            raise ExpressionError(node.at, "a text is no number")
        raise ExpressionError(node.at, "a text stands where a number is needed")

    # --- variables

    def _read(self, node: syntax.Expression) -> _Value:
        place = self._place(node)
        try:
            return self._loaded(place, node.at)
        except StrobeError as error:
            raise ExpressionError(node.at, error.message.rstrip("."), error.next_step) from error

    def _place(self, node: syntax.Expression) -> Place:
        place = place_of(_path(node), self._scope, call=self._call)
        if place.is_thread_local:
            raise ExpressionError(node.at, "a thread-local variable is not known when a call begins: watch it")
        if place.root is not None and place.root is not self._scope.program:
            reason = "a variable of a library, which may be unloaded, is not known when a call begins: watch it"
            raise ExpressionError(node.at, reason)
        return place

    def _loaded(self, place: Place, at: int) -> _Value:
        before = tuple(place.recipe.code)
        if place.is_value:
            return _of_value(before, place.type, at)
        plain = place.type.bare
        if place.bits is not None:
            return _of_bits(before, place.bits)
        width = points_to_text(place.type)
        if width == 1:
            pointer = _Number((*before, *rows((("NUMBER", 8, 0, 0),))), is_big=True)
            return _Text((*before, *rows((("DEREF", 0, 0, 0),))), _MOST_TEXT, pointer)
        if isinstance(plain, Array) and character_width(plain.element) == 1 and plain.size:
            return _Text(before, plain.size)
        if (found := text_object(place.type)) is not None and found.unit == 1 and not found.is_libcxx:
            steps = (("NUMBER", 8, 0, found.length_offset), ("DEREF", 0, 0, found.pointer_offset))
            return _Text((*before, *rows(steps)), 0)
        if isinstance(plain, Scalar) and plain.encoding is Encoding.FLOAT:
            return _loaded_float(before, plain, at)
        return _loaded_integer(before, place.type, at)

    def _size(self, of: syntax.Expression) -> _Number:
        value = None
        place = self._place(of)
        found = text_object(place.type)
        if found is not None and found.unit == 1 and not found.is_libcxx:
            value = _Number((*place.recipe.code, *rows((("NUMBER", 8, 0, found.length_offset),))))
        plain = place.type.bare
        if isinstance(plain, Array) and plain.dimensions and plain.dimensions[0].count is not None:
            value = _constant(plain.dimensions[0].count)
        if value is None:
            shape = Shaping(self._scope.printers).shape(place.type, 1)
            if not isinstance(shape, Container) or not shape.count:
                raise ExpressionError(of.at, f"it is {place.type.name}, whose elements are not counted here")
            recipe = Recipe(list(place.recipe.code))
            recipe.numbers(shape.count)
            value = _Number(tuple(recipe.code), height=6)
        return value

    # --- operators

    def _binary(self, node: syntax.Binary) -> _Value:
        sign = node.sign
        if sign in ("&&", "||"):
            return _joined("AND" if sign == "&&" else "OR", self.truth(node.left), self.truth(node.right))
        if sign == "matches":
            raise ExpressionError(
                node.at, "'matches' is not known when a call begins", "contains, startswith, endswith"
            )
        left, right = self._operands(node)
        if isinstance(left, _Number):
            right = _as_pointer(right)
        if isinstance(right, _Number):
            left = _as_pointer(left)
        if isinstance(left, _Text | _Literal) or isinstance(right, _Text | _Literal):
            return self._texts(node, left, right)
        if sign in _COMPARISONS:
            return _compared(sign, left, right)
        if sign in _TEXT_SIGNS:
            raise ExpressionError(node.at, f"'{sign}' needs a text on its left")
        if isinstance(left, _Float) or isinstance(right, _Float):
            raise ExpressionError(node.at, "floating-point numbers are compared only, not calculated with")
        return _calculated(sign, left, right)

    def _operands(self, node: syntax.Binary) -> tuple[_Value, _Value]:
        """A name on one side may be an enumerator of the other's type."""
        for first, second, is_swapped in ((node.left, node.right, False), (node.right, node.left, True)):
            if not isinstance(second, syntax.Name):
                continue
            try:
                value = self._value(first)
            except (StrobeError, ExpressionError):
                continue
            if isinstance(value, _Number) and value.enum is not None:
                number = _enumerator(value.enum, second.name)
                if number is not None:
                    other = _constant(number)
                    return (other, value) if is_swapped else (value, other)
        return self._value(node.left), self._value(node.right)

    def _texts(self, node: syntax.Binary, left: _Value, right: _Value) -> _Number:
        sign = node.sign
        if sign in ("==", "!=") and isinstance(left, _Literal):
            left, right = right, left
        if not isinstance(left, _Text) or not isinstance(right, _Literal) or sign not in _TEXT_SIGNS:
            reason = (
                "a text of the program is compared with a text in quotes, by ==, !=, contains, startswith, endswith"
            )
            raise ExpressionError(node.at, reason, 'name startswith "x"')
        data = right.data
        padded = data.ljust(-(-len(data) // 8) * 8, b"\0")
        words = [int.from_bytes(padded[at : at + 8], "little") for at in range(0, len(padded), 8)]
        steps = (
            ("TEST_TEXT", CONSTANTS[_TEXT_SIGNS[sign]], len(data), left.most),
            *(("DATA", 0, 0, word) for word in words),
        )
        found = _Number((*left.rows, *rows(steps)))
        return _joined("EQUAL", found, _constant(0)) if sign == "!=" else found

    def _choice(self, test: _Number, yes: _Number, no: _Number) -> _Number:
        steps = rows((("SELECT", 0, 0, 0),))
        height = max(test.height, 1 + yes.height, 2 + no.height)
        return _Number((*test.rows, *yes.rows, *no.rows, *steps), yes.is_big or no.is_big, height)


def _path(node: syntax.Expression) -> paths.Expression:
    """A chain of members as the lookup of variables has it."""
    match node:
        case syntax.Name(name=name):
            return paths.Name(name)
        case syntax.Member(of=of, name=name):
            return paths.Member(_path(of), f"__{name}" if name.isdecimal() else name, False)
        case syntax.Element(of=of, index=syntax.Literal(value=int() as index)):
            return paths.Index(_path(of), index)
        case syntax.Element(index=index):
            raise ExpressionError(index.at, "an index is a number here", "items[0]")
        case syntax.Unary(sign="*", of=of):
            return paths.Dereference(_path(of))
    raise ExpressionError(node.at, "a variable is needed here", "node->next->value")


def _constant(number: int) -> _Number:
    return _Number(rows((("CONSTANT", 0, 0, number),)), is_big=number >= 1 << 63)


def _double(number: float) -> _Number:
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return _Number(rows((("CONSTANT", 0, 0, bits),)))


def _joined(operation: str, left: _Number, right: _Number, *, is_big: bool = False) -> _Number:
    height = max(left.height, 1 + right.height)
    return _Number((*left.rows, *right.rows, *rows(((operation, 0, 0, 0),))), is_big, height)


def _of_value(before: Rows, type_: Type, at: int) -> _Number | _Float | _Text:
    """Of a place that is the value: a pointer, or a number that lies nowhere, spread with its sign over 64 bits."""
    plain = type_.bare
    load = rows((("PLACE", 0, 0, 0),))
    if isinstance(plain, Scalar) and plain.encoding is Encoding.FLOAT:
        return _as_float((*before, *load), plain, at)
    if isinstance(plain, (Scalar, Enum)):
        return _integer((*before, *load), type_, at)
    pointer = _Number((*before, *load), is_big=True)
    return _Text(before, _MOST_TEXT, pointer) if points_to_text(type_) == 1 else pointer


def _loaded_integer(before: Rows, type_: Type, at: int) -> _Number:
    size = type_.bare.size
    load = rows((("NUMBER", size if size in (1, 2, 4) else 8, int(_is_signed(type_)), 0),))
    return _integer((*before, *load), type_, at)


def _integer(load: Rows, type_: Type, at: int) -> _Number:
    plain = type_.bare
    if not isinstance(plain, (Scalar, Enum, Pointer)):
        raise ExpressionError(at, f"it is {type_.name}, which is no number and no text")
    if plain.size not in (1, 2, 4, 8):
        raise ExpressionError(at, f"it is {type_.name}, of {plain.size or 0} bytes, which is not compared")
    enum = plain if isinstance(plain, Enum) else None
    return _Number(load, is_big=plain.size == 8 and not _is_signed(type_), enum=enum)


def _is_signed(type_: Type) -> bool:
    plain = type_.bare
    if isinstance(plain, Enum):
        if plain.underlying is None:
            return any(one.value < 0 for one in plain.enumerators)
        plain = plain.underlying.bare
    return isinstance(plain, Scalar) and plain.is_signed


def _loaded_float(before: Rows, plain: Scalar, at: int) -> _Float:
    return _as_float((*before, *rows((("NUMBER", plain.size or 0, 0, 0),))), plain, at)


def _as_float(load: Rows, plain: Scalar, at: int) -> _Float:
    """Of rows that push its bits."""
    if plain.size == 8:
        return _Float(load)
    if plain.size == 4:
        return _Float((*load, *rows((("CONSTANT", 0, 0, CONSTANTS["FROM_FLOAT"]), ("TO_DOUBLE", 0, 0, 0)))), height=2)
    raise ExpressionError(at, f"it is {plain.name}, of {plain.size} bytes, which is not compared")


def _of_bits(before: Rows, field: Field) -> _Number:
    """A bit-field: the bytes around it, moved and cut."""
    start, bits = field.bit_offset or 0, field.bit_size or 0
    first, shift = start // 8, start % 8
    needed = (shift + bits + 7) // 8
    width = next((one for one in (1, 2, 4, 8) if one >= needed), 8)
    plain = field.type.bare
    steps = [("NUMBER", width, 0, first), ("CONSTANT", 0, 0, shift), ("RIGHT", 0, 0, 0)]
    found = _Number((*before, *rows(tuple(steps))), height=2)
    found = _joined("BIT_AND", found, _constant((1 << bits) - 1))
    if isinstance(plain, Scalar) and plain.is_signed:
        found = _extended(found, bits)
    return _Number(found.rows, False, found.height, plain if isinstance(plain, Enum) else None)


def _extended(number: _Number, bits: int) -> _Number:
    """With the sign that its highest bit is."""
    sign = 1 << (bits - 1)
    return _joined("MINUS", _joined("BIT_XOR", number, _constant(sign)), _constant(sign))


def _cast(kind: str, number: _Number, at: int) -> _Number:
    if kind == "bool":
        return _joined("EQUAL", _joined("EQUAL", number, _constant(0)), _constant(0))
    if kind.startswith("f"):
        raise ExpressionError(at, "numbers are not made floating-point here")
    bits = int(kind[1:])
    cut = number if bits == 64 else _joined("BIT_AND", number, _constant((1 << bits) - 1))
    if kind.startswith("u"):
        return _Number(cut.rows, bits == 64, cut.height)
    return _Number(cut.rows, False, cut.height) if bits == 64 else _extended(cut, bits)


def _compared(sign: str, left: _Number | _Float, right: _Number | _Float) -> _Number:
    if sign in (">", "<="):
        left, right = right, left
    is_negated = sign in ("!=", "<=", ">=")
    found = _equal(left, right) if sign in ("==", "!=") else _less(left, right)
    if is_negated and sign != "!=" and (isinstance(left, _Float) or isinstance(right, _Float)):
        other = _equal(left, right)  # `<=` is not the opposite of `>` where one is no number
        return _joined("OR", _less(right, left), other)
    return _joined("EQUAL", found, _constant(0)) if is_negated else found


def _equal(left: _Number | _Float, right: _Number | _Float) -> _Number:
    if isinstance(left, _Float) or isinstance(right, _Float):
        return _joined("DOUBLE_EQUAL", _as_double(left), _as_double(right))
    plain = _joined("EQUAL", left, right)
    if left.is_big == right.is_big:
        return plain
    signed = right if left.is_big else left
    return _joined("AND", _joined("EQUAL", _is_negative(signed), _constant(0)), plain)


def _less(left: _Number | _Float, right: _Number | _Float) -> _Number:
    if isinstance(left, _Float) or isinstance(right, _Float):
        return _joined("DOUBLE_LESS", _as_double(left), _as_double(right))
    if not left.is_big and not right.is_big:
        return _joined("SIGNED_LESS", left, right)
    plain = _joined("LESS", left, right)
    if left.is_big and right.is_big:
        return plain
    if left.is_big:
        return _joined("AND", _joined("EQUAL", _is_negative(right), _constant(0)), plain)
    return _joined("OR", _is_negative(left), plain)


def _is_negative(number: _Number) -> _Number:
    return _joined("SIGNED_LESS", number, _constant(0))


def _as_double(value: _Number | _Float) -> _Number:
    if isinstance(value, _Float):
        return _Number(value.rows, height=value.height)
    return _joined("TO_DOUBLE", value, _constant(CONSTANTS["FROM_UNSIGNED" if value.is_big else "FROM_SIGNED"]))


def _calculated(sign: str, left: _Number, right: _Number) -> _Number:
    is_big = left.is_big or right.is_big
    if sign in ("/", "%"):
        name = "DIVIDED" if sign == "/" else "MODULO"
        return _joined(name if is_big else f"SIGNED_{name}", left, right, is_big=is_big)
    if sign == ">>":
        return _joined("RIGHT" if left.is_big else "SIGNED_RIGHT", left, right, is_big=left.is_big)
    return _joined(_OPERATIONS[sign], left, right, is_big=left.is_big if sign == "<<" else is_big)


def _enumerator(enum: Enum, name: str) -> int | None:
    """`MODE_PLAY`, `Mode::Play`."""
    last = name.rpartition("::")[2]
    return next((one.value for one in enum.enumerators if one.name.rpartition("::")[2] == last), None)


def _as_pointer(value: _Value) -> _Value:
    """Of a `char*` its address, where that is what is asked for."""
    return value.pointer if isinstance(value, _Text) and value.pointer is not None else value
