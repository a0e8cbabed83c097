"""Texts whose length is the next argument: what is recorded goes on to the next NUL, which is not theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from strobe.model import Argument, Enumerator, Text

_LENGTH = re.compile(r"(?:^|_)(?:len|length|nbytes)$|[a-z](?:Len|Length)$", re.IGNORECASE)
_SIZE = re.compile(r"^(?:size|sz|n|count)$")  # may be the size of something else, as of a file
_BYTES = re.compile(r"^(?:p|s|str|text|data|buf|buffer|bytes|ptr|src|in|input|key|msg|chars?)$")
_SAME_SIZE = re.compile(r"^(.+?)(?:_(?:size|sz|n|count)|Size|Count)$")


def by_length(arguments: Sequence[Argument]) -> list[Argument]:
    """Each text that is longer than the next argument says, as `name[0..length]`: which is the expression for what is
    shown."""
    found = list(arguments)
    for index, (text, length) in enumerate(pairwise(arguments)):
        value, number = text.value, length.value
        if not isinstance(value, Text) or not _is_pair(text.name, length.name):
            continue
        if not isinstance(number, int) or isinstance(number, bool | Enumerator) or not 0 <= number < len(value):
            continue
        shown = value[:number]
        if shown.isascii():  # else bytes and characters are not the same
            found[index] = Argument(f"{text.name}[0..{length.name}]", Text(shown))
    return found


def _is_pair(text: str, length: str) -> bool:
    if not text or not length:
        return False
    if _LENGTH.search(length):
        return True
    own = _SAME_SIZE.match(length)
    return own[1] == text if own is not None else bool(_SIZE.match(length) and _BYTES.match(text))
