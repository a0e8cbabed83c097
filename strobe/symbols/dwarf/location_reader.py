"""Locations of DIEs: attributes and location lists of one module, described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elftools.dwarf.die import DIE

from strobe.dataclass import dataclass
from strobe.symbols.dwarf import dies, location_lists
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.expressions import BaseType, Operation, Surroundings, operations_of
from strobe.symbols.dwarf.location_lists import ListEntry
from strobe.symbols.dwarf.locations import Constant, Location, OptimizedOut, location_of
from strobe.symbols.dwarf.registers import first_register

LOCATION = "DW_AT_location"
_MAX_HOPS = 8
_MAX_POINTERS = 4  # implicit pointers to implicit pointers
_LISTS = frozenset({"DW_FORM_sec_offset", "DW_FORM_loclistx", "DW_FORM_data4", "DW_FORM_data8"})


@dataclass(frozen=True, slots=True)
class Held:
    """A location and the [start, end) of code in which it holds; none: wherever the variable is in scope."""

    location: Location
    ranges: tuple[tuple[int, int], ...] = ()


def origins(die: DIE) -> list[DIE]:
    """A DIE, its abstract instance, and that one's declaration."""
    chain = [die]
    while len(chain) < _MAX_HOPS:
        origin = dies.target(chain[-1], "DW_AT_abstract_origin") or dies.target(chain[-1], "DW_AT_specification")
        if origin is None:
            break
        chain.append(origin)
    return chain


def inherited(die: DIE, *attributes: str) -> DIE | None:
    """The first of a DIE and what it is an instance of that has one of the attributes."""
    return next((d for d in origins(die) if any(name in d.attributes for name in attributes)), None)


class LocationReader:
    """Locations in one module. Raises one of UNREADABLE where debug information is damaged."""

    def __init__(self, debug_info: DebugInfo) -> None:
        self._debug_info = debug_info

    def at(self, die: DIE, address: int, attribute: str = LOCATION, *, is_entry: bool = False) -> Held:
        """Where the value of a DIE is while the code at a link-time address is about to run.

        `is_entry`: a function begins there, and what counts is what it was called with.
        """
        return self._at(die, address, attribute, 0, is_entry)

    def _at(self, die: DIE, address: int, attribute: str, depth: int, is_entry: bool) -> Held:
        has = inherited(die, attribute, "DW_AT_const_value")
        if has is None:
            return Held(OptimizedOut())
        found = has.attributes.get(attribute)
        if found is None:
            return Held(_constant(has))
        if found.form not in _LISTS:
            return Held(self._described(has, bytes(found.value), address, depth, is_entry))
        entries = list(self._entries(has, found))
        chosen = _chosen(entries, address, is_entry)
        # an expression without operations says that it is not there
        if chosen is None or not chosen.content:
            known = (entry for entry in entries if entry.content and not entry.is_default)
            return Held(OptimizedOut(tuple((entry.start, entry.end) for entry in known if entry.start < entry.end)))
        ranges = () if chosen.is_default else ((chosen.start, chosen.end),)
        return Held(self._described(has, chosen.content, address, depth, is_entry), ranges)

    def expression(self, die: DIE, attribute: str) -> tuple[Operation, ...]:
        """Operations of an attribute that has no list; none where it is missing."""
        content = dies.block(die, attribute)
        return () if content is None else operations_of(content, self.surroundings(die))

    def _described(self, die: DIE, content: bytes, address: int, depth: int, is_entry: bool) -> Location:
        def pointee(offset: int) -> Location:
            if depth >= _MAX_POINTERS:
                return OptimizedOut()
            return self._at(self.die_at(offset), address, LOCATION, depth + 1, is_entry).location

        return location_of(operations_of(content, self.surroundings(die)), pointee)

    def die_at(self, offset: int) -> DIE:
        """The DIE at an offset in .debug_info, of the alternate file where ALTERNATE is set."""
        die: DIE = self._debug_info.dwarf.get_DIE_from_refaddr(offset)
        return die

    def surroundings(self, die: DIE) -> Surroundings:
        """Of expressions in a DIE's attributes."""
        unit: Any = die.cu
        return Surroundings(
            unit["version"],
            unit["address_size"],
            unit.structs.dwarf_format // 8,
            unit.cu_offset,
            lambda index: int(unit.dwarfinfo.get_addr(unit, index)),
            lambda offset: _base_type(unit.get_DIE_from_refaddr(offset)),
            first_register(self._debug_info.machine),
        )

    def _entries(self, die: DIE, attribute: Any) -> Iterator[ListEntry]:
        unit: Any = die.cu
        base = dies.number(unit.get_top_DIE(), "DW_AT_low_pc") or 0
        size, offset = unit["address_size"], int(attribute.value)
        if unit["version"] >= 5:
            section = self._debug_info.section(".debug_loclists")
            return location_lists.read_new(section, offset, base, size, self.surroundings(die).address)
        return location_lists.read_old(self._debug_info.section(".debug_loc"), offset, base, size)


def _chosen(entries: list[ListEntry], address: int, is_entry: bool) -> ListEntry | None:
    """At a function's first instruction an entry for its first views alone counts, as gdb has it."""
    for entry in entries:
        is_view = is_entry and entry.start == entry.end == address
        if is_view or (entry.start <= address < entry.end and not entry.is_default):
            return entry
    return next((entry for entry in entries if entry.is_default), None)


def _constant(die: DIE) -> Location:
    content = dies.block(die, "DW_AT_const_value")
    if content is not None:
        return Constant(content)
    value = dies.constant(die, "DW_AT_const_value")
    if value is None:
        raise ValueError("a constant without value")
    return Constant(value)


def _base_type(die: DIE) -> BaseType:
    encoding, size = dies.number(die, "DW_AT_encoding"), dies.number(die, "DW_AT_byte_size")
    if die.tag != "DW_TAG_base_type" or encoding is None or size is None:
        raise ValueError("an operation on a type that is not a base type")
    return BaseType(encoding, size)
