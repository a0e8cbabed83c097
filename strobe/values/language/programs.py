"""Whole recipes: a condition gives one number, 0 where it does not hold; a value gives what its shape says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from strobe.dataclass import dataclass, field
from strobe.expressions import syntax
from strobe.expressions.integers import spelled
from strobe.expressions.parser import parse
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.later import Later
from strobe.symbols.types.model import VOID, Array, Dimension, Encoding, Scalar, Type
from strobe.values.decode.shapes import Constant, Shape
from strobe.values.decode.shaping import Shaping
from strobe.values.language import terms
from strobe.values.language.compiler import UNKNOWN_BLOCK, Compiler
from strobe.values.language.elements import Complete
from strobe.values.language.loading import characters
from strobe.values.language.roots import CALLER, NO_ROOTS, RETURN, SPECIAL, NoRoots, Roots
from strobe.values.language.slices import row
from strobe.values.language.terms import Float, Number, Row
from strobe.values.language.texts import thread_name_rows
from strobe.values.lookup.locations import ValueLocation, pointer_to
from strobe.values.lookup.scope import Scope
from strobe.values.memory.recipes import CONSTANTS, Recipe, rows, with_count
from strobe.values.printers.texts import EndedText

__all__ = [
    "CALCULATED",
    "NEVER",
    "NO_ROOTS",
    "AtEntry",
    "Condition",
    "NoRoots",
    "Roots",
    "Value",
    "condition",
    "is_of_return",
    "is_part_of_text",
    "location",
    "value",
    "with_block",
]

_MOST_NUMBERS = CONSTANTS["MAX_NUMBERS"] - 4  # on the recipe's stack; what containers count with may be more
_MOST_STEPS = 4000
_NAME_BYTES = 16
_NUMBER_BYTES = 8
_SHOWN_BYTES = 1016  # of a part of a text
_CHARACTER = Scalar("char", 1, None, Encoding.SIGNED_CHAR, None)
_OF_RETURN = (RETURN, "$entry", "$changed")
CALCULATED = tuple(name for name in SPECIAL if name != RETURN)
"""Names that no path begins with."""


@dataclass(frozen=True, slots=True)
class AtEntry:
    """What a return asks for of the entry: a recipe that gives `items` numbers, which are kept. `needs`: STROBE_NEEDS_*
    of the entry."""

    code: bytes
    items: int
    needs: int


@dataclass(frozen=True, slots=True)
class Condition:
    """`code`: the whole recipe. `needs`: STROBE_NEEDS_* of the call. `entry`: of one that is decided at the return what
    it asks for of the entry. See `with_block`."""

    code: bytes
    needs: int
    at_return: bool = False
    entry: AtEntry | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """`code` gives `items` of `size` bytes together, at most. `reasons`: by step, why there is no value. The rest as of
    a condition."""

    code: bytes
    size: int
    shape: Shape
    needs: int
    entry: AtEntry | None = None
    reasons: dict[int, str] = field(default_factory=dict)
    items: int = 1


NEVER = Condition(b"".join(rows((("CONSTANT", 0, 0, 0), ("NOTE", 0, 0, 0), ("DROP", 0, 0, 0), ("END", 0, 0, 0)))), 0)
"""Of a function that has not what is asked for."""


def is_of_return(text: str) -> bool:
    """Whether it is decided when a call returns. Raises ExpressionError for what is no expression."""
    return _is_of_return(parse(text))


def condition(text: str, scope: Scope, roots: Roots, entry: Roots | None = None) -> Condition:
    """`entry`: what names mean at the entry of the call, where `roots` are those of its return.

    Raises ExpressionError for what is no condition, UnknownName for a name that nothing has there.
    """
    compiler = Complete(scope, roots, entry)
    found = compiler.truth(parse(text))
    recipe = _checked(found)
    needs = roots.needs(recipe)
    recipe.note()
    recipe.drop()
    return Condition(recipe.finished()[0], needs, entry is not None, _at_entry(compiler, entry))


def value(text: str, scope: Scope, roots: Roots, entry: Roots | None = None) -> Value:
    """What it is at that moment: a number, a truth, a floating-point number, a text of the moment. Otherwise as
    `condition`."""
    tree = parse(text)
    compiler = Complete(scope, roots, entry)
    if isinstance(tree, syntax.Name) and tree.name == "$threadName":
        return _text(scope)
    found = compiler.value(tree)
    if isinstance(found, terms.Text) and found.pointer is not None:
        found = found.pointer
    if isinstance(found, terms.Text) and isinstance(tree, syntax.Slice):
        return _part(found, compiler, roots, entry)
    constant_text = found.data.decode("utf-8", "replace") if isinstance(found, terms.Literal) else None
    if isinstance(found, terms.Literal):
        found = terms.constant(0)
    if not isinstance(found, Number | Float):
        raise ExpressionError(tree.at, "a text that is calculated is recorded with its bounds", "name[0..8]")
    recipe = _checked(terms.noted(found) if isinstance(found, Float) else found)
    needs = roots.needs(recipe)
    recipe.note()
    recipe.drop()
    code, size, _ = recipe.finished()
    is_address = isinstance(tree, syntax.Name) and tree.name == CALLER
    is_address = is_address or (isinstance(found, Number) and found.is_address)
    is_character = isinstance(tree, syntax.Literal) and tree.is_character
    type_ = pointer_to(VOID) if is_address else _CHARACTER if is_character else _type_of(found)
    shape = Shaping(scope.printers).shape(type_, 1) if constant_text is None else Constant(constant_text)
    reasons = {at: row.reason for at, row in enumerate(recipe.code) if isinstance(row, Row)}
    return Value(code, size, shape, needs, _at_entry(compiler, entry), reasons)


def location(tree: syntax.Expression, scope: Scope, roots: Roots) -> ValueLocation:
    """Where what it names lies; elements by calculated indexes as well. Raises as `condition`."""
    compiler = Complete(scope, roots)
    return row(compiler, tree) if isinstance(tree, syntax.Slice) else compiler.location(tree)


def is_part_of_text(tree: syntax.Expression, scope: Scope, roots: Roots) -> bool:
    """Whether it is `p[0..n]` of characters, which is a text. Raises as `condition`."""
    return isinstance(tree, syntax.Slice) and characters(Complete(scope, roots).location(tree.of)) is not None


def with_block(code: bytes, number: int) -> bytes:
    """The recipe, where what is kept at the entry is block `number`."""
    return with_count(code, "BEFORE", UNKNOWN_BLOCK, number)


def _text(scope: Scope) -> Value:
    element = Later[Type](lambda: _CHARACTER, nullcontext())
    name = Array("", _NAME_BYTES, None, element, (Dimension(_NAME_BYTES),), 1, False)
    shape = Shaping(scope.printers).shape(name, 1)
    recipe = Recipe(list(thread_name_rows()))
    recipe.read(_NAME_BYTES)
    code, size, _ = recipe.finished()
    return Value(code, size, shape, 0)


def _part(text: terms.Text, compiler: Compiler, roots: Roots, entry: Roots | None) -> Value:
    recipe = Recipe(list(text.rows))
    needs = roots.needs(recipe)
    recipe.note()  # stands for the object that the text is of
    recipe.read_many(_SHOWN_BYTES, 1)
    recipe.drop()
    code, size, items = recipe.finished()
    reasons = {at: row.reason for at, row in enumerate(recipe.code) if isinstance(row, Row)}
    shape = EndedText(1, (), (), _NUMBER_BYTES)
    return Value(code, size, shape, needs, _at_entry(compiler, entry), reasons, items)


def _type_of(found: Number | Float) -> Type:
    if isinstance(found, Float):
        if found.is_single:
            return Scalar("float", _NUMBER_BYTES // 2, None, Encoding.FLOAT, None)
        return Scalar("double", _NUMBER_BYTES, None, Encoding.FLOAT, None)
    if found.is_truth:
        return Scalar("bool", 1, None, Encoding.BOOL, None)
    if found.enum is not None:
        return found.enum
    encoding = Encoding.SIGNED if found.kind.is_signed else Encoding.UNSIGNED
    return Scalar(spelled(found.kind), found.kind.bits // 8, None, encoding, None)


def _checked(found: Number | Float) -> Recipe:
    if found.height > _MOST_NUMBERS:
        raise ExpressionError(0, "it is nested too deeply")
    if len(found.rows) > _MOST_STEPS:
        raise ExpressionError(0, "it has too many parts")
    return Recipe(list(found.rows))


def _at_entry(compiler: Compiler, entry: Roots | None) -> AtEntry | None:
    numbers: Sequence[Number | Float] = compiler.kept.numbers
    if not numbers or entry is None:
        return None
    recipe = Recipe()
    for number in numbers:
        recipe.code += _checked(number).code
        recipe.note()
        recipe.drop()
    return AtEntry(recipe.finished()[0], len(numbers), entry.needs(recipe))


def _is_of_return(tree: syntax.Expression) -> bool:
    if isinstance(tree, syntax.Name | syntax.Call) and tree.name in _OF_RETURN:
        return True
    return any(map(_is_of_return, syntax.children(tree)))
