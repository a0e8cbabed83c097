"""Names of types as descriptions match them: without template arguments."""

from __future__ import annotations

import re
from functools import lru_cache

_PLAIN_TEXT = re.compile(
    r"(?:std::__cxx11|std::__1|std)::basic_string<(\w+), ?(?:std::__1|std)::char_traits<\1>, ?"
    r"(?:std::__1|std)::allocator<\1> ?>"
)
_STRINGS = {"char": "string", "wchar_t": "wstring"} | {f"char{bits}_t": f"u{bits}string" for bits in ("8", "16", "32")}


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


def matcher(pattern: str) -> re.Pattern[str]:
    """`*` stands for anything."""
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def short(name: str) -> str:
    """As a person calls it: `std::string`."""
    return _PLAIN_TEXT.sub(lambda found: f"std::{_STRINGS.get(found[1], found[0])}", name)
