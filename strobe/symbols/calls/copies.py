"""Which classes of C++ are passed by address: those whose copies or destructor run code of the user's."""

from __future__ import annotations

from elftools.dwarf.die import DIE

from strobe.symbols.dwarf.dies import Doubt, bare, children, number, target, text

CLASS_TAGS = frozenset({"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"})
_PASS_BY_REFERENCE, _PASS_BY_VALUE = 4, 5  # DWARF 5, section 7.15
_MAX_DEPTH = 32


def has_copies_that_run_code(die: DIE, depth: int = 0) -> bool:
    """Non-trivial for the purposes of calls (Itanium C++ ABI 3.1.1).

    clang says so; gcc 12 does not, so it follows from the members. Raises Doubt where these leave it open.
    """
    stated = number(die, "DW_AT_calling_convention")
    if stated in (_PASS_BY_REFERENCE, _PASS_BY_VALUE):
        return stated == _PASS_BY_REFERENCE
    if depth > _MAX_DEPTH or "DW_AT_declaration" in die.attributes:
        raise Doubt("a class that is only declared here")
    open_questions = False
    for child in children(die):
        if child.tag == "DW_TAG_subprogram":
            verdict = _runs_code(child, die)
            if verdict:
                return True
            open_questions = open_questions or verdict is None
        elif child.tag in ("DW_TAG_member", "DW_TAG_inheritance") and _part_runs_code(child, depth):
            return True
    if open_questions:
        raise Doubt("a class with deleted or unusual copies")
    return False


def _part_runs_code(member: DIE, depth: int) -> bool:
    if "DW_AT_external" in member.attributes or "DW_AT_declaration" in member.attributes:
        return False
    if member.tag == "DW_TAG_inheritance" and "DW_AT_virtuality" in member.attributes:
        return True
    if text(member).startswith("_vptr"):
        return True
    part = bare(target(member))
    while part is not None and part.tag == "DW_TAG_array_type":
        part = bare(target(part))
    return part is not None and part.tag in CLASS_TAGS and has_copies_that_run_code(part, depth + 1)


def _runs_code(method: DIE, owner: DIE) -> bool | None:
    """Of a destructor, copy or move constructor: whether it is the user's own. None: it depends."""
    if "DW_AT_virtuality" in method.attributes:
        return True
    name, class_name = text(method), text(owner).partition("<")[0]
    given = [p for p in children(method, "DW_TAG_formal_parameter") if "DW_AT_artificial" not in p.attributes]
    if name != f"~{class_name}" and (name != class_name or not _takes_its_own(given, owner)):
        return False
    if len(given) > 1:
        return None  # a copy constructor only if the others have defaults, which is not recorded
    if "DW_AT_deleted" in method.attributes:
        return None
    return "DW_AT_artificial" not in method.attributes and number(method, "DW_AT_defaulted") != 1


def _takes_its_own(given: list[DIE], owner: DIE) -> bool:
    first = bare(target(given[0])) if given else None
    if first is None or first.tag not in ("DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
        return False
    referred = bare(target(first))
    return referred is not None and referred.offset == owner.offset
