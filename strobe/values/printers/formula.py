"""What a description calculates with: members of a value, as the language writes them, numbers and template arguments.

formula = formula "?" formula ":" formula | formula operator formula | ("!" | "~" | "-") formula | "(" formula ")"
        | number | "size" | "this" | "$" number | "sizeof(" type ")" | "offsetof(" type "," path ")" | ["&"] path
path    = member ((".", "->") member | "[" number "]")...
type    = ["*"] path [".$" number] | "$" number
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from strobe.dataclass import dataclass

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+)|\$(?P<argument>\d+)"
    r"|(?P<word>[^\W\d]\w*(?:<[\w, ]*>)?(?!\w))|(?P<mark><<|>>|<=|>=|==|!=|&&|\|\||->|[-+*/%&|^<>!~?:()\[\].,]))"
)
_TYPE = re.compile(r"\s*(?P<star>\*)?\s*(?P<path>[^\W\d$][\w<>, .\->\[\]]*?)?\s*\.?(?:\$(?P<argument>\d+))?\s*$")
# Strongest last. What is left of a comparison is made of EQUAL and LESS.
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"))
_MOST_TOKENS = 200
_PRODUCTS = ("*", "/", "%")


class FormulaError(ValueError):
    """A formula that is not written as it should be; says where."""


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: int


@dataclass(frozen=True, slots=True)
class ElementSize:
    """`size`: bytes of an element."""


@dataclass(frozen=True, slots=True)
class This:
    """Where the value itself lies."""


@dataclass(frozen=True, slots=True)
class Argument:
    """The value of a template argument."""

    index: int


@dataclass(frozen=True, slots=True)
class SizeOf:
    """Bytes of a type, known when the program is."""

    type: TypeOf


@dataclass(frozen=True, slots=True)
class Word:
    """The 8 bytes at an address."""

    address: Formula


@dataclass(frozen=True, slots=True)
class Hop:
    """One part of a path: a member's `name`, or an `index`. `is_arrow`: of what a pointer leads to."""

    name: str
    is_arrow: bool = False
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A member by way of others: `a.b->c[1]`. `is_address`: its address, not its value."""

    hops: tuple[Hop, ...]
    is_address: bool = False

    def __str__(self) -> str:
        parts = (
            f"[{hop.index}]" if hop.index is not None else f"{'->' if hop.is_arrow else '.'}{hop.name}"
            for hop in self.hops
        )
        return "".join(parts).removeprefix(".")


@dataclass(frozen=True, slots=True)
class Operation:
    """`mark` as it was written; `!`, `~` and the unary `-` have one operand, `?` has three."""

    mark: str
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class OffsetOf:
    """`offsetof(type, path)`: bytes from where a value of that type begins to a part of it."""

    of: TypeOf
    path: Path


@dataclass(frozen=True, slots=True)
class TypeOf:
    """The type of what `path` leads to, of what a pointer there points to, or of its template argument."""

    path: Path | None
    argument: int | None
    is_target: bool


Formula: TypeAlias = Number | ElementSize | This | Argument | SizeOf | OffsetOf | Word | Path | Operation


@lru_cache(4096)
def parse(text: str) -> Formula:
    """Raises FormulaError."""
    try:
        return _Parser(text).whole()
    except RecursionError:
        raise FormulaError(f"'{text[:20]}' is nested too deeply") from None


@lru_cache(4096)
def parse_path(text: str) -> Path:
    """A path alone. Raises FormulaError."""
    found = parse(text)
    if not isinstance(found, Path) or found.is_address:
        raise FormulaError(f"'{text}' is not a member, as _M_impl._M_start is")
    return found


@lru_cache(4096)
def parse_type(text: str) -> TypeOf:
    """Raises FormulaError."""
    found = _TYPE.match(" ".join(text.split()))  # runs of spaces would be tried in every division
    if found is None or (found["path"] is None and found["argument"] is None):
        raise FormulaError(f"'{text}' is not a type: valid are $0, *_M_ptr, _M_value, _M_impl.$1")
    path = None if found["path"] is None else parse_path(found["path"].rstrip(". "))
    return TypeOf(path, None if found["argument"] is None else int(found["argument"]), found["star"] is not None)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._at = 0

    def whole(self) -> Formula:
        found = self._choice()
        if self._at < len(self._tokens):
            raise self._error(f"'{self._tokens[self._at][1]}' is not understood")
        return found

    def _split(self) -> list[tuple[str, str]]:
        found, at, text = [], 0, self._text.rstrip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None or token.lastgroup is None:
                raise self._error(f"'{text[at:].strip()[:20]}' is not understood")
            found.append((token.lastgroup, token[token.lastgroup]))
            at = token.end()
            if len(found) > _MOST_TOKENS:
                raise FormulaError(f"'{text[:20]}' has more than {_MOST_TOKENS} numbers, names and signs")
        return found

    def _choice(self) -> Formula:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._choice()
        self._need(":")
        return Operation("?", (condition, yes, self._choice()))

    def _binary(self, level: int) -> Formula:
        marks = _LEVELS[level] if level < len(_LEVELS) else _PRODUCTS
        below = level + 1
        found = self._binary(below) if level < len(_LEVELS) else self._unary()
        while (mark := self._take(*marks)) is not None:
            found = Operation(mark, (found, self._binary(below) if level < len(_LEVELS) else self._unary()))
        return found

    def _unary(self) -> Formula:
        mark = self._take("!", "~", "-", "&")
        if mark == "&":
            path = self._unary()
            if not isinstance(path, Path):
                raise self._error("'&' stands before a member")
            return Path(path.hops, is_address=True)
        return self._primary() if mark is None else Operation(mark, (self._unary(),))

    def _primary(self) -> Formula:
        if self._take("("):
            found = self._choice()
            self._need(")")
            return found
        kind, text = self._next()
        if kind == "number":
            return Number(int(text, 0))
        if kind == "argument":
            return Argument(int(text))
        if kind != "word":
            raise self._error(f"'{text}' stands where a member or a number is expected")
        if text == "sizeof":
            return self._size_of()
        if text == "word":
            self._need("(")
            address = self._choice()
            self._need(")")
            return Word(address)
        if text == "offsetof":
            return self._offset_of()
        if text == "size":
            return ElementSize()
        return This() if text == "this" else self._path(text)

    def _path(self, first: str) -> Path:
        hops = [Hop(first)]
        while (mark := self._take(".", "->", "[")) is not None:
            kind, text = self._next()
            if kind != ("number" if mark == "[" else "word"):
                raise self._error(f"'{text}' stands where a {'number' if mark == '[' else 'member'} is expected")
            hops.append(Hop("", True, int(text, 0)) if mark == "[" else Hop(text, mark == "->"))
            if mark == "[":
                self._need("]")
        return Path(tuple(hops))

    def _size_of(self) -> SizeOf:
        self._need("(")
        return SizeOf(self._type_up_to(")"))

    def _offset_of(self) -> OffsetOf:
        self._need("(")
        of = self._type_up_to(",")
        path = self._unary()
        if not isinstance(path, Path) or path.is_address:
            raise self._error("'offsetof' needs a type and a member")
        self._need(")")
        return OffsetOf(of, path)

    def _type_up_to(self, mark: str) -> TypeOf:
        parts = []
        while not self._take(mark):
            kind, text = self._next()
            parts.append(f"${text}" if kind == "argument" else text)
        return parse_type("".join(parts))

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise self._error("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, *marks: str) -> str | None:
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "mark":
            text = self._tokens[self._at][1]
            if text in marks:
                self._at += 1
                return text
        return None

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise self._error(f"'{mark}' is missing")

    def _error(self, complaint: str) -> FormulaError:
        return FormulaError(f"'{self._text}': {complaint}")
