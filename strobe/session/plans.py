"""From what is known of a function to what the recorder does for it: struct strobe_function_plan as bytes."""

from __future__ import annotations

from strobe.capture.agent_link import Plan
from strobe.model import FunctionSymbol, Sampling, ValueKind

_ENABLED, _SAMPLE, _RETURN = 1, 2, 4  # STROBE_PLAN_*
_MAX_ARGUMENTS = 6  # STROBE_MAX_ARGUMENTS
_IN_RAX = frozenset(
    {ValueKind.SIGNED, ValueKind.UNSIGNED, ValueKind.BOOL, ValueKind.CHAR}
    | {ValueKind.POINTER, ValueKind.REFERENCE, ValueKind.ENUM}
)
_WORD_BYTES = 8


def plan_of(function: FunctionSymbol, sampling: Sampling) -> Plan:
    registers = [item.register for item in function.parameters or () if item.register is not None][:_MAX_ARGUMENTS]
    flags = _ENABLED | (_SAMPLE if sampling == "auto" else 0)
    if function.returns is not None and function.returns.kind in _IN_RAX and function.returns.size <= _WORD_BYTES:
        flags |= _RETURN
    return (flags, len(registers), *registers, *([0] * (_MAX_ARGUMENTS - len(registers))))


def disabled(plan: Plan) -> Plan:
    return (plan[0] & ~_ENABLED, *plan[1:])
