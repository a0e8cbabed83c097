"""One word as the value that a user reads, and back for comparisons."""

from __future__ import annotations

from strobe.model import CaptureKind, CodeAddress, Enumerator, FunctionSymbol, Value, ValueKind, ValueType
from strobe.timeline.decode import floats

WORD = (1 << 64) - 1
_NOT_IN_A_WORD = (ValueKind.FLOAT, ValueKind.AGGREGATE, ValueKind.VOID)
_ESCAPES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\"}


def decode(word: int, of: ValueType | None) -> Value:
    """A word as its type has it; of an unknown type in hexadecimal; None where an integer register does not hold it."""
    word &= WORD
    if of is None or of.kind in (ValueKind.POINTER, ValueKind.REFERENCE):
        return f"0x{word:x}"
    if of.kind is ValueKind.FUNCTION:
        return CodeAddress(f"0x{word:x}")
    if of.kind in _NOT_IN_A_WORD or of.size > 8:
        return None
    value = word & type_mask(of)
    if of.kind is ValueKind.BOOL:
        return value != 0
    if of.kind is ValueKind.CHAR:
        return _character(value)
    if of.kind is ValueKind.ENUM:
        return _enumerator(value, of)
    return _signed(value, of.size) if of.kind is ValueKind.SIGNED else value


def encode(value: str | int | float | bool, of: ValueType | None) -> int | None:
    """The bits, within `type_mask`, of a value that is compared with; None where the type has no such value."""
    mask = type_mask(of)
    if of is not None and of.kind is ValueKind.FLOAT:
        return floats.encode(value, of.size)
    if of is not None and (of.kind in _NOT_IN_A_WORD or of.size > 8):
        return None
    if of is not None and of.kind is ValueKind.BOOL:
        return {True: 1, "true": 1, False: 0, "false": 0}.get(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _encode_text(value, of)
    if isinstance(value, float):
        return encode(int(value), of) if value.is_integer() else None
    return value & mask if -(mask >> 1) - 1 <= value <= mask else None


def type_mask(of: ValueType | None) -> int:
    """The bits of a word that the type has; what lies above them is not defined."""
    return WORD if of is None or not 0 < of.size < 8 else (1 << 8 * of.size) - 1


def is_in_a_word(function: FunctionSymbol) -> bool:
    """Whether the first captured word of what it returns is the value, so that words can be compared."""
    captures, of = function.return_captures, function.returns
    if of is not None and (of.members or of.kind is ValueKind.AGGREGATE):
        return False
    return not captures or (len(captures) == 1 and captures[0].kind is CaptureKind.WORD)


def is_nullable(of: ValueType | None) -> bool:
    """Whether a value of this type can be a null pointer; a type that is not known can."""
    return of is None or of.kind in (ValueKind.POINTER, ValueKind.FUNCTION)


def _signed(value: int, size: int) -> int:
    sign = 1 << (8 * size - 1)
    return (value ^ sign) - sign


def _character(code: int) -> str:
    if code in _ESCAPES:
        return f"'{_ESCAPES[code]}'"
    return f"'{chr(code)}'" if 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800 else f"'\\x{code:02x}'"


def _enumerator(value: int, of: ValueType) -> Value:
    """The first one of that value; the bits that flags are combined of; a number that has neither as it is."""
    for number, name in of.enumerators:
        if number & type_mask(of) == value:
            return Enumerator(name, number)
    names = _flags(value, of) if of.is_flags else []
    if names:
        return Enumerator("|".join(names), value)
    return value if of.is_unsigned else _signed(value, of.size)


def _flags(value: int, of: ValueType) -> list[str]:
    """A name for each bit, none where one has no name."""
    names: dict[int, str] = {}
    for number, name in of.enumerators:
        if number > 0 and number & (number - 1) == 0 and number & value:
            names.setdefault(number, name)
    return [names[bit] for bit in sorted(names)] if sum(names) == value else []


def _encode_text(text: str, of: ValueType | None) -> int | None:
    mask = type_mask(of)
    if of is not None:
        for number, name in of.enumerators:
            if text in (name, Enumerator(name, number).shown):
                return number & mask
        combined = _combined(text, of) if of.is_flags else None
        if combined is not None:
            return combined
        if of.kind is ValueKind.CHAR:
            codes = (
                code for code in range(min(mask, 0xFFFF) + 1) if text in (_character(code), _character(code)[1:-1])
            )
            return next(codes, None)
    try:
        return encode(int(text, 0), of)
    except ValueError:
        return None


def _combined(text: str, of: ValueType) -> int | None:
    """Of flags as they are shown: "A|B", "A|B(3)"."""
    names, _, number = text.rstrip(")").partition("(")
    known = {name: value for value, name in of.enumerators}
    parts = [known.get(name.strip()) for name in names.split("|")]
    value = 0
    for part in parts:
        if part is None:
            return None
        value |= part
    return value if number in ("", str(value)) else None
