"""DWARF's computed values (DWARF 5, section 2.5.1) as steps that push one number.

The operations are followed once, with formulas on the stack instead of numbers. What jumps, needs the caller, or
calculates with floating-point numbers is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from strobe.dataclass import dataclass
from strobe.symbols.dwarf.expressions import GENERIC, BaseType, Operand, Operation
from strobe.values.memory.recipes import Recipe

CALLED = "the function was called"  # in reasons of what only the caller's registers had
_WORD = (1 << 64) - 1
_SIGNED = (0x05, 0x06, 0x0D)  # DW_ATE_signed, signed_char, signed_fixed
_FLOATS = (0x03, 0x04, 0x0F)
_MOST_OPERATIONS = 64
_MOST_STEPS = 200  # of the recipe
_MOST_NUMBERS = 5  # on the recipe's stack, which a condition has most of
_BINARY = {
    "plus": "PLUS",
    "minus": "MINUS",
    "mul": "TIMES",
    "and": "BIT_AND",
    "or": "BIT_OR",
    "xor": "BIT_XOR",
    "shl": "LEFT",
    "eq": "EQUAL",
    "shra": "SIGNED_RIGHT",
}
# (of numbers without sign, of those with one); numbers without a type are divided and compared with their sign
_BY_SIGN = {
    "div": ("DIVIDED", "SIGNED_DIVIDED"),
    "mod": ("MODULO", "SIGNED_MODULO"),
    "shr": ("RIGHT", "SIGNED_RIGHT"),
    "lt": ("LESS", "SIGNED_LESS"),
}


class Unlocated(Exception):
    """A value cannot be had. The text goes on from the variable's name: "is optimized out"."""


@dataclass(frozen=True, slots=True)
class Computation:
    """A formula. `name`: an operation of CALC, or `const`, `addr`, `register`, `cfa`, `frame base`, `memory`."""

    name: str
    value: int = 0
    parts: tuple[Computation, ...] = ()
    kind: BaseType = GENERIC


_Stack: TypeAlias = list[Computation]


def computation(operations: Sequence[Operation]) -> Computation:
    """What the operations leave on top of the stack. Raises Unlocated."""
    if len(operations) > _MOST_OPERATIONS:
        raise Unlocated("is computed in too many steps")
    stack: _Stack = []
    try:
        for operation in operations:
            _follow(stack, operation.name, operation.operands)
        return stack[-1]
    except (IndexError, ValueError):
        raise Unlocated("is computed by operations that make no sense") from None


def _follow(stack: _Stack, name: str, operands: Sequence[Operand]) -> None:
    match name, *operands:
        case (("const" | "addr"), int() as value):
            stack.append(Computation(name, value))
        case "register_plus", int() as number, int() as offset:
            stack.append(_sum(Computation("register", number), offset))
        case "fbreg", int() as offset:
            stack.append(_sum(Computation("frame base"), offset))
        case ("call_frame_cfa",):
            stack.append(Computation("cfa"))
        case "plus_uconst", int() as value:
            stack.append(_sum(stack.pop(), value))
        case ("deref",):
            stack.append(Computation("memory", 8, (stack.pop(),)))
        case "deref_size", (1 | 2 | 4 | 8) as size:
            stack.append(Computation("memory", size, (stack.pop(),)))
        case "deref_type", (1 | 2 | 4 | 8) as size, BaseType() as kind:
            stack.append(_typed(Computation("memory", size, (stack.pop(),)), kind))
        case "regval_type", int() as number, BaseType() as kind:
            stack.append(_typed(Computation("register", number), kind))
        case "const_type", BaseType() as kind, bytes() as content:
            stack.append(_typed(Computation("const", int.from_bytes(content, "little")), kind))
        case (("convert" | "reinterpret"), BaseType() as kind):
            stack.append(_typed(stack.pop(), kind))
        case ("entry_value", *_):
            raise Unlocated(f"is computed from what {CALLED} with, which is not kept")
        case _:
            if not _move(stack, name, operands):
                _calculate(stack, name)


def _move(stack: _Stack, name: str, operands: Sequence[Operand]) -> bool:
    match name, *operands:
        case ("dup",):
            stack.append(stack[-1])
        case ("drop",):
            stack.pop()
        case ("over",):
            stack.append(stack[-2])
        case "pick", int() as index:
            stack.append(stack[-1 - index])
        case ("swap",):
            stack[-1], stack[-2] = stack[-2], stack[-1]
        case ("rot",):
            stack[-1], stack[-2], stack[-3] = stack[-2], stack[-3], stack[-1]
        case _:
            return False
    return True


def _calculate(stack: _Stack, name: str) -> None:
    if name in ("neg", "not", "abs"):
        stack.append(_unary(name, stack.pop()))
        return
    swapped, negated = name in ("gt", "le"), name in ("ne", "le", "ge")
    plain = {"ne": "eq", "gt": "lt", "le": "lt", "ge": "lt"}.get(name, name)
    if plain not in _BINARY and plain not in _BY_SIGN:
        raise Unlocated(f"is computed by DW_OP_{name}, which is not understood")
    right, left = stack.pop(), stack.pop()
    kind = left.kind
    if swapped:
        left, right = right, left
    found = Computation(_operation(plain, kind), 0, (left, right))
    if plain in ("eq", "lt"):
        stack.append(Computation("EQUAL", 0, (found, Computation("const"))) if negated else found)
    else:
        stack.append(_typed(found, kind))


def _operation(name: str, kind: BaseType) -> str:
    if name in _BINARY:
        return _BINARY[name]
    unsigned, signed = _BY_SIGN[name]
    if kind == GENERIC:
        return unsigned if name in ("mod", "shr") else signed
    return signed if kind.encoding in _SIGNED else unsigned


def _unary(name: str, of: Computation) -> Computation:
    if name == "not":
        return _typed(Computation("BIT_XOR", 0, (of, Computation("const", _WORD))), of.kind)
    negative = Computation("MINUS", 0, (Computation("const"), of))
    if name == "abs":
        test = Computation("SIGNED_LESS", 0, (of, Computation("const")))
        negative = Computation("SELECT", 0, (test, negative, of))
    return _typed(negative, of.kind)


def _sum(of: Computation, added: int) -> Computation:
    return of if not added else _typed(Computation("PLUS", 0, (of, Computation("const", added & _WORD))), of.kind)


def _typed(of: Computation, kind: BaseType) -> Computation:
    """The number as one of a type: cut to its size, and spread with its sign over 64 bits."""
    if kind.encoding in _FLOATS or kind.size > 8 or kind.size < 1:
        raise Unlocated("is computed with numbers that are not integers of 64 bits or less")
    if kind.size == 8:
        return Computation(of.name, of.value, of.parts, kind)
    if kind.encoding not in _SIGNED:
        mask = Computation("const", (1 << 8 * kind.size) - 1)
        return Computation("BIT_AND", 0, (of, mask), kind)
    shift = Computation("const", 64 - 8 * kind.size)
    return Computation("SIGNED_RIGHT", 0, (Computation("LEFT", 0, (of, shift)), shift), kind)


def as_integer(of: Computation, size: int, *, is_signed: bool) -> Computation:
    """The number as an integer of `size` bytes, 1 to 8."""
    return _typed(of, BaseType(0x05 if is_signed else 0x07, size))


def add_number(
    recipe: Recipe, of: Computation, word: Callable[[int], int], slide: int, to_base: Callable[[str], None]
) -> None:
    """Steps that push the number. `word`: of a register; `to_base`: adds what leads to `cfa` or `frame base`. Raises
    Unlocated where it takes too many."""
    start = len(recipe.code)

    def push(one: Computation, height: int) -> None:
        if len(recipe.code) - start > _MOST_STEPS or height > _MOST_NUMBERS:
            raise Unlocated("is computed in too many steps")
        if one.name in ("const", "addr"):
            moved = one.value + (slide if one.name == "addr" else 0)
            recipe.numbers((("CONSTANT", 0, 0, moved & _WORD),))
        elif one.name == "register":
            recipe.passed([word(one.value)])
            recipe.numbers((("NUMBER", 8, 0, 0),))
        elif one.name in ("cfa", "frame base"):
            to_base(one.name)
            recipe.numbers((("LOCATION", 0, 0, 0),))
        else:
            for number, part in enumerate(one.parts):
                push(part, height + number)
            if one.name == "memory":
                recipe.go()
                recipe.numbers((("NUMBER", one.value, 0, 0),))
            else:
                recipe.numbers(((one.name, 0, 0, 0),))

    push(of, 1)
