"""`p[0..n]`: elements of an array, behind a pointer or of a container, shown together."""

from __future__ import annotations

from strobe.dataclass import replace
from strobe.expressions import syntax
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.types.model import Pointer
from strobe.values.language.compiler import Compiler
from strobe.values.language.loops import sliced
from strobe.values.language.scans import count_of, stride_of
from strobe.values.language.terms import Row, set_variable
from strobe.values.lookup.locations import Row as Elements
from strobe.values.lookup.locations import ValueLocation


def row(compiler: Compiler, node: syntax.Slice) -> ValueLocation:
    """Where the first one lies. Raises ExpressionError for elements that do not lie one after the other."""
    whole, over = compiler.location(node.of), sliced(compiler, node)
    with compiler.variables(1, node.at) as own:
        count = count_of(compiler, node.of, whole, over.first, over.end)
        element = compiler.location_at(compiler.path(node.of), over.first)
        stride = stride_of(compiler, whole, element)
    if not stride and isinstance(whole.type.bare, Pointer):
        reason = f"it is {whole.type.name}, which does not say how large an element is"
        raise ExpressionError(node.of.at, reason, "((char*)p)[0..n]")
    if not stride:
        reason = f"the elements of {whole.type.name} do not lie one after the other"
        raise ExpressionError(node.of.at, reason, "v, v[3], any(x in v: x > 0)")
    before = set_variable(own[0], count)
    element.recipe.code[:0] = before
    reasons = {at: one.reason for at, one in enumerate(before) if isinstance(one, Row)}
    moved = len(before)
    return replace(
        element,
        row=Elements(stride, own[0]),
        dereferenced={step + moved: text for step, text in element.dereferenced.items()},
        refused=reasons | {step + moved: text for step, text in element.refused.items()},
    )
