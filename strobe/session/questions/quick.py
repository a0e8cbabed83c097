"""A quick test that most calls fail: arguments that are one number are compared with constants, nothing is decoded."""

from __future__ import annotations

import operator
from collections.abc import Callable

from strobe.expressions.integers import common, kind_of, promoted
from strobe.expressions.needs import comparisons
from strobe.expressions.syntax import Expression
from strobe.model import CaptureKind, FunctionSymbol, ValueKind
from strobe.timeline.reader import SessionReader
from strobe.timeline.scan import Fails

_OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_NUMBERS = (ValueKind.SIGNED, ValueKind.UNSIGNED)
_Test = tuple[
    int, int, bool, Callable[[int, int], bool], int
]  # first byte, byte behind the last, signed, operator, value


def quick_test(reader: SessionReader, condition: Expression) -> Fails | None:
    """Whether the condition cannot hold for a call: one of its `&&` terms compares a number with a constant, and is
    false. None where no such term can be tested so."""
    terms = [term for term in comparisons(condition) if isinstance(term[2], int) and not term[0].startswith("$")]
    tests = {key: found for key, symbol in reader.functions().items() if (found := _tests(symbol, terms))}
    if not tests:
        return None
    convert = int.from_bytes

    def fails(function_id: int, words: bytes | None) -> bool:
        if words is None:
            return False
        for first, end, signed, holds, value in tests.get(function_id, ()):
            if end <= len(words) and not holds(convert(words[first:end], "little", signed=signed), value):
                return True
        return False

    return fails


def _tests(symbol: FunctionSymbol, terms: list[tuple[str, str, int | float | bool | str | None]]) -> list[_Test]:
    found: list[_Test] = []
    at = 0
    for parameter in symbol.parameters or ():
        captures = parameter.captures
        is_word = len(captures) == 1 and captures[0].kind is CaptureKind.WORD
        of = parameter.type
        if is_word and of.kind in _NUMBERS and of.bits is None and of.size in (1, 2, 4, 8):
            for name, sign, value in terms:
                kind = kind_of(value) if isinstance(value, int) else None
                signed = of.kind is ValueKind.SIGNED
                own = promoted(8 * of.size, signed)
                if name != parameter.name or not isinstance(value, int) or kind is None:
                    continue
                of_both = common(own, kind)
                if own.is_signed and not of_both.is_signed:
                    continue  # -1 is above 1u
                found.append((at, at + of.size, signed, _OPERATORS[sign], of_both.wrapped(value)))
        if any(capture.kind is not CaptureKind.WORD for capture in captures):
            break  # behind it places vary
        at += 8 * len(captures)
    return found
