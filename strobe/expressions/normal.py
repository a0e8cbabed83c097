"""Values in the form in which they are compared and calculated with.

Numbers are int, float and bool; text is str. The others stand below. What a member or an element is, the one who has
recorded it says (`Context.normal`), when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from strobe.dataclass import dataclass, field
from strobe.expressions.integers import Int, UnsignedLong, common, kind_of, of_cast, of_enum, typed, wrapped
from strobe.expressions.syntax import ExpressionError
from strobe.model import Enumerator

MAX_BITS = 128


class Undecided(Exception):
    """The event has not what is asked for: whether it holds is not known. The text says why."""


class Absent(Undecided):
    """The event is of a sort that never has what is asked for: then it does not hold."""


class CutText(str):
    """The beginning of a text; what followed was not recorded."""

    __slots__ = ()


class Character(str):
    """One character, which is a number as well: `code`, of a char of C its own, which may be negative."""

    __slots__ = ("code",)
    code: int

    def __new__(cls, letter: str, *, is_byte: bool = False) -> Character:
        self = super().__new__(cls, letter)
        code = ord(letter)
        self.code = Int(code - 0x100 if is_byte and 0x80 <= code <= 0xFF else code)
        return self


class NamedNumber(int):
    """A number that has a name, too: a thread."""

    name: str

    def __new__(cls, number: int, name: str) -> NamedNumber:
        self = super().__new__(cls, number)
        self.name = name
        return self


@dataclass(frozen=True, slots=True)
class Pointer:
    """`address` None: it has only a name. `to`: what it leads to, as it was recorded; None: that was not."""

    address: int | None
    name: str | None = None
    to: Any = None


@dataclass(frozen=True, slots=True)
class Fields:
    """A struct; `members` as they were recorded."""

    members: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Elements:
    """`items` as they were recorded: the first of `total`."""

    items: Sequence[Any]
    total: int


@dataclass(frozen=True, slots=True)
class Entries:
    """A map: (key, value) as they were recorded, the first of `total`."""

    items: Sequence[tuple[Any, Any]]
    total: int


@dataclass(frozen=True, slots=True)
class NoValue:
    """An optional value that is not there."""

    shown: str = field(default="nullopt", compare=False)


Normal: TypeAlias = int | float | bool | str | Enumerator | Pointer | Fields | Elements | Entries | NoValue | None


def truth(value: Normal) -> bool:
    """As a condition."""
    if isinstance(value, Enumerator):
        return value.number != 0
    if isinstance(value, Character):
        return value.code != 0
    if isinstance(value, int | float):
        return value != 0
    if isinstance(value, Pointer):
        return value.address != 0
    return not (isinstance(value, NoValue) or value is None)  # a text, and an optional value that is there


def number(value: Normal) -> int | float:
    """To calculate with. Raises Undecided for what is none."""
    if isinstance(value, Enumerator):
        return of_enum(value.number)
    if isinstance(value, Character):
        return value.code
    if isinstance(value, int | float):
        return value
    if isinstance(value, Pointer) and value.address is not None:
        return UnsignedLong(value.address)
    hint = "; its address is, recorded as &…" if isinstance(value, Fields) else ""
    raise Undecided(f"{described(value)} is not a number{hint}")


def integer(value: Normal) -> int:
    """Raises Undecided for what is none."""
    found = number(value)
    if isinstance(found, float):
        raise Undecided(f"{found} is not an integer")
    return found


def text(value: Normal) -> str:
    """Raises Undecided for what is none."""
    if isinstance(value, NamedNumber):
        return value.name
    if isinstance(value, str):
        return value
    if isinstance(value, Pointer) and value.name is not None:
        return value.name
    raise Undecided(f"{described(value)} is not a text")


def comparable(value: Normal) -> tuple[str, object]:
    """The same for values that are equal: numbers, pointers and enumerators by their number, texts by their content.
    Raises Undecided for what has none, as a structure."""
    if value is None:
        return "number", 0
    if isinstance(value, CutText):
        raise Undecided("only the beginning of the text was recorded")
    if isinstance(value, Pointer) and value.address is None:
        return "text", value.name
    if isinstance(value, str) and not isinstance(value, Enumerator | Character):
        return "text", str(value)
    found = number(value)
    return "number", int(found) if isinstance(found, int) else found


def described(value: Normal) -> str:
    """What sort of value it is, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "a bool"
        case Enumerator():
            return f"the enumerator {value}"
        case Character():
            return "a character"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Pointer():
            return "a pointer"
        case Fields():
            return "a struct"
        case Elements():
            return "a list"
        case Entries():
            return "a map"
    return "an optional value that is not there"


def equal(left: Normal, right: Normal) -> bool:
    """Whether they are the same, by content. Raises Undecided where that is not known, or makes no sense."""
    if left is None or right is None:
        return _is_null(right if left is None else left)
    if isinstance(left, NoValue) or isinstance(right, NoValue):
        return isinstance(left, NoValue) and isinstance(right, NoValue)
    if _is_text(left) and _is_text(right) and not (isinstance(left, Enumerator) and isinstance(right, Enumerator)):
        return _same_text(left, right)
    if isinstance(left, Pointer) and isinstance(right, Pointer) and None in (left.address, right.address):
        return text(left) == text(right)
    one, other = converted(number(left), number(right))
    return one == other


def converted(left: float, right: float) -> tuple[int | float, int | float]:
    """Both as they are compared: of one type, as C has it; numbers of more than 64 bits by their value."""
    if not isinstance(left, int) or not isinstance(right, int):
        return _as_float(left), _as_float(right)
    one, other = kind_of(left), kind_of(right)
    if one is None or other is None:
        return left, right
    kind = common(one, other)
    return typed(left, kind), typed(right, kind)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _is_null(value: Normal) -> bool:
    if value is None or isinstance(value, NoValue):
        return True
    if isinstance(value, Pointer):
        return value.address == 0
    if isinstance(value, int) and not isinstance(value, Enumerator):
        return value == 0
    return False


def _is_text(value: Normal) -> bool:
    return isinstance(value, str | NamedNumber) or (isinstance(value, Pointer) and value.name is not None)


def _same_text(left: Normal, right: Normal) -> bool:
    if isinstance(left, Enumerator) or isinstance(right, Enumerator):
        one, other = (left, right) if isinstance(left, Enumerator) else (right, left)
        assert isinstance(one, Enumerator)
        asked = text(other)
        return asked in (str(one), one.shown) or asked.rpartition("::")[2] == str(one)
    if isinstance(left, NamedNumber) and isinstance(right, NamedNumber):
        return int(left) == int(right)
    one_text, other_text = text(left), text(right)
    for cut, whole in ((left, other_text), (right, one_text)):
        if isinstance(cut, CutText):
            if not whole.startswith(str(cut)) and not str(cut).startswith(whole):
                return False
            if len(whole) <= len(cut) and not isinstance(left, CutText) & isinstance(right, CutText):
                return False
            raise Undecided("only the beginning of the text was recorded")
    return one_text == other_text


def compared(sign: str, left: Normal, right: Normal) -> bool:
    """< <= > >= of two numbers, or two texts."""
    if isinstance(left, CutText) or isinstance(right, CutText):
        raise Undecided("only the beginning of the text was recorded")
    is_text = _is_text(left) and _is_text(right) and not isinstance(left, Enumerator | Character | NamedNumber)
    if is_text and not isinstance(right, Enumerator | NamedNumber | Pointer) and not isinstance(left, Pointer):
        return _ORDERS[sign](text(left), text(right))
    return _ORDERS[sign](*converted(number(left), number(right)))


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def contains(left: Normal, right: Normal) -> bool:
    """A text a text, a list an element, a map a key. Elements are compared by `element_equal` of the evaluation."""
    within, part = text(left), text(right)
    if part in within:
        return True
    if isinstance(left, CutText):
        raise Undecided("only the beginning of the text was recorded")
    return False


def startswith(left: Normal, right: Normal) -> bool:
    """Of two texts. Raises Undecided where too little of the left one was recorded."""
    within, part = text(left), text(right)
    if isinstance(left, CutText) and len(part) > len(within) and part.startswith(within):
        raise Undecided("only the beginning of the text was recorded")
    return within.startswith(part)


def endswith(left: Normal, right: Normal) -> bool:
    """Of two texts. Raises Undecided where the left one was not recorded to its end."""
    if isinstance(left, CutText):
        raise Undecided("only the beginning of the text was recorded")
    return text(left).endswith(text(right))


def calculated(sign: str, left: Normal, right: Normal) -> int | float:
    """Of two numbers, as C does: integers have its types, and wrap; / and % round towards zero. Numbers of more than 64
    bits are exact."""
    one, other = number(left), number(right)
    if isinstance(one, int) and isinstance(other, int):
        return _of_integers(sign, one, other)
    if sign in ("&", "|", "^", "<<", ">>"):
        integer(one)
        integer(other)
    one, other = _as_float(one), _as_float(other)
    if sign in ("/", "%"):
        return _divided_floats(sign, one, other)
    return one + other if sign == "+" else one - other if sign == "-" else one * other


def _of_integers(sign: str, one: int, other: int) -> int:
    left, right = kind_of(one), kind_of(other)
    if left is None or right is None:
        return _bounded(_exact(sign, int(one), int(other), MAX_BITS))
    if sign in ("<<", ">>"):
        return typed(_exact(sign, int(one), int(other), left.bits), left)
    kind = common(left, right)
    return typed(_exact(sign, kind.wrapped(one), kind.wrapped(other), kind.bits), kind)


def _exact(sign: str, one: int, other: int, bits: int) -> int:
    """In no type. `bits`: which a shift may not reach."""
    match sign:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
        case "/" | "%":
            if other == 0:
                raise Undecided("a division by zero")
            whole = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
            return whole if sign == "/" else one - whole * other
        case "&":
            return one & other
        case "|":
            return one | other
        case "^":
            return one ^ other
    if not 0 <= other < bits:
        raise Undecided(f"a shift by {other}, of a number of {bits} bits")
    return one << other if sign == "<<" else one >> other


def _divided_floats(sign: str, one: float, other: float) -> float:
    if sign == "%":
        return math.fmod(one, other) if other and math.isfinite(one) else math.nan
    if other == 0:
        return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
    return one / other


def _bounded(found: int) -> int:
    if found.bit_length() > MAX_BITS:
        raise Undecided(f"a number of more than {MAX_BITS} bits")
    return found


def changed(sign: str, value: Normal) -> int | float:
    """`-`, `+`, `~` and "abs" of a number, of the same type."""
    found = integer(value) if sign == "~" else number(value)
    if isinstance(found, float):
        return -found if sign == "-" else abs(found) if sign == "abs" else found
    whole = int(found)
    result = ~whole if sign == "~" else -whole if sign == "-" else abs(whole) if sign == "abs" else whole
    kind = kind_of(found)
    return _bounded(result) if kind is None else typed(result, kind)


def chosen(value: Normal, other: Normal) -> Normal:
    """What `c ? value : other` is: of one type, where both are numbers."""
    if isinstance(value, bool) and isinstance(other, bool):
        return value
    if isinstance(value, NamedNumber) or not isinstance(value, int | float) or not isinstance(other, int | float):
        return value
    return converted(value, other)[0]


def cast(kind: str, value: Normal) -> Normal:
    """As C converts a number: integers wrap. An address stays one where its type has all of its bits."""
    if kind == "u64" and isinstance(value, Pointer) and value.address is not None:
        return Pointer(value.address, value.name)
    if kind == "bool":
        return truth(value)
    found = number(value)
    if kind.startswith("f"):
        return _as_float(found) if kind == "f64" else _single(_as_float(found))
    if isinstance(found, float):
        if not math.isfinite(found):
            raise Undecided(f"{found} as an integer")
        found = int(found)
    return typed(wrapped(int(found), int(kind[1:]), kind[0] == "i"), of_cast(kind))


def address(value: Normal) -> Normal:
    """Of a pointer without what it leads to; of a number as one. Raises Undecided for what is none."""
    found = cast("u64", value)
    return found if isinstance(found, Pointer) else Pointer(integer(found))


def _single(value: float) -> float:
    import struct

    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def checked_regex(pattern: str, at: int) -> Any:
    """The compiled regular expression. Raises ExpressionError."""
    from strobe.symbols.select.linear_regex import LinearRegex, RegexError

    try:
        return LinearRegex(pattern)
    except RegexError as error:
        raise ExpressionError(at, f"the regular expression is not valid: {error}", "RE2's syntax", 1) from error
