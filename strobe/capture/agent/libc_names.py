"""Programs with functions of their own that are called as functions of the C library.

`int poll(struct device*)` is no fault in a program that does not use the C library's: the library itself does not call
it. But the linker exports it, and the dynamic linker looks a name up in the program first: Frida's agent called it for
the `poll` that it needs, and the program ended by SIGSEGV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from strobe.capture.mapped_elf import ElfFile, mappings
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.dynamic import SYMBOL_BYTES, Dynamic

_OF_LIBC = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread)([-.][\d.]+)?)\.so(\.\d+)?")
_MAY_COME = ("libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0")  # with the agent
_KIND = 4  # of Elf64_Sym: byte of binding and type; the section's number behind the next one
_SECTION = 3  # in words of 16 bits
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_SANITIZER = b"__sanitizer_"  # its runtime's functions do what the C library's do, and take note
_OF_CPP = b"_Z"
# The agent has an allocator of its own.
_ALLOCATOR = re.compile(
    rb"(m|c|re|v|pv)alloc|free|cfree|reallocarray|memalign|aligned_alloc|posix_memalign|mall.*|malloc.*"
)


def has_names_of_libc(pid: int) -> bool:
    """Whether the program, or a library that it has loaded, exports functions with names of the C library's, other than
    an allocator's. False for those of a sanitizer, and where the files cannot be read.
    """
    root = Path(f"/proc/{pid}/root")
    try:
        paths = {mapping.path for mapping in mappings(pid) if mapping.is_code}
        libraries = {path for path in paths if _OF_LIBC.fullmatch(Path(path).name)}
        others = set().union(*(_exported(root / path[1:]) for path in paths - libraries))
        if not others or any(name.startswith(_SANITIZER) for name in others):
            return False
        libc = next((path for path in libraries if Path(path).name.startswith("libc")), None)
        coming = {str(Path(libc).with_name(name)) for name in _MAY_COME} if libc is not None else set()
        return any(
            not _ALLOCATOR.fullmatch(name)
            for path in libraries | coming
            for name in others & _exported(root / path[1:])
        )
    except UNREADABLE:
        return False


def _exported(path: Path) -> set[bytes]:
    """The functions that a file exports, but for C++'s; none where there is no such file."""
    if not path.is_file():
        return set()
    file = ElfFile(str(path))
    try:
        dynamic = Dynamic(file.read)
        return set(_functions(dynamic.section(".dynsym"), dynamic.section(".dynstr")))
    finally:
        file.close()


def _functions(symbols: bytes, names: bytes) -> Iterator[bytes]:
    table = memoryview(symbols[: len(symbols) // SYMBOL_BYTES * SYMBOL_BYTES])
    places = table.cast("I")[:: SYMBOL_BYTES // 4].tolist()
    sections = table.cast("H")[_SECTION :: SYMBOL_BYTES // 2].tolist()
    kinds = table[_KIND::SYMBOL_BYTES].tolist()
    for place, section, kind in zip(places, sections, kinds, strict=True):
        if section and kind & 15 in _FUNCTIONS and not names.startswith(_OF_CPP, place):
            yield names[place : names.find(b"\0", place)]
