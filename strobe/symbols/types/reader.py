"""From the DIE of a type to its description: one at a time, what it refers to is read later (DWARF 5, chapter 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from elftools.dwarf.die import DIE

from strobe.dataclass import dataclass, field
from strobe.symbols.dwarf.dies import ALIASES, QUALIFIERS, block, children, constant, flag, number, target, text
from strobe.symbols.later import Later
from strobe.symbols.types.known_records import known_record
from strobe.symbols.types.model import (
    SIGNED_ENCODINGS,
    Array,
    Base,
    Dimension,
    Encoding,
    Enum,
    Enumerator,
    Field,
    Function,
    MemberPointer,
    Pointer,
    Qualified,
    Record,
    RecordHead,
    RecordParts,
    Reference,
    Scalar,
    StaticMember,
    TemplateParameter,
    Type,
    Typedef,
    Unknown,
    Variant,
    VariantPart,
    in_range,
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
_C = (0x01, 0x02, 0x0C, 0x1D, 0x2C)  # DW_LANG_C89, _C, _C99, _C11, _C17
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
        is_of_c = number(die.cu.get_top_DIE(), "DW_AT_language") in _C
        return Enum(name, None, alignment, Later(head, lock), underlying, scoped, Later(content, lock), is_of_c)

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
        """The DIE with the fields: `die` itself where it is not a mere declaration."""

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
    """clang 14 gives the width of a bit-precise integer only in its name."""
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


Link: TypeAlias = Callable[[DIE | None], Later[Type]]
_ACCESS = {1: "public", 2: "protected", 3: "private"}
_PACKS = ("DW_TAG_GNU_template_parameter_pack",)
_OP_CONSTU, _OP_PLUS, _OP_MINUS, _OP_PLUS_UCONST, _OP_DUP, _OP_DEREF = 0x10, 0x22, 0x1C, 0x23, 0x12, 0x06
_OP_CONST1U, _OP_CONST1S, _OP_CONST2U, _OP_CONST4U, _OP_CONSTS, _OP_LIT0, _OP_LIT31 = 8, 9, 0xA, 0xC, 0x11, 0x30, 0x4F
_DISCR_LABEL, _DISCR_RANGE = 0, 1


@dataclass
class _Collected:
    fields: list[Field] = field(default_factory=list)
    bases: list[Base] = field(default_factory=list)
    statics: list[StaticMember] = field(default_factory=list)
    parameters: list[TemplateParameter] = field(default_factory=list)
    variants: VariantPart | None = None
    methods: int = 0


def read_parts(die: DIE, link: Link) -> RecordParts:
    """`link` gives the type of a DIE, to be read later."""
    found = _Collected()
    access = "private" if die.tag == "DW_TAG_class_type" else "public"
    for child in children(die):
        if child.tag == "DW_TAG_member" and not _is_static(child):
            found.fields.append(_field(child, link, access))
        elif child.tag in ("DW_TAG_member", "DW_TAG_variable"):
            found.statics.append(_static(child, link, access))
        elif child.tag == "DW_TAG_inheritance":
            found.bases.append(_base(child, link, access))
        elif child.tag == "DW_TAG_subprogram":
            found.methods += 1
        elif child.tag == "DW_TAG_variant_part":
            found.variants = _variant_part(child, link)
        else:
            found.parameters.extend(_template_parameters(child, link))
    return RecordParts(
        tuple(found.fields),
        tuple(found.bases),
        tuple(found.statics),
        tuple(found.parameters),
        found.variants,
        found.methods,
    )


def _is_static(member: DIE) -> bool:
    """Up to DWARF 4 a static member is a member, too."""
    return flag(member, "DW_AT_external") or flag(member, "DW_AT_declaration")


def _access(die: DIE, missing: str) -> str:
    return _ACCESS.get(number(die, "DW_AT_accessibility") or 0, missing)


def _field(die: DIE, link: Link, access: str) -> Field:
    bits = number(die, "DW_AT_bit_size")
    return Field(
        text(die),
        link(target(die)),
        _bit_offset(die, bits, link),
        bits or None,  # rustc 1.63: what has no size of its own has 0
        _access(die, access),
        flag(die, "DW_AT_artificial"),
        number(die, "DW_AT_alignment"),
    )


def _bit_offset(die: DIE, bits: int | None, link: Link) -> int | None:
    """From the record's first bit. Before DWARF 4, bits counted from the highest one of a storage unit."""
    if "DW_AT_data_member_location" not in die.attributes:
        return number(die, "DW_AT_data_bit_offset") or 0
    offset = member_offset(die)
    if offset is None:
        return None
    from_top = number(die, "DW_AT_bit_offset")
    if from_top is not None and from_top >= 1 << 63:
        from_top -= 1 << 64  # below the storage unit: gcc, of packed structs
    if from_top is None or bits is None:
        return 8 * offset + (number(die, "DW_AT_data_bit_offset") or 0)
    storage = number(die, "DW_AT_byte_size") or link(target(die))().size
    return None if storage is None else 8 * (offset + storage) - from_top - bits


def member_offset(die: DIE) -> int | None:
    """DW_AT_data_member_location in bytes, also where it is an expression that only adds; None where it computes."""
    offset = number(die, "DW_AT_data_member_location")
    expression = block(die, "DW_AT_data_member_location")
    if expression is None:
        return offset
    if expression[:1] == bytes([_OP_PLUS_UCONST]):
        value, behind = _uleb(expression, 1)
        return value if behind == len(expression) else None
    pushed = _pushed(expression, 0)
    if pushed is None:
        return None
    return pushed[0] if expression[pushed[1] :] == bytes([_OP_PLUS]) else None


def _base(die: DIE, link: Link, access: str) -> Base:
    is_virtual = number(die, "DW_AT_virtuality") not in (None, 0)
    offset = None if is_virtual else member_offset(die) or 0
    vtable_offset = _vtable_offset(block(die, "DW_AT_data_member_location") or b"") if is_virtual else None
    return Base(link(target(die)), offset, is_virtual, vtable_offset, _access(die, access))


def _vtable_offset(expression: bytes) -> int | None:
    """Of `dup deref const minus deref plus`, as all compilers write it: the constant, negative."""
    if expression[:2] != bytes([_OP_DUP, _OP_DEREF]):
        return None
    pushed = _pushed(expression, 2)
    if pushed is None:
        return None
    value, behind = pushed
    rest = expression[behind:]
    if rest == bytes([_OP_MINUS, _OP_DEREF, _OP_PLUS]):
        return -value
    return value if rest == bytes([_OP_PLUS, _OP_DEREF, _OP_PLUS]) else None


def _pushed(expression: bytes, at: int) -> tuple[int, int] | None:
    """(the constant that the operation at `at` pushes, where the next one begins)."""
    operation = expression[at] if at < len(expression) else 0
    if _OP_LIT0 <= operation <= _OP_LIT31:
        return operation - _OP_LIT0, at + 1
    if operation in (_OP_CONSTU, _OP_CONSTS):
        return (_uleb if operation == _OP_CONSTU else _sleb)(expression, at + 1)
    width = {_OP_CONST1U: 1, _OP_CONST1S: 1, _OP_CONST2U: 2, _OP_CONST4U: 4}.get(operation)
    if width is None or at + 1 + width > len(expression):
        return None
    signed = operation == _OP_CONST1S
    return int.from_bytes(expression[at + 1 : at + 1 + width], "little", signed=signed), at + 1 + width


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _sleb(data: bytes, at: int) -> tuple[int, int]:
    value, behind = _uleb(data, at)
    bits = 7 * (behind - at)
    return value - (1 << bits) if value >> (bits - 1) else value, behind


def _static(die: DIE, link: Link, access: str) -> StaticMember:
    linkage = text(die, "DW_AT_linkage_name") or text(die, "DW_AT_MIPS_linkage_name")
    value = constant(die, "DW_AT_const_value")
    return StaticMember(text(die), link(target(die)), linkage, value, _access(die, access))


def _template_parameters(die: DIE, link: Link) -> Iterator[TemplateParameter]:
    """Those of a pack come one after the other, all with the pack's name."""
    members = children(die) if die.tag in _PACKS else (die,)
    for member in members:
        name = text(member) or text(die)
        if member.tag == "DW_TAG_template_type_param":
            yield TemplateParameter(name, link(target(member)), is_type=True)
        elif member.tag == "DW_TAG_template_value_param":
            yield TemplateParameter(name, link(target(member)), False, constant(member, "DW_AT_const_value"))
        elif member.tag == "DW_TAG_GNU_template_template_param":
            yield TemplateParameter(name, link(None), is_type=False)


def _variant_part(die: DIE, link: Link) -> VariantPart:
    """`DW_AT_discr` refers to the member that says which variant it is (DWARF 5, section 5.7.10)."""
    tag = target(die, "DW_AT_discr")
    discriminant = None if tag is None else _field(tag, link, "public")
    signed = discriminant is not None and _is_signed(discriminant)
    size = (discriminant.type.size if discriminant is not None else None) or 8
    variants = (_variant(child, link, size, signed) for child in children(die, "DW_TAG_variant"))
    return VariantPart(discriminant, tuple(variants))


def _is_signed(discriminant: Field) -> bool:
    plain = discriminant.type.bare
    return isinstance(plain, Scalar) and plain.is_signed


def _variant(die: DIE, link: Link, size: int, signed: bool) -> Variant:
    members = [_field(child, link, "public") for child in children(die, "DW_TAG_member")]
    member = members[0] if members else None
    value = constant(die, "DW_AT_discr_value")
    values = tuple(_listed(block(die, "DW_AT_discr_list") or b"", signed))
    if isinstance(value, int):
        values = ((in_range(value, size, signed),) * 2,)
    return Variant("" if member is None else member.name, member, values)


def _listed(content: bytes, signed: bool) -> Iterator[tuple[int, int]]:
    """DWARF 5, section 7.13: labels and ranges, signed or not as the discriminant is."""
    read = _sleb if signed else _uleb
    at = 0
    while at < len(content):
        kind = content[at]
        first, at = read(content, at + 1)
        last, at = read(content, at) if kind == _DISCR_RANGE else (first, at)
        yield first, last
