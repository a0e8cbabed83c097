"""The shape of a type, to a depth: what of it is read, and what is only named."""

from __future__ import annotations

from contextlib import suppress

from strobe.limits import TEXT_CHARACTERS, VALUE_BYTES
from strobe.symbols.types import model as types
from strobe.symbols.types.model import Base, Field, RecordParts, Variant
from strobe.symbols.types.names import names_of
from strobe.symbols.types.value_types import value_type
from strobe.values.decode import shapes, structures
from strobe.values.decode.elements import row_of
from strobe.values.decode.shapes import Shape
from strobe.values.decode.structures import Form, Member
from strobe.values.printers import Printers, built_in
from strobe.values.printers.layouts import Building
from strobe.values.printers.members import Missing
from strobe.values.printers.names import short, without_arguments
from strobe.values.printers.texts import EndedText

MAX_ELEMENTS = 100
_MAX_ITEMS = 4096
_BEYOND = "<struct>"
_MAX_SHAPES = 10_000
_MAX_PRINTED = 12  # types of libraries within each other


class _TooManyError(Exception):
    """There are more parts than are made."""


class Shaping:
    """One read. Pointers are followed until there would be too many items; then they are shown as addresses.

    `names_types`: what lies beyond the depth is shown as its type, "<Node>", not as "<struct>".
    """

    def __init__(
        self,
        printers: Printers | None = None,
        max_items: int = _MAX_ITEMS,
        max_bytes: int = VALUE_BYTES,
        max_shapes: int = _MAX_SHAPES,
        names_types: bool = False,
    ) -> None:
        self._printers = built_in() if printers is None else printers
        self._printed: list[tuple[int, int]] = []  # those whose parts are being shaped
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._max_shapes = max_shapes
        self._names_types = names_types
        self._items = 0
        self._bytes = 0
        self._turns = 1
        self._made: int | None = None  # shapes so far, while one is under way

    def shape(self, type_: types.Type, depth: int) -> Shape:
        """Less deep where there would be too many parts, as of enums that hold each other in many ways.

        Raises one of UNREADABLE where the type's description is damaged.
        """
        if self._made is not None:
            self._made += 1
            if self._made > self._max_shapes:
                raise _TooManyError
            return self._shape(type_, depth)
        before = self._items, self._bytes
        for less in range(depth, -1, -1):
            self._items, self._bytes = before
            self._made = 0
            try:
                return self._shape(type_, less)
            except _TooManyError:
                self._turns = 1
            finally:
                self._made = None
        return shapes.Nothing(_BEYOND)

    def _shape(self, type_: types.Type, depth: int) -> Shape:
        match type_.bare:
            case types.Record() as record:
                return self._described(type_, record, depth) or self.plain(record, depth)
            case types.Array() as array:
                return self._array(array, depth)
            case types.Pointer() as pointer:
                return self._pointer(pointer, depth)
            case types.Reference() as reference:
                return self._reference(reference, depth)
            case types.MemberPointer() as pointer if pointer.is_function:
                return shapes.Pointer()
            case types.Void() | types.Function() | types.Unknown() as other:
                return shapes.Nothing(f"<{other.name}>")
            case types.Scalar() as unit if not unit.size and unit.own_name == "()":
                return structures.Structure("()", (), 0, is_tuple=True)
            case plain:
                return shapes.Scalar(value_type(plain), plain.size or 0)

    def _described(self, type_: types.Type, record: types.Record, depth: int) -> Shape | None:
        """As a description has it; None where there is none, or the type is not what it says."""
        if record.is_declaration or len(self._printed) >= _MAX_PRINTED:
            return None
        if (id(record), depth) in self._printed:  # it might have no end: it counts as a struct
            depth -= 1
            if depth < 0:
                return shapes.Nothing(_BEYOND)
        self._printed.append((id(record), depth))
        try:
            return self._first_described(type_, record, depth)
        finally:
            self._printed.pop()

    def _first_described(self, type_: types.Type, record: types.Record, depth: int) -> Shape | None:
        for name in names_of(type_):
            for description in self._printers.of(name):
                with suppress(Missing):
                    return Building(description, record, self, depth).shape()
        return None

    def field(self, field: Field, depth: int) -> Shape:
        """The shape of a member, bit-fields included, `depth` structs deep."""
        if field.bit_size is None:
            return self.shape(field.type, depth)
        return structures.of_bits(value_type(field.type.bare), field.bit_offset or 0, field.bit_size)

    def plain(self, record: types.Record, depth: int) -> Shape:
        """The shape of a structure by its members, whatever a description says of it."""
        size = record.size or 0
        if record.is_declaration:
            return shapes.Nothing(f"<incomplete {record.name}>")
        if depth < 1:
            return self._beyond(record)
        if size > VALUE_BYTES:
            return shapes.Nothing(f"<{size} bytes: read a part of it>")
        parts = record.parts
        if parts.variants is not None:
            return self.forms(record, depth)
        made = structures.Union if record.kind == "union" else structures.Structure
        return made(record.name, tuple(self._members(parts, depth, set())), size, parts.is_tuple)

    def _members(self, parts: RecordParts, depth: int, virtual: set[int]) -> list[Member]:
        """Base classes first; a virtual base once. Empty ones, and pointers to vtables, show nothing."""
        members = [member for base in parts.bases if (member := self._base(base, depth, virtual)) is not None]
        for field in parts.fields:
            if field.is_vtable_pointer or field.offset is None:
                continue
            is_spread = not field.name and isinstance(field.type.bare, types.Record)
            shape = self.field(field, depth if is_spread else depth - 1)
            name = field.name.removeprefix("__") if parts.is_tuple else field.name
            members.append(Member(name or "{unnamed}", field.offset, shape, is_spread))
        return members

    def _base(self, base: Base, depth: int, virtual: set[int]) -> Member | None:
        record = base.type.bare
        if not isinstance(record, types.Record):
            return None
        if base.is_virtual or base.offset is None:
            if id(record) in virtual:
                return None
            virtual.add(id(record))
        described = self._described(base.type, record, depth)
        inner = described or structures.Structure(
            record.name, tuple(self._members(record.parts, depth, virtual)), record.size or 0
        )
        if base.offset is None:
            self._count(inner.size)
        name = record.name if described is None else short(without_arguments(record.name))
        return Member(name, base.offset, inner, described is None, base.vtable_offset or 0)

    def forms(self, record: types.Record, depth: int) -> Shape:
        """The shape of an enum with data (Rust): one form per variant. Raises Missing where it has none."""
        variants = record.parts.variants
        if variants is None:
            raise Missing(f"{record.name} is not an enum")
        forms = tuple(self._form(variant, depth) for variant in variants.variants)
        tag = variants.discriminant
        tag_offset, width = (0, 0) if tag is None else (tag.offset or 0, tag.type.size or 0)
        return structures.Forms(record.name, forms, tag_offset, width, record.size or 0)

    def _form(self, variant: Variant, depth: int) -> Form:
        field = variant.field
        shape = None if field is None else self.shape(field.type, depth)
        member = None if field is None or shape is None else Member(variant.name, field.offset or 0, shape)
        return Form(variant.name, variant.values, member)

    def _array(self, array: types.Array, depth: int) -> Shape:
        stated = array.dimensions[0].count if array.dimensions else None
        count, row = stated or 0, row_of(array)
        width = character_width(row)
        if stated is None:  # a flexible one, as the last member
            text = None if width is None else EndedText(width, (), (("LOCATION", 0, 0, 0),), 0)
            return text or shapes.Nothing("<length not known>")
        if width is not None:
            return shapes.Characters(width, min(count * width, TEXT_CHARACTERS * width + width))
        shown = min(count, MAX_ELEMENTS)
        stride = (array.stride if len(array.dimensions) == 1 else row.size) or 0
        if shown * stride > VALUE_BYTES:
            return shapes.Nothing(f"<{count * stride} bytes: read elements of it>")
        self._turns *= max(shown, 1)
        element = self.shape(row, depth)
        self._turns //= max(shown, 1)
        return structures.Elements(element, stride, shown, count)

    def _pointer(self, pointer: types.Pointer, depth: int) -> Shape:
        target = pointer.target.bare
        width = character_width(pointer.target)
        if _is_lent(pointer) and not isinstance(target, types.Record):
            is_shown = target.size and self._count(target.size)
            return shapes.Followed(self.shape(target, depth), id(target)) if is_shown else shapes.Pointer()
        if width is not None:
            return shapes.TextPointer(width) if self._count(TEXT_CHARACTERS * width) else shapes.Pointer()
        if depth < 1 or not isinstance(target, types.Record) or target.is_declaration:
            return shapes.Pointer()
        if not self._count(target.size or 0):
            return shapes.Pointer()
        return shapes.Followed(self.shape(target, depth), id(target))

    def _reference(self, reference: types.Reference, depth: int) -> Shape:
        target = reference.target.bare
        if isinstance(target, types.Record) and depth < 1:
            return self._beyond(target)
        if isinstance(target, types.Function) or not self._count(target.size or 0):
            return shapes.Pointer()
        return shapes.Referred(self.shape(target, depth))

    def _beyond(self, record: types.Record) -> Shape:
        return shapes.Nothing(f"<{record.name}>" if self._names_types else _BEYOND)

    def _count(self, size: int) -> bool:
        """Whether there is room for one more item, which is then counted."""
        items, size = self._items + self._turns, self._bytes + size * self._turns
        if items > self._max_items or size > self._max_bytes:
            return False
        self._items, self._bytes = items, size
        return True


def character_width(type_: types.Type) -> int | None:
    """Bytes of a character; None for all other types. In C, wide ones are other names of integers."""
    plain = type_.bare
    if not isinstance(plain, types.Scalar) or plain.size not in (1, 2, 4):
        return None
    inner = type_
    while isinstance(inner, (types.Typedef, types.Qualified)):
        if isinstance(inner, types.Typedef) and inner.own_name in types.CHARACTERS:
            return plain.size
        inner = inner.target
    return plain.size if plain.is_character else None


def _is_lent(pointer: types.Pointer) -> bool:
    """A reference or box of Rust, which leads to one value."""
    return pointer.own_name.startswith(("&", "alloc::boxed::Box<"))
