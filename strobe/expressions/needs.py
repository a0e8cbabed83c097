"""What can be said of an expression before any event is looked at."""

from __future__ import annotations

from strobe.expressions.integers import typed
from strobe.expressions.syntax import Binary, Call, Choice, Expression, Literal, Name, Quantifier, Unary, children

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def needed_names(tree: Expression) -> frozenset[str]:
    """Names without which it cannot hold: where one is not there, it is undecided or false."""
    match tree:
        case Name(name=name):
            return frozenset((name,))
        case Binary(sign="||", left=left, right=right):
            return needed_names(left) & needed_names(right)
        case Call(name="has"):
            return frozenset()
        case Choice(condition=condition):
            return needed_names(condition)
        case Quantifier(over=over):
            return needed_names(over)
        case Unary(sign="!", of=of) if has_alternative(of):
            return frozenset()
    return frozenset().union(*map(needed_names, children(tree))) if children(tree) else frozenset()


def has_alternative(tree: Expression) -> bool:
    """Whether it may be false though a name is not there: what its opposite needs is not known."""
    if isinstance(tree, Binary) and tree.sign in ("&&", "||"):
        return True
    return (isinstance(tree, Call) and tree.name == "has") or any(map(has_alternative, children(tree)))


def comparisons(tree: Expression) -> list[tuple[str, str, int | float | bool | str | None]]:
    """(name, operator, value) that must hold for the whole: `$duration > 5 && x == 1`."""
    if isinstance(tree, Binary) and tree.sign == "&&":
        return comparisons(tree.left) + comparisons(tree.right)
    if isinstance(tree, Binary) and tree.sign in _TURNED:
        if isinstance(tree.left, Name) and isinstance(tree.right, Literal):
            return [(tree.left.name, tree.sign, _value(tree.right))]
        if isinstance(tree.left, Literal) and isinstance(tree.right, Name):
            return [(tree.right.name, _TURNED[tree.sign], _value(tree.left))]
    return []


def _value(literal: Literal) -> int | float | bool | str | None:
    value = literal.value
    if not isinstance(value, int) or isinstance(value, bool) or value >= 1 << 64:
        return value
    return typed(value, literal.kind)
