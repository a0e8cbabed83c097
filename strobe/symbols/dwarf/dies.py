"""What a single DIE says: references, constants, texts, children. Nothing here walks a unit."""

from __future__ import annotations

from collections.abc import Iterator

from elftools.dwarf.die import DIE
from elftools.dwarf.typeunit import TypeUnit

from strobe.symbols.objects.damage import of_pyelftools

QUALIFIERS = {
    "DW_TAG_const_type": "const",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "restrict",
    "DW_TAG_atomic_type": "_Atomic",
    "DW_TAG_immutable_type": "immutable",
    "DW_TAG_packed_type": "packed",
}
ALIASES = frozenset({"DW_TAG_typedef", "DW_TAG_template_alias"})
_MAX_HOPS = 64
_MAX_CHILDREN = 1 << 20
_REFERENCES = ("DW_FORM_ref1", "DW_FORM_ref2", "DW_FORM_ref4", "DW_FORM_ref8", "DW_FORM_ref_udata")


class Doubt(ValueError):
    """What is known does not settle how a value is passed."""


@of_pyelftools
def target(die: DIE, attribute: str = "DW_AT_type") -> DIE | None:
    """The DIE that an attribute refers to; None where it is missing (void, for a type)."""
    return die.get_DIE_from_attribute(attribute) if attribute in die.attributes else None


@of_pyelftools
def _at(beside: DIE, offset: int) -> DIE:
    """The DIE at an offset in the same unit."""
    return beside.cu.get_DIE_from_refaddr(offset)


def number(die: DIE, attribute: str) -> int | None:
    """A constant attribute; None where it is missing or has to be computed."""
    found = die.attributes.get(attribute)
    return int(found.value) if found is not None and isinstance(found.value, int) else None


def text(die: DIE, attribute: str = "DW_AT_name") -> str:
    """A string attribute; empty where it is missing."""
    found = die.attributes.get(attribute)
    return found.value.decode("utf-8", "replace") if found is not None and isinstance(found.value, bytes) else ""


def flag(die: DIE, attribute: str) -> bool:
    """Whether a DIE has a flag, and it is not 0 (DWARF 5, section 7.5.5)."""
    found = die.attributes.get(attribute)
    return found is not None and bool(found.value)


def block(die: DIE, attribute: str) -> bytes | None:
    """A block or expression; None where it is missing or a constant."""
    found = die.attributes.get(attribute)
    return bytes(found.value) if found is not None and isinstance(found.value, list) else None


def constant(die: DIE, attribute: str) -> int | bytes | None:
    """A constant of any width. Up to 16 bytes in a block are an unsigned little-endian number; others stay bytes."""
    value = block(die, attribute)
    if value is None:
        found = number(die, attribute)
        return found if found is not None or attribute not in die.attributes else text(die, attribute).encode()
    return int.from_bytes(value, "little") if 0 < len(value) <= 16 else value


def children(die: DIE, *tags: str) -> Iterator[DIE]:
    """Direct children, those with one of the tags where some are given.

    Goes only forward, whatever a damaged sibling says; pyelftools itself would turn in circles.
    """
    known = getattr(die.cu, "known_children", {})
    found = known.get(die.offset)
    for child in _listed(die, known) if found is None else found:
        if not tags or child.tag in tags:
            yield child


def _listed(die: DIE, known: dict[int, list[DIE]]) -> Iterator[DIE]:
    """All of them, which `known` then holds."""
    listed: list[DIE] = []
    offset, depth = die.offset + die.size, 1 if die.has_children else 0
    for _ in range(_MAX_CHILDREN):
        if depth == 0:
            known[die.offset] = listed
            return
        child = _at(die, offset)
        offset += child.size
        if child.is_null():
            depth -= 1
            continue
        if depth == 1:
            listed.append(child)
            yield child
        if child.has_children:
            behind = _sibling(child)
            depth += behind is None
            offset = offset if behind is None else behind
    raise ValueError("a DIE with too many children")


def around(die: DIE) -> list[DIE]:
    """The DIEs that enclose one, the innermost first, without the unit's own. Walks the unit up to it: for small ones.

    Goes only forward, as children() does.
    """
    top = die.cu.get_top_DIE()
    scopes: list[DIE] = []
    offset = top.offset + top.size
    while offset < die.offset:
        found = _at(top, offset)
        offset += found.size
        if found.is_null():
            if not scopes:
                raise ValueError("a DIE behind the end of its unit")
            scopes.pop()
        elif found.has_children:
            behind = _sibling(found)
            if behind is not None and behind <= die.offset:
                offset = behind
            else:
                scopes.append(found)
    return scopes[::-1]


def _sibling(die: DIE) -> int | None:
    """Where the next one begins. clang and rustc leave that out."""
    found = die.attributes.get("DW_AT_sibling")
    if found is None:
        return None
    start = die.cu.cu_offset if found.form in _REFERENCES else 0
    behind = start + int(found.raw_value)
    if behind < die.offset + die.size:
        raise ValueError("a sibling that leads back")
    return behind


def bare(die: DIE | None) -> DIE | None:
    """A type without its typedefs and qualifiers, that of a type unit where one is meant; None is void."""
    for _ in range(_MAX_HOPS):
        if die is None:
            return None
        if "DW_AT_signature" in die.attributes:
            try:
                die = target(die, "DW_AT_signature")
            except KeyError:  # its type unit is missing
                return die
        elif die.tag in QUALIFIERS or die.tag in ALIASES:
            die = target(die)
        else:
            return die
    raise Doubt("circular typedefs")


def is_data_member_pointer(die: DIE) -> bool:
    """`int T::*`: an offset, in contrast to a pointer to member function, which is two words."""
    if die.tag != "DW_TAG_ptr_to_member_type":
        return False
    pointed = bare(target(die))
    return pointed is not None and pointed.tag != "DW_TAG_subroutine_type"


def in_types(die: DIE) -> bool:
    """Whether it is in a type unit of .debug_types (DWARF 4), which has offsets of its own."""
    return isinstance(die.cu, TypeUnit)


def is_type_unit(die: DIE) -> bool:
    """Whether the unit holds nothing but one type and what that needs, in either section."""
    return in_types(die) or die.cu.header.get("unit_type") in ("DW_UT_type", "DW_UT_split_type")
