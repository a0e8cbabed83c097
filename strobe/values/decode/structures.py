"""Shapes with parts: structures, enums with content, arrays."""

from __future__ import annotations

from collections.abc import Iterable

from strobe.dataclass import dataclass, replace
from strobe.model import Text, ValueKind, ValueType
from strobe.values.decode.shapes import Decoding, Part, Scalar, Shape, add_read, problem, read_value
from strobe.values.memory.recipes import Recipe, Steps
from strobe.values.model import PointerTo, Problem, Record, Rows, Shown, Tuple, Unread, Variant
from strobe.values.printers.names import without_arguments

_FIRST_MAPPED, _END_OF_USER = 0x10000, 1 << 47
_FRACTION_BITS = {4: 23, 8: 52}  # of a number with a point, by its size
_UNREADABLE = ("Address not readable", "Null pointer", "<broken", "<no valid")  # problems of what leads nowhere
_LEAST_NORMAL = {4: 1.17549435e-38, 8: 2.2250738585072014e-308}  # of the size of a number with a point


@dataclass(frozen=True)
class Member:
    """`offset` in bytes; None: of a virtual base, whose offset is in the vtable at `vtable_offset`.

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
        hidden: list[str] = []
        for member in self.members:
            name = None if member.is_spread else f"{part.name}{part.joint}{member.name}"
            if member.offset is None:
                found = read_value(member.shape, decoding, name or part.name, None, part.joint)
            else:
                found = member.shape.value(part.at(member.offset, name), decoding)
            is_spread = member.is_spread and isinstance(found, Record)
            for key, value in found if is_spread else ((member.name, found),):
                is_hidden = is_spread and key in found._hidden
                while key in fields:  # bases may have fields of one name
                    key += "'"
                fields[key] = value
                hidden += [key] if is_hidden else []
        if self.is_tuple:
            return Tuple(fields.values(), _last_part(self.type_name))
        return Record(self.type_name, fields, hidden)


@dataclass(frozen=True)
class Union(Structure):
    """Members at the same offset. Which of them is there is not known; those that cannot be are hidden."""

    def value(self, part: Part, decoding: Decoding) -> Shown:
        found = super().value(part, decoding)
        sizes = {member.name: member.shape.size for member in self.members}
        odd = {member.name for member in self.members if _is_odd_nan(member.shape, part.take(member.shape.size))}
        implausible = [name for name, value in found if name in odd or not _is_plausible(value, sizes.get(name, 0))]
        return Record(self.type_name, dict(found), implausible if len(implausible) < len(list(found)) else ())


def _is_plausible(value: Shown, size: int) -> bool:
    """Whether a member of a union of `size` bytes may be the one that is there: no pointer that leads nowhere, no
    number with a point that is what an integer or address looks like as one, no text of control characters. What is
    not shown, as a struct beyond the depth, may be."""
    match value:
        case Problem():
            return not value.startswith(_UNREADABLE)
        case float():
            return value == 0 or abs(value) >= _LEAST_NORMAL.get(size, 0)
        case Unread():
            return False
        case PointerTo():
            is_address = value.address == 0 or _FIRST_MAPPED <= value.address < _END_OF_USER
            return is_address and (not isinstance(value.to, Problem) or _is_plausible(value.to, 0))
        case Text():
            return all(letter.isprintable() or letter.isspace() for letter in value)
    return True


def _is_odd_nan(shape: Shape, data: bytes) -> bool:
    """A NaN that no calculation gives, as a negative integer looks like one: IEEE 754 leaves its bits open, and
    processors set the highest of the fraction alone."""
    if not isinstance(shape, Scalar) or shape.type.kind is not ValueKind.FLOAT or shape.size != len(data):
        return False
    fraction, whole = _FRACTION_BITS.get(shape.size, 0), int.from_bytes(data, "little")
    exponent = (1 << 8 * shape.size - 1) - (1 << fraction)
    is_nan = fraction > 0 and whole & exponent == exponent and whole % (1 << fraction) != 0
    return is_nan and whole % (1 << fraction - 1) != 0


@dataclass(frozen=True)
class Tagged(Shape):
    """A union of which `tag` says which member is there. `members`: with the tag of each, at offsets of the whole."""

    type_name: str
    tag: Steps
    members: tuple[tuple[int, Member], ...]
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_chosen(recipe, self.tag, self.members)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        tag = decoding.next()
        if not tag.is_there:
            return problem(tag)
        for number, member in self.members:
            if number == tag.number:
                name = f"{part.name}{part.joint}{member.name}"
                return Record(
                    self.type_name, {member.name: member.shape.value(part.at(member.offset or 0, name), decoding)}
                )
        return Record(self.type_name, {"union": Problem(f"<no member for tag {tag.number}>")})


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
    """A Rust enum. Its discriminant, `width` bytes at `tag_offset`, says which of the forms is there."""

    type_name: str
    forms: tuple[Form, ...]
    tag_offset: int
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
        """Of the form that is there, where a discriminant says which."""
        deep = [(form, form.member) for form in self.forms if form.member is not None and form.member.shape.has_steps]
        if not self.has_discriminant:
            for _, member in deep:
                add_apart(recipe, member.shape, member.offset or 0)
            return
        if not deep:
            return
        recipe.numbers((("NUMBER", self.width, 0, self.tag_offset),))
        recipe.note()
        for form, member in deep:
            recipe.numbers(self.is_there(form))
            with recipe.when():
                add_apart(recipe, member.shape, member.offset or 0)
        recipe.drop()

    @property
    def has_discriminant(self) -> bool:
        """Whether a number says which form there is; else there is one form only."""
        return self.width in (1, 2, 4, 8)

    def is_there(self, form: Form) -> Steps:
        """Whether the top number, which stays, says that it is this one."""
        if form.values:
            return self._is_among(form.values)
        others = tuple(one for other in self.forms for one in other.values)
        return (*self._is_among(others), ("CONSTANT", 0, 0, 0), ("EQUAL", 0, 0, 0))

    def _is_among(self, values: tuple[tuple[int, int], ...]) -> Steps:
        mask = (1 << 8 * self.width) - 1
        steps: list[tuple[str, int, int, int]] = [] if values else [("CONSTANT", 0, 0, 0)]
        for number, (first, last) in enumerate(values):
            steps += [("PICK", 0, min(number, 1), 0), ("CONSTANT", 0, 0, first), ("MINUS", 0, 0, 0)]
            steps += [("CONSTANT", 0, 0, mask), ("BIT_AND", 0, 0, 0)]
            steps += [("CONSTANT", 0, 0, last - first + 1), ("LESS", 0, 0, 0)]
            steps += [("OR", 0, 0, 0)] if number else []
        return tuple(steps)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        number = int.from_bytes(part.at(self.tag_offset).take(self.width), "little")
        if self.has_discriminant and self.has_steps:
            noted = decoding.next()
            if not noted.is_there:
                return problem(noted)
            number = noted.number
        chosen = self.chosen(number)
        content: Shown = None
        for form in self.forms:
            if form.member is None or (self.has_discriminant and form is not chosen):
                continue
            inner = part.at(form.member.offset or 0, f"{part.name}.{form.name}")
            found = form.member.shape.value(inner, decoding)
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
        """Bytes of the elements that are shown."""
        return self.shown * self.stride

    def add_steps(self, recipe: Recipe) -> None:
        if not self.shown or not self.element.has_steps:
            return
        recipe.begin(self.shown, self.stride)
        self.element.add_steps(recipe)
        recipe.end(self.shown)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        elements = (part.at(at * self.stride, f"{part.name}[{at}]") for at in range(self.shown))
        return Rows([self.element.value(element, decoding) for element in elements], self.count)


def _last_part(type_name: str) -> str:
    """`Metres` of `ns::Metres<ns::T>`; nothing of a plain tuple's name."""
    return without_arguments(type_name).rpartition("::")[2] if type_name[:1] != "(" else ""


def add_apart(recipe: Recipe, shape: Shape, offset: int) -> None:
    """The steps of a part of a structure, if it has any."""
    if shape.has_steps:
        recipe.save()
        recipe.add(offset)
        shape.add_steps(recipe)
        recipe.restore()


def add_chosen(recipe: Recipe, tag: Steps, members: Iterable[tuple[int, Member]]) -> None:
    """Notes the tag, then the steps of the member that has its number."""
    recipe.numbers(tag)
    recipe.note()
    for number, member in members:
        recipe.pick(0)
        recipe.numbers((("CONSTANT", 0, 0, number), ("EQUAL", 0, 0, 0)))
        with recipe.when():
            add_apart(recipe, member.shape, member.offset or 0)
    recipe.drop()


def of_bits(of: ValueType, bit_offset: int, bits: int) -> Scalar:
    """A bit-field, from the byte with its first bit on."""
    first = bit_offset % 8
    return Scalar(replace(of, bits=(first, bits)), (first + bits + 7) // 8)
