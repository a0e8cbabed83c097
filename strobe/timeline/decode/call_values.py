"""What was recorded of arguments and return values as the values that a user reads."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from functools import cache

from strobe import _abi
from strobe.model import (
    Argument,
    Capture,
    CaptureKind,
    CodeAddress,
    Enumerator,
    FunctionSymbol,
    ReturnMatch,
    Text,
    Value,
    ValueKind,
    ValueType,
)
from strobe.timeline.code_names import NameAt
from strobe.timeline.decode.captured import Words, captured_value, decode, integer_class, pass_over, type_mask

_KEPT = 1_000  # decoded values of one enum or character type
_SIZES = (1, 2, 4, 8)
_WORD = 8
_NO_TEXT = _abi.TEXT_NULL | _abi.TEXT_UNREADABLE | _abi.TEXT_CUT
_Convert = Callable[[int], Value]
# (words, the same as bytes, place) -> (value, place behind it)
_Read = Callable[[Sequence[int], bytes, int], tuple[Value, int]]
Values = tuple[tuple[Argument, ...] | None, Value, tuple[int, ...]]
"""Arguments, what was returned, and the words of the extras."""


@cache
def _form(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}Q")


def words_of(blob: bytes) -> tuple[int, ...]:
    """The words of the `arguments` column."""
    return _form(len(blob) // 8).unpack(blob)


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
        return tuple(Argument(f"arg{place}", decode(word, None)) for place, word in enumerate(words)), ()
    found = tuple(Argument(item.name, captured_value(item.captures, item.type, left)) for item in function.parameters)
    return found, left.rest()


def argument_of(function: FunctionSymbol | None, words: Sequence[int], place: int) -> Value:
    """The one at `place`, as decode_arguments has it; None where it is not known."""
    if function is None or function.parameters is None:
        return decode(words[place], None) if place < len(words) else None
    left = Words(words)
    for before in function.parameters[:place]:
        pass_over(before.captures, left)
    wanted = function.parameters[place]
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
        return value, left.place

    if captures and captures[-1].kind in (CaptureKind.PAIR, CaptureKind.STRING) and captures[-1].character_bytes == 1:
        return _text_reader(read)
    is_text = captures and captures[-1].kind is CaptureKind.CHARS and not captures[-1].other
    return _text_reader(read) if is_text and captures[-1].character_bytes == 1 else read


def _text_reader(otherwise: _Read) -> _Read:
    """Of text that is whole and ASCII; `otherwise` reads the rest."""

    def read(words: Sequence[int], blob: bytes, at: int) -> tuple[Value, int]:
        if at + 1 < len(words) and not words[at + 1] & _NO_TEXT:
            kept = words[at + 1] & _abi.TEXT_KEPT
            begin = _WORD * (at + 2)
            data = blob[begin : begin + kept]
            if data.isascii() and len(data) == kept:
                return Text(data.decode("ascii")), at + 2 + (kept + 7) // 8
        return otherwise(words, blob, at)

    return read


def _converter(of: ValueType) -> _Convert | None:
    """Of a value that is one word; None for others."""
    if of.bits is not None or of.members:
        return None
    if of.kind in (ValueKind.POINTER, ValueKind.REFERENCE) and of.size == _WORD:
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
