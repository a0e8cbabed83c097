"""What the dynamic linker reads of an ELF file (System V gABI, chapter 5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from strobe.symbols.objects.elf_headers import PT_DYNAMIC, PT_LOAD, ElfHeaders, Read, dynamic_entries

PLTRELSZ, RELA, RELASZ, INIT, JMPREL, INIT_ARRAYSZ, PREINIT_ARRAYSZ = 2, 7, 8, 12, 23, 27, 33  # DT_*
SYMBOL_BYTES = 24  # of Elf64_Sym
_ENTRY = 24  # bytes of Elf64_Rela
_RELATIVE = 8  # R_X86_64_RELATIVE


class Dynamic:
    """`cpu`: as ElfHeaders has it. `tags`: what the dynamic section says, by DT_*. Raises ValueError where the file is
    damaged."""

    def __init__(self, read: Read) -> None:
        self._headers = ElfHeaders(read)
        self.cpu = self._headers.cpu
        dynamic = next((part for part in self._headers.segments if part.kind == PT_DYNAMIC), None)
        content = b"" if dynamic is None else self._headers.read(dynamic.offset, dynamic.size, "the dynamic section")
        self.tags = dict(dynamic_entries(content))

    def section(self, name: str) -> bytes:
        """Empty where there is none."""
        for section in self._headers.sections:
            if section.name == name:
                return self._headers.read(section.offset, section.size, name)
        return b""

    def address_of(self, name: str) -> int | None:
        """Where a section lies, link-time."""
        return next((section.address for section in self._headers.sections if section.name == name), None)

    def at(self, address: int, size: int) -> bytes:
        """What the file has at a link-time address; empty where it has not all of that."""
        for part in self._headers.segments:
            if part.kind == PT_LOAD and part.address <= address and address + size <= part.address + part.size:
                return self._headers.read(part.offset + address - part.address, size, "what is loaded")
        return b""

    def relocations(self) -> Iterator[memoryview[int]]:
        """Tables of Elf64_Rela as u32: six for each, of which the third is the type and the fourth the symbol."""
        for start, size in ((RELA, RELASZ), (JMPREL, PLTRELSZ)):
            yield memoryview(self.at(self.tags.get(start, 0), self.tags.get(size, 0) // _ENTRY * _ENTRY)).cast("I")

    @cached_property
    def bound(self) -> dict[int, int | str]:
        """What the dynamic linker writes, by where: an address, or the name of a symbol."""
        symbols, names = self.section(".dynsym"), self.section(".dynstr")
        found: dict[int, int | str] = {}
        for table in self.relocations():
            numbers = table.tolist()
            for low, high, kind, symbol, addend, more in zip(*(numbers[at::6] for at in range(6)), strict=True):
                if kind == _RELATIVE:
                    found[low | high << 32] = addend | more << 32
                elif symbol:
                    at = int.from_bytes(symbols[symbol * SYMBOL_BYTES : symbol * SYMBOL_BYTES + 4], "little")
                    found[low | high << 32] = names[at : names.find(b"\0", at)].decode("utf-8", "replace")
        return found
