"""Functions of which only a jump to another is left: gcc does so with one of two that have the same code and that other
files may call (-fipa-icf, on at -O2). In its own file it lets callers call the other one directly.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from strobe.model import FunctionSymbol
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.objects.code_bytes import code_at
from strobe.symbols.objects.damage import UNREADABLE

_ENDBR64 = b"\xf3\x0f\x1e\xfa"
_NEAR, _FAR = b"\xeb", b"\xe9"  # jmp rel8, jmp rel32
_SIZES = frozenset(len(_ENDBR64) * begins + jump for begins in (0, 1) for jump in (2, 5))


def folded(functions: Iterable[FunctionSymbol], modules: Iterable[ModuleSymbols]) -> dict[str, str]:
    """Name -> name of the function that it jumps to, where either is one of `functions`. Of modules with debug
    information, which describes those that were written as a call of another, and not these."""
    wanted: dict[str, set[int]] = {}
    for function in functions:
        wanted.setdefault(function.module, set()).add(function.address)
    found: dict[str, str] = {}
    for module in modules:
        table, own = module.functions, wanted.get(module.path)
        if own is None or not module.has_debug_info or not isinstance(table, FunctionTable):
            continue
        for number in table.without_source(_SIZES):
            address = table.addresses[number]
            other = _jump(table.path, address, table[number].size)
            target = None if other is None else table.at(other)
            if target is not None and target != number and own & {address, other}:
                found[table.names[number]] = table.names[target]
    return found


def _jump(path: str, address: int, size: int) -> int | None:
    """Where the code leads, if it is a jump and nothing more."""
    try:
        code = code_at(path, address, size)
    except UNREADABLE:
        return None
    jump = code.removeprefix(_ENDBR64)
    if len(jump) == 5 and jump.startswith(_FAR):
        (distance,) = struct.unpack("<i", jump[1:])
    elif len(jump) == 2 and jump.startswith(_NEAR):
        (distance,) = struct.unpack("<b", jump[1:])
    else:
        return None
    return int(address + size + distance)
