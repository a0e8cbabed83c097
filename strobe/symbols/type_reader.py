"""From the DIE of a type to its description: one DIE at a time, what it refers to is read later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from elftools.dwarf.die import DIE

from strobe.symbols.dies import ALIASES, QUALIFIERS, block, children, constant, flag, number, target, text
from strobe.symbols.known_records import known_record
from strobe.symbols.later import Later
from strobe.symbols.record_model import RecordHead, RecordParts, in_range
from strobe.symbols.record_reader import Link, read_parts
from strobe.symbols.type_model import (
    SIGNED_ENCODINGS,
    Array,
    Dimension,
    Encoding,
    Enum,
    Enumerator,
    Function,
    MemberPointer,
    Pointer,
    Qualified,
    Record,
    Reference,
    Scalar,
    Type,
    Typedef,
    Unknown,
)

_KINDS = {
    "DW_TAG_structure_type": "struct",
    "DW_TAG_class_type": "class",
    "DW_TAG_interface_type": "class",
    "DW_TAG_union_type": "union",
}
_REFERENCES = ("DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_DIMENSIONS = ("DW_TAG_subrange_type", "DW_TAG_generic_subrange", "DW_TAG_enumeration_type")
# DWARF 5, section 7.8: base type encodings
_ENCODINGS = {
    0x02: Encoding.BOOL,
    0x03: Encoding.COMPLEX,
    0x04: Encoding.FLOAT,
    0x05: Encoding.SIGNED,
    0x06: Encoding.SIGNED_CHAR,
    0x07: Encoding.UNSIGNED,
    0x08: Encoding.UNSIGNED_CHAR,
    0x0F: Encoding.DECIMAL,
    0x10: Encoding.UTF,
}
_NULL_POINTERS = ("decltype(nullptr)", "nullptr_t", "std::nullptr_t", "typeof (nullptr)")
_RUST = 0x1C
_MAX_ENUMERATORS = 1 << 16
_UNBOUNDED = (2**32 - 1, 2**64 - 1, -1)  # an upper bound of -1: no element
_BIT_PRECISE = ("_BitInt(", "unsigned _BitInt(")


class TypeReader:
    """`name_of`: the qualified name of a DIE. `definition`: of a declared type, None where there is none."""

    def __init__(
        self,
        name_of: Callable[[DIE], str],
        link: Link,
        definition: Callable[[DIE, str], DIE | None],
        lock: AbstractContextManager[Any],
    ) -> None:
        self._name_of = name_of
        self._link = link
        self._definition = definition
        self._lock = lock

    def read(self, die: DIE) -> Type:
        """Raises one of UNREADABLE where the DIE is damaged."""
        tag = die.tag
        name = self._name_of(die) if text(die) or "DW_AT_specification" in die.attributes else ""
        size, alignment = number(die, "DW_AT_byte_size"), number(die, "DW_AT_alignment")
        if tag == "DW_TAG_base_type":
            encoding = _ENCODINGS.get(number(die, "DW_AT_encoding") or 0, Encoding.OTHER)
            return Scalar(name, size, alignment, encoding, _bits(die, name))
        if tag in ALIASES:
            return Typedef(name, size, alignment, self._target(die))
        if tag in QUALIFIERS:
            return Qualified(name, size, alignment, QUALIFIERS[tag], self._target(die))
        if tag == "DW_TAG_unspecified_type" and name in _NULL_POINTERS:
            return Pointer(name, 8 if size is None else size, alignment, self._link(None))
        return self._read_compound(die, name, size, alignment)

    def _read_compound(self, die: DIE, name: str, size: int | None, alignment: int | None) -> Type:
        tag = die.tag
        word = size or die.cu["address_size"]
        if tag == "DW_TAG_pointer_type":
            return Pointer(name, word, alignment, self._target(die))
        if tag in _REFERENCES:
            return Reference(name, word, alignment, self._target(die), tag == _REFERENCES[1])
        if tag == "DW_TAG_ptr_to_member_type":
            owner = self._link(target(die, "DW_AT_containing_type"))
            return MemberPointer(name, size, alignment, self._target(die), owner)
        if tag == "DW_TAG_array_type":
            return self._array(die, name, size, alignment)
        if tag == "DW_TAG_enumeration_type":
            return self._enum(die, name)
        if tag in _KINDS:
            return self._record(die, name, _KINDS[tag])
        if tag == "DW_TAG_subroutine_type":
            return self._function(die, name, size)
        return Unknown(name, size, alignment, str(tag))

    def _target(self, die: DIE) -> Later[Type]:
        return self._link(target(die))

    def _array(self, die: DIE, name: str, size: int | None, alignment: int | None) -> Type:
        dimensions = tuple(_dimension(child) for child in children(die, *_DIMENSIONS))
        element = self._target(die)
        stride = number(die, "DW_AT_byte_stride") or (number(die, "DW_AT_bit_stride") or 0) // 8 or None
        if not name and number(die.cu.get_top_DIE(), "DW_AT_language") == _RUST:
            counts = [dimension.count for dimension in dimensions]
            name = f"[{element().name}; {'; '.join('?' if count is None else str(count) for count in counts)}]"
        return Array(name, size, alignment, element, dimensions, stride, flag(die, "DW_AT_GNU_vector"))

    def _enum(self, die: DIE, name: str) -> Type:
        home = self._defined(die, name)

        def head() -> RecordHead:
            return self._head(home())

        def content() -> tuple[Enumerator, ...]:
            return self._enumerators(home(), head().size)

        underlying = self._target(die) if "DW_AT_type" in die.attributes else None
        lock, scoped = self._lock, flag(die, "DW_AT_enum_class")
        alignment = number(die, "DW_AT_alignment")
        return Enum(name, None, alignment, Later(head, lock), underlying, scoped, Later(content, lock))

    def _enumerators(self, die: DIE, size: int | None) -> tuple[Enumerator, ...]:
        signed = self._has_sign(die)
        found = []
        for child in children(die, "DW_TAG_enumerator"):
            value = constant(child, "DW_AT_const_value")
            if isinstance(value, int):
                found.append(Enumerator(text(child), in_range(value, size or 8, signed)))
            if len(found) >= _MAX_ENUMERATORS:
                break
        return tuple(found)

    def _has_sign(self, die: DIE) -> bool:
        """Whether values are signed: the type beneath says it, gcc the enum itself, else the values do."""
        encoding = number(die, "DW_AT_encoding")
        if encoding is None and "DW_AT_type" in die.attributes:
            beneath = self._target(die)().bare
            return isinstance(beneath, Scalar) and beneath.is_signed
        if encoding is not None:
            return _ENCODINGS.get(encoding) in SIGNED_ENCODINGS
        return any((number(child, "DW_AT_const_value") or 0) < 0 for child in children(die, "DW_TAG_enumerator"))

    def _record(self, die: DIE, name: str, kind: str) -> Type:
        home = self._defined(die, name)

        def known() -> tuple[RecordHead, RecordParts] | None:
            return known_record(name) if flag(home(), "DW_AT_declaration") else None

        def head() -> RecordHead:
            found = known()
            return self._head(home()) if found is None else found[0]

        def content() -> RecordParts:
            found = known()
            return read_parts(home(), self._link) if found is None else found[1]

        alignment, lock = number(die, "DW_AT_alignment"), self._lock
        return Record(name, None, alignment, kind, Later(head, lock), Later(content, lock))

    def _defined(self, die: DIE, name: str) -> Later[DIE]:
        """The DIE with the fields: `die` itself where it is no mere declaration."""

        def find() -> DIE:
            return die if not flag(die, "DW_AT_declaration") or not name else self._definition(die, name) or die

        return Later(find, self._lock)

    def _head(self, die: DIE) -> RecordHead:
        size = number(die, "DW_AT_byte_size")
        return RecordHead(size, number(die, "DW_AT_alignment"), flag(die, "DW_AT_declaration"))

    def _function(self, die: DIE, name: str, size: int | None) -> Type:
        """Go states a size: what it calls a function is a pointer to one."""
        formals = tuple(self._target(child) for child in children(die, "DW_TAG_formal_parameter"))
        is_variadic = next(children(die, "DW_TAG_unspecified_parameters"), None) is not None
        return Function(name, size, None, self._target(die), formals, is_variadic)


def _bits(die: DIE, name: str) -> int | None:
    """clang 14 tells the width of a bit-precise integer only by its name."""
    stated = number(die, "DW_AT_bit_size")
    if stated is None and name.startswith(_BIT_PRECISE):
        digits = name.partition("(")[2].rstrip(")")
        return int(digits) if digits.isascii() and digits.isdigit() else None
    return stated


def _dimension(die: DIE) -> Dimension:
    lower = number(die, "DW_AT_lower_bound") or 0
    for attribute, extra in (("DW_AT_count", 0), ("DW_AT_upper_bound", 1 - lower)):
        if attribute not in die.attributes:
            continue
        value = number(die, attribute)
        gives_count = attribute == "DW_AT_count"
        if die.attributes[attribute].form.startswith("DW_FORM_ref"):
            variable = target(die, attribute)
            return Dimension(None, True, lower, gives_count, None if variable is None else variable.offset)
        if value is None:
            return Dimension(None, True, lower, gives_count, expression=block(die, attribute))
        count = 0 if extra and value in _UNBOUNDED else value + extra
        return Dimension(max(count, 0), False, lower)
    if die.tag == "DW_TAG_enumeration_type":  # an array that an enum indexes
        return Dimension(sum(1 for _ in children(die, "DW_TAG_enumerator")))
    return Dimension(None, False, lower)
