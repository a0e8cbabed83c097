"""All DIEs of a program, as pyelftools reads them one after the other: slow, and independent of the scanner.

Parents, references and signatures are followed here: pyelftools 0.33 does not know what is around a type in
.debug_types.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

ORIGINS = ("DW_AT_abstract_origin", "DW_AT_specification")
NAMING = {
    "DW_TAG_namespace",
    "DW_TAG_module",
    "DW_TAG_subprogram",
    "DW_TAG_structure_type",
    "DW_TAG_class_type",
    "DW_TAG_union_type",
    "DW_TAG_interface_type",
    "DW_TAG_enumeration_type",
}


@dataclass(eq=False)
class Entry:
    """One DIE. `place`: (whether it is in .debug_types, offset)."""

    die: Any
    parent: Entry | None
    unit: Any
    place: tuple[bool, int]

    @property
    def tag(self) -> str:
        return str(self.die.tag)

    def has(self, name: str) -> bool:
        return name in self.die.attributes

    def value(self, name: str) -> Any:
        return self.die.attributes[name].value


@dataclass
class Dies:
    """Every entry of a file by its place."""

    dwarf: Any
    has_files: bool
    entries: dict[tuple[bool, int], Entry] = field(default_factory=dict)
    signatures: dict[int, tuple[bool, int]] = field(default_factory=dict)
    paths: dict[int, list[str]] = field(default_factory=dict)

    def chain(self, entry: Entry) -> list[Entry]:
        """The entry, its abstract instance, the declaration of that."""
        found = [entry]
        while origin := next((name for name in ORIGINS if found[-1].has(name)), None):
            found.append(self.target(found[-1], origin))
        return found

    def target(self, entry: Entry, attribute: str) -> Entry:
        form, value = entry.die.attributes[attribute].form, entry.value(attribute)
        if form == "DW_FORM_ref_sig8":
            return self.entries[self.signatures[value]]
        is_absolute = form == "DW_FORM_ref_addr"
        place = (entry.place[0] and not is_absolute, value if is_absolute else value + entry.unit.cu_offset)
        return self.entries[place]

    def name(self, entry: Entry) -> str:
        """With the names of all that encloses it."""
        chain = self.chain(entry)
        named = next((one for one in chain if one.has("DW_AT_name")), None)
        if named is None:
            own = "(anonymous namespace)" if chain[-1].tag == "DW_TAG_namespace" else "{unnamed}"
        else:
            own = named.value("DW_AT_name").decode()
        around = self.around(chain[-1])
        return own if around is None else f"{self.name(around)}::{own}"

    def around(self, entry: Entry) -> Entry | None:
        """The innermost that gives its name to what it encloses."""
        found = entry.parent
        while found is not None and found.tag not in NAMING:
            found = found.parent
        return found

    def path(self, entry: Entry) -> str | None:
        """Of its DW_AT_decl_file; the number counts in the table of the unit that the entry stands in."""
        if not self.has_files:
            return None
        return self.paths_of(entry.unit)[entry.value("DW_AT_decl_file")]

    def paths_of(self, unit: Any) -> list[str]:
        """Full paths by file number."""
        offset = unit.cu_offset
        if offset not in self.paths:
            self.paths[offset] = self._paths(unit)
        return self.paths[offset]

    def _paths(self, unit: Any) -> list[str]:
        base = unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode()
        header = self.dwarf.line_program_for_CU(unit).header
        folders = [folder.decode() for folder in header["include_directory"]]
        if header["version"] < 5:
            folders.insert(0, "")
        files = [
            os.path.normpath(os.path.join(base, folders[file.dir_index], file.name.decode()))  # noqa: PTH118
            for file in header["file_entry"]
        ]
        return files if header["version"] >= 5 else ["", *files]

    def ranges(self, entry: Entry) -> list[tuple[int, int]]:
        """(start, end) of its code, without what the linker threw away."""
        if entry.has("DW_AT_low_pc") and entry.has("DW_AT_high_pc"):
            low, high = entry.value("DW_AT_low_pc"), entry.die.attributes["DW_AT_high_pc"]
            return [(low, high.value if "addr" in high.form else low + high.value)] if low > 1 else []
        if not entry.has("DW_AT_ranges"):
            return []
        top = entry.unit.get_top_DIE().attributes
        base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
        found = []
        ranges = self.dwarf.range_lists()
        for item in ranges.get_range_list_at_offset(entry.value("DW_AT_ranges"), cu=entry.unit):
            if hasattr(item, "base_address"):
                base = item.base_address
            else:
                shift = 0 if item.is_absolute else base
                found.append((item.begin_offset + shift, item.end_offset + shift))
        return [(start, end) for start, end in found if 1 < start < end]


def read(program: Path, *, has_files: bool = True) -> Dies:
    """Of a file without compressed sections. `has_files`: paths can be read, too."""
    with program.open("rb") as file:
        dies = Dies(ELFFile(file).get_dwarf_info(follow_links=False), has_files)
        for unit in dies.dwarf.iter_CUs():
            _add(dies, unit, in_types=False)
        for unit in dies.dwarf.iter_TUs() if dies.dwarf.debug_types_sec else ():
            _add(dies, unit, in_types=True)
        return dies


def _add(dies: Dies, unit: Any, *, in_types: bool) -> None:
    around: list[Entry] = []
    for die in unit.iter_DIEs():
        if die.is_null():
            around.pop()
            continue
        entry = Entry(die, around[-1] if around else None, unit, (in_types, die.offset))
        dies.entries[entry.place] = entry
        if die.has_children:
            around.append(entry)
    header = unit.header
    signature = header.get("signature", header.get("type_signature"))
    if signature is not None:
        dies.signatures[signature] = (in_types, unit.cu_offset + header["type_offset"])
