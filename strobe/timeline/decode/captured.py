"""Values out of the words that a record has of them: of one value by its captures, of a call by its function.

struct strobe_capture of the ABI says how they were written.
"""

from __future__ import annotations

import codecs
import json
import struct
from collections.abc import Callable, Sequence
from functools import cache

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.expressions.integers import CLASSES, of_enum, promoted, typed
from strobe.model import (
    Argument,
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
from strobe.timeline.code_names import NameAt
from strobe.timeline.decode import floats

WORD = (1 << 64) - 1
NOT_IN_A_WORD = (ValueKind.FLOAT, ValueKind.AGGREGATE, ValueKind.VOID)
_WORD_BYTES = 8
ESCAPES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\"}
_TWO_WORDS = (CaptureKind.VECTOR, CaptureKind.X87)
_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}
_NO_VALUE = "nullopt"
_ELLIPSIS = "…"
_MAY_BE_NO_TEXT = 1  # Capture.other of CHARS
_NO_TEXT = _abi.TEXT_NULL | _abi.TEXT_UNREADABLE | _abi.TEXT_CUT
_KEPT = 1_000  # decoded values of one enum or character type
_SIZES = (1, 2, 4, 8)
_Convert = Callable[[int], Value]
# (words, the same as bytes, index of the next word) -> (value, index of the word behind it)
_Read = Callable[[Sequence[int], bytes, int], tuple[Value, int]]
Values = tuple[tuple[Argument, ...] | None, Value, tuple[int, ...]]
"""Arguments, what was returned, and the words of the extras."""


@cache
def _form(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}Q")


def words_of(blob: bytes) -> tuple[int, ...]:
    """The words of the `arguments` column."""
    return _form(len(blob) // 8).unpack(blob)


class Words:
    """The words of a record, taken one after the other; what is missing at their end is none."""

    def __init__(self, words: Sequence[int], first: int = 0) -> None:
        self._words = words
        self._next = first

    @property
    def next(self) -> int:
        """Index of the next word."""
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


def decode_arguments(
    function: FunctionSymbol | None, words: Sequence[int], has_extras: bool
) -> tuple[tuple[Argument, ...] | None, tuple[int, ...]]:
    """What was captured, in the order of the parameters, with None for one of which nothing was; and the extras.

    None where neither parameters nor words are known: that there are no arguments is not known either.
    """
    left = Words(words)
    if function is None or function.parameters is None:
        if has_extras or not words:
            return None, left.rest()
        return tuple(Argument(f"arg{index}", decode(word, None)) for index, word in enumerate(words)), ()
    found = tuple(Argument(item.name, captured_value(item.captures, item.type, left)) for item in function.parameters)
    return found, left.rest()


def argument_of(function: FunctionSymbol | None, words: Sequence[int], index: int) -> Value:
    """The one at `index`, as decode_arguments has it; None where it is not known."""
    if function is None or function.parameters is None:
        return decode(words[index], None) if index < len(words) else None
    left = Words(words)
    for before in function.parameters[:index]:
        pass_over(before.captures, left)
    wanted = function.parameters[index]
    return captured_value(wanted.captures, wanted.type, left)


def decode_return(
    function: FunctionSymbol | None, words: Sequence[int], has_value: bool = True
) -> tuple[Value, tuple[int, ...]]:
    """None where nothing was captured; and the extras."""
    left = Words(words)
    if not has_value or not words:
        return None, left.rest()
    if function is None or function.returns is None:
        return decode(left.take()[0], None), left.rest()
    return captured_value(function.return_captures, function.returns, left), left.rest()


class CallDecoder:
    """How the values of a function's entries, or of its returns, are decoded, found out once.

    Most are one word, and are read without looking at their type again. Gives what decode_arguments and decode_return
    give.
    """

    def __init__(self, symbol: FunctionSymbol | None, is_enter: bool) -> None:
        self._symbol, self._is_enter = symbol, is_enter
        self._arguments: list[tuple[str, _Read]] | None = None
        self._returned: _Read | None = None
        types: list[ValueType | None] = [None]
        if symbol is not None and is_enter and symbol.parameters is not None:
            self._arguments = [(item.name, _reader(item.captures, item.type)) for item in symbol.parameters]
            types = [item.type for item in symbol.parameters]
        elif symbol is not None and not is_enter and symbol.returns is not None:
            self._returned = _reader(symbol.return_captures, symbol.returns)
            types = [symbol.returns]
        self.has_code = any(map(_may_be_code, types))  # a value may be the address of a function

    def values(self, blob: bytes, has_more: bool, name_at: NameAt | None) -> Values:
        """`blob`: the words; `name_at`: where `has_code`, what addresses meant then."""
        words = words_of(blob)
        if self._arguments is not None:
            at = 0
            found = []
            for name, read in self._arguments:
                value, at = read(words, blob, at)
                found.append(Argument(name, value if name_at is None else named(value, name_at)))
            return tuple(found), None, words[at:]
        if self._returned is not None and has_more and words:
            value, at = self._returned(words, blob, 0)
            return None, value if name_at is None else named(value, name_at), words[at:]
        return self._others(words, has_more, name_at)

    def _others(self, words: Sequence[int], has_more: bool, name_at: NameAt | None) -> Values:
        """Of which nothing is known, or nothing was captured."""
        if not self._is_enter:
            value, extras = decode_return(self._symbol, words, has_more)
            return None, value if name_at is None else named(value, name_at), extras
        found, extras = decode_arguments(self._symbol, words, has_more)
        if found is None or name_at is None:
            return found, None, extras
        return tuple(Argument(item.name, named(item.value, name_at)) for item in found), None, extras


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


def decode(word: int, of: ValueType | None) -> Value:
    """A word as its type has it; of an unknown type in hexadecimal; None where an integer register does not hold it."""
    word &= WORD
    if of is None or of.kind in (ValueKind.POINTER, ValueKind.REFERENCE):
        return f"0x{word:x}"
    if of.kind is ValueKind.FUNCTION:
        return CodeAddress(f"0x{word:x}")
    if of.kind in NOT_IN_A_WORD or of.size > 8:
        return None
    value = word & type_mask(of)
    if of.kind is ValueKind.BOOL:
        return value != 0
    if of.kind is ValueKind.CHAR:
        is_negative = of.size == 1 and value >= 0x80
        return ByteCharacter(character(value)) if is_negative else character(value)
    if of.kind is ValueKind.ENUM:
        return _enumerator(value, of)
    return integer_class(of)(_signed(value, of.size) if of.kind is ValueKind.SIGNED else value)


def integer_class(of: ValueType) -> type[int]:
    """What numbers of an integer type are: one of C's types."""
    return CLASSES[promoted(8 * of.size, of.kind is ValueKind.SIGNED)]


def type_mask(of: ValueType | None) -> int:
    """The bits of a word that the type has; what lies above them is not defined."""
    return WORD if of is None or not 0 < of.size < 8 else (1 << 8 * of.size) - 1


def shown(value: Value) -> str:
    """As a person reads it: true and false as in C, text in quotes, "0x…" and enumerators as they are, "?" where it is
    not known."""
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Text):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Enumerator):
        return value.shown
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={shown(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)


def plain(value: Value) -> Value:
    """As JSON has it: enumerators with their numbers, "MODE_LOOP(2)"; integers of more than 64 bits as text."""
    if isinstance(value, Enumerator):
        return value.shown
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    if isinstance(value, list):
        return [plain(element) for element in value]
    return {name: plain(member) for name, member in value.items()} if isinstance(value, dict) else value


def named(value: Value, name_of: Callable[[int], str | None]) -> Value:
    """With `&name` for each pointer to a function whose name is known."""
    if isinstance(value, CodeAddress):
        name = name_of(int(value, 16))
        return value if name is None else f"&{name}"
    if isinstance(value, list):
        return [named(element, name_of) for element in value]
    return {name: named(member, name_of) for name, member in value.items()} if isinstance(value, dict) else value


def _may_be_code(of: ValueType | None) -> bool:
    if of is None:
        return False
    return of.kind is ValueKind.FUNCTION or any(_may_be_code(member) for _, _, member in of.members)


def _reader(captures: Sequence[Capture], of: ValueType) -> _Read:
    if len(captures) == 1 and captures[0].kind is CaptureKind.WORD:
        convert = _converter(of)
        if convert is not None:
            return lambda words, blob, at: (convert(words[at]) if at < len(words) else None, at + 1)

    def read(words: Sequence[int], blob: bytes, at: int) -> tuple[Value, int]:
        left = Words(words, at)
        value = captured_value(captures, of, left)
        return value, left.next

    if captures and captures[-1].kind in (CaptureKind.PAIR, CaptureKind.STRING) and captures[-1].character_bytes == 1:
        return _text_reader(read)
    is_text = captures and captures[-1].kind is CaptureKind.CHARS and not captures[-1].other
    return _text_reader(read) if is_text and captures[-1].character_bytes == 1 else read


def _text_reader(otherwise: _Read) -> _Read:
    """Of text that is whole and ASCII; `otherwise` reads the rest."""

    def read(words: Sequence[int], blob: bytes, at: int) -> tuple[Value, int]:
        if at + 1 < len(words) and not words[at + 1] & _NO_TEXT:
            kept = words[at + 1] & _abi.TEXT_KEPT
            begin = _WORD_BYTES * (at + 2)
            data = blob[begin : begin + kept]
            if data.isascii() and len(data) == kept:
                return Text(data.decode("ascii")), at + 2 + (kept + 7) // 8
        return otherwise(words, blob, at)

    return read


def _converter(of: ValueType) -> _Convert | None:
    """Of a value that is one word; None for others."""
    if of.bits is not None or of.members:
        return None
    if of.kind in (ValueKind.POINTER, ValueKind.REFERENCE) and of.size == _WORD_BYTES:
        return lambda word: f"0x{word:x}"
    if of.size not in _SIZES:
        return None
    mask, sign = type_mask(of), 1 << (8 * of.size - 1)
    if of.kind in (ValueKind.SIGNED, ValueKind.UNSIGNED):
        made = integer_class(of)
        if of.kind is ValueKind.SIGNED:
            return lambda word: made(((word & mask) ^ sign) - sign)
        return lambda word: made(word & mask)
    if of.kind is ValueKind.BOOL:
        return lambda word: word & mask != 0
    return _remembered(of, mask) if of.kind in (ValueKind.ENUM, ValueKind.CHAR) else None


def _remembered(of: ValueType, mask: int) -> _Convert:
    known: dict[int, Value] = {}

    def convert(word: int) -> Value:
        word &= mask
        if word not in known:
            if len(known) >= _KEPT:
                known.clear()
            known[word] = decode(word, of)
        return known[word]

    return convert


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


def _signed(value: int, size: int) -> int:
    sign = 1 << (8 * size - 1)
    return (value ^ sign) - sign


def character(code: int) -> str:
    """As C writes it, in quotes: 'a', '\\n', '\\xff'."""
    if code in ESCAPES:
        return f"'{ESCAPES[code]}'"
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
