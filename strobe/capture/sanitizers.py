"""Programs built with ThreadSanitizer. Its runtime ends a program at the first call by a thread whose beginning it has
not seen, and Frida's agent lives on such threads. The other sanitizers take no offence.
"""

from __future__ import annotations

from pathlib import Path

from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.elf_headers import ElfHeaders, reader_of

_START = b"\0__tsan_init\0"  # called by every object that -fsanitize=thread has compiled, by gcc's and by clang's
_RUNTIME = b"__sanitizer_"  # what every sanitizer's runtime looks for when it is part of the program


def has_thread_sanitizer(path: str) -> bool:
    """Whether the ELF file uses ThreadSanitizer's runtime, imported or its own; False where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            headers = ElfHeaders(reader_of(file))
            dynamic = _names(headers, ".dynstr")
            # gcc's -static-libtsan does not export it
            return _START in dynamic or (_RUNTIME in dynamic and _START in _names(headers, ".strtab"))
    except UNREADABLE:
        return False


def _names(headers: ElfHeaders, section: str) -> bytes:
    found = next((item for item in headers.sections if item.name == section), None)
    return headers.read(found.offset, found.size, section) if found is not None else b""
