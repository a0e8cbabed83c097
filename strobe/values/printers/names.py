"""Names of types as descriptions match them: without template arguments."""

from __future__ import annotations

import re
from functools import lru_cache

_STRINGS = {"char": "string", "wchar_t": "wstring"} | {f"char{bits}_t": f"u{bits}string" for bits in ("8", "16", "32")}
_INLINE = re.compile(r"\bstd::(?:__1|__cxx11|__fs|__cxx1998|__debug)::")
_DEFAULT = re.compile(r", ?std::(?:allocator|char_traits|less|hash|equal_to|default_delete)(?=<)")
_TEXT = re.compile(r"\bstd::basic_string<(\w+)>")


@lru_cache(4096)
def without_arguments(name: str) -> str:
    """`std::vector::iterator` of `std::vector<int, std::allocator<int> >::iterator`."""
    found, depth = [], 0
    for at, letter in enumerate(name):
        if letter == "<":
            depth += 1
        if depth == 0:
            found.append(letter)
        if letter == ">" and name[at - 1] != "-" and depth:
            depth -= 1
    return "".join(found)


def arguments_text(name: str) -> str:
    """`0, int*` of `ns::Base<0, int*>`: what is between the first bracket and the last."""
    return name.partition("<")[2].removesuffix(">").rstrip() if name.endswith(">") else ""


class NameGlob:
    """A name in which `*` stands for anything. It takes time in proportion to the name, however many there are."""

    def __init__(self, text: str) -> None:
        self._parts = text.split("*")

    def fits(self, name: str) -> bool:
        """Whether it is the whole name."""
        first, *between, last = self._parts if len(self._parts) > 1 else (*self._parts, "")
        if len(self._parts) == 1:
            return name == first
        at, end = len(first), len(name) - len(last)
        if end < at or not name.startswith(first) or not name.endswith(last):
            return False
        for part in between:
            found = name.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True


@lru_cache(4096)
def short(name: str) -> str:
    """As a person calls it: `std::string`, `std::vector<int>`. Arguments that are nearly always the default go."""
    plain = _INLINE.sub("std::", _INLINE.sub("std::", name))
    found = _DEFAULT.search(plain)
    while found is not None:
        end = _behind(plain, found.end())
        plain = plain[: found.start()] + plain[end:]
        found = _DEFAULT.search(plain, found.start())
    plain = re.sub(r"(?<!>) >", ">", plain)
    return _TEXT.sub(lambda text: f"std::{_STRINGS.get(text[1], text[0])}", plain)


def _behind(name: str, opens: int) -> int:
    """Where the bracket at `opens` is closed; the end where it is not."""
    depth = 0
    for at in range(opens, len(name)):
        depth += {"<": 1, ">": -1}.get(name[at], 0)
        if depth == 0:
            return at + 1
    return len(name)
