"""Shapes with parts: structures, enums with content, arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strobe.model import ValueType
from strobe.values.model import Problem, Record, Rows, Shown, Tuple, Variant
from strobe.values.recipes import Recipe
from strobe.values.shapes import Decoding, Part, Scalar, Shape, add_read, read_value


@dataclass(frozen=True)
class Member:
    """`offset` in bytes; None: of a virtual base, whose place the vtable says by `vtable_offset`.

    `is_spread`: its fields are those of the structure around it.
    """

    name: str
    offset: int | None
    shape: Shape
    is_spread: bool = False
    vtable_offset: int = 0


@dataclass(frozen=True)
class Structure(Shape):
    """`is_tuple`: its fields have numbers, as Rust's tuples have."""

    type_name: str
    members: tuple[Member, ...]
    size: int
    is_tuple: bool = False

    def add_steps(self, recipe: Recipe) -> None:
        for member in self.members:
            if member.offset is None:
                recipe.save()
                recipe.virtual_base(member.vtable_offset)
                add_read(recipe, member.shape)
                recipe.restore()
            else:
                add_apart(recipe, member.shape, member.offset)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        fields: dict[str, Shown] = {}
        for member in self.members:
            name = None if member.is_spread else f"{part.name}{part.joint}{member.name}"
            if member.offset is None:
                found = read_value(member.shape, decoding, name or part.name, None, part.joint)
            else:
                found = member.shape.value(part.at(member.offset, name), decoding)
            inner = dict(found) if member.is_spread and isinstance(found, Record) else {member.name: found}
            for key, value in inner.items():
                while key in fields:  # bases may have fields of one name
                    key += "'"
                fields[key] = value
        if self.is_tuple:
            return Tuple(fields.values(), _last_part(self.type_name))
        return Record(self.type_name, fields)


@dataclass(frozen=True)
class Form:
    """What a Rust enum may be: `values` are inclusive ranges of the discriminant, none: all that no other form has.

    `member`: its content; None: it has none.
    """

    name: str
    values: tuple[tuple[int, int], ...]
    member: Member | None


@dataclass(frozen=True)
class Forms(Shape):
    """A Rust enum. Its discriminant, `width` bytes at `place`, says which of the forms is there."""

    type_name: str
    forms: tuple[Form, ...]
    place: int
    width: int
    size: int

    def chosen(self, number: int) -> Form | None:
        """However the discriminant is signed."""
        round_ = 1 << 8 * (self.width or 8)
        for form in self.forms:
            if any((number - first) % round_ <= last - first for first, last in form.values):
                return form
        return next((form for form in self.forms if not form.values), None)

    def add_steps(self, recipe: Recipe) -> None:
        for form in self.forms:
            if form.member is not None:
                add_apart(recipe, form.member.shape, form.member.offset or 0)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        number = int.from_bytes(part.at(self.place).take(self.width), "little")
        chosen = self.chosen(number)
        content: Shown = None
        for form in self.forms:  # all are decoded: their items have to be taken
            if form.member is None:
                continue
            place = part.at(form.member.offset or 0, f"{part.name}.{form.name}")
            found = form.member.shape.value(place, decoding)
            content = found if form is chosen else content
        if chosen is None:
            return Problem(f"<no variant {number}>")
        if isinstance(content, Tuple):
            content = Tuple(content)
        is_bare = content is None or (isinstance(content, Record) and not list(content))
        return chosen.name if is_bare else Variant(self.type_name, chosen.name, content)


@dataclass(frozen=True)
class Elements(Shape):
    """The first `shown` of `count` elements, `stride` bytes apart."""

    element: Shape
    stride: int
    shown: int
    count: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.shown * self.stride

    def add_steps(self, recipe: Recipe) -> None:
        if not self.shown or not _has_steps(self.element):
            return
        recipe.begin(self.shown, self.stride)
        self.element.add_steps(recipe)
        recipe.end(self.shown)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        places = (part.at(at * self.stride, f"{part.name}[{at}]") for at in range(self.shown))
        return Rows([self.element.value(place, decoding) for place in places], self.count)


def _last_part(type_name: str) -> str:
    """`Metres` of `ns::Metres<ns::T>`; nothing of a plain tuple's name."""
    return type_name.partition("<")[0].rpartition("::")[2] if type_name[:1] != "(" else ""


def _has_steps(shape: Shape) -> bool:
    trial = Recipe()
    shape.add_steps(trial)
    return bool(trial.code)


def add_apart(recipe: Recipe, shape: Shape, offset: int) -> None:
    """The steps of a part of a structure, if it has any."""
    if _has_steps(shape):
        recipe.save()
        recipe.add(offset)
        shape.add_steps(recipe)
        recipe.restore()


def of_bits(of: ValueType, bit_offset: int, bits: int) -> Scalar:
    """A bit-field, from the byte with its first bit on."""
    first = bit_offset % 8
    return Scalar(replace(of, bits=(first, bits)), (first + bits + 7) // 8)
