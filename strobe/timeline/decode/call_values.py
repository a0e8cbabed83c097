"""What was recorded of arguments and return values as the values that a user reads."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from functools import cache

from strobe.model import Argument, CodeAddress, Enumerator, FunctionSymbol, ReturnMatch, Text, Value
from strobe.timeline.decode.captured import Words, captured_value, decode, pass_over


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
