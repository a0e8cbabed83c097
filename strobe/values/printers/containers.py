"""Shapes of containers: how many elements there are is in memory. The first 100 are read.

A container reads nothing of itself but by its formulas, whose numbers are items: what is decoded is what was read.
"""

from __future__ import annotations

from abc import abstractmethod

from strobe.dataclass import dataclass
from strobe.limits import NODES_COUNTED
from strobe.values.decode.shapes import Decoding, Part, Shape, add_read, problem, read_value
from strobe.values.decode.structures import add_apart
from strobe.values.memory.recipes import CUT, OK, Item, Recipe, Steps
from strobe.values.model import Problem, Rows, Shown, mapping
from strobe.values.printers.conditions import MOST, add_if, none_of, refusal

MAX_ELEMENTS = 100
_LOCATION, _TURN = ("LOCATION", 0, 0, 0), ("TURN", 0, 0, 0)
_PLUS, _TIMES, _DIVIDED, _MODULO = ((name, 0, 0, 0) for name in ("PLUS", "TIMES", "DIVIDED", "MODULO"))


@dataclass(frozen=True)
class Entry(Shape):
    """An element that is shown by its parts: a key and what it leads to, or one part alone."""

    parts: tuple[tuple[int, Shape], ...]
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        for offset, shape in self.parts:
            add_apart(recipe, shape, offset)

    def value(self, part: Part, decoding: Decoding) -> Shown:
        found = tuple(shape.value(part.at(offset, part.name), decoding) for offset, shape in self.parts)
        return found if len(found) > 1 else found[0]


@dataclass(frozen=True)
class Container(Shape):
    """`valid`: a number, 0 where what memory holds is none of this type. `count`: elements; empty where only the walk
    knows. `is_map`: elements are Entries with a key."""

    type_name: str
    element: Shape
    is_map: bool
    valid: Steps
    count: Steps
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_if(recipe, self.valid, lambda: self._add_counted(recipe))

    @property
    def is_noted(self) -> bool:
        """Whether the count is an item before the walk, whose own it is to agree with."""
        return bool(self.count)

    def _add_counted(self, recipe: Recipe) -> None:
        if self.is_noted:
            recipe.numbers(self.count)
            recipe.note()
            recipe.drop()
        recipe.save()
        self.add_walk(recipe)
        recipe.restore()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        refused = refusal(self.valid, self.type_name, decoding)
        if refused is not None:
            return refused
        noted = decoding.next() if self.is_noted else None
        elements, counted, trouble = self.walked(part, decoding)
        total = counted if noted is None else noted.number
        shown = len(elements)
        if noted is not None and not noted.is_there:
            return problem(noted)
        if total > MOST:
            return none_of(self.type_name)
        if trouble is None and shown != min(total, MAX_ELEMENTS):
            trouble = Problem(f"<broken: it has {shown} elements, not {total}>")
        if trouble is not None and not elements:
            return trouble
        return self._together(elements, max(total, shown), trouble)

    def _together(self, elements: list[Shown], total: int, trouble: Problem | None) -> Shown:
        if self.is_map:
            return mapping(elements, total, trouble)
        return Rows(elements if trouble is None else [*elements, trouble], total)

    @abstractmethod
    def add_walk(self, recipe: Recipe) -> None:
        """The steps to all elements from the container's location on."""

    @abstractmethod
    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        """Elements, how many there are as far as the walk knows, what ended it."""

    def _read_nodes(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        """Of a loop with an item, and an item for each element."""
        nodes = decoding.next()
        turns = range(min(nodes.number, MAX_ELEMENTS))
        elements = [read_value(self.element, decoding, f"{part.name}[{at}]", None) for at in turns]
        trouble = trouble_of(nodes)
        if nodes.status == CUT and not self.count:
            trouble = Problem(f"<more than {nodes.number}, or a cycle>")
        while trouble is not None and elements and isinstance(elements[-1], Problem):
            elements.pop()  # the node that could not be read is what ended it
        return elements, nodes.number, trouble


@dataclass(frozen=True)
class Sequence(Container):
    """Elements one after the other from `start` on."""

    start: Steps
    stride: int

    @property
    def is_noted(self) -> bool:
        return False

    def add_walk(self, recipe: Recipe) -> None:
        recipe.numbers(self.count)
        recipe.note()
        recipe.numbers(self.start)
        recipe.go()
        recipe.read_many(MAX_ELEMENTS, self.stride, or_fewer=True)
        if self.element.has_steps:
            with recipe.looped("REPEAT_MANY", MAX_ELEMENTS, self.stride):
                self.element.add_steps(recipe)
        else:
            recipe.drop()

    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        count, block = decoding.next(), decoding.next()
        shown = min(count.number, MAX_ELEMENTS)
        whole = Part(block.data.ljust(shown * self.stride, b"\0"), 0, block.address, part.name)
        parts = (whole.at(at * self.stride, f"{part.name}[{at}]") for at in range(shown))
        elements = [self.element.value(item, decoding) for item in parts]
        bad = count if not count.is_there else block if shown and not block.is_there else None
        if bad is not None:
            return [], count.number, problem(bad)
        if block.status == CUT:
            return elements[: len(block.data) // self.stride], count.number, problem(block)
        return elements, count.number, None


@dataclass(frozen=True)
class Chain(Container):
    """Nodes that each know the next one, at `next`; null or `end` is behind the last. An element lies in its node."""

    first: Steps
    end: Steps
    next: int
    at: int

    def add_walk(self, recipe: Recipe) -> None:
        recipe.numbers((_constant(MAX_ELEMENTS if self.count else NODES_COUNTED),))
        recipe.numbers(self.end or (_constant(0),))
        recipe.numbers(self.first)
        recipe.go()
        with recipe.looped("CHAIN", MAX_ELEMENTS, self.next):
            recipe.add(self.at)
            add_read(recipe, self.element)

    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        return self._read_nodes(part, decoding)


@dataclass(frozen=True)
class Tree(Container):
    """A binary tree in its order. `links`: where in a node left, right and parent are; `end` is above the root."""

    first: Steps
    end: Steps
    links: tuple[int, int, int]
    at: int

    def add_walk(self, recipe: Recipe) -> None:
        left, right, parent = self.links
        recipe.numbers(self.end)
        recipe.numbers(self.first)
        recipe.go()
        with recipe.looped("TREE", MAX_ELEMENTS, left | right << 16 | parent << 32):
            recipe.add(self.at)
            add_read(recipe, self.element)

    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        return self._read_nodes(part, decoding)


@dataclass(frozen=True)
class Slots(Container):
    """A table with a byte for each slot, from `control` on; one that has bits of `unused` says that it is empty.

    The element of slot n lies at control + n * stride + at.
    """

    control: Steps
    slots: Steps
    unused: int
    stride: int
    at: int

    def add_walk(self, recipe: Recipe) -> None:
        recipe.numbers(self.slots)
        recipe.numbers(self.control)
        recipe.go()
        with recipe.looped("SLOTS", MAX_ELEMENTS, self.stride, self.unused):
            recipe.add(self.at)
            add_read(recipe, self.element)

    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        return self._read_nodes(part, decoding)


class Numbered(Container):
    """Elements whose locations follow from their numbers."""

    @property
    def is_noted(self) -> bool:
        return False

    def add_walk(self, recipe: Recipe) -> None:
        numbers = self.bases()
        for number in (*numbers, self.count):
            recipe.numbers(number)
        recipe.note()
        with recipe.looped("REPEAT_MANY", MAX_ELEMENTS):
            self.add_element(recipe)
        for _ in numbers:
            recipe.drop()

    def walked(self, part: Part, decoding: Decoding) -> tuple[list[Shown], int, Problem | None]:
        count = decoding.next()
        turns = range(min(count.number, MAX_ELEMENTS))
        elements = [read_value(self.element, decoding, f"{part.name}[{at}]", None) for at in turns]
        return elements, count.number, None if count.is_there else problem(count)

    @abstractmethod
    def bases(self) -> tuple[Steps, ...]:
        """The numbers that its location is calculated with."""

    @abstractmethod
    def add_element(self, recipe: Recipe) -> None:
        """With these as the top numbers, which stay."""


@dataclass(frozen=True)
class Blocks(Numbered):
    """Elements in blocks of `per`, which the pointers from `blocks` on lead to; the first element is number `first`."""

    blocks: Steps
    first: Steps
    per: Steps
    stride: int

    def bases(self) -> tuple[Steps, ...]:
        return self.blocks, self.per, self.first

    def add_element(self, recipe: Recipe) -> None:
        recipe.numbers((_TURN, _pick(1), _PLUS))  # now that number and, below it: first, per, blocks
        recipe.numbers((_pick(3), _pick(1), _pick(4), _DIVIDED, _constant(8), _TIMES, _PLUS))
        recipe.go()
        recipe.dereference()
        recipe.numbers((_pick(2), _MODULO, _constant(self.stride), _TIMES, _LOCATION, _PLUS))
        recipe.go()
        add_read(recipe, self.element)


def _constant(value: int) -> tuple[str, int, int, int]:
    return ("CONSTANT", 0, 0, value)


def _pick(depth: int) -> tuple[str, int, int, int]:
    """The number with that many others above it."""
    return ("PICK", 0, depth, 0)


def trouble_of(nodes: Item) -> Problem | None:
    """Why the nodes of a container could not be followed; None where they could."""
    return None if nodes.status in (OK, CUT) else problem(nodes)
