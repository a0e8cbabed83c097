"""From a description and a record to its shape. Missing is raised where the record is not what the description says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from strobe.symbols.types import model as types
from strobe.symbols.types.model import Field
from strobe.values.decode.shapes import Nothing, Scalar, Shape
from strobe.values.decode.structures import Member, Structure, Tagged
from strobe.values.memory.recipes import Steps
from strobe.values.printers import containers, nodes, objects, texts, wrappers
from strobe.values.printers.description import Description
from strobe.values.printers.formula import Formula, Path
from strobe.values.printers.members import (
    Found,
    Members,
    Missing,
    alignment_of,
    argument,
    arguments,
    constant_of,
    leaves,
    size_of,
)
from strobe.values.printers.names import short

_T = TypeVar("_T")
_BEYOND = "<struct>"
UNUSED = 0x80  # of the byte of a slot


class Shaper(Protocol):
    """Makes the shapes of parts."""

    def shape(self, type_: types.Type, depth: int) -> Shape:
        """The shape of a type, `depth` structs deep. Raises Missing."""

    def field(self, field: Field, depth: int) -> Shape:
        """The shape of a member, bit-fields included. Raises Missing."""

    def forms(self, record: types.Record, depth: int) -> Shape:
        """Of a Rust enum."""

    def plain(self, record: types.Record, depth: int) -> Shape:
        """Of a structure by its members, whatever a description says of it."""


class Building:
    """One description applied to one record."""

    def __init__(self, described: Description, record: types.Record, shaper: Shaper, depth: int) -> None:
        self._described = described
        self._record = record
        self._shaper = shaper
        self._depth = depth
        self._members = Members(record)
        self._name = short(record.name)
        self._size = record.size or 0

    def shape(self) -> Shape:
        """Raises Missing."""
        make: Callable[[], Shape] = getattr(self, f"_{self._described.layout}")
        return make()

    def _text(self) -> Shape:
        element = self._type("element") if self._has("element") else self._default_element()
        width = size_of(element)
        if width not in (1, 2, 4):
            raise Missing(f"{element.name} is not a character")
        self._members.element = element
        valid, start, count = self._number("valid"), self._number("start"), self._number("count")
        if not count:
            return texts.EndedText(width, valid, start, self._size)
        return texts.CountedText(self._name, width, valid, start, count, self._size)

    def _sequence(self) -> Shape:
        common = self._container()
        return containers.Sequence(*common, self._number("start"), size_of(self._members.element))

    def _list(self) -> Shape:
        common = self._container()
        first, end, next_ = self._number("first"), self._number("end"), constant_of(self._number("next"))
        return containers.Chain(*common, first, end, next_, self._in_node())

    def _tree(self) -> Shape:
        common = self._container()
        first, end = self._number("first"), self._number("end")
        return containers.Tree(*common, first, end, self._only("links"), self._in_node())

    def _slots(self) -> Shape:
        common = self._container()
        size = size_of(self._members.element)
        unused = constant_of(self._number("unused")) if self._has("unused") else UNUSED
        stride = constant_of(self._number("stride")) if self._has("stride") else size
        at = constant_of(self._number("at")) if self._has("at") else 0
        return containers.Slots(*common, self._number("control"), self._number("slots"), unused, stride, at)

    def _blocks(self) -> Shape:
        common = self._container()
        blocks, first, per = (self._number(name) for name in ("blocks", "first", "per"))
        return containers.Blocks(*common, blocks, first, per, size_of(self._members.element))

    def _ring(self) -> Shape:
        common = self._container()
        start, first, places = (self._number(name) for name in ("start", "first", "places"))
        return nodes.Ring(*common, start, first, places, size_of(self._members.element))

    def _btree(self) -> Shape:
        node = self._type("element").bare
        if not isinstance(node, types.Record):
            raise Missing(f"{node.name} is not a node")
        links = [constant_of(self._number(name)) for name in ("parent", "index", "keys", "children")]
        if any(link >> 16 for link in links):
            raise Missing("a node is too large")
        parts = tuple(self._keys(name, Members(node)) for name in ("key", "mapped") if self._has(name))
        root, height, count = (self._number(name) for name in ("root", "height", "count"))
        common = (self._name, Nothing(""), self._has("mapped"), self._number("valid"), count, self._size)
        return nodes.KeyTree(*common, root, height, (links[0], links[1], links[2], links[3]), parts)

    def _keys(self, name: str, node: Members) -> tuple[int, int, Shape]:
        """Where the first one of a node lies, how far it is to the next, and its shape."""
        found = self._first(name, node.locate)
        return found.offset, size_of(found.type), self._shaper.shape(found.type, self._depth)

    def _trait(self) -> Shape:
        return objects.TraitObject(self._number("pointer"), self._number("vtable"), self._size)

    def _flag(self) -> Shape:
        return objects.Flag(self._number("number"), self._size)

    def _span(self) -> Shape:
        return objects.Span(self._number("seconds"), self._number("nanos"), self._size)

    def _forms(self) -> Shape:
        return self._shaper.forms(self._record, self._depth + 1)

    def _bits(self) -> Shape:
        valid, start, first, count = (self._number(name) for name in ("valid", "start", "first", "count"))
        is_number = self._has("is_number") and self._only("is_number")
        first = first or (("CONSTANT", 0, 0, 0),)
        return texts.BitRow(self._name, valid, start, first, count, is_number, self._size)

    def _value(self) -> Shape:
        return self._of_found(self._locate("value"), self._depth)

    def _pointer(self) -> Shape:
        return self._away(is_shown=True)

    def _reference(self) -> Shape:
        return self._away(is_shown=False)

    def _away(self, is_shown: bool) -> Shape:
        address, alive = self._number("pointer"), self._number("alive")
        target = self._type("target") if self._has("target") else argument(self._record, 0).type
        plain = target.bare
        followed: Shape | None = None
        if isinstance(plain, types.Record) and (plain.is_declaration or self._depth < 1):
            followed = None if is_shown else Nothing(_BEYOND)
        elif target.size and not (is_shown and isinstance(plain, (types.Array, types.Function))):
            followed = self._shaper.shape(target, self._depth)
        elif not is_shown:
            raise Missing("nothing is known of what it stands for")
        return wrappers.Away(address, alive, followed, id(plain), is_shown, self._size)

    def _optional(self) -> Shape:
        found = self._locate("value")
        if not found.is_inline:
            raise Missing("its value lies elsewhere")
        type_ = self._type("type_of_value") if self._has("type_of_value") else found.type
        inner = self._shaper.shape(type_, self._depth)
        absent = self._only("absent") if self._has("absent") else "nullopt"
        return wrappers.Maybe(self._number("present"), inner, found.offset, absent, self._size)

    def _variant(self) -> Shape:
        storage = self._locate("storage")
        if not storage.is_inline:
            raise Missing("its storage lies elsewhere")
        none = constant_of(self._number("none")) if self._has("none") else -1
        members = [
            Member(short(one.type.name), storage.offset, self._shaper.shape(one.type, self._depth))
            for one in arguments(self._record)
            if one.is_type
        ]
        index = self._number("index")
        return wrappers.OneOf(self._name, index, tuple(members), none & ((1 << 64) - 1), self._size)

    def _tagged(self) -> Shape:
        whole = self._shaper.plain(self._record, self._depth)
        if not isinstance(whole, Structure):
            return whole  # it is beyond the depth
        wanted = [(self._tag(key), path) for key, path in self._only("members")]
        found = {path: self._members.locate(path) for _, path in wanted}
        if any(not one.is_inline or one.bits is not None for one in found.values()):
            raise Missing("a member of the union lies elsewhere")
        apart = tuple(
            (tag, Member(path.hops[-1].name, found[path].offset, self._shaper.shape(found[path].type, self._depth - 1)))
            for tag, path in wanted
        )
        outermost = {path.hops[0].name for _, path in wanted}
        kept = [member for member in whole.members if member.name not in outermost and not _spreads(member, outermost)]
        tagged = Member("union", 0, Tagged(self._name, self._number("tag"), apart, self._size), is_spread=True)
        return Structure(self._name, (*kept, tagged), self._size)

    def _tag(self, key: int | str) -> int:
        """The number of a tag, which may be given by its enumerator, as a formula has it: without a sign."""
        (formula,) = self._described.keys["tag"]
        type_ = self._members.locate(formula).type if isinstance(formula, Path) else None
        mask = (1 << 8 * ((None if type_ is None else type_.size) or 8)) - 1
        if isinstance(key, int):
            return key & mask
        enum = None if type_ is None else type_.bare
        for one in enum.enumerators if isinstance(enum, types.Enum) else ():
            if one.name == key:
                return one.value & mask
        raise Missing(f"its tag has no '{key}'")

    def _tuple(self) -> Shape:
        if self._has("parts"):
            found = [self._members.locate(path) for path in self._only("parts")]
        else:
            found = self._leaves(self._only("leaves"))
        if any(not one.is_inline for one in found):
            raise Missing("a part lies elsewhere")
        parts = tuple((one.offset, self._shaper.shape(one.type, self._depth)) for one in found)
        return wrappers.Together(parts, self._size)

    def _leaves(self, path: Path) -> list[Found]:
        """One for each template argument, where these are known: a base class without a field would be left out."""
        home = self._members.locate(Path(path.hops[:-1]))
        plain = home.type.bare
        if not home.is_inline or not isinstance(plain, types.Record):
            raise Missing(f"{plain.name} has no base classes")
        found = sorted(leaves(plain, path.hops[-1].name, home.offset), key=lambda pair: pair[0])
        count = len(arguments(self._record)) or len(found)
        if [number for number, _ in found] != list(range(count)):
            raise Missing("not every element is there")
        return [one for _, one in found]

    def _quantity(self) -> Shape:
        found, ratio = self._locate("value"), self._type("ratio")
        numerator, denominator = (argument(ratio, index).value for index in (0, 1))
        if not found.is_inline or not isinstance(numerator, int) or not isinstance(denominator, int):
            raise Missing(f"{ratio.name} is not a ratio")
        is_date = self._has("clock") and self._type("clock").name.endswith("system_clock")
        inner = self._shaper.shape(found.type, self._depth)
        return wrappers.Amount(inner, found.offset, numerator, denominator, is_date, self._size)

    def _words(self) -> Shape:
        words = self._only("words") if self._has("words") else ()
        otherwise = self._only("otherwise") if self._has("otherwise") else ""
        return wrappers.Word(self._number("number"), words, otherwise, self._size)

    def _function(self) -> Shape:
        again = self._only("again") if self._has("again") else ""
        return wrappers.Callee(self._number("code"), self._number("stored"), self._only("pattern"), self._size, again)

    def _fields(self) -> Shape:
        members = tuple(self._field(name, wanted) for name, wanted in self._only("fields"))
        if self._depth < 1 and not all(_is_plain(member.shape) for member in members):
            return Nothing(_BEYOND)
        return Structure(self._name, members, self._size)

    def _field(self, name: str, wanted: Formula) -> Member:
        if not isinstance(wanted, Path) or wanted.is_address:
            return Member(name, 0, wrappers.Computed(self._members.number(wanted)))
        found = self._members.locate(wanted)
        if found.bits is not None:
            offset = found.offset + (found.bits.offset or 0)
            return Member(name, offset, self._shaper.field(found.bits, self._depth - 1))
        return Member(name, 0, self._of_found(found, self._depth - 1))

    def _of_found(self, found: Found, depth: int) -> Shape:
        inner = self._shaper.shape(found.type, depth)
        if found.is_inline:
            return wrappers.Inner(inner, found.offset, self._size)
        *before, last = found.offsets
        away = tuple(("DEREF", 0, 0, offset) for offset in before)
        address = (("SAVE", 0, 0, 0), *away, ("LOCATION", 0, 0, last), ("RESTORE", 0, 0, 0))
        return wrappers.Away(address, (), inner, id(found.type.bare), False, self._size)

    def _container(self) -> tuple[str, Shape, bool, Steps, Steps, int]:
        """What all containers have."""
        element = self._type("element") if self._has("element") else self._default_element()
        self._members.element = element
        shape = self._element(element)
        return self._name, shape, self._has("mapped"), self._number("valid"), self._number("count"), self._size

    def _element(self, element: types.Type) -> Shape:
        paths = [name for name in ("key", "mapped", "item") if self._has(name)]
        if not paths:
            return self._shaper.shape(element, self._depth)
        plain = element.bare
        if not isinstance(plain, types.Record):
            raise Missing(f"{plain.name} has no members")
        found = [self._first(name, Members(plain).locate) for name in paths]
        if any(not one.is_inline for one in found):
            raise Missing("a part of an element lies elsewhere")
        parts = tuple((one.offset, self._shaper.shape(one.type, self._depth)) for one in found)
        return containers.Entry(parts, size_of(element))

    def _default_element(self) -> types.Type:
        return argument(self._record, 0).type

    def _in_node(self) -> int:
        """Where an element begins in its node: as far behind the links as its alignment asks for."""
        element = self._members.element
        alignment = 1 if element is None else alignment_of(element)
        return -(-constant_of(self._number("at")) // alignment) * alignment

    def _has(self, name: str) -> bool:
        return name in self._described.keys

    def _only(self, name: str) -> Any:
        return self._described.keys[name][0]

    def _number(self, name: str) -> Steps:
        return self._first(name, self._members.number) if self._has(name) else ()

    def _locate(self, name: str) -> Found:
        return self._first(name, self._members.locate)

    def _type(self, name: str) -> types.Type:
        return self._first(name, self._members.type)

    def _first(self, name: str, find: Callable[[Any], _T]) -> _T:
        """Of the first alternative that the record has."""
        missing = Missing(f"it has no '{name}'")
        for one in self._described.keys[name]:
            try:
                return find(one)
            except Missing as error:
                missing = error
        raise missing


def _spreads(member: Member, names: set[str]) -> bool:
    """Whether it is an unnamed union with one of these members."""
    inner = member.shape.members if member.is_spread and isinstance(member.shape, Structure) else ()
    return any(one.name in names for one in inner)


def _is_plain(shape: Shape) -> bool:
    return isinstance(shape, Scalar) or (isinstance(shape, wrappers.Inner) and isinstance(shape.inner, Scalar))
