"""Texts whose length is the next argument, called after them: what is recorded goes on to the next NUL, which is not
theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from strobe.model import Argument, Enumerator, Text

# Only one that is called after its text: `n` and `len` may be of something else, and the text may end by itself.
_OF_TEXT = re.compile(r"^(.+?)(?:_(?:len|length|size|sz|nbytes|count|n)|Len|Length|Size|Count)$")


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
    found = _OF_TEXT.match(length)
    return found is not None and found[1] == text
