"""Shapes of containers as Rust has them: rings, and trees whose nodes have many keys."""

from __future__ import annotations

from strobe.dataclass import dataclass
from strobe.values.decode.shapes import Decoding, Part, Shape, add_read, read_value
from strobe.values.memory.recipes import Recipe, Steps
from strobe.values.model import Problem, Shown
from strobe.values.printers.containers import MAX_ELEMENTS, Container, Numbered, trouble_of

_LOCATION, _TURN, _SLOT = ("LOCATION", 0, 0, 0), ("TURN", 0, 0, 0), ("SLOT", 0, 0, 0)
_PLUS, _TIMES, _MODULO = ((name, 0, 0, 0) for name in ("PLUS", "TIMES", "MODULO"))


@dataclass(frozen=True)
class Ring(Numbered):
    """Elements from `start` on, where number `first` is the first one and 0 follows the last of all `places`."""

    start: Steps
    first: Steps
    places: Steps
    stride: int

    def bases(self) -> tuple[Steps, ...]:
        return self.start, self.first, self.places

    def add_element(self, recipe: Recipe) -> None:
        recipe.numbers((_pick(2), _pick(2), _TURN, _PLUS, _pick(2), _MODULO))
        recipe.numbers((("CONSTANT", 0, 0, self.stride), _TIMES, _PLUS))
        recipe.go()
        add_read(recipe, self.element)


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
                recipe.numbers((_LOCATION, ("CONSTANT", 0, 0, first), _PLUS))
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
