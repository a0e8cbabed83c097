"""What a type is to a read: the steps that fetch it, and how the items they give are put together to a value.

Every shape is a frozen dataclass of plain data: it can be written down, and read where nobody has the program.
A shape adds its steps to a recipe once; the items of a run come in the same order in which its parts are decoded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property

from strobe.dataclass import dataclass
from strobe.limits import TEXT_CHARACTERS
from strobe.model import Text, ValueKind, ValueType
from strobe.timeline.decode import floats
from strobe.timeline.decode.captured import value_of_bytes
from strobe.values.memory.recipes import BROKEN, CUT, FULL, MISSING, NULL, OK, Item, Recipe
from strobe.values.model import Char, PointerTo, Problem, Shown, TextAt, Unread

_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}
_CUT = "…"
TOO_MUCH = Problem("<too much to read at once>")


@dataclass
class Decoding:
    """The items of one run, and the structures that are being decoded: (address, type) -> their name."""

    items: Iterator[Item]
    name_at: Callable[[int], str | None]
    around: dict[tuple[int, int], str]

    def next(self) -> Item:
        """The item of the next step; FULL where the run had no more room."""
        return next(self.items, MISSING)


@dataclass(frozen=True, slots=True)
class Part:
    """`data` from `start` on, which lies at `address`; `name` is how it was reached, with `joint` before a field's."""

    data: bytes
    start: int
    address: int
    name: str
    joint: str = "."

    def take(self, size: int) -> bytes:
        """The first `size` bytes; fewer at the end of the data."""
        return self.data[self.start : self.start + size]

    def at(self, offset: int, name: str | None = None) -> Part:
        """The part that begins `offset` bytes further; `name`: of a member, in place of the whole's."""
        same = name is None
        joint = self.joint if same else "."
        return Part(self.data, self.start + offset, self.address + offset, self.name if name is None else name, joint)


class Shape(ABC):
    """`size`: bytes that it needs at its place."""

    size: int

    @cached_property
    def has_steps(self) -> bool:
        """Whether it reads anything beyond its own bytes."""
        trial = Recipe()
        self.add_steps(trial)
        return bool(trial.code)

    def add_steps(self, recipe: Recipe) -> None:  # noqa: B027 - most need nothing but their bytes
        """What it reads beyond its own bytes; the recipe is at its place, and is there again afterwards."""

    @abstractmethod
    def value(self, part: Part, decoding: Decoding) -> Shown:
        """The value that `part` holds. Takes its items of `decoding`, in the order of its steps."""


class Leading(Shape):
    """A pointer that is followed."""

    def add_steps(self, recipe: Recipe) -> None:
        recipe.save()
        recipe.dereference()
        self.add_target(recipe)
        recipe.restore()

    @abstractmethod
    def add_target(self, recipe: Recipe) -> None:
        """The steps at what it points to."""


@dataclass(frozen=True)
class Scalar(Shape):
    """A number, bool, character or enumerator; `type.bits` of a bit-field count from the first byte."""

    type: ValueType
    size: int

    def value(self, part: Part, decoding: Decoding) -> Shown:
        data = part.take(self.size)
        if self.type.kind is ValueKind.CHAR:
            return Char(int.from_bytes(data, "little"), self.size == 1)
        if self.type.name in floats.QUADRUPLES:
            return floats.quadruple(data)
        found = value_of_bytes(data.ljust(max(8, self.type.size), b"\0"), self.type)
        return "0x" + data[::-1].hex() if found is None and data else found


@dataclass(frozen=True)
class Characters(Shape):
    """An array of characters: text up to its first zero. `size`: of one character more than is shown, at most."""

    width: int
    size: int

    def value(self, part: Part, decoding: Decoding) -> Shown:
        data = part.take(self.size)
        ends = (at for at in range(0, len(data), self.width) if not any(data[at : at + self.width]))
        return text_of(data[: next(ends, None)], self.width)


@dataclass(frozen=True)
class Nothing(Shape):
    """What is not shown: a struct beyond the depth, void."""

    mark: str
    size: int = 0

    def value(self, part: Part, decoding: Decoding) -> Shown:
        return Problem(self.mark)


@dataclass(frozen=True)
class Constant(Shape):
    """A text that is the same each time, whatever was read."""

    text: str
    size: int = 8

    def value(self, part: Part, decoding: Decoding) -> Shown:
        return Text(self.text)


@dataclass(frozen=True)
class Pointer(Shape):
    """An address that is not followed."""

    size: int = 8

    def value(self, part: Part, decoding: Decoding) -> Shown:
        address = int.from_bytes(part.take(8), "little")
        return PointerTo(address, decoding.name_at(address) if address else None)


@dataclass(frozen=True)
class TextPointer(Leading):
    """`char*`: the text it leads to; the address where there is none."""

    width: int
    size: int = 8

    def add_target(self, recipe: Recipe) -> None:
        recipe.text(TEXT_CHARACTERS + 1, self.width)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        item = decoding.next()
        address = int.from_bytes(part.take(8), "little")
        if item.is_there:
            return TextAt(text_of(item.data, self.width, item.status == CUT), address)
        return PointerTo(address) if item.status in (NULL, FULL) else Unread(address)


@dataclass(frozen=True)
class Followed(Leading):
    """A pointer with what it points to, a structure; `key` distinguishes types."""

    target: Shape
    key: int
    size: int = 8

    def add_target(self, recipe: Recipe) -> None:
        add_read(recipe, self.target)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        address = int.from_bytes(part.take(8), "little")
        known = decoding.around.get((address, self.key))
        target = read_value(self.target, decoding, part.name, self.key, "->")
        return pointed(address, target, known, decoding)


def pointed(address: int, target: Shown, known: str | None, decoding: Decoding) -> Shown:
    """A pointer that was followed. `known`: what is already being shown at its address."""
    if known is not None:
        return Problem(f"<circular ref to {known}>")
    if not address:
        return PointerTo(0)
    is_left_out = is_too_much(target)
    return PointerTo(address, decoding.name_at(address), None if is_left_out else target)


@dataclass(frozen=True)
class Referred(Leading):
    """A reference: what it stands for."""

    target: Shape
    size: int = 8

    def add_target(self, recipe: Recipe) -> None:
        add_read(recipe, self.target)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        return read_value(self.target, decoding, part.name, None, part.joint)


def add_read(recipe: Recipe, shape: Shape) -> None:
    """Its bytes as one item, then what it reads beyond these."""
    recipe.read(shape.size)
    shape.add_steps(recipe)


def read_value(shape: Shape, decoding: Decoding, name: str, key: int | None, joint: str = ".") -> Shown:
    """Of what `add_read` has read. Its parts are decoded even where it was not there: their items have to be taken."""
    item = decoding.next()
    data = item.data.ljust(shape.size, b"\0")
    entry = None if key is None or not item.is_there else (item.address, key)
    is_first = entry is not None and entry not in decoding.around
    if entry is not None and is_first:
        decoding.around[entry] = name
    found = shape.value(Part(data, 0, item.address, name, joint), decoding)
    if entry is not None and is_first:
        del decoding.around[entry]
    return found if item.status == OK else problem(item)


def problem(item: Item) -> Problem:
    """Why an item has no value, in words."""
    if item.status == NULL:
        return Problem("Null pointer")
    if item.status in (FULL, CUT):
        return TOO_MUCH
    if item.status == BROKEN:
        return Problem("<broken>")
    return Problem(f"Address not readable: {item.address:#x}")


def is_too_much(value: object) -> bool:
    """Whether there was no room for it."""
    return isinstance(value, Problem) and value == TOO_MUCH


def text_of(data: bytes, width: int, is_cut: bool = False) -> Text:
    """Characters of `width` bytes; what has more than TEXT_CHARACTERS is cut. `is_cut`: there was more already."""
    is_cut = is_cut or len(data) > TEXT_CHARACTERS * width
    whole = data[: min(len(data) // width, TEXT_CHARACTERS) * width]
    text = whole.decode(_ENCODINGS[width], "backslashreplace" if width == 1 else "replace")
    return Text(text + _CUT if is_cut else text)
