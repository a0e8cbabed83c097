"""Values out of the words that a record has of them, and back for comparisons.

struct strobe_capture of the ABI says how they were written.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Sequence

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.expressions.integers import CLASSES, of_enum, promoted, typed
from strobe.model import (
    ByteCharacter,
    Capture,
    CaptureKind,
    CodeAddress,
    Enumerator,
    FunctionSymbol,
    Text,
    Value,
    ValueKind,
    ValueType,
)
from strobe.timeline.decode import floats

WORD = (1 << 64) - 1
_NOT_IN_A_WORD = (ValueKind.FLOAT, ValueKind.AGGREGATE, ValueKind.VOID)
_ESCAPES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\"}
_TWO_WORDS = (CaptureKind.VECTOR, CaptureKind.X87)
_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}
_NO_VALUE = "nullopt"
_ELLIPSIS = "…"
_MAY_BE_NO_TEXT = 1  # Capture.other of CHARS


class Words:
    """The words of a record, taken one after the other; what is missing at their end is none."""

    def __init__(self, words: Sequence[int], place: int = 0) -> None:
        self._words = words
        self._next = place

    @property
    def place(self) -> int:
        """Of the next word."""
        return self._next

    def take(self, count: int = 1) -> Sequence[int]:
        """The next words; fewer than `count` at the record's end."""
        taken = self._words[self._next : self._next + count]
        self._next += count
        return taken

    def rest(self) -> tuple[int, ...]:
        """What follows."""
        return tuple(self._words[self._next :])


@dataclass(frozen=True, slots=True)
class _Content:
    """What was kept of a text. `is_readable` False: the pointer leads to no memory."""

    data: bytes
    is_cut: bool
    is_readable: bool


def captured_value(captures: Sequence[Capture], of: ValueType, words: Words) -> Value:
    """The value that these captures are of; None where there are none, or the record ends before."""
    if not captures:
        return None
    if captures[-1].is_text:
        return _text(captures[-1], words)
    if captures[0].kind is CaptureKind.BYTES:
        content = _content(words)
        return None if content is None or content.is_cut else value_of_bytes(content.data, of)
    data = b"".join(_word_bytes(capture, words) for capture in captures)
    return value_of_bytes(data, of)


def pass_over(captures: Sequence[Capture], words: Words) -> None:
    """Leaves out the words of one value."""
    if not captures:
        return
    if captures[-1].is_text or captures[0].kind is CaptureKind.BYTES:
        words.take(1 if captures[-1].is_text else 0)
        header = next(iter(words.take()), 0)
        words.take(((header & _abi.TEXT_KEPT) + 7) // 8)
        return
    words.take(sum(2 if capture.kind in _TWO_WORDS else 1 for capture in captures))


def is_text(captures: Sequence[Capture]) -> bool:
    return bool(captures) and captures[-1].is_text


def value_of_bytes(data: bytes, of: ValueType) -> Value:
    """A value as it lies in memory; None where there are too few bytes."""
    if of.kind is ValueKind.ARRAY:
        return _array(data[: of.size], of.members[0][2])
    if of.kind is ValueKind.OPTIONAL:
        return _optional(data, of)
    if of.members:
        return {name: value_of_bytes(data[offset:], member) for name, offset, member in of.members}
    if of.kind is ValueKind.AGGREGATE or len(data) < min(of.size, 8) or not data:
        return None
    if of.bits is not None:
        first, count = of.bits
        word = int.from_bytes(data[:16], "little") >> first & (1 << count) - 1
        is_negative = _is_signed(of) and word >> (count - 1)
        found = decode(word - (1 << count) if is_negative else word, of)
        if not isinstance(found, int) or of.kind not in (ValueKind.SIGNED, ValueKind.UNSIGNED):
            return found
        return typed(found, promoted(count, _is_signed(of)))
    if of.kind is ValueKind.FLOAT:
        return floats.decode(data, of.size)
    if of.kind in (ValueKind.SIGNED, ValueKind.UNSIGNED) and of.size == 16:
        return None if len(data) < 16 else int.from_bytes(data[:16], "little", signed=of.kind is ValueKind.SIGNED)
    return decode(int.from_bytes(data[:8], "little"), of)


def _array(data: bytes, element: ValueType) -> Value:
    """A list; of characters their text up to the first zero byte, where it is text."""
    if element.kind is ValueKind.CHAR and element.size == 1:
        text = data.partition(b"\0")[0]
        if _reads_as_text(text):
            return Text(text.decode())
    size = max(element.size, 1)
    return [value_of_bytes(data[at : at + size], element) for at in range(0, len(data), size)]


def _optional(data: bytes, of: ValueType) -> Value:
    (_, start, value), (_, flag, engaged) = of.members
    is_there = value_of_bytes(data[flag:], engaged)
    return value_of_bytes(data[start:], value) if is_there else None if is_there is None else _NO_VALUE


def _is_signed(of: ValueType) -> bool:
    return of.kind is ValueKind.SIGNED or (of.kind is ValueKind.ENUM and not of.is_unsigned)


def _word_bytes(capture: Capture, words: Words) -> bytes:
    taken = words.take(2 if capture.kind in _TWO_WORDS else 1)
    return struct.pack(f"<{len(taken)}Q", *taken)


def _text(capture: Capture, words: Words) -> Value:
    """The text behind a pointer; the pointer where there is none."""
    pointer = next(iter(words.take()), None)
    content = _content(words)
    if pointer is None or content is None:
        return None
    unit = capture.character_bytes
    found = _decoded(content, unit) if content.is_readable else None
    if capture.kind is CaptureKind.CHARS and capture.other & _MAY_BE_NO_TEXT:
        found = found if found is not None and not content.is_cut and _reads_as_text(content.data, unit) else None
    return f"0x{pointer:x}" if found is None else found


def _content(words: Words) -> _Content | None:
    header = next(iter(words.take()), None)
    if header is None:
        return None
    kept = header & _abi.TEXT_KEPT
    taken = words.take((kept + 7) // 8)
    data = struct.pack(f"<{len(taken)}Q", *taken)[:kept]
    return _Content(data, bool(header & _abi.TEXT_CUT), not header & (_abi.TEXT_NULL | _abi.TEXT_UNREADABLE))


def _decoded(content: _Content, unit: int) -> Text:
    """Bytes that are not text show as `\\xff`; a character that was cut is left out."""
    decoder = codecs.getincrementaldecoder(_ENCODINGS[unit])("backslashreplace")
    text = decoder.decode(content.data, final=not content.is_cut)
    return Text(text + _ELLIPSIS if content.is_cut else text)


def _reads_as_text(data: bytes, unit: int = 1) -> bool:
    try:
        text = data.decode(_ENCODINGS[unit])
    except UnicodeDecodeError:
        return False
    return all(letter.isprintable() or letter in "\t\n\r\x1b" for letter in text)


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
        is_negative = of.size == 1 and value >= 0x80
        return ByteCharacter(_character(value)) if is_negative else _character(value)
    if of.kind is ValueKind.ENUM:
        return _enumerator(value, of)
    return integer_class(of)(_signed(value, of.size) if of.kind is ValueKind.SIGNED else value)


def integer_class(of: ValueType) -> type[int]:
    """What numbers of an integer type are: one of C's types."""
    return CLASSES[promoted(8 * of.size, of.kind is ValueKind.SIGNED)]


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
    return of_enum(value if of.is_unsigned else _signed(value, of.size))


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
