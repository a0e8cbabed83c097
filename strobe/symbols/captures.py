"""Which registers and stack words hold a parameter or a result, as the recorder is told to keep them."""

from __future__ import annotations

from dataclasses import replace

from strobe.model import Capture, Parameter, ValueKind, ValueType

_RAX = 6  # STROBE_SOURCE_RAX
_IN_RAX = frozenset(
    {ValueKind.SIGNED, ValueKind.UNSIGNED, ValueKind.BOOL, ValueKind.CHAR}
    | {ValueKind.POINTER, ValueKind.REFERENCE, ValueKind.ENUM}
)
_WORD_BYTES = 8


def with_captures(parameter: Parameter) -> Parameter:
    return parameter if parameter.register is None else replace(parameter, captures=(Capture(parameter.register),))


def of_result(returns: ValueType) -> tuple[Capture, ...]:
    return (Capture(_RAX),) if returns.kind in _IN_RAX and returns.size <= _WORD_BYTES else ()
