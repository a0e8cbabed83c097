"""Types of one module: by name, or of a DIE. What they are is in model.py."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from elftools.dwarf.die import DIE

from strobe.model import ValueType
from strobe.symbols.dwarf.debug_info import UNNAMED, DebugInfo
from strobe.symbols.dwarf.dies import around, in_types, is_type_unit, target, text
from strobe.symbols.dwarf.rows import TypeRow
from strobe.symbols.dwarf.units import UnitFinder
from strobe.symbols.later import Later
from strobe.symbols.types.model import VOID, Enum, Record, Type, Typedef
from strobe.symbols.types.names import is_instance, spellings
from strobe.symbols.types.reader import TypeReader
from strobe.symbols.types.value_types import value_type

_CLASS, _STRUCTURE, _UNION, _ENUM, _INTERFACE = 0x02, 0x13, 0x17, 0x04, 0x38
_CLASSES = frozenset({_CLASS, _STRUCTURE, _INTERFACE})
_KEYWORDS = {
    "struct": _CLASSES,
    "class": _CLASSES,
    "union": frozenset({_UNION}),
    "enum": frozenset({_ENUM}),
}
_TAGS = {
    "DW_TAG_class_type": _CLASSES,
    "DW_TAG_structure_type": _CLASSES,
    "DW_TAG_interface_type": _CLASSES,
    "DW_TAG_union_type": frozenset({_UNION}),
    "DW_TAG_enumeration_type": frozenset({_ENUM}),
}
_MAX_INSTANCES = 200


class Types:
    """All types of one module, read when asked for. Threads may share it.

    Everything raises one of UNREADABLE where debug information is damaged.
    """

    def __init__(self, debug_info: DebugInfo) -> None:
        self._debug_info = debug_info
        self._known: dict[tuple[int, bool, int], Type] = {}

    def of_die(self, die: DIE | None) -> Type:
        """The type that a DIE describes, as DW_AT_type refers to one; None is void."""
        if die is None:
            return VOID
        with self._dwarf.lock:
            key = _key(die)
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._read(die)
            return found

    def find(self, name: str) -> list[Type]:
        """Defined types called `name`: qualified, or only its last parts, with `struct`, `enum`, … before it or not.

        Those of exactly that name come first, records and enums before typedefs; typedefs are not followed. A template
        without arguments stands for all its instances, 200 at most.
        """
        keyword, _, rest = name.strip().partition(" ")
        tags = None if rest.startswith("{") else _KEYWORDS.get(keyword)  # Go has types called `struct { F uintptr }`
        wanted = name.strip() if tags is None else rest.strip()
        rows = [row for row in self._rows(wanted) if tags is None or row.tag in tags]
        rows.sort(key=lambda row: (row.name != wanted, len(row.name)))
        found = [self.of_die(self._row_die(row)) for row in rows]
        own = [type_ for type_ in found if isinstance(type_, (Record, Enum))]
        others = [type_ for type_ in found if not isinstance(type_, (Record, Enum)) and not _renames(type_, own)]
        return sorted(own + others, key=lambda type_: type_.name != wanted)

    def names(self) -> list[str]:
        """Qualified names of all defined types; a struct and a typedef of one name make it come twice."""
        return self._debug_info.named.types.names()

    def _rows(self, wanted: str) -> list[TypeRow]:
        if not wanted:
            return []
        rows = [row for name in spellings(wanted) for row in self._debug_info.find_types(name)]
        if rows or "<" in wanted:
            return rows
        every = self._debug_info.named.types
        instances = (number for number, name in enumerate(self.names()) if is_instance(name, wanted))
        return [every.row(number) for number in islice(instances, _MAX_INSTANCES)]

    def value_type(self, die: DIE | None) -> ValueType:
        """How a parameter or result of that type is shown."""
        return value_type(self.of_die(die))

    @property
    def _dwarf(self) -> UnitFinder:
        dwarf: UnitFinder = self._debug_info.dwarf
        return dwarf

    def _read(self, die: DIE) -> Type:
        if "DW_AT_signature" in die.attributes:
            try:  # it stands for the type of a type unit
                elsewhere = target(die, "DW_AT_signature")
            except KeyError:
                elsewhere = None
            if elsewhere is not None and "DW_AT_signature" not in elsewhere.attributes:
                return self.of_die(elsewhere)
        return TypeReader(self._name_of, self._link, self._definition, self._dwarf.lock).read(die)

    def _link(self, die: DIE | None) -> Later[Type]:
        return Later(lambda: self.of_die(die), self._dwarf.lock)

    def _name_of(self, die: DIE) -> str:
        name = _spelled(die) if in_types(die) else self._debug_info.qualified_name(die.offset)
        if UNNAMED in name and is_type_unit(die):
            name = _spelled(die)
        return "" if name.endswith(UNNAMED) else name

    def _definition(self, die: DIE, name: str) -> DIE | None:
        """Another unit's: C and C++ have one definition of each name, save for types that are local to a file."""
        tags = _TAGS[str(die.tag)]
        rows = (row for row in self._debug_info.find_types(name) if row.name == name and row.tag in tags)
        found = next(rows, None)
        return None if found is None else self._row_die(found)

    def _row_die(self, row: TypeRow) -> DIE:
        find = self._dwarf.types_die if row.in_types else self._dwarf.get_DIE_from_refaddr
        with self._dwarf.lock:
            return find(row.die_offset)


def _key(die: DIE) -> tuple[int, bool, int]:
    return id(die.dwarfinfo), in_types(die), die.offset


def _renames(type_: Type, own: Sequence[Type]) -> bool:
    """Whether it is the typedef of `typedef struct Foo Foo`."""
    return isinstance(type_, Typedef) and any(type_.name == other.name and type_.bare is other for other in own)


def _spelled(die: DIE) -> str:
    """Qualified name in a type unit, or one of dwz: those are small, so a DIE's parent is soon found.

    Around a nested type gcc puts its class as a DIE with nothing but the signature of that one's type unit.
    """
    home = target(die, "DW_AT_specification") or die
    return "::".join(reversed([_own_name(scope) for scope in (die, *around(home))]))


def _own_name(scope: DIE) -> str:
    declared = scope if text(scope) else target(scope, "DW_AT_signature") or target(scope, "DW_AT_specification")
    return text(declared or scope) or ("(anonymous namespace)" if scope.tag == "DW_TAG_namespace" else UNNAMED)
