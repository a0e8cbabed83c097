"""Shapes of a few values as Rust has them: durations, trait objects, flags."""

from __future__ import annotations

import re

from strobe.dataclass import dataclass
from strobe.values.decode.shapes import Decoding, Part, Shape, problem
from strobe.values.memory.recipes import Recipe, Steps
from strobe.values.model import PointerTo, Quantity, Shown

_VTABLE = re.compile(r"<(.*?) as (?:.*)>::\{vtable\}")
_NANOS = 10**9


@dataclass(frozen=True)
class Span(Shape):
    """Seconds and nanoseconds: "1.5s", "20ms"."""

    seconds: Steps
    nanos: Steps
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        for number in (self.seconds, self.nanos):
            recipe.numbers(number)
            recipe.note()
            recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        seconds, nanos = decoding.next(), decoding.next()
        bad = next((item for item in (seconds, nanos) if not item.is_there), None)
        return _quantity(seconds.number * _NANOS + nanos.number) if bad is None else problem(bad)


def _quantity(nanos: int) -> Quantity:
    """In the largest unit of which there is one."""
    for unit, size in (("s", _NANOS), ("ms", 10**6), ("µs", 1000)):
        if nanos >= size:
            whole, rest = divmod(nanos, size)
            digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0")
            return Quantity(f"{whole}.{digits}" if digits else whole, unit)
    return Quantity(nanos, "ns")


@dataclass(frozen=True)
class TraitObject(Shape):
    """A pointer to what has the type that the vtable is named after."""

    pointer: Steps
    vtable: Steps
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        for number in (self.pointer, self.vtable):
            recipe.numbers(number)
            recipe.note()
            recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        pointer, vtable = decoding.next(), decoding.next()
        bad = next((item for item in (pointer, vtable) if not item.is_there), None)
        if bad is not None:
            return problem(bad)
        name = decoding.name_at(vtable.number) or ""
        concrete = _VTABLE.fullmatch(name)
        return PointerTo(pointer.number, decoding.name_at(pointer.number) if concrete is None else concrete[1])


@dataclass(frozen=True)
class Flag(Shape):
    """A number that is true or false."""

    number: Steps
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        recipe.numbers(self.number)
        recipe.note()
        recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        item = decoding.next()
        return bool(item.number) if item.is_there else problem(item)
