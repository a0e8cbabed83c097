"""The stack of a crash and the variables of its frames, as the crash event has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from strobe import _abi
from strobe.dataclass import replace
from strobe.model import LoadedModule
from strobe.session.crashes.pointers import Pointer
from strobe.session.crashes.stack import CrashStack
from strobe.session.crashes.variables import variables_of
from strobe.symbols import SymbolResolver
from strobe.values.decode.recorded import Block
from strobe.values.printers.known import Printers

_INNERMOST, _OUTERMOST = 24, 3  # frames that are shown of many


def stack_values(
    stack: CrashStack,
    names: Callable[[Block], Sequence[str]],
    modules: Sequence[LoadedModule],
    resolver: SymbolResolver,
    printers: Printers,
) -> tuple[dict[str, Any], list[Pointer]]:
    """`stack`: its frames as text, the innermost first, without those in the middle of many. `variables`: those of its
    first frames that have some: [{"frame": number in `stack`, "values": {name: text}}]. And the addresses that these
    have, by frame."""

    def named(words: Sequence[int]) -> Sequence[str]:
        return names(Block(_abi.EXTRA_STACK, stack.status, 0, 0, words))

    frames = list(named(stack.words))
    variables: list[dict[str, Any]] = []
    pointers: list[Pointer] = []
    number = 0
    ends_early = stack.status in (_abi.STACK_UNKNOWN, _abi.STACK_UNREADABLE)  # which a last line says
    for frame, calls in zip(stack.frames, variables_of(stack, modules, resolver, printers), strict=True):
        if number < len(frames) and not any(one.base <= frame.pc < one.base + one.size for one in modules):
            frames[number] = hex(frame.pc)  # code that was made at run time, or none
        inside = range(number, min(len(frames), _INNERMOST))
        for at, own in zip(inside, calls, strict=False):
            variables += [{"frame": at, "values": {name: one.text for name, one in own.items()}}] if own else []
            found = [one for variable in own.values() for one in variable.pointers]
            pointers += [replace(one, frame=at) for one in found]
        number += len(named([frame.word])) - ends_early
    left_out = len(frames) - _INNERMOST - _OUTERMOST
    shown = frames if left_out <= 1 else [*frames[:_INNERMOST], f"… {left_out} more", *frames[-_OUTERMOST:]]
    return {"stack": shown} | ({"variables": variables} if variables else {}), pointers
