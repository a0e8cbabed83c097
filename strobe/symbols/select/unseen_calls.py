"""Functions that may be called where no call of theirs is seen, though nothing says where: what was inlined and left
nothing, and thunks with code of their own."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Set
from typing import Literal

from strobe.model import FunctionSymbol
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.objects.code_bytes import code_at
from strobe.symbols.objects.damage import UNREADABLE

# `inlined`: gcc says that it has inlined it, and not where, as nothing of it is left there. `optimized`: by a compiler
# that does not say even that. `thunk`: calls through another base class run a copy of it.
Unseen = Literal["inlined", "optimized", "thunk"]
_SHORT, _NEAR = struct.Struct("<Bb"), struct.Struct("<Bi")  # jmp rel8, jmp rel32
_WORD, _BRANCH = 4, 0x05  # bytes of an instruction of AArch64; b


def unseen_calls(functions: Iterable[FunctionSymbol], modules: Iterable[ModuleSymbols]) -> dict[str, Unseen]:
    """Of these functions, by name. Which are "optimized" is known when they are looked at one by one: see
    FunctionSymbol.inlines_unseen."""
    wanted = {function.name for function in functions}
    found: dict[str, Unseen] = {}
    for module in modules:
        found |= dict.fromkeys(module.inlined_unseen & wanted, "inlined")
        if isinstance(module.functions, FunctionTable):
            found |= dict.fromkeys(_copied_into_thunks(wanted, module.functions), "thunk")
    return found


def _copied_into_thunks(wanted: Set[str], table: FunctionTable) -> Iterator[str]:
    """Names of functions that have a thunk which does not jump to any function of that name."""
    thunks = [thunk for thunk in table.thunks if thunk[0] in wanted]
    names = {name for name, _, _ in thunks}
    targets: dict[str, set[int]] = {}
    for number, name in enumerate(table.names) if names else ():
        if name in names:
            targets.setdefault(name, set()).add(table.addresses[number])
    for name, address, size in thunks:
        if not _jumps_to(table.path, address, size, targets.get(name, set())):
            yield name


def _jumps_to(path: str, address: int, size: int, targets: Iterable[int]) -> bool:
    """Whether the code ends with a jump there."""
    try:
        code = code_at(path, address, size)
    except UNREADABLE:
        return False
    for jump, opcode in ((_NEAR, 0xE9), (_SHORT, 0xEB)):
        if len(code) >= jump.size:
            found, distance = jump.unpack(code[-jump.size :])
            if found == opcode and address + size + distance in targets:
                return True
    word = int.from_bytes(code[-_WORD:], "little")
    distance = ((word & 0x3FFFFFF) ^ 0x2000000) - 0x2000000  # in words, from the instruction itself
    return word >> 26 == _BRANCH and address + size - _WORD + _WORD * distance in targets
