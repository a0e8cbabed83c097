"""Shapes of containers as Rust has them: rings, and trees whose nodes have many keys."""

from __future__ import annotations

from dataclasses import dataclass

from strobe.values.model import Problem, Shown
from strobe.values.printers.containers import MAX_ELEMENTS, Container, trouble_of
from strobe.values.recipes import Recipe, Steps
from strobe.values.shapes import Decoding, Part, Shape, add_read, problem, read_value

_PLACE, _TURN, _SLOT = ("PLACE", 0, 0, 0), ("TURN", 0, 0, 0), ("SLOT", 0, 0, 0)
_PLUS, _TIMES, _MODULO = ((name, 0, 0, 0) for name in ("PLUS", "TIMES", "MODULO"))


@dataclass(frozen=True)
class Ring(Container):
    """Elements from `start` on, where number `first` is the first one and 0 follows the last of all `places`."""

    start: Steps
    first: Steps
    places: Steps
    stride: int

    @property
    def is_noted(self) -> bool:
        return False

    def add_walk(self, recipe: Recipe) -> None:
        for number in (self.start, self.first, self.places, self.count):
            recipe.numbers(number)
        recipe.note()
        with recipe.looped("REPEAT_MANY", MAX_ELEMENTS):
            self._add_element(recipe)
        for _ in range(3):
            recipe.drop()

    def _add_element(self, recipe: Recipe) -> None:
        """With start, first and places as the top numbers, which stay."""
        recipe.numbers((_pick(2), _pick(2), _TURN, _PLUS, _pick(2), _MODULO))
        recipe.numbers((("CONSTANT", 0, 0, self.stride), _TIMES, _PLUS))
        recipe.go()
        add_read(recipe, self.element)

    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        count = decoding.next()
        turns = range(min(count.number, MAX_ELEMENTS))
        elements = [read_value(self.element, decoding, f"{part.name}[{at}]", None) for at in turns]
        return elements, count.number, None if count.is_there else problem(count)


@dataclass(frozen=True)
class KeyTree(Container):
    """A B-tree. `links`: where in a node its parent, its index there, its count of keys and its children are.

    `parts` of a key: where the first one of a node lies, how far the next one is, and its shape; one or two.
    """

    root: Steps
    height: Steps
    links: tuple[int, int, int, int]
    parts: tuple[tuple[int, int, Shape], ...]

    def add_walk(self, recipe: Recipe) -> None:
        parent, index, keys, children = self.links
        recipe.numbers(self.height)
        recipe.numbers(self.root)
        recipe.go()
        with recipe.looped("BTREE", MAX_ELEMENTS, parent | index << 16 | keys << 32 | children << 48):
            for first, stride, shape in self.parts:
                recipe.save()
                recipe.numbers((_PLACE, ("CONSTANT", 0, 0, first), _PLUS))
                recipe.numbers((_SLOT, ("CONSTANT", 0, 0, stride), _TIMES, _PLUS))
                recipe.go()
                add_read(recipe, shape)
                recipe.restore()

    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        nodes = decoding.next()
        elements = [self._element(f"{part.name}[{at}]", decoding) for at in range(min(nodes.number, MAX_ELEMENTS))]
        return elements, nodes.number, trouble_of(nodes)

    def _element(self, name: str, decoding: Decoding) -> Shown:
        found = tuple(read_value(shape, decoding, name, None) for _, _, shape in self.parts)
        return found if self.is_map else found[0]


def _pick(depth: int) -> tuple[str, int, int, int]:
    """The number with that many others above it."""
    return ("PICK", 0, depth, 0)
