"""Values out of the words that a record has of them: struct strobe_capture of the ABI says how they were written."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from strobe.model import Capture, CaptureKind, Text, Value, ValueKind, ValueType
from strobe.timeline.scalars import decode

_TEXT_KEPT, _TEXT_CUT, _TEXT_NULL, _TEXT_UNREADABLE = 0xFFFF, 0x10000, 0x20000, 0x40000  # STROBE_TEXT_*
_TEXTS = frozenset({CaptureKind.CHARS, CaptureKind.PAIR, CaptureKind.STRING})
_ELLIPSIS = "…"
_LONG_DOUBLE_BYTES = 16
_EXPONENT_BIAS = 16383


class Words:
    """The words of a record, taken one after the other; what is missing at their end is none."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = words
        self._next = 0

    def take(self, count: int = 1) -> Sequence[int]:
        taken = self._words[self._next : self._next + count]
        self._next += count
        return taken


def captured_value(captures: Sequence[Capture], of: ValueType, words: Words) -> Value:
    """The value that these captures are of; None where there are none, or the record ends before."""
    if not captures:
        return None
    if captures[0].kind in _TEXTS:
        return _text(words)
    if captures[0].kind is CaptureKind.BYTES:
        content = _content(words)
        return content if isinstance(content, str) else value_of_bytes(content, of)
    data = b"".join(_word_bytes(capture, words) for capture in captures)
    return value_of_bytes(data, of) if len(data) >= min(of.size, 8 * len(captures)) and data else None


def value_of_bytes(data: bytes, of: ValueType) -> Value:
    """A value as it lies in memory."""
    if of.members:
        return {name: value_of_bytes(data[offset:], member) for name, offset, member in of.members}
    if of.kind is ValueKind.FLOAT:
        return _float(data, of.size)
    if of.kind in (ValueKind.SIGNED, ValueKind.UNSIGNED) and of.size == 16 and len(data) >= 16:
        return int.from_bytes(data[:16], "little", signed=of.kind is ValueKind.SIGNED)
    return decode(int.from_bytes(data[:8], "little"), of)


def _word_bytes(capture: Capture, words: Words) -> bytes:
    taken = words.take(2 if capture.kind is CaptureKind.VECTOR else 1)
    return struct.pack(f"<{len(taken)}Q", *taken)


def _content(words: Words) -> bytes | str:
    """Bytes of a text; or why there are none."""
    header = next(iter(words.take()), None)
    if header is None:
        return ""
    if header & _TEXT_NULL:
        return "null"
    if header & _TEXT_UNREADABLE:
        return "<unreadable>"
    kept = header & _TEXT_KEPT
    taken = words.take((kept + 7) // 8)
    data = struct.pack(f"<{len(taken)}Q", *taken)[:kept]
    return data + _ELLIPSIS.encode() if header & _TEXT_CUT else data


def _text(words: Words) -> Value:
    content = _content(words)
    if isinstance(content, str):
        return content or None
    return Text(content.decode("utf-8", "replace"))


def _float(data: bytes, size: int) -> Value:
    if len(data) < min(size, 10):
        return None
    if size == 4:
        return _shortest(struct.unpack("<f", data[:4])[0])
    if size == 8:
        return _finite(struct.unpack("<d", data[:8])[0])
    return _extended(data) if size == _LONG_DOUBLE_BYTES else None


def _shortest(value: float) -> Value:
    """The shortest decimal that is this single-precision number: 0.1, not 0.10000000149011612."""
    if not math.isfinite(value):
        return _finite(value)
    packed = struct.pack("<f", value)
    candidates = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return next((item for item in candidates if struct.pack("<f", item) == packed), value)


def _finite(value: float) -> Value:
    """JSON has no infinity and no NaN."""
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
