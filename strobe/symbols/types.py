"""Types as parameters and results show them: kind, size, and the name as written in the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elftools.dwarf.die import DIE
from elftools.dwarf.typeunit import TypeUnit

from strobe.model import ValueKind, ValueType
from strobe.symbols.abi import Doubt
from strobe.symbols.debug_info import UNNAMED, DebugInfo

_QUALIFIERS = {
    "DW_TAG_const_type": "const",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "restrict",
    "DW_TAG_atomic_type": "_Atomic",
}
_ALIASES = frozenset(_QUALIFIERS) | {"DW_TAG_typedef", "DW_TAG_immutable_type"}
_POINTERS = {"DW_TAG_pointer_type": "*", "DW_TAG_reference_type": "&", "DW_TAG_rvalue_reference_type": "&&"}
_MAX_DEPTH = 16
_MAX_ENUMERATORS = 4096

# DWARF 5, section 7.8: base type encodings
BOOLEAN, COMPLEX_FLOAT, FLOAT, SIGNED, SIGNED_CHAR, UNSIGNED, UNSIGNED_CHAR = 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08
DECIMAL_FLOAT, UTF = 0x0F, 0x10
_CHARACTERS = frozenset({"char", "wchar_t", "char8_t", "char16_t", "char32_t"})


def target(die: DIE, attribute: str = "DW_AT_type") -> DIE | None:
    """The DIE that an attribute refers to; None where it is missing (void, for a type)."""
    return die.get_DIE_from_attribute(attribute) if attribute in die.attributes else None


def number(die: DIE, attribute: str) -> int | None:
    """A constant attribute; None where it is missing or has to be computed."""
    found = die.attributes.get(attribute)
    return int(found.value) if found is not None and isinstance(found.value, int) else None


def children(die: DIE, *tags: str) -> Iterator[DIE]:
    return (child for child in die.iter_children() if child.tag in tags)


def bare(die: DIE | None) -> DIE | None:
    """A type without its typedefs and qualifiers; None is void."""
    for _ in range(_MAX_DEPTH):
        if die is not None and "DW_AT_signature" in die.attributes:
            try:  # it stands for a type in a type unit; pyelftools 0.33 finds those of DWARF 4
                die = target(die, "DW_AT_signature")
            except KeyError:
                return die
        elif die is None or die.tag not in _ALIASES:
            return die
        else:
            die = target(die)
    raise Doubt("typedefs without end")


class TypeReader:
    """Value types of one module."""

    def __init__(self, debug_info: DebugInfo) -> None:
        self._debug_info = debug_info
        self._known: dict[tuple[bool, int], ValueType] = {}

    def value_type(self, die: DIE | None) -> ValueType:
        if die is None:
            return ValueType(ValueKind.VOID, 0, "void")
        key = _in_other_section(die), die.offset
        if key not in self._known:
            self._known[key] = self._read(die)
        return self._known[key]

    def _read(self, die: DIE) -> ValueType:
        plain = bare(die)
        name = self.name(die)
        if plain is None:
            return ValueType(ValueKind.VOID, 0, name)
        size = number(plain, "DW_AT_byte_size") or 0
        if plain.tag == "DW_TAG_base_type":
            return ValueType(_base_kind(plain, size), size, name)
        if plain.tag in ("DW_TAG_pointer_type", "DW_TAG_unspecified_type"):
            return ValueType(ValueKind.POINTER, 8, name)
        if plain.tag in _POINTERS:
            return ValueType(ValueKind.REFERENCE, 8, name)
        if plain.tag == "DW_TAG_enumeration_type":
            return ValueType(ValueKind.ENUM, size, name, _enumerators(plain))
        if is_data_member_pointer(plain):
            return ValueType(ValueKind.SIGNED, 8, name)
        return ValueType(ValueKind.AGGREGATE, size, name)

    def name(self, die: DIE | None, depth: int = 0) -> str:
        """As in the source, C and C++ style: `const char*`, `int (*)(long)`, `ns::Point&`."""
        if die is None:
            return "void"
        if depth > _MAX_DEPTH:
            return "…"
        inner = target(die) if "DW_AT_type" in die.attributes else None
        if die.tag in _QUALIFIERS:
            return _qualified(_QUALIFIERS[die.tag], self.name(inner, depth + 1), inner)
        if "DW_AT_name" in die.attributes:
            if _in_other_section(die):
                return str(die.attributes["DW_AT_name"].value.decode("utf-8", "replace"))
            return self._debug_info.qualified_name(die.offset)
        if die.tag in _POINTERS:
            return self._pointer_name(_POINTERS[die.tag], inner, depth)
        if die.tag == "DW_TAG_subroutine_type":
            return f"{self.name(inner, depth + 1)} {self._list(die, depth)}"
        if die.tag == "DW_TAG_array_type":
            return f"{self.name(inner, depth + 1)}[]"
        if die.tag == "DW_TAG_ptr_to_member_type":
            owner = self.name(target(die, "DW_AT_containing_type"), depth + 1)
            return self._pointer_name(f"{owner}::*", inner, depth)
        return UNNAMED

    def _pointer_name(self, mark: str, inner: DIE | None, depth: int) -> str:
        if inner is not None and inner.tag == "DW_TAG_subroutine_type":
            return f"{self.name(target(inner), depth + 1)} ({mark}){self._list(inner, depth)}"
        text = self.name(inner, depth + 1)
        if inner is not None and inner.tag == "DW_TAG_array_type":
            return f"{text.removesuffix('[]')} ({mark})[]"
        return f"{text} {mark}" if len(mark) > 2 else f"{text}{mark}"

    def _list(self, die: DIE, depth: int) -> str:
        names = [self.name(target(child), depth + 1) for child in children(die, "DW_TAG_formal_parameter")]
        return f"({', '.join(names)})"


def _in_other_section(die: DIE) -> bool:
    """Whether it is in a type unit of .debug_types (DWARF 4), which has offsets of its own and was not scanned."""
    return isinstance(die.cu, TypeUnit)


def is_data_member_pointer(die: DIE) -> bool:
    """`int T::*`: an offset, in contrast to a pointer to member function, which is two words."""
    if die.tag != "DW_TAG_ptr_to_member_type":
        return False
    pointed = bare(target(die))
    return pointed is not None and pointed.tag != "DW_TAG_subroutine_type"


def _qualified(word: str, name: str, inner: DIE | None) -> str:
    if inner is not None and inner.tag in _POINTERS:
        return f"{name} {word}"
    return f"{word} {name}"


def _base_kind(die: DIE, size: int) -> ValueKind:
    encoding = number(die, "DW_AT_encoding")
    name: Any = die.attributes["DW_AT_name"].value if "DW_AT_name" in die.attributes else b""
    if encoding in (FLOAT, COMPLEX_FLOAT, DECIMAL_FLOAT):
        return ValueKind.FLOAT
    if size == 0:
        return ValueKind.VOID  # `()` and `!` of Rust
    if size > 8:
        return ValueKind.AGGREGATE  # 128-bit integers take two registers
    if encoding == BOOLEAN:
        return ValueKind.BOOL
    if encoding == UTF or name.decode("utf-8", "replace") in _CHARACTERS:
        return ValueKind.CHAR
    if encoding in (SIGNED, SIGNED_CHAR):
        return ValueKind.SIGNED
    return ValueKind.UNSIGNED


def _enumerators(die: DIE) -> tuple[tuple[int, str], ...]:
    found: list[tuple[int, str]] = []
    for child in children(die, "DW_TAG_enumerator"):
        value = number(child, "DW_AT_const_value")
        if value is not None and "DW_AT_name" in child.attributes:
            found.append((value, child.attributes["DW_AT_name"].value.decode("utf-8", "replace")))
        if len(found) >= _MAX_ENUMERATORS:
            break
    return tuple(found)
