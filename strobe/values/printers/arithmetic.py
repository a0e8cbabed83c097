"""Steps that calculate; what is known beforehand is calculated at once, as the interpreter would."""

from __future__ import annotations

from strobe.values.memory.recipes import Steps

MASK = (1 << 64) - 1


def constant(value: int) -> Steps:
    """Steps that push a number."""
    return (("CONSTANT", 0, 0, value),)


def known(steps: Steps) -> int | None:
    """The number that steps push, as 64 unsigned bits; None where it depends on memory."""
    return steps[0][3] & MASK if len(steps) == 1 and steps[0][0] == "CONSTANT" else None


def combined(name: str, left: Steps, right: Steps) -> Steps:
    """What is known beforehand is calculated now."""
    one, two = known(left), known(right)
    if one is None or two is None or (name in ("DIVIDED", "MODULO") and not two):
        return (*left, *right, (name, 0, 0, 0))
    return constant(_calculated(name, one, two) & MASK)


def _calculated(name: str, left: int, right: int) -> int:
    match name:
        case "PLUS":
            return left + right
        case "MINUS":
            return left - right
        case "TIMES":
            return left * right
        case "DIVIDED":
            return left // right
        case "MODULO":
            return left % right
        case "BIT_AND":
            return left & right
        case "BIT_OR":
            return left | right
        case "BIT_XOR":
            return left ^ right
        case "LEFT":
            return left << right if right < 64 else 0
        case "RIGHT":
            return left >> min(right, 64)
        case "EQUAL":
            return int(left == right)
        case "LESS":
            return int(left < right)
        case "AND":
            return int(bool(left and right))
        case _:
            return int(bool(left or right))
