"""The syntax tree. `at`: the place in the text, from 0; `text`: what was written there, without blanks."""

from __future__ import annotations

from typing import TypeAlias

from strobe.dataclass import dataclass
from strobe.expressions.integers import Kind


class ExpressionError(ValueError):
    """Not an expression, or one that asks for what is not there. `at`: the place of the mistake, from 0; `length`:
    of what is wrong there. `hint`: what would be right; may be empty."""

    def __init__(self, at: int, reason: str, hint: str = "", length: int = 1) -> None:
        super().__init__(reason)
        self.at, self.reason, self.hint, self.length = at, reason, hint, length

    def near(self, text: str) -> str:
        """What stands at the mistake in `text`, which is the whole expression."""
        return text[self.at : self.at + max(self.length, 12)] or "the end"


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, a character, true, false or null (None). `is_single`: a number that is a float, `1.5f`.
    `kind`: of an integer. `is_byte`: a character written by its number, `'\\xff'`, which is a char of C: -1."""

    at: int
    value: int | float | bool | str | None
    is_character: bool = False
    is_single: bool = False
    kind: Kind = Kind.INT
    is_byte: bool = False

    @property
    def code(self) -> int:
        """The number of a character."""
        code = ord(str(self.value))
        return code - 0x100 if self.is_byte and 0x80 <= code <= 0xFF else code


@dataclass(frozen=True, slots=True)
class Name:
    """An argument, `ns::gFoo`, `$return`."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class WatchLabel:
    """A watch by its label: `label` or watch("label")."""

    at: int
    label: str


@dataclass(frozen=True, slots=True)
class Member:
    """`of.name`, or `of->name`, which mean the same."""

    at: int
    of: Expression
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Element:
    """`of[index]`."""

    at: int
    of: Expression
    index: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Slice:
    """`of[first..end]`; None: from the beginning, to the end."""

    at: int
    of: Expression
    first: Expression | None
    end: Expression | None


@dataclass(frozen=True, slots=True)
class Unary:
    """`sign`: - + ! ~ * (what a pointer leads to) & (where it lies)."""

    at: int
    sign: str
    of: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands; `sign` is the operator as it is written."""

    at: int
    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? yes : no`."""

    at: int
    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Cast:
    """To a number's type, as `type` has it: "i8" … "u64", "f32", "f64", "bool"."""

    at: int
    type: str
    of: Expression


@dataclass(frozen=True, slots=True)
class PointerCast:
    """`(Node*)of`: `stars` of them behind the type's name."""

    at: int
    type: str
    stars: int
    of: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """size(v), first(v), last(v), min(v), max(v), sum(v), has(v), abs(v), any(v), all(v), count(v), sizeof(v); of one
    call $entry(v), which `$entry.v` is as well, and $changed(v): `text` is what was written."""

    at: int
    name: str
    of: Expression
    text: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """`chain(of, ->next)`: nodes, from the one that a pointer leads to; `link` is the member that leads on.
    `tree(of, ->left, ->right)`: `right` is the second one."""

    at: int
    of: Expression
    link: str
    right: str = ""


@dataclass(frozen=True, slots=True)
class Quantifier:
    """any, all, count, first, min, max, sum of `variable in over: body`; `end`: of a range, else None."""

    at: int
    name: str
    variable: str
    over: Expression
    end: Expression | None
    body: Expression


Expression: TypeAlias = (
    Literal
    | Name
    | WatchLabel
    | Member
    | Element
    | Slice
    | Unary
    | Binary
    | Choice
    | Cast
    | PointerCast
    | Call
    | Chain
    | Quantifier
)


def lying_at_null(at: int, type_: str, stars: int = 0) -> Expression:
    """Something of that type, for what asks of its type alone."""
    return Unary(at, "*", PointerCast(at, type_, stars + 1, Literal(at, 0)))


def is_null(node: Expression) -> bool:
    """Whether it is null, as C writes it: 0, or a 0 that is cast to a pointer, as well."""
    match node:
        case Literal(value=value):
            return value is None or (value == 0 and isinstance(value, int) and not isinstance(value, bool))
        case PointerCast(of=of):
            return is_null(of)
    return False


def children(node: Expression) -> list[Expression]:
    """The expressions right within one; of $entry(v) none, as it is about another moment."""
    match node:
        case Member(of=of) | Unary(of=of) | Cast(of=of) | PointerCast(of=of) | Call(of=of, text="") | Chain(of=of):
            return [of]
        case Element(of=of, index=index):
            return [of, index]
        case Slice(of=of, first=first, end=end):
            return [one for one in (of, first, end) if one is not None]
        case Binary(left=left, right=right):
            return [left, right]
        case Choice(condition=condition, yes=yes, no=no):
            return [condition, yes, no]
        case Quantifier(over=over, end=end, body=body):
            return [one for one in (over, end, body) if one is not None]
    return []
