"""Programs built with ThreadSanitizer. Its runtime ends a program at the first call by a thread whose beginning it has
not seen, and Frida's agent lives on such threads. The other sanitizers take no offence.
"""

from __future__ import annotations

from pathlib import Path

from strobe.symbols.damage import UNREADABLE
from strobe.symbols.elf_headers import ElfHeaders

_DYNAMIC_NAMES = ".dynstr"
_START = b"\0__tsan_init\0"  # called by every object that -fsanitize=thread has compiled, by gcc's and by clang's


def has_thread_sanitizer(path: str) -> bool:
    """Whether the ELF file uses ThreadSanitizer's runtime, imported or its own; False where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            headers = ElfHeaders(file)
            names = next((item for item in headers.sections if item.name == _DYNAMIC_NAMES), None)
            return names is not None and _START in headers.read(names.offset, names.size, _DYNAMIC_NAMES)
    except UNREADABLE:
        return False
