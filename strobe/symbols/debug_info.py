"""Debug information of one module: the scan, and what its rows mean (names, files, addresses)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from strobe.symbols import dwarf_forms as dw
from strobe.symbols.damage import UNREADABLE
from strobe.symbols.dwarf_forms import Attribute, Layout
from strobe.symbols.dwarf_scan import DwarfScan, FunctionDie, Unit, reference
from strobe.symbols.elf import ElfImage

UNNAMED = "{unnamed}"  # a type without name, such as clang's lambdas: the linkage name then says more
_MAX_HOPS = 8  # from a function to its abstract instance, to its declaration, …


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A concrete function as debug information has it. `linkage_name` None: not mangled."""

    die_offset: int
    address: int
    size: int
    name: str
    linkage_name: str | None
    source_file: str | None
    line: int | None


class DebugInfo:
    """`.debug_info` of one ELF file. Raises one of UNREADABLE where nothing of it can be read."""

    def __init__(self, image: ElfImage) -> None:
        self._image = image
        self.dwarf: Any = image.elf.get_dwarf_info(relocate_dwarf_sections=False, follow_links=False)
        self._info = _bytes_of(self.dwarf.debug_info_sec)
        self._strings = _bytes_of(self.dwarf.debug_str_sec)
        self._line_strings = _bytes_of(self.dwarf.debug_line_str_sec)
        self._string_offsets = _bytes_of(self.dwarf.debug_str_offsets_sec)
        self._addresses = _bytes_of(self.dwarf.debug_addr_sec)
        self._names: dict[int, str] = {}
        self._files: dict[int, list[str | None]] = {}
        self.scan = DwarfScan(self._info, self._units())

    def split_units(self) -> int:
        """How many units keep their content in .dwo files, where it is not read."""
        names = (dw.AT_DWO_NAME, dw.AT_GNU_DWO_NAME)
        return sum(any(name in unit.attributes for name in names) for unit in self.scan.units)

    def lists_parameters(self, offset: int) -> bool:
        """Whether the unit describes parameters at all: with -g1, or as Rust's own library is built, it does not."""
        plans = self.scan.unit_at(offset).plans.values()
        return any(plan.tag == dw.TAG_FORMAL_PARAMETER for plan in plans)

    def rows(self) -> Iterator[CodeRow]:
        for function in self.scan.functions:
            try:
                code = self._code_range(function)
                if code is not None and self._image.is_code(code[0]):
                    yield self._row(function, *code)
            except UNREADABLE as error:
                self.scan.damaged.append((function.unit.offset, str(error)))

    def inlined_sites(self) -> dict[str, int]:
        """Qualified name of each function that was inlined somewhere -> number of sites."""
        sites: dict[str, int] = {}
        for offset, count in self.scan.inlined.items():
            try:
                name = self.qualified_name(offset)
            except UNREADABLE:
                continue
            sites[name] = sites.get(name, 0) + count
        return sites

    def _row(self, function: FunctionDie, address: int, size: int) -> CodeRow:
        linkage = self._inherited(function.offset, dw.AT_LINKAGE_NAME, dw.AT_MIPS_LINKAGE_NAME)
        file, line = self._declared_at(function.offset)
        return CodeRow(
            die_offset=function.offset,
            address=address,
            size=size,
            name=self.qualified_name(function.offset),
            linkage_name=None if linkage is None else self._text(*linkage),
            source_file=None if file is None else self._file(file[0], file[1][1]),
            line=None if line is None else line[1][1],
        )

    def _declared_at(self, offset: int) -> tuple[tuple[Unit, Attribute] | None, tuple[Unit, Attribute] | None]:
        """Attributes of file and line. gcc gives a lambda's code none: then those of the lambda's class."""
        if self._inherited(offset, dw.AT_DECL_LINE) is None:
            offset = self.scan.enclosing(offset) or offset
        return self._inherited(offset, dw.AT_DECL_FILE), self._inherited(offset, dw.AT_DECL_LINE)

    def qualified_name(self, offset: int, hops: int = _MAX_HOPS) -> str:
        """Name of a function, namespace or type with the names of all that encloses it."""
        known = self._names.get(offset)
        if known is not None:
            return known
        tag, attributes = self.scan.read(offset)
        origin = self._origin(offset, attributes)
        if dw.AT_NAME not in attributes and origin is not None and hops > 0:
            name = self.qualified_name(origin, hops - 1)
        else:
            # an origin beside a name is the declaration, and that stands where the name belongs
            place = self.scan.enclosing(offset if origin is None else origin)
            own = self._own_name(offset, tag, attributes)
            name = own if place is None or hops == 0 else f"{self.qualified_name(place)}::{own}"
        self._names[offset] = name
        return name

    def _own_name(self, offset: int, tag: int, attributes: dict[int, Attribute]) -> str:
        name = attributes.get(dw.AT_NAME)
        if name is not None:
            return self._text(self.scan.unit_at(offset), name) or UNNAMED
        return "(anonymous namespace)" if tag == dw.TAG_NAMESPACE else UNNAMED

    def _origin(self, offset: int, attributes: dict[int, Attribute]) -> int | None:
        found = attributes.get(dw.AT_ABSTRACT_ORIGIN) or attributes.get(dw.AT_SPECIFICATION)
        return None if found is None else reference(found, self.scan.unit_at(offset))

    def _inherited(self, offset: int, *names: int) -> tuple[Unit, Attribute] | None:
        """The attribute of a DIE or of what it stems from, and the unit it was found in (file numbers count there)."""
        for _ in range(_MAX_HOPS):
            attributes = self.scan.read(offset)[1]
            for name in names:
                if name in attributes:
                    return self.scan.unit_at(offset), attributes[name]
            origin = self._origin(offset, attributes)
            if origin is None:
                return None
            offset = origin
        return None

    def _text(self, unit: Unit, attribute: Attribute) -> str | None:
        form, value = attribute
        if form == dw.FORM_STRING:
            return _text_at(self._info, value)
        if form == dw.FORM_STRP:
            return _text_at(self._strings, value)
        if form == dw.FORM_LINE_STRP:
            return _text_at(self._line_strings, value)
        if form in dw.STRX_FORMS:
            width = unit.layout.offset_size
            start = unit.number(dw.AT_STR_OFFSETS_BASE, 2 * width) + value * width
            return _text_at(self._strings, int.from_bytes(self._string_offsets[start : start + width], "little"))
        return None  # in a supplementary file (dwz)

    def _address(self, unit: Unit, attribute: Attribute) -> int:
        form, value = attribute
        if form not in dw.ADDRX_FORMS:
            return value
        width = unit.layout.address_size
        start = unit.number(dw.AT_ADDR_BASE, 8) + value * width
        return int.from_bytes(self._addresses[start : start + width], "little")

    def _code_range(self, function: FunctionDie) -> tuple[int, int] | None:
        """(address, size in bytes) of the part of a function that is called; its cold part lies elsewhere."""
        unit, attributes = function.unit, function.attributes
        low, high = attributes.get(dw.AT_LOW_PC), attributes.get(dw.AT_HIGH_PC)
        if low is not None and high is not None:
            start = self._address(unit, low)
            is_address = high[0] == dw.FORM_ADDR or high[0] in dw.ADDRX_FORMS
            size = self._address(unit, high) - start if is_address else high[1]
            return (start, size) if size > 0 else None
        try:
            ranges = self._ranges(function)
        except UNREADABLE:
            return None
        return (ranges[0][0], ranges[0][1] - ranges[0][0]) if ranges else None

    def _ranges(self, function: FunctionDie) -> list[tuple[int, int]]:
        """Address ranges by pyelftools: few functions have them."""
        cu = self.dwarf.get_CU_at(function.unit.offset)
        top = cu.get_top_DIE()
        die = cu.get_DIE_from_refaddr(function.offset)
        if "DW_AT_ranges" not in die.attributes:
            return []
        base = top.attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in top.attributes else 0
        found: list[tuple[int, int]] = []
        for entry in self.dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, cu=cu):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            else:
                shift = 0 if entry.is_absolute else base
                found.append((entry.begin_offset + shift, entry.end_offset + shift))
        return found

    def _file(self, unit: Unit, number: int) -> str | None:
        if unit.offset not in self._files:
            try:
                self._files[unit.offset] = self._file_table(unit)
            except UNREADABLE:
                self._files[unit.offset] = []
        table = self._files[unit.offset]
        return table[number] if number < len(table) else None

    def _file_table(self, unit: Unit) -> list[str | None]:
        """Full paths by file number: from 1 up to DWARF 4, from 0 in DWARF 5 (section 6.2.4)."""
        program = self.dwarf.line_program_for_CU(self.dwarf.get_CU_at(unit.offset))
        if program is None:
            return []
        comp_dir = unit.attributes.get(dw.AT_COMP_DIR)
        base = (self._text(unit, comp_dir) or "") if comp_dir is not None else ""
        folders = [os.path.join(base, _decoded(name)) for name in program.header["include_directory"]]  # noqa: PTH118
        files: list[str | None] = []
        if program.header["version"] < 5:
            folders.insert(0, base)
            files.append(None)
        for entry in program.header["file_entry"]:
            folder = folders[entry.dir_index] if entry.dir_index < len(folders) else base
            files.append(os.path.normpath(os.path.join(folder, _decoded(entry.name))))  # noqa: PTH118
        return files

    def _units(self) -> list[Unit]:
        abbreviations = _bytes_of(self.dwarf.debug_abbrev_sec)
        tables: dict[tuple[int, Layout], dict[int, dw.Plan]] = {}
        units: list[Unit] = []
        for cu in self.dwarf.iter_CUs():
            layout = Layout(cu["version"], cu.dwarf_format() // 8, cu["address_size"])
            key = cu["debug_abbrev_offset"], layout
            if key not in tables:
                tables[key] = dw.read_plans(abbreviations, key[0], layout)
            units.append(Unit(cu.cu_offset, cu.cu_offset + cu.size, cu.cu_die_offset, layout, tables[key]))
        return units


def _bytes_of(section: Any) -> bytes:
    return b"" if section is None else bytes(section.stream.getvalue())


def _text_at(data: bytes, start: int) -> str | None:
    end = data.find(b"\0", start)
    return None if end < 0 else data[start:end].decode("utf-8", "replace")


def _decoded(name: bytes | str) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name
