"""Names of functions: brackets and scopes, parameter lists, clones, Rust hashes.

A function's name here is demangled and qualified, keeps its template arguments and has no parameter list:
`ns::Map<int, char*>::find`, `(anonymous namespace)::helper`, `outer::{lambda(int)#1}::operator()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

SCOPE = "\x1f"  # stands for a `::` outside all brackets, see scoped()

# Longest first. The word and what follows is one token: its brackets open and close nothing.
_OPERATOR = (
    r"(?<![\w$~])operator(?:\s*(?:<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|\(\)|\[\]|<|>)"
    r"|\"\"\s*\w+| (?:new|delete)(?:\[\])?)?(?!\w)"
)
_NESTING = re.compile(_OPERATOR + r"|->|[<({\[\])}>]")
_TOKEN = re.compile(_OPERATOR + r"|[\w$~.,@]+|::|->|.", re.DOTALL)
_CHANGED = re.compile(r"\.(?:isra|constprop|part|specialized|argelim|argprom)\b")
_CLOSES = {">": "<", ")": "(", "}": "{", "]": "["}


class Unbalanced(ValueError):
    """A bracket without its partner."""


def outside(name: str, *, strict: bool = False) -> Iterator[tuple[int, str]]:
    """Position and text of the tokens outside all brackets: words, `::`, spaces, whole bracketed groups.

    An operator's name (`operator<`) is one token. With `strict`, brackets without partner raise Unbalanced; else an
    unclosed group reaches to the end.
    """
    position, length = 0, len(name)
    while position < length:
        match = _TOKEN.match(name, position)
        assert match is not None  # the last alternative takes any character
        end = match.end()
        letter = name[position]
        if letter in "<({[":
            end = _group_end(name, position, strict)
        elif strict and letter in ">)}]":
            raise Unbalanced(f"'{letter}' closes nothing")
        yield position, name[position:end]
        position = end


def _group_end(name: str, start: int, strict: bool) -> int:
    """Where the group that opens at `start` ends. A `<` that compares is forgotten when an outer bracket closes."""
    open_brackets: list[str] = []
    for match in _NESTING.finditer(name, start):
        text = match.group()
        if text in "<({[":
            open_brackets.append(text)
        elif text in _CLOSES:
            _close(open_brackets, text)
            if not open_brackets:
                return match.end()
    if strict:
        raise Unbalanced(f"'{name[start]}' is not closed")
    return len(name)


def _close(open_brackets: list[str], letter: str) -> None:
    partner = _CLOSES[letter]
    if partner == "<":
        if open_brackets[-1] == "<":
            open_brackets.pop()
        return
    while open_brackets and open_brackets.pop() != partner:
        pass


def scoped(name: str) -> str:
    """`name` as patterns see it: each `::` outside brackets is SCOPE, and what compilers write differently (spaces,
    `unsigned` and `unsigned int`, places of `const`, inline namespaces of the standard library) has one spelling."""
    return scoped_all([name])[0]


def scoped_all(names: Sequence[str]) -> list[str]:
    """The same of many names, in the same order; 100,000 take 50 ms."""
    from strobe._core import scoped_names

    return scoped_names(names)


def check_brackets(name: str) -> None:
    """Raises Unbalanced."""
    for _ in outside(name, strict=True):
        pass


def components(name: str) -> list[str]:
    """The parts of a name between `::` outside brackets: `a::b<c::d>` has two."""
    return scoped(name).split(SCOPE)


def is_changed_clone(raw_name: str) -> bool:
    """Whether it is a clone that may take other parameters than the source says."""
    return _CHANGED.search(raw_name) is not None


def without_clone(raw_name: str) -> str:
    """Without what the compiler has added to a function that it made from another."""
    from strobe._core import without_clone

    return without_clone(raw_name)


def plain_name(demangled: str) -> str:
    """The name in a demangled symbol: without return type, parameter lists, ABI tags, clone marks and Rust hash.

    Function names of C pass unchanged. Parameter lists of enclosing functions go too; those of lambdas stay, being all
    that tells two lambdas apart: `f(int)::{lambda(int)#1}::operator()(int) const` -> `f::{lambda(int)#1}::operator()`.
    """
    from strobe._core import plain_names

    return plain_names([demangled])[0]


def parameter_count(linkage_name: str) -> int | None:
    """How many parameters a mangled name of C++ has; None where it says nothing of them."""
    from strobe._core import demangle

    text = demangle([linkage_name])[0]
    groups = [group for _, group in outside(text or "") if group.startswith("(")]
    if not groups or groups[-1].startswith("((") or any(group.startswith("(*") for group in groups):
        return None
    inner = groups[-1][1:-1]
    commas = sum(token == "," for _, token in outside(inner.replace(",", " , ")))
    return 0 if not inner else 1 + commas - inner.endswith("...")


def demangled(raw_names: Sequence[str]) -> list[str]:
    """Names without parameter lists, in one batch; what is not mangled, or by a scheme not known, stays."""
    from strobe._core import readable_names

    return readable_names(raw_names)


def spelled_by_symbols(names: Sequence[str], linkage_names: Sequence[str]) -> list[str]:
    """`names` from debug information, of which those with a linkage name are spelled as that is."""
    mangled = [linkage for linkage in linkage_names if linkage]
    by_linkage = dict(zip(mangled, demangled(mangled), strict=True))
    pairs = zip(names, linkage_names, strict=True)
    return [name if by_linkage.get(linkage, linkage) == linkage else by_linkage[linkage] for name, linkage in pairs]
