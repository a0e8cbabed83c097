"""A few bytes of a file's code, by their link-time address."""

from __future__ import annotations

from pathlib import Path

from strobe.symbols.objects.elf_headers import PT_LOAD, ElfHeaders, reader_of


def code_at(path: str, address: int, size: int) -> bytes:
    """Empty where the file has none there. Raises OSError, or ValueError where it is no ELF file."""
    with Path(path).open("rb") as stream:
        headers = ElfHeaders(reader_of(stream))
        for part in headers.segments:
            if part.kind == PT_LOAD and part.address <= address and address + size <= part.address + part.size:
                return headers.read(part.offset + address - part.address, size, "the code")
    return b""
