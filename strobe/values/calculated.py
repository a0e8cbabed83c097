"""Reads of what is more than a path: `count(x in items: x.id == 0)`, `items[0..n]`, `100 * used / capacity`."""

from __future__ import annotations

from strobe.dataclass import dataclass, field
from strobe.errors import StrobeError, failure
from strobe.expressions import syntax
from strobe.expressions.parser import parse
from strobe.expressions.syntax import ExpressionError
from strobe.values.decode.shapes import Pointer, Scalar, Shape
from strobe.values.decode.shaping import Shaping
from strobe.values.language import NoRoots, is_part_of_text, location, value
from strobe.values.lookup.expression import VALID
from strobe.values.lookup.scope import Scope
from strobe.values.memory.recipes import Recipe, decoded_steps
from strobe.values.printers.containers import Sequence

_OF_MOMENTS = {"FACT", "PASSED", "BEFORE"}


@dataclass(frozen=True, slots=True)
class Calculation:
    """`code`: the recipe, and how many bytes and items it gives at most. `reasons`: by step, why there is no value."""

    code: tuple[bytes, int, int]
    shape: Shape
    type: str
    reasons: dict[int, str] = field(default_factory=dict)


class _Outside(NoRoots):
    """What is known outside of calls: variables."""

    def needs(self, recipe: Recipe) -> int:
        if any(name in _OF_MOMENTS for name, _, _ in decoded_steps(recipe)):
            reason = "threads, their variables, times and registers are known in calls and at probes"
            raise ExpressionError(0, reason, "variables of the program")
        return 0


def calculation_of(text: str, scope: Scope, depth: int, no_path: StrobeError) -> Calculation:
    """`no_path`: why it is no path, which is raised for what is no expression, or nothing but a path. Raises
    bad_expression, and UnknownName for a name that nothing has."""
    try:
        tree = parse(text)
    except ExpressionError:
        raise no_path from None
    if _is_path(tree):
        raise no_path
    try:
        return _calculation(text, tree, scope, depth)
    except ExpressionError as error:
        reason = f"{error.reason}, at '{error.near(text)}'"
        raise failure("bad_expression", expression=text, reason=reason, valid=error.hint or VALID) from error


def _calculation(text: str, tree: syntax.Expression, scope: Scope, depth: int) -> Calculation:
    roots = _Outside()
    if isinstance(tree, syntax.Slice) and not is_part_of_text(tree, scope, roots):
        return _row(tree, scope, depth, roots)
    found = value(text, scope, roots)
    return Calculation((found.code, found.size, found.items), found.shape, _type(found.shape), found.reasons)


def _row(tree: syntax.Slice, scope: Scope, depth: int, roots: NoRoots) -> Calculation:
    at = location(tree, scope, roots)
    assert at.row is not None
    roots.needs(at.recipe)
    count, here = (("GET", 0, at.row.variable, 0),), (("LOCATION", 0, 0, 0),)
    name = f"{at.type.name}[]"
    shape = Sequence(name, Shaping(scope.printers).shape(at.type, depth), False, (), count, 0, here, at.row.stride)
    at.recipe.numbers(count)
    at.recipe.note()
    at.recipe.drop()
    shape.add_steps(at.recipe)
    nulls = {step: f"Null pointer at {pointer}" for step, pointer in at.dereferenced.items()}
    return Calculation(at.recipe.finished(), shape, name, at.refused | nulls)


def _is_path(tree: syntax.Expression) -> bool:
    match tree:
        case syntax.Name():
            return True
        case syntax.Member(of=of) | syntax.Unary(sign="*" | "&", of=of) | syntax.PointerCast(of=of):
            return _is_path(of)
        case syntax.Element(of=of, index=syntax.Literal()):
            return _is_path(of)
    return False


def _type(shape: Shape) -> str:
    if isinstance(shape, Scalar):
        return shape.type.name
    return "void*" if isinstance(shape, Pointer) else "text"
