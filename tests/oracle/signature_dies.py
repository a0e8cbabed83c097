"""Rows of signatures as pyelftools gives them, DIE by DIE: what csrc/dwarf reads at once is compared with these."""

from __future__ import annotations

from typing import Any

from elftools.dwarf.die import DIE
from elftools.dwarf.locationlists import BaseAddressEntry, LocationEntry, LocationExpr, LocationParser

from strobe.symbols.dwarf.dies import block, children, number, target, text
from strobe.symbols.dwarf.signature_rows import SignatureRow, TypeKey

LANGUAGES = {0x1C: "rust"} | dict.fromkeys((0x01, 0x02, 0x0C, 0x1D, 0x2C), "c")
LANGUAGES |= dict.fromkeys((0x04, 0x1A, 0x21, 0x2A, 0x2B), "c++")
CALL_SITES = ("DW_TAG_call_site", "DW_TAG_GNU_call_site")
LISTS = ("DW_FORM_sec_offset", "DW_FORM_loclistx", "DW_FORM_data4", "DW_FORM_data8")


def row_at(dwarf: Any, offset: int) -> dict[str, object]:
    """Like `fields_of` of the native row of the same function."""
    die = dwarf.get_DIE_from_refaddr(offset)
    chain = origins(die)
    formals = list(children(die, "DW_TAG_formal_parameter"))
    counts = [len(written(list(children(origin, "DW_TAG_formal_parameter")))) for origin in chain]
    languages = [LANGUAGES.get(number(origin.cu.get_top_DIE(), "DW_AT_language") or 0) for origin in chain]
    is_outline = any(name_of(f) == "__in_chrg" and "DW_AT_location" not in f.attributes for f in formals)
    low = number(die, "DW_AT_low_pc")
    return {
        "unit": die.cu.cu_offset,
        "language": next((language for language in reversed(languages) if language), None),
        "name": text(die),
        "linkage_name": text(die, "DW_AT_linkage_name"),
        "low": low,
        "frame_base": block(die, "DW_AT_frame_base") or b"",
        "returned": type_key(chain),
        "written": counts[0],
        "has_origin": len(chain) > 1,
        "is_prototyped": any("DW_AT_prototyped" in origin.attributes for origin in chain),
        "has_other_abi": number(die, "DW_AT_calling_convention") not in (None, 1),
        "is_incomplete": len(set(counts)) > 1 or is_outline,
        "shows_optimization": shows_optimization(die),
        "parameters": tuple((name_of(f), type_key(origins(f)), *location(dwarf, f, low)) for f in formals),
    }


def fields_of(row: SignatureRow) -> dict[str, object]:
    named = ("language", "has_origin", "is_prototyped", "has_other_abi", "is_incomplete", "shows_optimization")
    fields = {name: value for name, value in row._asdict().items() if name not in ("flags", "language_code")}
    return fields | {name: getattr(row, name) for name in named}


def origins(die: DIE) -> list[DIE]:
    chain = [die]
    while (
        origin := target(chain[-1], "DW_AT_abstract_origin") or target(chain[-1], "DW_AT_specification")
    ) is not None:
        chain.append(origin)
    return chain


def written(formals: list[DIE]) -> list[DIE]:
    return [f for f in formals if not any("DW_AT_artificial" in die.attributes for die in origins(f))]


def name_of(die: DIE) -> str:
    return next((text(origin) for origin in origins(die) if "DW_AT_name" in origin.attributes), "")


def type_key(chain: list[DIE]) -> TypeKey:
    typed = next((die for die in chain if "DW_AT_type" in die.attributes), None)
    if typed is None:
        return None
    attribute = typed.attributes["DW_AT_type"]
    if attribute.form == "DW_FORM_ref_sig8":
        return ~int(attribute.raw_value)
    found = target(typed)
    return None if found is None else int(found.offset)


def location(dwarf: Any, formal: DIE, low: int | None) -> tuple[bytes, bool]:
    """(what holds at the function's first byte, whether that is of a list)."""
    attribute = formal.attributes.get("DW_AT_location")
    if attribute is None or low is None:
        return b"", False
    found: Any = LocationParser(dwarf.location_lists()).parse_from_attribute(attribute, formal.cu["version"], formal)
    if isinstance(found, LocationExpr):
        return bytes(found.loc_expr), False
    base = number(formal.cu.get_top_DIE(), "DW_AT_low_pc") or 0
    for entry in found:
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        elif isinstance(entry, LocationEntry) and entry.begin_offset + (0 if entry.is_absolute else base) == low:
            return bytes(entry.loc_expr), True
    return b"", True


def shows_optimization(die: DIE) -> bool:
    if {"DW_AT_call_all_calls", "DW_AT_GNU_all_call_sites"} & die.attributes.keys():
        return True
    places = [child.attributes.get("DW_AT_location") for child in children(die, "DW_TAG_variable")]
    moves = any(place is not None and place.form in LISTS for place in places)
    return moves or next(children(die, *CALL_SITES), None) is not None
