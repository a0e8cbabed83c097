"""Copies of a function that go on in another copy of it: one call of the function runs both, and is to be one call.

What gcc splits off (`f.part.0`) is what the function's own copy goes on in. A destructor that deletes calls the one
that does not; complete constructors and destructors call those for bases, where the compiler (clang at -O0) has not
made them one.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from strobe._core import demangle, instruction_length
from strobe.model import FunctionSymbol
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.dynamic import Dynamic
from strobe.symbols.objects.elf_headers import reader_of
from strobe.symbols.objects.instructions import LONGEST

_PART = ".part."
_VARIANT = re.compile(r"[CD][0-3]E")  # as constructors and destructors have it: Itanium C++ ABI, 5.1.4.3
_MOST_BYTES = 256  # of a function that are gone through
_STUB_BYTES = 16  # of the procedure linkage table
_CALLS = (b"\xe8", b"\xe9", b"\x67\xe8")  # call and jmp with a distance; as linkers make one of a call by a slot
_BY_SLOT = (b"\xff\x15", b"\xff\x25")  # call and jmp *distance(%rip)
_DISTANCE = struct.Struct("<i")


def is_part(function: FunctionSymbol) -> bool:
    """Whether it is what gcc has split off a function, to inline the rest."""
    return _PART in function.raw_name


def each_once(functions: Sequence[FunctionSymbol], modules: Iterable[ModuleSymbols]) -> list[FunctionSymbol]:
    """Without those whose calls are calls of another one of them."""
    whole = {(item.module, _bare(item)) for item in functions if not is_part(item)}
    found = [item for item in functions if not is_part(item) or (item.module, _bare(item)) not in whole]
    variants: dict[str, dict[str, list[FunctionSymbol]]] = {}
    possible = [item for item in found if _VARIANT.search(item.raw_name) is not None]
    for item, full_name in zip(possible, demangle([item.raw_name for item in possible]), strict=True):
        if full_name is not None:
            variants.setdefault(item.module, {}).setdefault(full_name, []).append(item)
    left_out: set[tuple[str, int]] = set()
    for module in modules:
        groups = [group for group in variants.get(module.path, {}).values() if len(group) > 1]
        left_out |= {(module.path, item.address) for item in _going_on(module, groups)}
    return [item for item in found if (item.module, item.address) not in left_out]


def _bare(function: FunctionSymbol) -> str:
    return function.raw_name.partition(".")[0]


def _going_on(module: ModuleSymbols, groups: Sequence[Sequence[FunctionSymbol]]) -> Iterator[FunctionSymbol]:
    """Of functions that are copies of each other those that call another one before anything else."""
    known = module.first_calls
    new = [item for group in groups for item in group if item.address not in known]
    if new:
        known.update(dict.fromkeys((item.address for item in new), None))
        with suppress(*UNREADABLE), Path(module.path).open("rb") as stream:
            file = Dynamic(reader_of(stream))
            if file.cpu == "x86-64":
                known.update((item.address, _first_called(file, item)) for item in new)
    for group in groups:
        for one in group:
            others = {place for other in group if other is not one for place in (other.address, other.raw_name)}
            if known[one.address] in others:
                yield one


def _first_called(file: Dynamic, function: FunctionSymbol) -> int | str | None:
    """What is called, or jumped to, whatever happens before: its address, or the name by which the dynamic linker finds
    it."""
    at, code = 0, file.at(function.address, min(function.size, _MOST_BYTES))
    while length := instruction_length(code[at : at + LONGEST]):
        whole, behind = code[at : at + length], function.address + at + length
        at += length
        if whole[:-4] in _CALLS:
            target = behind + _DISTANCE.unpack(whole[-4:])[0]
            return _behind_stub(file, target) or target
        if whole[:2] in _BY_SLOT:
            return file.bound.get(behind + _DISTANCE.unpack(whole[2:])[0])
        if _leads_elsewhere(whole):
            return None
    return None


def _leads_elsewhere(whole: bytes) -> bool:
    """Whether the instruction is a jump, a return, or a call through a pointer."""
    if whole[0] == 0x0F:
        return 0x80 <= whole[1] <= 0x8F
    if whole[0] == 0xFF:
        return whole[1] >> 3 & 7 in (2, 3, 4, 5)
    return 0x70 <= whole[0] <= 0x7F or whole[0] in (0xEB, 0xE9, 0xC2, 0xC3)


def _behind_stub(file: Dynamic, address: int) -> int | str | None:
    """What an entry of the procedure linkage table jumps to; None where there is none at the address."""
    code = file.at(address, _STUB_BYTES)
    for begin in (b"", b"\xf3\x0f\x1e\xfa", b"\xf3\x0f\x1e\xfa\xf2"):  # endbr64, bnd
        jump = len(begin) + len(_BY_SLOT[1])
        if code.startswith(begin + _BY_SLOT[1]):
            return file.bound.get(address + jump + 4 + _DISTANCE.unpack_from(code, jump)[0])
    return None
