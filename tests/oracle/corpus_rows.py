"""Rows of functions, variables and types: as the scanner gives them, and as they follow from all DIEs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

from elftools.dwarf.locationlists import LocationExpr, LocationParser
from oracle.corpus_dies import Dies, Entry

from strobe._core import Dwarf, DwarfIndex
from strobe.symbols.objects.formats import open_image
from strobe.symbols.objects.sections import SCANNED, DebugSections

TYPE_TAGS = {
    "DW_TAG_class_type": 0x02,
    "DW_TAG_enumeration_type": 0x04,
    "DW_TAG_structure_type": 0x13,
    "DW_TAG_typedef": 0x16,
    "DW_TAG_union_type": 0x17,
    "DW_TAG_base_type": 0x24,
}
OP_ADDR, OP_CONST4U, OP_CONST8U, OP_PLUS_UCONST, OP_ADDRX = 0x03, 0x0C, 0x0E, 0x23, 0xA1
EXTERNAL, THREAD_LOCAL = 1, 2
NO_FILE = 2**32 - 1


class Row(NamedTuple):
    """`place`: ranges of a function; (address, whether it is thread-local) of a variable."""

    name: str
    linkage_name: str
    file: str | None
    line: int
    external: bool
    place: Any


def scan(program: Path) -> DwarfIndex:
    image = open_image(str(program))
    try:
        return Dwarf(DebugSections(image).several(SCANNED)).scan([])
    finally:
        image.close()


def scanned_functions(index: DwarfIndex, *, has_files: bool) -> dict[int, Row]:
    """By offset of the DIE."""
    rows = index.functions()
    pairs = numbers(index.ranges())
    counts = zip(numbers(rows["first_range"], "I"), numbers(rows["range_count"], "I"), strict=True)
    ranges = [[(pairs[2 * i], pairs[2 * i + 1]) for i in range(first, first + count)] for first, count in counts]
    parts = list(zip(numbers(rows["address"]), numbers(rows["size"]), strict=True))
    assert parts == [(parts[0][0], parts[0][1] - parts[0][0]) for parts in ranges]
    return _scanned(index, rows, ranges, has_files)


def scanned_variables(index: DwarfIndex, *, has_files: bool) -> dict[int, Row]:
    rows = index.variables()
    flags = [bool(flag & THREAD_LOCAL) for flag in rows["flags"]]
    return _scanned(index, rows, list(zip(numbers(rows["address"]), flags, strict=True)), has_files)


def scanned_types(index: DwarfIndex) -> list[tuple[int, str]]:
    """(tag, name)."""
    rows = index.types()
    return list(zip(numbers(rows["tag"], "H"), texts(rows["name"]), strict=True))


def walked_functions(dies: Dies) -> dict[int, Row]:
    found = {}
    for entry in dies.entries.values():
        if entry.tag == "DW_TAG_subprogram" and not entry.has("DW_AT_declaration"):
            ranges = dies.ranges(entry)
            if ranges:
                found[entry.die.offset] = _walked(dies, entry, ranges)
    return found


def walked_variables(dies: Dies) -> dict[int, Row]:
    parser = LocationParser(dies.dwarf.location_lists())
    found = {}
    for entry in dies.entries.values():
        if entry.tag != "DW_TAG_variable" or not entry.has("DW_AT_location"):
            continue
        location = parser.parse_from_attribute(entry.die.attributes["DW_AT_location"], entry.unit["version"], entry.die)
        place = _static_place(dies, entry, location) if isinstance(location, LocationExpr) else None
        if place is not None:
            found[entry.die.offset] = _walked(dies, entry, place)
    return found


def walked_types(dies: Dies) -> set[tuple[int, str]]:
    return {
        (TYPE_TAGS[entry.tag], dies.name(entry))
        for entry in dies.entries.values()
        if entry.tag in TYPE_TAGS
        and not entry.has("DW_AT_declaration")
        and any(one.has("DW_AT_name") for one in dies.chain(entry))
    }


def numbers(column: bytes, kind: Literal["B", "H", "I", "Q"] = "Q") -> list[int]:
    return list(memoryview(column).cast(kind))


def texts(column: bytes) -> list[str]:
    return column.decode().split("\0")[:-1]


def _scanned(index: DwarfIndex, rows: dict[str, bytes], places: list[Any], has_files: bool) -> dict[int, Row]:
    files = index.files() if has_files else [None] * len(index.files())
    columns = zip(
        texts(rows["name"]),
        texts(rows["linkage_name"]),
        [None if number == NO_FILE else files[number] for number in numbers(rows["file"], "I")],
        numbers(rows["line"], "I"),
        [bool(flag & EXTERNAL) for flag in rows["flags"]],
        places,
        strict=True,
    )
    return dict(zip(numbers(rows["die"]), (Row(*row) for row in columns), strict=True))


def _walked(dies: Dies, entry: Entry, place: Any) -> Row:
    chain = dies.chain(entry)
    file, line = _file_and_line(dies, chain)
    if not line and entry.tag == "DW_TAG_subprogram":  # gcc's lambdas: what is around says where they are
        around = dies.around(entry)
        file, line = (file, 0) if around is None else _file_and_line(dies, dies.chain(around))
    linkage = [one.value(name) for one in chain for name in _LINKAGE_NAMES if one.has(name)]
    external = any(one.has("DW_AT_external") and one.value("DW_AT_external") for one in chain)
    return Row(dies.name(entry), linkage[0].decode() if linkage else "", file, line, external, place)


_LINKAGE_NAMES = ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name")


def _file_and_line(dies: Dies, chain: list[Entry]) -> tuple[str | None, int]:
    files = [dies.path(one) for one in chain if one.has("DW_AT_decl_file")]
    lines = [one.value("DW_AT_decl_line") for one in chain if one.has("DW_AT_decl_line")]
    return (files[0] or None) if files else None, lines[0] if lines else 0


def _static_place(dies: Dies, entry: Entry, location: LocationExpr) -> tuple[int, bool] | None:
    """(address, thread-local) of what the linker kept."""
    operation, rest = location.loc_expr[0], bytes(location.loc_expr[1:])
    if operation == OP_ADDR and len(rest) == 8:
        address = int.from_bytes(rest, "little")
        return (address, False) if address > 1 else None
    if operation == OP_ADDRX and rest[0] < 128:
        address = dies.dwarf.get_addr(entry.unit, rest[0])
        more = rest[2] if len(rest) == 3 and rest[1] == OP_PLUS_UCONST and rest[2] < 128 else 0
        return (address + more, False) if len(rest) == 1 or more else None
    if operation in (OP_CONST4U, OP_CONST8U) and len(rest) in (5, 9):
        return int.from_bytes(rest[:-1], "little"), True
    return None
