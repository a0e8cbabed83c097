"""Quantifiers whose body is one comparison of an integer of each element: one step of the recipe does it all (SCAN).

So does one step for each of several such comparisons, where all have to hold for all elements, or any for any.
"""

from __future__ import annotations

from collections.abc import Iterator

from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError
from strobe.expressions import syntax
from strobe.expressions.integers import Kind, common
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.types.model import Array, Enum, Pointer, Type
from strobe.values.decode.shaping import Shaping
from strobe.values.language import terms
from strobe.values.language.compiler import Compiler
from strobe.values.language.loading import integer_type, kind_of, rows_of, size_of
from strobe.values.language.terms import Number, constant, joined, set_variable, steps, variable
from strobe.values.lookup import expression as paths
from strobe.values.lookup.locations import ValueLocation, location_of
from strobe.values.memory.recipes import CONSTANTS, Recipe, decoded_steps
from strobe.values.printers.containers import Sequence

_LESS, _EQUAL, _MORE = (CONSTANTS[f"SCAN_{name}"] for name in ("LESS", "EQUAL", "MORE"))
_WAYS = {
    "==": _EQUAL,
    "!=": _LESS | _MORE,
    "<": _LESS,
    ">": _MORE,
    "<=": _LESS | _EQUAL,
    ">=": _MORE | _EQUAL,
}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_ALL_BITS = (1 << 64) - 1
_PARTS = {("all", "&&"): "AND", ("any", "||"): "OR"}


@dataclass(frozen=True, slots=True)
class Elements:
    """Numbers from `first` to before `end`; of elements: those of `of`, which the numbers count."""

    first: Number
    end: Number
    of: syntax.Expression | None = None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Of a member of each element of `of` with what is the same for all of them. `mask`: its bits that count, and
    the type of the literal that has them."""

    of: syntax.Expression
    members: tuple[str, ...]
    mask: int
    mask_kind: Kind
    sign: str
    other: syntax.Expression


def scanned(compiler: Compiler, node: syntax.Quantifier, over: Elements, own: range) -> Number | None:
    """None where there is more to it than comparisons, or what is wrong with it is for the loop to say."""
    kept = len(compiler.kept.numbers)
    try:
        number = _scanned(compiler, node, over, own)
    except (StrobeError, ExpressionError):
        number = None
    if number is None:
        del compiler.kept.numbers[kept:]
    return number


def _scanned(compiler: Compiler, node: syntax.Quantifier, over: Elements, own: range) -> Number | None:
    body = node.body
    operation = _PARTS.get((node.name, body.sign)) if isinstance(body, syntax.Binary) else None
    if operation is None or not isinstance(body, syntax.Binary):
        found = _comparison(node, over)
        return None if found is None else _scan(compiler, node, over, found, own)
    left = _scanned(compiler, replace(node, body=body.left), over, own)
    right = None if left is None else _scanned(compiler, replace(node, body=body.right), over, own)
    return None if left is None or right is None else joined(operation, left, right, is_truth=True)


def _comparison(node: syntax.Quantifier, over: Elements) -> _Comparison | None:
    body = node.body
    if node.name not in ("any", "all", "count", "first"):
        return None
    if not isinstance(body, syntax.Binary) or body.sign not in _WAYS:
        return None
    sides = ((body.left, body.right, body.sign), (body.right, body.left, _MIRRORED[body.sign]))
    for element, other, sign in sides:
        mask, mask_kind = _ALL_BITS, Kind.INT
        if isinstance(element, syntax.Binary) and element.sign == "&" and isinstance(element.right, syntax.Literal):
            if not isinstance(element.right.value, int) or not 0 <= element.right.value < 1 << 63:
                continue
            mask, mask_kind, element = element.right.value, element.right.kind, element.left
        members: list[str] = []
        while isinstance(element, syntax.Member):
            members.insert(0, f"__{element.name}" if element.name.isdecimal() else element.name)
            element = element.of
        of = _gone_over(element, node.variable, over)
        if of is not None and node.variable not in {*_names(of), *_names(other)}:
            return _Comparison(of, tuple(members), mask, mask_kind, sign, other)
    return None


def _gone_over(element: syntax.Expression, name: str, over: Elements) -> syntax.Expression | None:
    """What the elements are of: `v` of `x` in v, and of `v[i]`."""
    if over.of is not None:
        return over.of if isinstance(element, syntax.Name) and element.name == name else None
    if isinstance(element, syntax.Element) and isinstance(element.index, syntax.Name) and element.index.name == name:
        return element.of
    return None


def _names(node: syntax.Expression) -> Iterator[str]:
    if isinstance(node, syntax.Name):
        yield node.name
    for child in syntax.children(node):
        yield from _names(child)


def _scan(compiler: Compiler, node: syntax.Quantifier, over: Elements, found: _Comparison, own: range) -> Number | None:
    first, end, many, at = own[:4]
    low, high = variable(first, over.first.kind), variable(end, over.end.kind)
    whole = compiler.location(found.of)
    element = compiler.location_at(compiler.path(found.of), low)
    stride = stride_of(compiler, whole, element)
    offset, type_ = member_of(compiler, element.type, found.members, node.at)
    integer = integer_type(type_)
    if integer is None or not stride:
        return None
    width, is_signed = integer
    number = kind_of(type_) if found.mask == _ALL_BITS else common(kind_of(type_), found.mask_kind)
    other = _compared_with(compiler, found.other, type_)
    kind = common(number, other.kind)
    other = terms.converted(other, kind)
    mask = found.mask & (1 << kind.bits) - 1 if kind is Kind.UNSIGNED else found.mask
    how = _WAYS[found.sign] | (0 if kind is Kind.UNSIGNED_LONG else CONSTANTS["SCAN_SIGNED_ORDER"])
    how |= CONSTANTS["SCAN_SIGNED"] if is_signed else 0
    how ^= _LESS | _EQUAL | _MORE if node.name == "all" else 0
    how |= CONSTANTS["SCAN_COUNTS"] if node.name == "count" else 0
    count = count_of(compiler, found.of, whole, low, high)
    code = (
        *set_variable(first, over.first),
        *set_variable(end, over.end),
        *set_variable(many, count),
        *variable(many).rows,
        *other.rows,
        *rows_of(element),
        *steps(("SCAN", width, stride, offset), ("DATA", 0, 0, how), ("DATA", 0, 0, mask), ("SET", 0, at, 0)),
    )
    result = _result(node.name, variable(at), variable(many), low)
    height = max(terms.highest((over.first, over.end, count)), 1 + other.height, 8)
    return replace(result, rows=(*code, *result.rows), height=height)


def _result(name: str, found: Number, many: Number, low: Number) -> Number:
    """`found`: the first element for which it holds, or how many they are; of `all` for which it does not."""
    if name == "count":
        return found
    is_there = joined("LESS", found, many, is_truth=True)
    if name == "any":
        return is_there
    if name == "all":
        return terms.opposite(is_there)
    return terms.chosen(is_there, joined("PLUS", found, low), terms.failing("it holds for no element"))


def stride_of(compiler: Compiler, whole: ValueLocation, element: ValueLocation) -> int | None:
    """None where the elements do not lie one after the other."""
    plain = whole.type.bare
    if isinstance(plain, Pointer):
        return element.type.size
    if isinstance(plain, Array):
        return plain.stride if len(plain.dimensions) == 1 else element.type.size
    shape = Shaping(compiler.scope.printers).shape(whole.type, 0)
    return shape.stride if isinstance(shape, Sequence) else None


def count_of(compiler: Compiler, of: syntax.Expression, whole: ValueLocation, low: Number, high: Number) -> Number:
    """How many are to be looked at; bad where there are not as many."""
    count = terms.chosen(terms.precedes(low, high), joined("MINUS", high, low), constant(0))
    if isinstance(whole.type.bare, Pointer) or whole.is_flexible:
        return count
    size = size_of(compiler.location(of), compiler.scope.printers, of.at)
    is_there = terms.opposite(terms.precedes(size, high))
    is_there = joined("AND", is_there, terms.opposite(terms.precedes(low, constant(0))))
    is_there = joined("OR", terms.opposite(terms.precedes(low, high)), is_there)
    return terms.chosen(is_there, count, terms.failing("it has fewer elements"))


def _compared_with(compiler: Compiler, other: syntax.Expression, type_: Type) -> Number:
    plain = type_.bare
    if isinstance(plain, Enum) and isinstance(other, syntax.Name):
        number = terms.enumerator(plain, other.name)
        if number is not None:
            return constant(number, kind_of(type_))
    return compiler.number(other)


def member_of(compiler: Compiler, type_: Type, members: tuple[str, ...], at: int) -> tuple[int, Type]:
    """How far behind an object of that type its member lies, and what it is. Raises ExpressionError where a pointer has
    to be followed to it, or it is a bit-field."""
    path: paths.Expression = paths.Bound("it", lambda: ValueLocation(Recipe(), type_))
    for name in members:
        path = paths.Member(path, name, False)
    location = location_of(path, compiler.scope)
    found = decoded_steps(location.recipe)
    if location.bits is not None or location.is_value or any(name != "ADD" for name, _, _ in found):
        raise ExpressionError(at, f"{'.'.join(members)} is not inside {type_.name} itself")
    return sum(operand for _, operand, _ in found), location.type
