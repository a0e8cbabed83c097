"""Shapes of what stands for one value, or for none: smart pointers, optionals, variants, tuples, durations, locks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from strobe.dataclass import dataclass
from strobe.values.decode.shapes import Decoding, Part, Shape, add_read, pointed, problem, read_value
from strobe.values.decode.structures import Member, add_apart, add_chosen
from strobe.values.memory.recipes import NULL, Recipe, Steps
from strobe.values.model import PointerTo, Quantity, Record, Shown, Tuple
from strobe.values.printers.conditions import add_if, none_of

if TYPE_CHECKING:
    from strobe.symbols.select.linear_regex import LinearRegex

_UNITS = {
    (1, 10**9): "ns",
    (1, 10**6): "us",
    (1, 1000): "ms",
    (1, 1): "s",
    (60, 1): "min",
    (3600, 1): "h",
    (86400, 1): "d",
    (604800, 1): " weeks",
    (2629746, 1): " months",
    (31556952, 1): " years",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Inner(Shape):
    """The value of a part of it."""

    inner: Shape
    offset: int
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_apart(recipe, self.inner, self.offset)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        return self.inner.value(part.at(self.offset, part.name), decoding)


@dataclass(frozen=True)
class Away(Shape):
    """A value that lies at `address`. `is_shown`: as a pointer to it; `key` distinguishes types.

    `alive`: 0 where a pointer leads to nothing any more. `target` None: it is not followed.
    """

    address: Steps
    alive: Steps
    target: Shape | None
    key: int
    is_shown: bool
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        recipe.numbers(self.address)
        recipe.note()
        add_if(recipe, self.alive, lambda: self._add_target(recipe))
        recipe.drop()

    def _add_target(self, recipe: Recipe) -> None:
        """With its address as the top number, which stays: what is shown as its address is where the rest is read."""
        if self.target is not None:
            recipe.save()
            recipe.pick(0)
            recipe.go()
            add_read(recipe, self.target)
            recipe.restore()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        pointer = decoding.next()
        address = pointer.number
        if self.alive:
            alive = decoding.next()
            if not alive.is_there or not alive.number:
                return _dead(address) if pointer.is_there and alive.is_there else problem(alive)
        known = decoding.around.get((address, self.key))
        target: Shown = None
        if self.target is not None:
            joint = "->" if self.is_shown else part.joint
            target = read_value(self.target, decoding, part.name, self.key if self.is_shown else None, joint)
        if not pointer.is_there:
            return problem(pointer)
        return pointed(address, target, known, decoding) if self.is_shown else target


def _dead(address: int) -> Shown:
    return "expired" if address else PointerTo(0)


@dataclass(frozen=True)
class Maybe(Shape):
    """A value where `present` is not 0."""

    present: Steps
    inner: Shape
    offset: int
    absent: str
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_if(recipe, self.present, lambda: add_apart(recipe, self.inner, self.offset))

    def value(self, part: Part, decoding: Decoding) -> Shown:
        present = decoding.next()
        if not present.is_there:
            return problem(present)
        return self.inner.value(part.at(self.offset, part.name), decoding) if present.number else self.absent


@dataclass(frozen=True)
class OneOf(Shape):
    """One of several types at the same address, the one with the number `index`. `none`: the index of none of them."""

    type_name: str
    index: Steps
    members: tuple[Member, ...]
    none: int
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_chosen(recipe, self.index, enumerate(self.members))

    def value(self, part: Part, decoding: Decoding) -> Shown:
        index = decoding.next()
        if not index.is_there:
            return problem(index)
        if index.number == self.none:
            return "valueless"
        if index.number >= len(self.members):
            return none_of(self.type_name)
        member = self.members[index.number]
        found = member.shape.value(part.at(member.offset or 0, part.name), decoding)
        return Record(self.type_name, {member.name: found})


@dataclass(frozen=True)
class Together(Shape):
    """Parts without names."""

    parts: tuple[tuple[int, Shape], ...]
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        for offset, shape in self.parts:
            add_apart(recipe, shape, offset)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        sources = (
            (part.at(offset, f"{part.name}.{number}"), shape) for number, (offset, shape) in enumerate(self.parts)
        )
        return Tuple(shape.value(source, decoding) for source, shape in sources)


@dataclass(frozen=True)
class Amount(Shape):
    """A number in units of `numerator` / `denominator` seconds. `is_date`: since 1970."""

    inner: Shape
    offset: int
    numerator: int
    denominator: int
    is_date: bool
    size: int

    def value(self, part: Part, decoding: Decoding) -> Shown:
        number = self.inner.value(part.at(self.offset, part.name), decoding)
        if not isinstance(number, (int, float)):
            return number
        if self.is_date and isinstance(number, int):
            return _date(number * self.numerator, self.denominator) or Quantity(number, self._unit)
        return Quantity(number, self._unit)

    @property
    def _unit(self) -> str:
        fraction = f"{self.numerator}" + (f"/{self.denominator}" if self.denominator != 1 else "")
        return _UNITS.get((self.numerator, self.denominator), f" * {fraction} s")


def _date(number: int, denominator: int) -> str | None:
    """2026-11-22T09:30:00.25Z; None where the calendar does not reach."""
    seconds, rest = divmod(number, denominator)
    try:
        date = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return None
    digits = len(str(denominator)) - 1
    fraction = f".{rest * 10**digits // denominator:0{digits}d}".rstrip("0").rstrip(".") if digits else ""
    return f"{date:%Y-%m-%dT%H:%M:%S}{fraction}Z"


@dataclass(frozen=True)
class Word(Shape):
    """What a number means: one of `words`, else `otherwise` with the number in it; the number where that is empty."""

    number: Steps
    words: tuple[tuple[int, str], ...]
    otherwise: str
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        recipe.numbers(self.number)
        recipe.note()
        recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        item = decoding.next()
        if not item.is_there:
            return problem(item)
        number = item.number
        word = next((word for known, word in self.words if known & ((1 << 64) - 1) == number), None)
        if word is None:
            return self.otherwise.format(number) if self.otherwise else number
        return word


@dataclass(frozen=True)
class Callee(Shape):
    """A function object: `pattern` finds the name of what it calls in that of the function at `code`.

    Where that name is a function pointer's type, `stored` is the address of the one that was stored. `again`: the name
    ends where this text comes and then the same name again; it is what the pattern finds where that is empty.
    """

    code: Steps
    stored: Steps
    pattern: str
    size: int
    again: str = ""

    def add_steps(self, recipe: Recipe) -> None:
        for number in (self.code, self.stored or (("CONSTANT", 0, 0, 0),)):
            recipe.numbers(number)
            recipe.note()
            recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        code, stored = decoding.next(), decoding.next()
        if not code.is_there:
            return "empty" if code.status == NULL else problem(code)
        if not code.number:
            return "empty"
        name = decoding.name_at(code.number)
        called = None if name is None else self._called_in(name)
        if called is None:
            return PointerTo(code.number, name)
        if "(*)" in called and stored.is_there and stored.number:
            return PointerTo(stored.number, decoding.name_at(stored.number))
        return called

    def _called_in(self, name: str) -> str | None:
        regex = _regex(self.pattern)
        found = None if regex is None else regex.group_of(name)
        if found is None or not self.again:
            return found
        end = found.rfind(self.again)
        while end >= 0 and not found.startswith(found[:end], end + len(self.again)):
            end = found.rfind(self.again, 0, end)
        return found[:end] if end >= 0 else None


@lru_cache(64)
def _regex(pattern: str) -> LinearRegex | None:
    """None of what an older Strobe recorded, which RE2 does not take."""
    from strobe.symbols.select.linear_regex import LinearRegex, RegexError

    try:
        return LinearRegex(pattern)
    except RegexError:
        return None


@dataclass(frozen=True)
class Computed(Shape):
    """A number that is calculated."""

    number: Steps
    size: int = 0

    def add_steps(self, recipe: Recipe) -> None:
        recipe.numbers(self.number)
        recipe.note()
        recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        item = decoding.next()
        return item.number if item.is_there else problem(item)
