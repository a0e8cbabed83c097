"""What types are: plain facts, without a trace of the debug information that they were read from.

Types may be cyclic, so what one refers to is read when it is first asked for. That may raise one of UNREADABLE where
debug information is damaged. A type is one object as long as its module is loaded: compare with `is`.
"""

from __future__ import annotations

import struct
from enum import Enum as PythonEnum
from math import prod

from strobe.dataclass import dataclass
from strobe.symbols.later import Later

_MAX_NAME = 16_384  # characters; names of damaged types double with each step
_MAX_HOPS = 64


@dataclass(frozen=True, eq=False, repr=False)
class Type:
    """Any type. `own_name`: qualified, as in the source; empty where it has none, as `int*`, which `name` spells."""

    own_name: str
    stated_size: int | None  # bytes
    alignment: int | None  # bytes; None: the natural one, not stated

    @property
    def name(self) -> str:
        """`const char*`, `int (*)(long)`, `ns::Point&`, `struct {...}`."""
        if self.own_name:
            return self.own_name
        # no cached_property: its lock (until Python 3.12) and the one of Later are taken in either order
        known: str | None = self.__dict__.get("_name")
        if known is None:
            known = self.__dict__["_name"] = _cut(self.declare())
        return known

    @property
    def size(self) -> int | None:
        """Bytes; None where it is not known: incomplete types, functions, arrays whose length is computed."""
        return self.stated_size

    @property
    def bare(self) -> Type:
        """Without typedefs and qualifiers."""
        found = self
        for _ in range(_MAX_HOPS):
            if not isinstance(found, (Typedef, Qualified)):
                return found
            found = found.target
        raise ValueError("circular typedefs")

    def declare(self, declarator: str = "") -> str:
        """A declaration of `declarator` with this type: `int (*callback)(long)`, `char name[16]`."""
        return _joined(self.own_name or "{unnamed}", declarator)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.own_name!r})"


class Void(Type):
    """No value."""


VOID = Void("void", 0, None)


@dataclass(frozen=True, eq=False, repr=False)
class Unknown(Type):
    """A type of another language, or of a later DWARF: `tag` is DW_TAG_…"""

    tag: str


class Encoding(PythonEnum):
    """What the bytes of a scalar mean (DW_ATE_*, DWARF 5, section 7.8)."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    SIGNED_CHAR = "signed char"
    UNSIGNED_CHAR = "unsigned char"
    UTF = "utf"  # char8_t, char16_t, char32_t, Rust's char
    BOOL = "bool"
    FLOAT = "float"
    COMPLEX = "complex"  # two floats
    DECIMAL = "decimal"
    OTHER = "other"


SIGNED_ENCODINGS = frozenset({Encoding.SIGNED, Encoding.SIGNED_CHAR})
CHARACTERS = frozenset({"char", "wchar_t", "char8_t", "char16_t", "char32_t"})


@dataclass(frozen=True, eq=False, repr=False)
class Scalar(Type):
    """A base type. `bits`: how many are used where that is fewer than `size` has, as of `_BitInt(37)`."""

    encoding: Encoding
    bits: int | None

    @property
    def is_signed(self) -> bool:
        """Whether its integers have a sign."""
        return self.encoding in SIGNED_ENCODINGS

    @property
    def is_character(self) -> bool:
        """Meant as text: `char`, not `signed char`, which is a small number (int8_t)."""
        return self.encoding is Encoding.UTF or self.own_name in CHARACTERS


@dataclass(frozen=True, eq=False, repr=False)
class Pointer(Type):
    """`T*`, Rust's pointers, references and boxes of sized types; nullptr_t points to void and has a name."""

    link: Later[Type]

    @property
    def target(self) -> Type:
        """What it points to."""
        return self.link()

    def declare(self, declarator: str = "") -> str:
        return _joined(self.own_name, declarator) if self.own_name else _around(self.target, "*", declarator)


@dataclass(frozen=True, eq=False, repr=False)
class Reference(Type):
    """`T&` or `T&&`."""

    link: Later[Type]
    is_rvalue: bool

    @property
    def target(self) -> Type:
        """What it refers to."""
        return self.link()

    def declare(self, declarator: str = "") -> str:
        return _around(self.target, "&&" if self.is_rvalue else "&", declarator)


@dataclass(frozen=True, eq=False, repr=False)
class MemberPointer(Type):
    """`T C::*`. To data: an offset, -1 for null. To a function: its address, or 1 plus its vtable offset; and what to
    add to `this` (Itanium C++ ABI 2.3)."""

    link: Later[Type]
    owner_link: Later[Type]

    @property
    def target(self) -> Type:
        """The member's type; a Function for a method."""
        return self.link()

    @property
    def owner(self) -> Type:
        """The class that has the member."""
        return self.owner_link()

    @property
    def is_function(self) -> bool:
        """Whether it points to a method: then it has two words (Itanium C++ ABI 2.3)."""
        return isinstance(self.target.bare, Function)

    @property
    def size(self) -> int | None:
        return self.stated_size or (16 if self.is_function else 8)

    def declare(self, declarator: str = "") -> str:
        return _around(self.target, f"{self.owner.name}::*", declarator)


@dataclass(frozen=True, slots=True)
class Dimension:
    """`count` None: not stated, as of a flexible array member, or, where `is_computed`, known at run time (VLA).

    Then the last index, or where `gives_count` the count, is in the local variable with the DIE at `variable`, or what
    the DWARF `expression` pushes.
    """

    count: int | None
    is_computed: bool = False
    lower: int = 0
    gives_count: bool = False
    variable: int | None = None
    expression: bytes | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Array(Type):
    """`dimensions` from the outermost. `is_vector`: of a SIMD register."""

    link: Later[Type]
    dimensions: tuple[Dimension, ...]
    stated_stride: int | None
    is_vector: bool

    @property
    def element(self) -> Type:
        """The type of an element, below all dimensions."""
        return self.link()

    @property
    def count(self) -> int | None:
        """Elements of all dimensions."""
        counts = [dimension.count for dimension in self.dimensions]
        return None if not counts or None in counts else prod(count for count in counts if count is not None)

    @property
    def stride(self) -> int | None:
        """Bytes from one element to the next."""
        return self.stated_stride or self.element.size

    @property
    def size(self) -> int | None:
        """Of a flexible array member 0, as in sizeof of what contains it."""
        if self.stated_size is not None:
            return self.stated_size
        if any(dimension.is_computed for dimension in self.dimensions):
            return None
        stride = self.stride
        return None if stride is None else stride * (self.count or 0)

    def declare(self, declarator: str = "") -> str:
        if self.own_name:
            return _joined(self.own_name, declarator)
        marks = "".join(f"[{'' if d.count is None else d.count}]" for d in self.dimensions) or "[]"
        return self.element.declare(declarator + marks)


@dataclass(frozen=True, slots=True)
class Enumerator:
    """One name of an enum, and its value with the sign of the underlying type."""

    name: str
    value: int


@dataclass(frozen=True, eq=False, repr=False)
class Enum(Type):
    """`is_scoped`: `enum class`. `is_declaration`: nothing but its name is known. `is_of_c`: not of C++, where its
    values are ints if they can be."""

    head: Later[RecordHead]
    underlying_link: Later[Type] | None
    is_scoped: bool
    content: Later[tuple[Enumerator, ...]]
    is_of_c: bool = False

    @property
    def size(self) -> int | None:
        return self.head().size

    @property
    def is_declaration(self) -> bool:
        """Whether its enumerators are in no unit of the file."""
        return self.head().is_declaration

    @property
    def underlying(self) -> Type | None:
        """The integer type beneath; None where it is not recorded (C)."""
        return None if self.underlying_link is None else self.underlying_link()

    @property
    def enumerators(self) -> tuple[Enumerator, ...]:
        """In the order of the source."""
        return self.content()

    @property
    def is_flags(self) -> bool:
        """Whether values look like bits to be combined: {1, 2, 4}, {0, 1, 2, 4, 7}, but not {0, 1, 2}."""
        values = {enumerator.value for enumerator in self.enumerators}
        bits = {value for value in values if value > 0 and value & (value - 1) == 0}
        rest = values - bits - {0}
        is_run = len(values) == max(values, default=0) - min(values, default=0) + 1
        return len(bits) >= 2 and not is_run and all(value > 0 and value & ~sum(bits) == 0 for value in rest)

    def declare(self, declarator: str = "") -> str:
        return _joined(self.own_name or "enum {...}", declarator)


@dataclass(frozen=True, eq=False, repr=False)
class Record(Type):
    """A struct, class or union, defined here or elsewhere; Rust's tuples, slices and enums with payloads, too.

    `kind`: "struct", "class", "union". What it consists of: RecordParts.
    """

    kind: str
    head: Later[RecordHead]
    content: Later[RecordParts]

    @property
    def size(self) -> int | None:
        return self.head().size

    @property
    def is_declaration(self) -> bool:
        """No unit defines it: its fields are not known."""
        return self.head().is_declaration

    @property
    def parts(self) -> RecordParts:
        """Bases, members and template arguments; read when asked for."""
        return self.content()

    def declare(self, declarator: str = "") -> str:
        return _joined(self.own_name or f"{self.kind} {{...}}", declarator)


@dataclass(frozen=True, eq=False, repr=False)
class Typedef(Type):
    """Another name of `target`."""

    link: Later[Type]

    @property
    def target(self) -> Type:
        """What it is another name of."""
        return self.link()

    @property
    def size(self) -> int | None:
        return self.bare.size


@dataclass(frozen=True, eq=False, repr=False)
class Qualified(Type):
    """`word`: "const", "volatile", "restrict", "_Atomic"."""

    word: str
    link: Later[Type]

    @property
    def target(self) -> Type:
        """The type without this qualifier."""
        return self.link()

    @property
    def size(self) -> int | None:
        return self.bare.size if self.stated_size is None else self.stated_size

    def declare(self, declarator: str = "") -> str:
        words, inner = [self.word], self.target
        while isinstance(inner, Qualified) and len(words) < _MAX_HOPS:
            words.append(inner.word)
            inner = inner.target
        text = " ".join(sorted(set(words)))  # which puts const before volatile, as gdb does
        if not inner.own_name and isinstance(inner, (Pointer, Reference, MemberPointer)):
            return inner.declare(f" {_joined(text, declarator)}")
        return f"{text} {inner.declare(declarator)}"


@dataclass(frozen=True, eq=False, repr=False)
class Function(Type):
    """What a function pointer points to. `is_variadic`: it ends with `...`."""

    link: Later[Type]
    parameter_links: tuple[Later[Type], ...]
    is_variadic: bool

    @property
    def returns(self) -> Type:
        """The type of the result; Void where it has none."""
        return self.link()

    @property
    def parameters(self) -> tuple[Type, ...]:
        """Types in their order; of a method the one of `this` first, as debug information has it."""
        return tuple(link() for link in self.parameter_links)

    def declare(self, declarator: str = "") -> str:
        names = [parameter.name for parameter in self.parameters] + ["..."] * self.is_variadic
        return self.returns.declare(f"{declarator}({_cut(', '.join(names))})")


def _joined(name: str, declarator: str) -> str:
    if not declarator:
        return name
    return f"{name}{declarator}" if declarator[0] in "*&[ " else f"{name} {declarator}"


def _around(target: Type, mark: str, declarator: str) -> str:
    if not target.own_name and isinstance(target, (Array, Function)):
        return _cut(target.declare(f"({mark}{declarator.lstrip()})"))
    gap = " " if declarator and (declarator[0].isalnum() or declarator[0] == "_") else ""
    return _cut(target.declare(f"{mark}{gap}{declarator}"))


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else name[:_MAX_NAME] + "…"


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
    raise ValueError("circular typedefs")


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
        """The member's type."""
        return self.link()

    @property
    def offset(self) -> int | None:
        """Bytes; of a bit-field, where the byte with its first bit is."""
        return None if self.bit_offset is None else self.bit_offset // 8

    @property
    def is_vtable_pointer(self) -> bool:
        """Whether the compiler has added it for virtual functions (as gcc and clang name it)."""
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
        """The base class."""
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
        """The member's type."""
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
        """The argument itself where `is_type`, else its type."""
        return self.link()

    @property
    def value(self) -> int | float | bytes | None:
        """The argument, where it is a value; None for an address, a template or a type."""
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
        """Whether it is the one for all other discriminants."""
        return not self.values


@dataclass(frozen=True, eq=False)
class VariantPart:
    """`discriminant` None: there is only one variant."""

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
