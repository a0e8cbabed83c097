"""Reading DIEs by their abbreviations: which bytes to take, which to pass over (DWARF 5, sections 7.5.3 to 7.5.6).

A first, pure Python form: only as much as the scan of functions needs. pyelftools reads what is asked for in depth.
"""

from __future__ import annotations

from dataclasses import dataclass

TAG_CLASS, TAG_ENUMERATION, TAG_FORMAL_PARAMETER = 0x02, 0x04, 0x05
TAG_COMPILE_UNIT, TAG_STRUCTURE, TAG_SUBROUTINE_TYPE, TAG_UNION = 0x11, 0x13, 0x15, 0x17
TAG_INLINED_SUBROUTINE, TAG_SUBPROGRAM, TAG_ARRAY, TAG_INTERFACE, TAG_NAMESPACE = 0x1D, 0x2E, 0x01, 0x38, 0x39
TAG_CALL_SITE, TAG_GNU_CALL_SITE, TAG_MODULE = 0x48, 0x4109, 0x1E

AT_SIBLING, AT_NAME, AT_LOW_PC, AT_HIGH_PC, AT_LANGUAGE, AT_COMP_DIR = 0x01, 0x03, 0x11, 0x12, 0x13, 0x1B
AT_INLINE, AT_ABSTRACT_ORIGIN, AT_CALLING_CONVENTION, AT_DECL_FILE, AT_DECL_LINE = 0x20, 0x31, 0x36, 0x3A, 0x3B
AT_DECLARATION, AT_SPECIFICATION, AT_ENTRY_PC, AT_RANGES, AT_STR_OFFSETS_BASE = 0x3C, 0x47, 0x52, 0x55, 0x72
AT_ADDR_BASE, AT_LINKAGE_NAME, AT_MIPS_LINKAGE_NAME, AT_EXTERNAL, AT_STMT_LIST = 0x73, 0x6E, 0x2007, 0x3F, 0x10
AT_DWO_NAME, AT_GNU_DWO_NAME = 0x76, 0x2130

FORM_ADDR, FORM_STRING, FORM_SDATA, FORM_UDATA, FORM_STRP, FORM_REF_ADDR = 0x01, 0x08, 0x0D, 0x0F, 0x0E, 0x10
FORM_STRX, FORM_ADDRX, FORM_LINE_STRP, FORM_IMPLICIT_CONST = 0x1A, 0x1B, 0x1F, 0x21
FORM_FLAG_PRESENT = 0x19
REFERENCES = frozenset({0x11, 0x12, 0x13, 0x14, 0x15})  # ref1 to ref_udata: relative to the unit
STRX_FORMS = frozenset({0x1A, 0x25, 0x26, 0x27, 0x28})
ADDRX_FORMS = frozenset({0x1B, 0x29, 0x2A, 0x2B, 0x2C})

_SIZES = {
    0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16, 0x0C: 1, 0x19: 0, 0x21: 0,  # data*, flag*, implicit_const
    0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x20: 8, 0x1C: 4, 0x24: 8,  # ref*, ref_sig8, ref_sup*
    0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,  # strx*, addrx*
}  # fmt: skip
_OFFSET_FORMS = frozenset({0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21})  # strp, sec_offset, *_sup, line_strp, GNU *_alt
_LEB_FORMS = frozenset({0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02})
_BLOCKS = {0x0A: 1, 0x03: 2, 0x04: 4, 0x09: 0, 0x18: 0}  # form -> bytes of its length, 0 for a LEB128
_LEB, _TEXT, _BLOCK = -1, -2, -3  # steps that are no fixed size; a block's step is _BLOCK - bytes of its length

Attribute = tuple[int, int]  # form, and its raw value: number, or offset of an inline string in .debug_info


class DamagedDwarf(ValueError):
    """The bytes cannot be what they should be."""


def uleb(data: bytes, position: int) -> tuple[int, int]:
    """Unsigned LEB128: (value, position behind it)."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


@dataclass(frozen=True, slots=True)
class Layout:
    """What sizes of forms depend on; one per unit, shared by units that agree."""

    version: int
    offset_size: int
    address_size: int


class Plan:
    """How DIEs of one abbreviation are read. `size`: bytes behind the code, -1 where it varies."""

    __slots__ = ("_attributes", "_skips", "has_children", "names_sibling", "size", "tag")

    def __init__(self, tag: int, has_children: bool, attributes: list[tuple[int, int, int]], layout: Layout) -> None:
        self.tag = tag
        self.has_children = has_children
        self._attributes = [(name, form, constant, _step(form, layout)) for name, form, constant in attributes]
        self.names_sibling = has_children and any(name == AT_SIBLING for name, _, _ in attributes)
        self._skips = _merged([step for _, _, _, step in self._attributes])
        self.size = sum(self._skips) if all(step >= 0 for step in self._skips) else -1

    def skip(self, data: bytes, position: int) -> int:
        """Position behind the attributes that begin at `position`."""
        for step in self._skips:
            position = position + step if step >= 0 else _behind(data, position, step)
        return position

    def read(self, data: bytes, position: int) -> tuple[dict[int, Attribute], int]:
        """Attributes by number, and the position behind them."""
        found: dict[int, Attribute] = {}
        for name, form, constant, step in self._attributes:
            if step > 0:
                found[name] = form, int.from_bytes(data[position : position + step], "little")
                position += step
            elif step == 0:
                found[name] = form, constant
            elif step == _LEB:
                value, position = uleb(data, position)
                found[name] = form, value
            else:
                found[name] = form, position
                position = _behind(data, position, step)
        return found, position


def _step(form: int, layout: Layout) -> int:
    if form in _SIZES:
        return _SIZES[form]
    if form in _OFFSET_FORMS:
        return layout.offset_size
    if form == FORM_ADDR:
        return layout.address_size
    if form == FORM_REF_ADDR:
        return layout.address_size if layout.version == 2 else layout.offset_size
    if form in _LEB_FORMS:
        return _LEB
    if form == FORM_STRING:
        return _TEXT
    if form in _BLOCKS:
        return _BLOCK - _BLOCKS[form]
    raise DamagedDwarf(f"unknown form {form:#x}")


def _merged(steps: list[int]) -> tuple[int, ...]:
    merged: list[int] = []
    for step in steps:
        if step >= 0 and merged and merged[-1] >= 0:
            merged[-1] += step
        else:
            merged.append(step)
    return tuple(merged)


def _behind(data: bytes, position: int, step: int) -> int:
    if step == _LEB:
        return uleb(data, position)[1]
    if step == _TEXT:
        end = data.find(b"\0", position)
        if end < 0:
            raise DamagedDwarf("a string without end")
        return end + 1
    width = _BLOCK - step
    if width == 0:
        length, position = uleb(data, position)
        return position + length
    return position + width + int.from_bytes(data[position : position + width], "little")


def read_plans(data: bytes, position: int, layout: Layout) -> dict[int, Plan]:
    """The abbreviation table at `position` of .debug_abbrev, by code."""
    plans: dict[int, Plan] = {}
    while True:
        code, position = uleb(data, position)
        if code == 0:
            return plans
        tag, position = uleb(data, position)
        has_children = data[position] != 0
        attributes, position = _read_specifications(data, position + 1)
        plans[code] = Plan(tag, has_children, attributes, layout)


def _read_specifications(data: bytes, position: int) -> tuple[list[tuple[int, int, int]], int]:
    attributes: list[tuple[int, int, int]] = []
    while True:
        name, position = uleb(data, position)
        form, position = uleb(data, position)
        constant = int(form == FORM_FLAG_PRESENT)
        if form == FORM_IMPLICIT_CONST:
            start = position
            constant, position = uleb(data, position)
            if data[position - 1] & 64:
                constant -= 1 << 7 * (position - start)
        if name == 0 and form == 0:
            return attributes, position
        attributes.append((name, form, constant))
