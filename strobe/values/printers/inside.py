"""Where the values are that library types hold: elements of sequences, what smart pointers lead to, what cells hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from strobe.dataclass import dataclass
from strobe.symbols.types import model as types
from strobe.symbols.types.names import names_of
from strobe.values.decode.shapes import Shape
from strobe.values.memory.recipes import Steps
from strobe.values.printers.known import Printers
from strobe.values.printers.layouts import UNUSED, Building
from strobe.values.printers.members import Found, Missing, argument, constant_of, size_of

MOST_NODES = 100_000


@dataclass(frozen=True)
class Inside:
    """`address` pushes where the value lies. `condition`: 0 where there is none; empty: there always is one.

    `is_away`: a pointer leads there.
    """

    address: Steps
    type: types.Type
    condition: Steps = ()
    is_away: bool = True


@dataclass(frozen=True)
class Walk:
    """A loop over nodes. `loop`: the step that begins it, which takes the numbers that `bounds` pushes, with this
    `operand` and `width`. `first` pushes where the first node lies. An element of type `type` lies `at` bytes behind
    its node. `valid`: 0 where it is none of this type; empty: always one."""

    loop: str
    bounds: Steps
    first: Steps
    type: types.Type
    valid: Steps
    at: int
    operand: int
    width: int = 0


def element_of(type_: types.Type, printers: Printers, index: Steps) -> Inside | None:
    """Of a container whose elements can be counted to; None where it is none. `index`: steps that push it."""
    return next((found for one in _described(type_, printers) if (found := one.element(index)) is not None), None)


def walk_of(type_: types.Type, printers: Printers) -> Walk | None:
    """Of a container whose elements are found one after the other; None where it is none."""
    return next((found for one in _described(type_, printers) if (found := one.walk()) is not None), None)


def value_in(type_: types.Type, printers: Printers) -> Inside | None:
    """What a smart pointer leads to, or what a wrapper holds; None where it is neither."""
    return next((found for one in _described(type_, printers) if (found := one.value()) is not None), None)


def _described(type_: types.Type, printers: Printers) -> Iterator[_Insides]:
    record = type_.bare
    if not isinstance(record, types.Record) or record.is_declaration:
        return
    for name in names_of(type_):
        for description in printers.of(name):
            yield _Insides(description, record, _NO_SHAPES, 0)


class _NoShapes:
    """Nothing is shaped here."""

    def shape(self, type_: types.Type, depth: int) -> Shape:
        raise Missing("no shape is needed")

    def field(self, field: object, depth: int) -> Shape:
        raise Missing("no shape is needed")

    def forms(self, record: types.Record, depth: int) -> Shape:
        raise Missing("no shape is needed")

    def plain(self, record: types.Record, depth: int) -> Shape:
        raise Missing("no shape is needed")


_NO_SHAPES = _NoShapes()


class _Insides(Building):
    def element(self, index: Steps) -> Inside | None:
        with suppress(Missing):
            if self._described.layout == "sequence":
                return self._counted(index, self._number_of("start"), index)
            if self._described.layout == "ring":
                first, places = self._number_of("first"), self._number_of("places")
                at = (*first, *index, _PLUS, *places, ("MODULO", 0, 0, 0))
                return self._counted(index, self._number_of("start"), at)
            if self._described.layout == "blocks":
                return self._in_block(index)
        return None

    def _in_block(self, index: Steps) -> Inside:
        per, number = self._number_of("per"), (*self._number_of("first"), *index, _PLUS)
        block = (
            *self._number_of("blocks"),
            *number,
            *per,
            ("DIVIDED", 0, 0, 0),
            *_constant(8),
            ("TIMES", 0, 0, 0),
            _PLUS,
        )
        start = (("SAVE", 0, 0, 0), *block, ("GO", 0, 0, 0), ("NUMBER", 8, 0, 0), ("RESTORE", 0, 0, 0))
        return self._counted(index, start, (*number, *per, ("MODULO", 0, 0, 0)))

    def _counted(self, index: Steps, start: Steps, at: Steps) -> Inside:
        element = self._element_type()
        address = (*start, *at, *_constant(size_of(element)), ("TIMES", 0, 0, 0), _PLUS)
        condition = (*index, *self._number_of("count"), ("LESS", 0, 0, 0))
        valid = self._number_of("valid")
        return Inside(address, element, (*valid, *condition, ("AND", 0, 0, 0)) if valid else condition)

    def walk(self) -> Walk | None:
        with suppress(Missing):
            if self._described.layout not in ("list", "tree", "slots"):
                return None
            element = self._element_type()
            valid = self._number_of("valid")
            if self._described.layout == "slots":
                stride = self._stated("stride", size_of(element))
                slots, control = self._number_of("slots"), self._number_of("control")
                unused, at = self._stated("unused", UNUSED), self._stated("at", 0)
                return Walk("SLOTS", slots, control, element, valid, at, stride, unused)
            first, end = self._number_of("first"), self._number_of("end") or _constant(0)
            if self._described.layout == "list":
                bounds = (*_constant(MOST_NODES), *end)
                return Walk("CHAIN", bounds, first, element, valid, self._in_node(), self._stated("next", 0))
            left, right, parent = self._only("links")
            return Walk("TREE", end, first, element, valid, self._in_node(), left | right << 16 | parent << 32)
        return None

    def _stated(self, name: str, otherwise: int) -> int:
        return constant_of(self._number_of(name)) if self._has(name) else otherwise

    def value(self) -> Inside | None:
        with suppress(Missing):
            match self._described.layout:
                case "pointer" | "reference":
                    target = self._type("target") if self._has("target") else argument(self._record, 0).type
                    return Inside(self._number_of("pointer"), target, self._number_of("alive"))
                case "value":
                    return self._at(self._locate("value"), ())
                case "optional":
                    found = self._locate("value")
                    own = self._type("type_of_value") if self._has("type_of_value") else found.type
                    return self._at(Found(found.offsets, own), self._number_of("present"))
        return None

    def _at(self, found: Found, condition: Steps) -> Inside:
        *before, last = found.offsets
        away = tuple(("DEREF", 0, 0, offset) for offset in before)
        address: Steps = (("LOCATION", 0, 0, last),)
        if before:
            address = (("SAVE", 0, 0, 0), *away, *address, ("RESTORE", 0, 0, 0))
        return Inside(address, found.type, condition, bool(before))

    def _element_type(self) -> types.Type:
        element = self._type("element") if self._has("element") else argument(self._record, 0).type
        self._members.element = element
        return element

    def _number_of(self, name: str) -> Steps:
        if self._members.element is None and self._described.layout in _COUNTED:
            self._element_type()
        return self._number(name)


_COUNTED = ("sequence", "ring", "blocks")
_PLUS = ("PLUS", 0, 0, 0)


def _constant(value: int) -> Steps:
    return (("CONSTANT", 0, 0, value),)
