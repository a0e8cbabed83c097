"""Floating-point numbers as they lie in memory, and back for comparisons."""

from __future__ import annotations

import math
import struct

from strobe.model import Value

_LONG_DOUBLE_BYTES = 16
_EXPONENT_BIAS = 16383
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
    """The bits of a number of 2, 4 or 8 bytes, as near as there is one; None for what is no number, and for NaN."""
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
    """The 80-bit format of the x87, as near as a double comes."""
    fraction, exponent = struct.unpack("<QH", data[:10])
    sign = -1.0 if exponent >> 15 else 1.0
    exponent &= 0x7FFF
    if exponent == 0x7FFF:
        return _finite(sign * math.inf if fraction << 1 & (1 << 64) - 1 == 0 else math.nan)
    try:
        return sign * math.ldexp(fraction, exponent - _EXPONENT_BIAS - 63)
    except OverflowError:
        return _finite(sign * math.inf)
