"""What the dynamic linker runs of a file before the program's first instruction: constructors, and what chooses among
implementations of a function (IFUNC). System V gABI, chapter 5; psABI for x86-64 and AArch64."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from strobe.dataclass import dataclass
from strobe.symbols.objects.dynamic import INIT, INIT_ARRAYSZ, PREINIT_ARRAYSZ, SYMBOL_BYTES, Dynamic
from strobe.symbols.objects.elf_headers import reader_of

_IRELATIVE = {37, 1032}  # R_X86_64_IRELATIVE, R_AARCH64_IRELATIVE
_IFUNC = 10  # STT_GNU_IFUNC
_POINTER = 8


@dataclass(frozen=True, slots=True)
class EarlyCode:
    """`runs`: whether there is any. `imports`: names of symbols that it has from other files."""

    runs: bool
    imports: frozenset[str]


def early_code(path: str, *, is_program: bool) -> EarlyCode:
    """`is_program`: a program runs its own constructors later. Raises OSError, or ValueError where it is no ELF file
    that can be read."""
    with Path(path).open("rb") as stream:
        file = Dynamic(reader_of(stream))
        symbols = file.section(".dynsym")
        runs = _IFUNC in {kind & 0xF for kind in symbols[4::SYMBOL_BYTES]} or _has_irelative(file)
        if is_program:
            runs |= file.tags.get(PREINIT_ARRAYSZ, 0) > 0
        else:  # one entry is the compiler's own: frame_dummy; DT_INIT that of the C library, which does nothing
            runs |= file.tags.get(INIT_ARRAYSZ, 0) > _POINTER
            runs |= INIT in file.tags and file.tags[INIT] != file.address_of(".init")
        return EarlyCode(runs, frozenset(_undefined(symbols, file.section(".dynstr"))) if runs else frozenset())


def chosen_names(path: str) -> frozenset[str]:
    """Functions that a file exports of which the dynamic linker chooses the implementation. Raises as early_code."""
    with Path(path).open("rb") as stream:
        file = Dynamic(reader_of(stream))
        symbols, names = file.section(".dynsym"), file.section(".dynstr")
    kinds = symbols[4::SYMBOL_BYTES]
    return frozenset(
        _name(symbols, names, index * SYMBOL_BYTES) for index, kind in enumerate(kinds) if kind & 0xF == _IFUNC
    )


def _has_irelative(file: Dynamic) -> bool:
    return any(_IRELATIVE & set(table[2::6].tolist()) for table in file.relocations())


def _undefined(symbols: bytes, names: bytes) -> Iterator[str]:
    for at in range(0, len(symbols), SYMBOL_BYTES):
        if symbols[at + 6 : at + 8] == b"\0\0":
            yield _name(symbols, names, at)


def _name(symbols: bytes, names: bytes, at: int) -> str:
    name = int.from_bytes(symbols[at : at + 4], "little")
    return names[name : names.find(b"\0", name)].decode("utf-8", "replace")
