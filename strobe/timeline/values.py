"""What was recorded of arguments and return values as the values that a user reads."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from strobe.model import Argument, FunctionSymbol, Value
from strobe.timeline.captured import Words, captured_value
from strobe.timeline.scalars import decode


def words_of(blob: bytes) -> tuple[int, ...]:
    """The words of the `arguments` column."""
    return struct.unpack(f"<{len(blob) // 8}Q", blob)


def decode_arguments(function: FunctionSymbol | None, words: Sequence[int]) -> tuple[Argument, ...]:
    """What was captured, in the order of the parameters; None for a parameter of which nothing was."""
    if function is None or function.parameters is None:
        return tuple(Argument(f"arg{place}", decode(word, None)) for place, word in enumerate(words))
    left = Words(words)
    return tuple(Argument(item.name, captured_value(item.captures, item.type, left)) for item in function.parameters)


def decode_return(function: FunctionSymbol | None, words: Sequence[int]) -> Value:
    """None where nothing was captured."""
    if not words:
        return None
    if function is None or function.returns is None:
        return decode(words[0], None)
    return captured_value(function.return_captures, function.returns, Words(words))
