"""Values that a filter asks for, as the words that a record has of them: which can be compared undecoded, and how."""

from __future__ import annotations

from strobe.model import CaptureKind, Enumerator, FunctionSymbol, ReturnMatch, Text, Value, ValueKind, ValueType
from strobe.timeline.decode import floats
from strobe.timeline.decode.captured import NOT_IN_A_WORD, character, shown, type_mask


def is_what_is_asked(value: Value, match: ReturnMatch) -> bool:
    """Whether a result is the one that a filter asks for: text with or without quotes, others as they are shown."""
    if value is None:
        return False
    if match.is_null is not None and (value == "0x0" and not isinstance(value, Text)) != match.is_null:
        return False
    if match.equals is None or (match.equals == value and isinstance(value, bool) == isinstance(match.equals, bool)):
        return True
    asked = str(match.equals)
    return asked == shown(value) or (isinstance(value, (Text, Enumerator)) and asked == value)


def encode(value: str | int | float | bool, of: ValueType | None) -> int | None:
    """The bits, within `type_mask`, of a value that is compared with; None where the type has no such value."""
    mask = type_mask(of)
    if of is not None and of.kind is ValueKind.FLOAT:
        return floats.encode(value, of.size)
    if of is not None and (of.kind in NOT_IN_A_WORD or of.size > 8):
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


def is_in_a_word(function: FunctionSymbol) -> bool:
    """Whether the first captured word of what it returns is the value, so that words can be compared."""
    captures, of = function.return_captures, function.returns
    if of is not None and (of.members or of.kind is ValueKind.AGGREGATE):
        return False
    return not captures or (len(captures) == 1 and captures[0].kind is CaptureKind.WORD)


def is_nullable(of: ValueType | None) -> bool:
    """Whether a value of this type can be a null pointer; a type that is not known can."""
    return of is None or of.kind in (ValueKind.POINTER, ValueKind.FUNCTION)


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
            codes = (code for code in range(min(mask, 0xFFFF) + 1) if text in (character(code), character(code)[1:-1]))
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
