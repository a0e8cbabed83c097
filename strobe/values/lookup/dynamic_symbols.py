"""Symbols that a loaded library exports, looked up in the process's own memory: its file may be another by now.

System V gABI, chapter 5 (dynamic section); the hash table is GNU's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from strobe.symbols.objects.elf_headers import PT_DYNAMIC, ElfHeaders, dynamic_entries

_DT_STRTAB, _DT_SYMTAB, _DT_GNU_HASH = 5, 6, 0x6FFFFEF5
_SYMBOL_BYTES = 24
_MOST_ENTRIES = 512  # of a dynamic section, and symbols in one chain
_MOST_SEGMENTS = 256
_MOST_NAME = 128

Peek = Callable[[int, int], bytes | None]


class DynamicSymbols:
    """Of the ELF file at `base`. Finds nothing where the memory is not as expected."""

    def __init__(self, peek: Peek, base: int) -> None:
        self._peek = peek
        self._tables: dict[int, int] = {}
        self._slide = 0
        self._header = ()  # type: tuple[int, ...]
        self._read_headers(base)

    def address(self, name: str) -> int | None:
        """Where the symbol is in the process."""
        if len(self._header) != 4:
            return None
        buckets, first, words, shift = self._header
        table = self._tables[_DT_GNU_HASH]
        hash_ = _gnu_hash(name.encode())
        bloom = self._number(table + 16 + 8 * (hash_ // 64 % words), 8)
        wanted = 1 << hash_ % 64 | 1 << (hash_ >> shift) % 64
        if bloom is None or bloom & wanted != wanted:
            return None
        bucket_table = table + 16 + 8 * words
        index = self._number(bucket_table + 4 * (hash_ % buckets), 4)
        if index is None or index < first:
            return None
        return self._in_chain(bucket_table + 4 * buckets, index, first, hash_, name.encode())

    def _in_chain(self, chain: int, index: int, first: int, hash_: int, name: bytes) -> int | None:
        for number in range(index, index + _MOST_ENTRIES):
            found = self._number(chain + 4 * (number - first), 4)
            if found is None:
                return None
            if found | 1 == hash_ | 1:
                symbol = self._peek(self._tables[_DT_SYMTAB] + _SYMBOL_BYTES * number, _SYMBOL_BYTES)
                if symbol is not None and self._is_named(int.from_bytes(symbol[:4], "little"), name):
                    return int.from_bytes(symbol[8:16], "little") + self._slide
            if found & 1:
                return None
        return None

    def _is_named(self, offset: int, name: bytes) -> bool:
        return self._peek(self._tables[_DT_STRTAB] + offset, len(name) + 1) == name + b"\0"

    def _read_headers(self, base: int) -> None:
        try:
            headers = ElfHeaders(lambda offset, size: self._peek(base + offset, size) or b"", _MOST_SEGMENTS)
            segments = headers.segments
        except (ValueError, struct.error):
            return
        self._slide = base - headers.link_base
        dynamic = next((segment for segment in segments if segment.kind == PT_DYNAMIC), None)
        if dynamic is not None:
            self._read_dynamic(dynamic.address + self._slide, min(dynamic.memory_size, 16 * _MOST_ENTRIES), base)

    def _read_dynamic(self, address: int, size: int, base: int) -> None:
        content = self._peek(address, size)
        for tag, value in dynamic_entries(content or b""):
            if tag in (_DT_STRTAB, _DT_SYMTAB, _DT_GNU_HASH):  # some loaders move these to where they are
                self._tables.setdefault(tag, value if value >= base else value + self._slide)
        if len(self._tables) == 3:
            header = self._peek(self._tables[_DT_GNU_HASH], 16)
            found = () if header is None else struct.unpack("<4I", header)
            self._header = found if found and found[0] and found[2] else ()

    def _number(self, address: int, size: int) -> int | None:
        data = self._peek(address, size)
        return None if data is None else int.from_bytes(data, "little")


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value
