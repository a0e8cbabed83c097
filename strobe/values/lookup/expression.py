"""Expressions that name a variable or a part of one: `gTempo`, `gClock->counter`, `*p`, `&x`, `(Node*)p`.

expression = "*" expression | "&" expression | "(" type ")" expression | primary suffix...
primary    = "(" expression ")" | number | [file "::"] name
suffix     = "." field | "." number | "->" field | "[" number "]"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.limits import EXPRESSION_CHARACTERS

VALID = "gTempo, gClock->counter, gState.voices[3].freq, *p, &x, (Node*)p, ns::Class::member, file.cpp::gFoo"

NO_PATH = "this is not understood"  # behind a path

_FILE = re.compile(r"[\w./+@-]*\.\w+(?=::)")
_WORD = re.compile(r"(?:\(anonymous namespace\)|\{[^{}]*\}|[~$]?[^\W\d][\w$]*)")
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)")
_FIELD_NUMBER = re.compile(r"\d+(?!\w)")
_SPACE = re.compile(r"\s*")
_TYPE = re.compile(r"\(\s*([^\W\d][\w$:<>,\s]*?)\s*(\*[\s*]*)?\)")


@dataclass(frozen=True, slots=True)
class Name:
    """As it was written, the file before it included."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """An address that was written as a number."""

    value: int


@dataclass(frozen=True, slots=True)
class Member:
    """`of.name`, or `of->name`."""

    of: Expression
    name: str
    is_arrow: bool


@dataclass(frozen=True, slots=True)
class Index:
    """`of[index]`."""

    of: Expression
    index: int


@dataclass(frozen=True, slots=True)
class Dereference:
    """`*of`."""

    of: Expression


@dataclass(frozen=True, slots=True)
class AddressOf:
    """`&of`."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Cast:
    """To a pointer: `stars` of them behind `type_name`."""

    of: Expression
    type_name: str
    stars: int


@dataclass(frozen=True, slots=True)
class Computed:
    """`of[text]`, whose index is calculated: `index` are steps of a recipe that push it, `spare` is a variable of the
    recipe for it."""

    of: Expression
    index: tuple[bytes, ...]
    spare: int
    text: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A name whose location is known: `make` gives it, a locations.ValueLocation that nobody else has."""

    text: str
    make: Callable[[], Any]


Expression: TypeAlias = Name | Number | Member | Index | Dereference | AddressOf | Cast | Computed | Bound


def parse(text: str) -> Expression:
    """Raises VALIDATION_ERROR, saying where it goes wrong."""
    if len(text) > EXPRESSION_CHARACTERS:
        raise _invalid(text[:40] + "…", f"it has {len(text)} characters, {EXPRESSION_CHARACTERS} are allowed")
    return _Parser(text).whole()


def spelled(expression: Expression) -> str:
    """As C has it."""
    match expression:
        case Name(text):
            return text
        case Number(value):
            return hex(value)
        case Member(of, name, is_arrow):
            return f"{_operand(of)}{'->' if is_arrow else '.'}{name}"
        case Index(of, index):
            return f"{_operand(of)}[{index}]"
        case Computed(of, _, _, text):
            return f"{_operand(of)}[{text}]"
        case Bound(text, _):
            return text
        case Dereference(of):
            return f"*{spelled(of)}"
        case AddressOf(of):
            return f"&{spelled(of)}"
        case Cast(of, type_name, stars):
            return f"({type_name}{'*' * stars}){spelled(of)}"


def _operand(of: Expression) -> str:
    text = spelled(of)
    return f"({text})" if isinstance(of, (Dereference, AddressOf, Cast)) else text


def _invalid(text: str, reason: str) -> StrobeError:
    return failure("bad_expression", expression=text, reason=reason, valid=VALID)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Expression:
        found = self._expression()
        if self._skip() < len(self._text):
            raise self._error(NO_PATH)
        return found

    def _expression(self) -> Expression:
        if self._take("*"):
            return Dereference(self._expression())
        if self._take("&"):
            return AddressOf(self._expression())
        cast = self._cast()
        if cast is not None:
            return Cast(self._expression(), *cast)
        return self._suffixes(self._primary())

    def _cast(self) -> tuple[str, int] | None:
        """A parenthesis with something to cast behind it; else it only groups."""
        self._skip()
        found = _TYPE.match(self._text, self._at)
        if found is None:
            return None
        behind = self._text[found.end() :].lstrip()[:1]
        if not behind or not (behind in "(*&-_:~" or behind.isalnum()) or self._is_arrow(found.end()):
            return None
        self._at = found.end()
        return " ".join(found[1].split()), (found[2] or "").count("*")

    def _is_arrow(self, at: int) -> bool:
        return self._text[at:].lstrip().startswith("->")

    def _primary(self) -> Expression:
        start = self._skip()
        if not self._text.startswith("(anonymous namespace)", start) and self._take("("):
            inner = self._expression()
            if not self._take(")"):
                raise self._error("')' is missing")
            return inner
        number = _NUMBER.match(self._text, start)
        if number is not None:
            value = int(number[0], 16 if "x" in number[0].lower() else 10)
            if not -(1 << 63) <= value < 1 << 64:
                raise self._error("this number has more than 64 bits")
            self._at = number.end()
            return Number(value)
        return self._name()

    def _name(self) -> Name:
        start = self._skip()
        file = _FILE.match(self._text, start)
        if file is not None:
            self._at = file.end()
        self._take("::")
        while True:
            self._word("a name is missing")
            self._arguments()
            if not self._take("::"):
                return Name("".join(self._text[start : self._at].split("\n")).strip())

    def _word(self, complaint: str) -> str:
        found = _WORD.match(self._text, self._skip())
        if found is None:
            raise self._error(complaint)
        self._at = found.end()
        return found[0]

    def _arguments(self) -> None:
        """Of a template; they belong to the name."""
        if not self._text.startswith("<", self._at):
            return
        depth = 0
        for at in range(self._at, len(self._text)):
            depth += {"<": 1, ">": -1}.get(self._text[at], 0)
            if depth == 0:
                self._at = at + 1
                return
        raise self._error("'>' is missing")

    def _suffixes(self, found: Expression) -> Expression:
        while True:
            if self._take("->"):
                found = Member(found, self._word("a field's name is missing"), True)
            elif self._take("."):
                found = Member(found, self._number_of_field() or self._word("a field's name is missing"), False)
            elif self._take("["):
                found = Index(found, self._index())
            else:
                return found

    def _number_of_field(self) -> str | None:
        """Of a Rust tuple, as debug information has it: `pair.0`, `pair.0.1`."""
        number = _FIELD_NUMBER.match(self._text, self._skip())
        if number is None:
            return None
        self._at = number.end()
        return f"__{number[0]}"

    def _index(self) -> int:
        number = _NUMBER.match(self._text, self._skip())
        if number is None:
            raise self._error("an index must be a number")
        self._at = number.end()
        if not self._take("]"):
            raise self._error("']' is missing")
        return int(number[0], 16 if "x" in number[0].lower() else 10)

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._skip()):
            return False
        self._at += len(mark)
        return True

    def _skip(self) -> int:
        found = _SPACE.match(self._text, self._at)
        self._at = self._at if found is None else found.end()
        return self._at

    def _error(self, complaint: str) -> StrobeError:
        left = self._text[self._at :]
        return _invalid(self._text, f"{complaint}, {f'at {left[:20]!r}' if left else 'at its end'}")
