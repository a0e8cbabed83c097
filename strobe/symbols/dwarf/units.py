"""pyelftools over one file, with its units found at once: by offset, and type units by signature."""

from __future__ import annotations

import struct
import threading
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from elftools.dwarf.abbrevtable import AbbrevTable
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.typeunit import TypeUnit

from strobe.dataclass import dataclass
from strobe.symbols.dwarf.abbreviations import LazyAbbreviations
from strobe.symbols.objects.damage import of_pyelftools

_LONG_FORMAT, _RESERVED = 0xFFFFFFFF, 0xFFFFFFF0  # DWARF 5, section 7.4
_UNIT_TYPES = (0x02, 0x06)  # DW_UT_type, DW_UT_split_type
_HEADER_BYTES = 40  # as much as the longest header has
ALTERNATE = 1 << 62  # set in offsets of DIEs of the alternate file (dwz), here as in the native core


@dataclass(frozen=True, slots=True)
class UnitHead:
    """[start, end) of a unit in its section; of a type unit its signature and where in the section the type is."""

    start: int
    end: int
    signature: int | None = None
    type_offset: int = 0


class QuickUnit(CompileUnit):
    """A unit whose DIEs are found again without a search. `known_children`: of those that were all gone through, by
    the offset of their parent (dies.children)."""

    def __init__(self, unit: CompileUnit) -> None:
        super().__init__(unit.header, unit.dwarfinfo, unit.structs, unit.cu_offset, unit.cu_die_offset)
        self.known_children: dict[int, list[DIE]] = {}
        self._known_dies: dict[int, DIE] = {}

    @of_pyelftools
    def get_DIE_from_refaddr(self, refaddr: int) -> DIE:
        """As pyelftools', and kept: the same DIE is the same object. Raises one of UNREADABLE."""
        found = self._known_dies.get(refaddr)
        if found is None:
            found = self._known_dies[refaddr] = super().get_DIE_from_refaddr(refaddr)
        return found

    @of_pyelftools
    def get_top_DIE(self) -> DIE:
        """As pyelftools'. Raises one of UNREADABLE."""
        return super().get_top_DIE()

    def forget(self) -> None:
        """Lets go DIEs that nobody else has: they are read again when they are asked for."""
        for kept in (self._dielist, self._diemap, self._known_dies, self.known_children):
            kept.clear()


class UnitFinder(DWARFInfo):
    """A DWARFInfo that reads only headers to find a unit, and knows type units of DWARF 5, too (0.33 does not).

    Streams are read by position: whoever reads DIEs while other threads may, holds `lock`. `base`: the offset where
    .debug_info begins, ALTERNATE for an alternate file; so one number identifies a DIE in both files.
    """

    def __init__(self, base: int = 0, **sections: Any) -> None:
        super().__init__(**sections)
        self._base = base
        self.lock = threading.RLock()
        self._abbreviations: dict[int, AbbrevTable] = {}
        self._type_units: dict[int, TypeUnit] = {}

    def get_abbrev_table(self, offset: int) -> AbbrevTable:
        if self.debug_abbrev_sec is None:
            raise ValueError("there is no .debug_abbrev")
        if offset not in self._abbreviations:
            self._abbreviations[offset] = LazyAbbreviations(self.debug_abbrev_sec.stream, offset)
        return self._abbreviations[offset]

    @of_pyelftools
    def get_CU_containing(self, refaddr: int) -> CompileUnit:
        """The unit of .debug_info at an offset, without a look at those before it."""
        return self._cached_CU_at_offset(_holding(self._info_heads, refaddr).start)

    @of_pyelftools
    def get_CU_at(self, offset: int) -> CompileUnit:
        """As pyelftools': the unit that begins at an offset. Raises one of UNREADABLE."""
        return super().get_CU_at(offset)

    @of_pyelftools
    def get_addr(self, cu: CompileUnit | TypeUnit, addr_index: int) -> int:
        """The address with this index in .debug_addr."""
        return int(super().get_addr(cu, addr_index))

    def _parse_CU_at_offset(self, offset: int) -> CompileUnit:
        return QuickUnit(super()._parse_CU_at_offset(offset))

    @of_pyelftools
    def get_DIE_from_refaddr(self, refaddr: int, cu: CompileUnit | None = None) -> DIE:
        """The DIE at an offset of .debug_info, of the alternate file where the offset says so."""
        if not self._base and refaddr & ALTERNATE and self.supplementary_dwarfinfo is not None:
            return self.supplementary_dwarfinfo.get_DIE_from_refaddr(refaddr)
        return super().get_DIE_from_refaddr(refaddr | self._base, cu)

    def get_DIE_by_sig8(self, sig8: int) -> DIE:
        """The type of a type unit, of either section. KeyError where there is no such signature."""
        in_types, head = self._signatures[sig8]
        return self.types_die(head.type_offset) if in_types else self.get_DIE_from_refaddr(head.type_offset)

    @of_pyelftools
    def types_die(self, offset: int) -> DIE:
        """The DIE at an offset of .debug_types (DWARF 4)."""
        start = _holding(self._types_heads, offset).start
        if start not in self._type_units:
            self._type_units[start] = self._parse_TU_at_offset(start)
        return self._type_units[start].get_DIE_from_refaddr(offset)

    def forget(self) -> None:
        """As QuickUnit.forget, of all units, where no other thread is reading."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            for unit in self._cu_cache:
                if isinstance(unit, QuickUnit):
                    unit.forget()
            self._type_units.clear()
        finally:
            self.lock.release()

    @cached_property
    def _info_heads(self) -> list[UnitHead]:
        return list(_heads(self.debug_info_sec, self._base, in_types=False))

    @cached_property
    def _types_heads(self) -> list[UnitHead]:
        return list(_heads(self.debug_types_sec, 0, in_types=True))

    @cached_property
    def _signatures(self) -> dict[int, tuple[bool, UnitHead]]:
        found: dict[int, tuple[bool, UnitHead]] = {}
        for in_types, heads in ((False, self._info_heads), (True, self._types_heads)):
            for head in heads:
                if head.signature is not None:
                    found.setdefault(head.signature, (in_types, head))
        return found


def _holding(heads: list[UnitHead], offset: int) -> UnitHead:
    index = bisect_right(heads, offset, key=lambda head: head.start) - 1
    if index < 0 or offset >= heads[index].end:
        raise ValueError("a reference outside all units")
    return heads[index]


def _heads(section: Any, base: int, *, in_types: bool) -> Iterator[UnitHead]:
    """All units of a section, up to the first whose length cannot be true."""
    position = base
    while section is not None and position + 11 <= base + section.size:
        section.stream.seek(position)
        header = section.stream.read(_HEADER_BYTES).ljust(_HEADER_BYTES, b"\0")
        (length,) = struct.unpack_from("<I", header)
        is_long = length == _LONG_FORMAT
        if is_long:
            (length,) = struct.unpack_from("<Q", header, 4)
        end = position + (12 if is_long else 4) + length
        if (not is_long and length >= _RESERVED) or end > base + section.size:
            return
        yield _head(header, position, end, is_long=is_long, in_types=in_types)
        position = end


def _head(header: bytes, start: int, end: int, *, is_long: bool, in_types: bool) -> UnitHead:
    """DWARF 5, section 7.5.1; DWARF 4 likewise, where only .debug_types has type units."""
    begin, width = (12, 8) if is_long else (4, 4)
    (version,) = struct.unpack_from("<H", header, begin)
    if in_types:
        signature_at = begin + 2 + width + 1
    elif version == 5 and header[begin + 2] in _UNIT_TYPES:
        signature_at = begin + 4 + width
    else:
        return UnitHead(start, end)
    signature, offset = struct.unpack_from("<QQ" if is_long else "<QI", header, signature_at)
    return UnitHead(start, end, signature, start + offset)
