"""`$caller == "Pool::grow"`: where a call returns to, compared with the functions of the program."""

from __future__ import annotations

from strobe.errors import StrobeError
from strobe.expressions import syntax
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.names import without_clone
from strobe.symbols.select.patterns import Pattern, matching
from strobe.values.language import terms
from strobe.values.language.roots import CALLER
from strobe.values.language.terms import Number, constant, joined
from strobe.values.lookup.scope import Module

_MOST_CALLERS = 64


def named_caller(node: syntax.Binary) -> tuple[syntax.Name, str] | None:
    """`$caller == "Pool::grow"`."""
    for one, other in ((node.left, node.right), (node.right, node.left)):
        is_caller = isinstance(one, syntax.Name) and one.name == CALLER and node.sign in ("==", "!=")
        if is_caller and isinstance(other, syntax.Literal) and isinstance(other.value, str):
            return syntax.Name(one.at, CALLER), other.value
    return None


def called_by(node: syntax.Binary, address: Number, pattern: str, program: Module) -> Number:
    """Whether the call returns, to `address`, into one of these. Raises ExpressionError for none or too many."""
    try:
        found = {one.address: one for one in matching(Pattern.parse(pattern, None), [program.symbols])}
    except StrobeError as error:
        raise ExpressionError(node.at, error.message.rstrip("."), error.next_step) from error
    names = {one.raw_name for one in found.values()}
    found |= {
        one.address: one  # what is seldom reached lies apart
        for one in program.symbols.functions
        if ".cold" in one.raw_name and without_clone(one.raw_name) in names
    }
    if not 0 < len(found) <= _MOST_CALLERS:
        few = f"no function of the program is called '{pattern}'"
        many = f"{len(found)} functions are called so, and {_MOST_CALLERS} are compared"
        raise ExpressionError(node.at, many if found else few, "Pool::grow, Pool::*")
    held: Number | None = None
    for function in found.values():
        behind = joined("MINUS", address, constant(function.address + program.slide + 1))
        within = joined("LESS", behind, constant(max(function.size, 1)), is_truth=True)
        held = within if held is None else joined("OR", held, within, is_truth=True)
    assert held is not None
    return held if node.sign == "==" else terms.opposite(held)
