"""Numbers, characters, floats and enumerators as they lie in memory, checked by the type that they are for."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from strobe.errors import StrobeError, failure
from strobe.model import Enumerator
from strobe.symbols.select.nearest import nearest_names
from strobe.symbols.types.model import Encoding, Enum, Scalar, Type
from strobe.values.model import Char

MAX_SHOWN = 60
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)")
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
_X87_BIAS = 16383
_MOST_DIGITS = 6000  # before or behind the point: more than any type has
_ESCAPES = {"0": 0, "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "'": 39, '"': 34, "\\": 92}
_SHOWN_NAMES = 12
_MAX_CODE = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_RUST_INTEGERS = frozenset({"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "usize", "isize"})


def refused(what: str, type_name: str, value: Any, reason: str, valid: str) -> StrobeError:
    """WRITE_FAILED: the value is none of this type."""
    shown = repr(value)
    shown = shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
    return failure("bad_written_value", what=what, type=type_name, value=shown, reason=reason, valid=valid)


def encode(type_: Type, value: Any, what: str) -> bytes:
    """Of a scalar or an enum. Raises WRITE_FAILED, which says what is valid."""
    plain, size = type_.bare, type_.size or 0
    if isinstance(plain, Scalar) and plain.encoding is Encoding.FLOAT:
        return _float(type_, plain, value, what)
    return number_of(type_, value, what, 8 * size).to_bytes(size, "little")


def number_of(type_: Type, value: Any, what: str, bits: int) -> int:
    """What stands for the value in so many bits. Raises WRITE_FAILED."""
    plain = type_.bare
    if isinstance(plain, Enum):
        number = _enumerated(plain, value, what, bits)
    elif not isinstance(plain, Scalar) or not bits or plain.encoding in (Encoding.COMPLEX, Encoding.DECIMAL):
        raise refused(what, type_.name, value, "values of this type cannot be written", "its members, or raw memory")
    elif plain.encoding is Encoding.BOOL:
        number = _bool(value, type_.name, what)
    elif plain.is_character:
        number = _character(plain, value, what)
    else:
        number = _integer(value, type_.name, what, min(bits, plain.bits or bits), plain.is_signed)
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise refused(what, type_.name, value, f"it does not fit into {bits} bits", f"what {bits} bits hold")
    return number & (1 << bits) - 1


def whole_number(value: Any) -> int | None:
    """Of a number or its text; None for all that is not a whole number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        text = value.strip()
        return int(text, 0) if text.lstrip("+-")[:2].lower() in ("0x", "0b") else int(text)
    return None


def _integer(value: Any, type_name: str, what: str, bits: int, is_signed: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    number, valid = whole_number(value), f"{low} to {high}"
    if number is None:
        raise refused(what, type_name, value, "it is not a whole number", valid)
    if not low <= number <= high:
        raise refused(what, type_name, value, "it is out of range", valid)
    return number


def _bool(value: Any, type_name: str, what: str) -> int:
    text = value.strip().lower() if isinstance(value, str) else value
    if text in (True, "true", "1"):
        return 1
    if text in (False, "false", "0"):
        return 0
    raise refused(what, type_name, value, "it is neither true nor false", "true, false")


def _character(plain: Scalar, value: Any, what: str) -> int:
    size = plain.size or 1
    is_rust = plain.encoding is Encoding.UTF and size == 4 and plain.own_name == "char"
    code = _code(value, size)
    low = -(1 << 8 * size - 1) if plain.is_signed else 0
    high = _MAX_CODE if is_rust else (1 << 8 * size) - 1
    if code is None or not low <= code <= high or (is_rust and code in _SURROGATES):
        valid = f"one character, as 'q' or '\\n', or its number, {low} to {high}"
        raise refused(what, plain.name, value, "it is not a character of this type", valid)
    return code


def _code(value: Any, size: int) -> int | None:
    """Of one character as itself, as it is shown, or as its number."""
    if isinstance(value, Char):
        return value.code
    if isinstance(value, str) and len(value) == 1:
        is_one = size > 2 or ord(value) < (0x80, 0x10000)[size - 1]  # one unit of UTF-8, UTF-16, UTF-32
        return ord(value) if is_one else None
    if isinstance(value, str) and len(value) >= 3 and value[0] == value[-1] == "'":
        return _escaped(value[1:-1], size)
    return whole_number(value)


def _escaped(text: str, size: int) -> int | None:
    if len(text) == 1:
        return _code(text, size)
    if text[0] == "\\" and text[1:] in _ESCAPES:
        return _ESCAPES[text[1:]]
    found = re.fullmatch(r"\\x([0-9a-fA-F]{1,8})", text)
    return int(found[1], 16) if found else None


def _float(type_: Type, plain: Scalar, value: Any, what: str) -> bytes:
    size = plain.size or 0
    number = _number(value)
    if number is None:
        raise refused(what, type_.name, value, "it is not a number", '1.5, 2e10, "nan", "inf", "-inf"')
    try:
        if size in _FLOATS:
            return struct.pack(_FLOATS[size], float(number))
        if size == 16 and plain.own_name == "long double":
            return _extended(number)
    except OverflowError:
        raise refused(what, type_.name, value, "it is out of range", "what fits into the type") from None
    raise refused(what, type_.name, value, "values of this type cannot be written", "its bytes, at its address")


def _number(value: Any) -> float | Fraction | None:
    """Exactly what was given; a float for infinities, for what is not a number, and for -0."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    if isinstance(value, float):
        return value
    whole = whole_number(value) if isinstance(value, str) else None
    try:
        number = Decimal(value.strip() if isinstance(value, str) else value) if whole is None else Decimal(whole)
    except InvalidOperation:
        return None
    if not number.is_finite() or not number:
        return math.nan if number.is_snan() else float(number)
    return _beyond(number) if abs(number.adjusted()) > _MOST_DIGITS else Fraction(number)


def _beyond(number: Decimal) -> Fraction:
    """In place of what no type holds: a fraction of a million digits would take long."""
    size = Fraction(10) ** (_MOST_DIGITS if number.adjusted() > 0 else -_MOST_DIGITS)
    return -size if number < 0 else size


def _extended(number: float | Fraction) -> bytes:
    """The 80 bits of an x87 register, and 6 bytes of padding (System V ABI for x86-64, 3.1.2). OverflowError."""
    if isinstance(number, float) and (number == 0 or not math.isfinite(number)):
        sign = 0x8000 if math.copysign(1.0, number) < 0 else 0
        if number == 0:
            return struct.pack("<QH6x", 0, sign)
        return struct.pack("<QH6x", 1 << 63 | (1 << 62 if math.isnan(number) else 0), sign | 0x7FFF)
    exact, sign = abs(Fraction(number)), 0x8000 if number < 0 else 0
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= exact < Fraction(2) ** exponent  # 2 ** exponent <= exact < 2 ** (exponent + 1)
    exponent = max(exponent, 1 - _X87_BIAS)
    mantissa = round(exact * Fraction(2) ** (63 - exponent))
    if mantissa >> 64:  # rounded up
        mantissa, exponent = mantissa >> 1, exponent + 1
    if exponent > _X87_BIAS:
        raise OverflowError
    return struct.pack("<QH6x", mantissa, sign | (exponent + _X87_BIAS if mantissa >> 63 else 0))


def _enumerated(plain: Enum, value: Any, what: str, bits: int) -> int:
    known = {one.name.rpartition("::")[2]: one.value for one in plain.enumerators}
    if isinstance(value, Enumerator):
        return value.number
    number = whole_number(value)
    if number is None:
        return _named(plain, known, value, what)
    is_rust = plain.underlying is not None and plain.underlying.name in _RUST_INTEGERS
    low = -(1 << bits - 1) if any(one < 0 for one in known.values()) or _is_signed(plain) else 0
    if (is_rust and number not in known.values()) or not low <= number < 1 << (bits - 1 if low else bits):
        raise refused(what, plain.name, value, "no enumerator has this number", _names(known))
    return number


def _is_signed(plain: Enum) -> bool:
    underlying = None if plain.underlying is None else plain.underlying.bare
    return isinstance(underlying, Scalar) and underlying.is_signed


def _named(plain: Enum, known: dict[str, int], value: Any, what: str) -> int:
    """Of a name, or several of flags; as they are shown, with their number, too."""
    text = value.strip() if isinstance(value, str) else ""
    names = [part.strip().rpartition("::")[2] for part in re.sub(r"\(-?\d+\)$", "", text).split("|")]
    if all(name in known for name in names) and (len(names) == 1 or plain.is_flags):
        number = 0
        for name in names:
            number |= known[name]
        return number
    if not isinstance(value, str):
        raise refused(what, plain.name, value, "it is not an enumerator", _names(known))
    near = nearest_names(next((name for name in names if name not in known), text), list(known))
    reason = "there is no such enumerator" + (f", but {', '.join(near[:3])}" if near else "")
    raise refused(what, plain.name, value, reason, _names(known))


def _names(known: dict[str, int]) -> str:
    shown = [f"{name}({number})" for name, number in list(known.items())[:_SHOWN_NAMES]]
    return ", ".join(shown) + (" …" if len(known) > _SHOWN_NAMES else "")
