"""Floating-point numbers as they lie in memory, and back for comparisons."""

from __future__ import annotations

import math
import struct
import sys
from decimal import Decimal, localcontext

from strobe.model import Value

_LONG_DOUBLE_BYTES = 16
_EXPONENT_BIAS = 16383
_EXPONENTS = 0x7FFF
_TEXT_DIGITS = 18
QUADRUPLES = ("_Float128", "__float128", "__ieee128", "f128")  # names of types of that format
_FORMATS = {2: "<e", 4: "<f", 8: "<d"}
_DIGITS = {2: range(3, 6), 4: range(6, 10)}  # decimal digits that may be enough, and that always are


def decode(data: bytes, size: int) -> Value:
    """A float; "inf", "-inf" or "nan", which JSON has no numbers for; None where there are too few bytes."""
    if len(data) < min(size, 10):
        return None
    if size in _FORMATS:
        return _finite(_shortest(float(struct.unpack(_FORMATS[size], data[:size])[0]), size))
    return _extended(data) if size == _LONG_DOUBLE_BYTES else None


def encode(value: str | int | float | bool, size: int) -> int | None:
    """The bits of a number of 2, 4 or 8 bytes, as near as there is one; None for what is not a number, and for NaN."""
    form = _FORMATS.get(size)
    try:
        number = float(value)
        if form is None or isinstance(value, bool) or math.isnan(number):
            return None
        return int.from_bytes(struct.pack(form, number), "little")
    except (ValueError, OverflowError):
        return None


def _shortest(value: float, size: int) -> float:
    """The shortest decimal that is this number of few digits: 0.1, not 0.10000000149011612."""
    if size not in _DIGITS or not math.isfinite(value):
        return value
    packed = struct.pack(_FORMATS[size], value)
    return next((item for item in _decimals(value, size) if _packed(item, size) == packed), value)


def _decimals(value: float, size: int) -> list[float]:
    return [float(f"{value:.{digits}g}") for digits in _DIGITS[size]]


def _packed(value: float, size: int) -> bytes:
    try:
        return struct.pack(_FORMATS[size], value)
    except OverflowError:  # the largest one, rounded up
        return b""


def _finite(value: float) -> Value:
    return value if math.isfinite(value) else str(value)


def _extended(data: bytes) -> Value:
    """The 80-bit format of the x87."""
    fraction, exponent = struct.unpack("<QH", data[:10])
    sign = -1 if exponent >> 15 else 1
    exponent &= _EXPONENTS
    if exponent == _EXPONENTS:
        return _finite(sign * math.inf if fraction << 1 & (1 << 64) - 1 == 0 else math.nan)
    return _scaled(sign, fraction, max(exponent, 1) - _EXPONENT_BIAS - 63)


def quadruple(data: bytes) -> Value:
    """IEEE's 128-bit format; None where there are too few bytes."""
    if len(data) < _LONG_DOUBLE_BYTES:
        return None
    word = int.from_bytes(data[:_LONG_DOUBLE_BYTES], "little")
    sign, exponent, fraction = -1 if word >> 127 else 1, word >> 112 & _EXPONENTS, word & (1 << 112) - 1
    if exponent == _EXPONENTS:
        return _finite(math.nan if fraction else sign * math.inf)
    return _scaled(sign, fraction | bool(exponent) << 112, max(exponent, 1) - _EXPONENT_BIAS - 112)


def _scaled(sign: int, fraction: int, exponent: int) -> Value:
    """As near as a double comes; as text, "3.6e-4951", where doubles do not reach."""
    try:
        value = math.ldexp(fraction, exponent)
    except OverflowError:
        value = math.inf
    if not fraction or sys.float_info.min <= value < math.inf:
        return math.copysign(value, sign)
    with localcontext(prec=3 * _TEXT_DIGITS):
        exact = sign * Decimal(fraction) * Decimal(2) ** exponent
    with localcontext(prec=_TEXT_DIGITS):
        return f"{exact.normalize():e}"
