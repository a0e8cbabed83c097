"""What structs, classes and unions consist of; and Rust's enums, which are records with variants."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from strobe.symbols.later import Later
from strobe.symbols.type_model import Encoding, Qualified, Scalar, Type, Typedef

_MAX_HOPS = 64
_FLOATS = {4: "<f", 8: "<d"}


def in_range(value: int, size: int, signed: bool) -> int:
    """A constant as its type has it: forms of fixed width leave open whether they are signed."""
    width = 8 * min(size, 32)
    if signed and value >= 1 << (width - 1):
        return value - (1 << width)
    return value + (1 << width) if not signed and value < 0 else value


def scalar_value(type_: Type, stated: int | bytes | None) -> int | float | bytes | None:
    """A constant of debug information as a value of its type; other than numbers it stays as it is."""
    plain = type_.bare
    if not isinstance(plain, Scalar) or not isinstance(stated, int) or not plain.size:
        return stated
    if plain.encoding is Encoding.FLOAT and plain.size in _FLOATS:
        word = in_range(stated, plain.size, signed=False)
        return float(struct.unpack(_FLOATS[plain.size], word.to_bytes(plain.size, "little"))[0])
    return in_range(stated, plain.size, plain.is_signed)


def _is_const(type_: Type) -> bool:
    for _ in range(_MAX_HOPS):
        if isinstance(type_, Qualified) and type_.word == "const":
            return True
        if not isinstance(type_, (Qualified, Typedef)):
            return False
        type_ = type_.target
    raise ValueError("typedefs without end")


@dataclass(frozen=True, slots=True)
class RecordHead:
    """`size` in bytes, None where it is not known. `is_declaration`: no unit of the module defines it."""

    size: int | None
    alignment: int | None = None
    is_declaration: bool = False


@dataclass(frozen=True, eq=False)
class Field:
    """A data member. Bits count from the start of the record, as memory has them (little-endian).

    `name` empty: an anonymous struct or union, whose fields belong to the record. `bit_offset` None: not known.
    `bit_size` None: no bit-field. `is_artificial`: made by the compiler (vtable pointers). `access`: "public", …
    """

    name: str
    link: Later[Type]
    bit_offset: int | None
    bit_size: int | None = None
    access: str = "public"
    is_artificial: bool = False
    alignment: int | None = None

    @property
    def type(self) -> Type:
        return self.link()

    @property
    def offset(self) -> int | None:
        """Bytes; of a bit-field, where the byte with its first bit is."""
        return None if self.bit_offset is None else self.bit_offset // 8

    @property
    def is_vtable_pointer(self) -> bool:
        return self.name.startswith(("_vptr.", "_vptr$")) or (self.is_artificial and self.name == "__vptr")


@dataclass(frozen=True, eq=False)
class Base:
    """A base class. Of a virtual one `offset` is None: the vtable says it.

    `vtable_offset`: bytes from where the vtable pointer points to the word with the offset, -24 as a rule.
    """

    link: Later[Type]
    offset: int | None
    is_virtual: bool = False
    vtable_offset: int | None = None
    access: str = "public"

    @property
    def type(self) -> Type:
        return self.link()


@dataclass(frozen=True, eq=False)
class StaticMember:
    """Its place is that of the variable `<record>::<name>`. `stated`: its constant, as debug information has it."""

    name: str
    link: Later[Type]
    linkage_name: str = ""
    stated: int | bytes | None = None
    access: str = "public"

    @property
    def type(self) -> Type:
        return self.link()

    @property
    def value(self) -> int | float | bytes | None:
        """What it always is; None: its variable has to be read. clang 14 states how those begin that are not const."""
        return scalar_value(self.type, self.stated) if _is_const(self.type) else None


@dataclass(frozen=True, eq=False)
class TemplateParameter:
    """`is_type`: the argument is `type`; else it is `value` of that type, None where it is an address or a template."""

    name: str
    link: Later[Type]
    is_type: bool
    stated: int | bytes | None = None

    @property
    def type(self) -> Type:
        return self.link()

    @property
    def value(self) -> int | float | bytes | None:
        return scalar_value(self.type, self.stated)


@dataclass(frozen=True, eq=False)
class Variant:
    """One form of a Rust enum. `values`: inclusive ranges of the discriminant; none: whatever no other variant has.

    `field` holds the payload: a record at its place, with the variant's name.
    """

    name: str
    field: Field | None
    values: tuple[tuple[int, int], ...]

    @property
    def is_default(self) -> bool:
        return not self.values


@dataclass(frozen=True, eq=False)
class VariantPart:
    """`discriminant` None: there is one variant only, and nothing to tell it by."""

    discriminant: Field | None
    variants: tuple[Variant, ...]

    def choose(self, value: int) -> Variant | None:
        """The variant that a value of the discriminant stands for, however it is signed."""
        width = 1 << 8 * ((self.discriminant.type.size if self.discriminant is not None else None) or 8)
        for variant in self.variants:
            if any((value - first) % width <= last - first for first, last in variant.values):
                return variant
        return next((variant for variant in self.variants if variant.is_default), None)


@dataclass(frozen=True, eq=False)
class RecordParts:
    """All in the order of the declaration. `methods`: how many functions are declared in it."""

    fields: tuple[Field, ...] = ()
    bases: tuple[Base, ...] = ()
    statics: tuple[StaticMember, ...] = ()
    template_parameters: tuple[TemplateParameter, ...] = ()
    variants: VariantPart | None = None
    methods: int = 0

    @property
    def vtable_pointer(self) -> Field | None:
        """The one that this record itself adds; it may have one in its first base besides."""
        return next((field for field in self.fields if field.is_vtable_pointer), None)

    @property
    def is_slice(self) -> bool:
        """A Rust slice or `&str`: an address and a length."""
        return {field.name for field in self.fields} == {"data_ptr", "length"}

    @property
    def is_tuple(self) -> bool:
        """A Rust tuple or tuple struct: fields `__0`, `__1`, …"""
        names = [field.name for field in self.fields]
        return bool(names) and set(names) == {f"__{number}" for number in range(len(names))}
