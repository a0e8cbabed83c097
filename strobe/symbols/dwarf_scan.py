"""One pass over the units of .debug_info: concrete functions, inlined sites, and which scope encloses a DIE.

The C++ scanner that is to replace this gives the same rows; everything else of the package builds on `DwarfScan`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from strobe.symbols import dwarf_forms as dw
from strobe.symbols.damage import UNREADABLE
from strobe.symbols.dwarf_forms import Attribute, DamagedDwarf, Layout, Plan

# DIEs whose subtrees hold neither functions nor inlined sites; passed over where the compiler says how long they are
_BARREN = frozenset({dw.TAG_SUBROUTINE_TYPE, dw.TAG_ARRAY, dw.TAG_CALL_SITE, dw.TAG_GNU_CALL_SITE})
_TYPES = frozenset({dw.TAG_STRUCTURE, dw.TAG_CLASS, dw.TAG_UNION, dw.TAG_INTERFACE, dw.TAG_ENUMERATION})
_NO_SCOPE = -1
_TOMBSTONES = frozenset({0, 1, 2**32 - 1, 2**64 - 1})  # addresses that linkers give to code they threw away


@dataclass(slots=True)
class Unit:
    """One unit of .debug_info; offsets are from the section's start."""

    offset: int
    end: int
    first_die: int
    layout: Layout
    plans: dict[int, Plan]
    attributes: dict[int, Attribute] = field(default_factory=dict)  # of the unit's own DIE

    def number(self, attribute: int, default: int = 0) -> int:
        found = self.attributes.get(attribute)
        return default if found is None else found[1]


@dataclass(slots=True)
class Scopes:
    """Ranges of DIEs that give their name to what they enclose, in order of their start; `parents` are indexes."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    passed_over: set[int] = field(default_factory=set)  # indexes of those whose inside was not looked at

    def add(self, start: int, end: int, parent: int) -> int:
        self.starts.append(start)
        self.ends.append(end)
        self.parents.append(parent)
        return len(self.starts) - 1

    def innermost(self, offset: int) -> int:
        """Index of the innermost range around `offset`, _NO_SCOPE for none. A DIE is not inside of itself."""
        index = bisect_right(self.starts, offset - 1) - 1
        while index != _NO_SCOPE and self.ends[index] <= offset:
            index = self.parents[index]
        return index


@dataclass(slots=True)
class FunctionDie:
    """A function that has code of its own."""

    offset: int
    unit: Unit
    attributes: dict[int, Attribute]


class DwarfScan:
    """All units of one .debug_info, walked once."""

    def __init__(self, info: bytes, units: list[Unit]) -> None:
        self.info = info
        self.units = units
        self.functions: list[FunctionDie] = []
        self.inlined: Counter[int] = Counter()  # offset of the function's abstract instance -> sites
        self.damaged: list[tuple[int, str]] = []  # (unit's offset, reason)
        self._scopes: dict[int, Scopes] = {}
        self._inner: dict[int, Scopes] = {}  # by start of a scope that was passed over at first
        self._unit_offsets = [unit.offset for unit in units]
        for unit in units:
            self._scan(unit)

    def unit_at(self, offset: int) -> Unit:
        index = bisect_right(self._unit_offsets, offset) - 1
        if index < 0 or offset >= self.units[index].end:
            raise DamagedDwarf(f"no unit holds the DIE at {offset:#x}")
        return self.units[index]

    def read(self, offset: int) -> tuple[int, dict[int, Attribute]]:
        """Tag and attributes of the DIE at `offset`."""
        code, position = dw.uleb(self.info, offset)
        plan = self.unit_at(offset).plans.get(code)
        if plan is None:
            raise DamagedDwarf(f"no DIE begins at {offset:#x}")
        return plan.tag, plan.read(self.info, position)[0]

    def children(self, offset: int, tag: int) -> list[int]:
        """Offsets of the direct children with one tag. Cheap: the others, and what is below them, are passed over."""
        unit = self.unit_at(offset)
        code, position = dw.uleb(self.info, offset)
        plan = unit.plans[code]
        position = plan.skip(self.info, position)
        found: list[int] = []
        depth = 1 if plan.has_children else 0
        while depth and position < unit.end:
            start = position
            code, position = dw.uleb(self.info, position)
            if code == 0:
                depth -= 1
                continue
            plan = unit.plans[code]
            if depth == 1 and plan.tag == tag:
                found.append(start)
            if plan.names_sibling:
                attributes, position = plan.read(self.info, position)
                position = max(position, reference(attributes[dw.AT_SIBLING], unit) or position)
                continue
            position = plan.skip(self.info, position)
            depth += plan.has_children
        return found

    def enclosing(self, offset: int) -> int | None:
        """Offset of the namespace, type or function that directly encloses the DIE at `offset`."""
        unit = self.unit_at(offset)
        scopes = self._scopes.get(unit.offset)
        found: int | None = None
        while scopes is not None:
            index = scopes.innermost(offset)
            if index == _NO_SCOPE:
                return found
            found = scopes.starts[index]
            scopes = self._opened(unit, scopes, index) if index in scopes.passed_over else None
        return found

    def _opened(self, unit: Unit, scopes: Scopes, index: int) -> Scopes:
        """The scopes inside of one that the scan passed over."""
        start = scopes.starts[index]
        if start not in self._inner:
            code, position = dw.uleb(self.info, start)
            first_child = unit.plans[code].skip(self.info, position)
            self._inner[start] = inner = Scopes()
            _Walk(self, unit, inner, collects=False).run(first_child, scopes.ends[index])
        return self._inner[start]

    def _scan(self, unit: Unit) -> None:
        scopes = self._scopes[unit.offset] = Scopes()
        try:
            code, position = dw.uleb(self.info, unit.first_die)
            plan = unit.plans[code]
            unit.attributes, first_child = plan.read(self.info, position)
            if plan.has_children:
                _Walk(self, unit, scopes, collects=True).run(first_child, unit.end)
        except UNREADABLE as error:
            self.damaged.append((unit.offset, str(error) or type(error).__name__))


class _Walk:
    """One pass over a run of sibling DIEs and what is below them."""

    def __init__(self, scan: DwarfScan, unit: Unit, scopes: Scopes, collects: bool) -> None:
        self._scan = scan
        self._unit = unit
        self._scopes = scopes
        self._collects = collects
        self._in_function: dict[int, bool] = {}  # scopes that are, or are inside of, a function -> it is in the program

    def run(self, position: int, end: int) -> None:
        info, plans = self._scan.info, self._unit.plans
        open_scopes = [_NO_SCOPE]  # one per level; those DIEs that are no scope repeat the one around them
        while position < end:
            start = position
            code = info[position]
            position += 1
            if code == 0:
                closed = open_scopes.pop()
                if not open_scopes:
                    return
                if closed != open_scopes[-1]:
                    self._scopes.ends[closed] = position
                continue
            if code > 127:
                code, position = dw.uleb(info, start)
            plan = plans[code]
            if plan.tag in _VISITED:
                position = self._visit(plan, start, position, open_scopes)
            else:
                position = position + plan.size if plan.size >= 0 else plan.skip(info, position)
                if plan.has_children:
                    open_scopes.append(open_scopes[-1])
        # a unit may end without its last null entries

    def _visit(self, plan: Plan, start: int, position: int, open_scopes: list[int]) -> int:
        """Handles a DIE that matters; gives the position to go on at."""
        attributes, position = plan.read(self._scan.info, position)
        sibling = self._sibling(attributes, position)
        if plan.tag == dw.TAG_INLINED_SUBROUTINE:
            self._count_inlined(attributes, open_scopes[-1])
        elif plan.tag == dw.TAG_SUBPROGRAM and self._collects and _has_code(attributes):
            self._scan.functions.append(FunctionDie(start, self._unit, attributes))
        if not plan.has_children:
            return position
        if plan.tag in _BARREN and sibling:
            return sibling
        if plan.tag in _BARREN or plan.tag == dw.TAG_INLINED_SUBROUTINE:
            open_scopes.append(open_scopes[-1])
            return position
        scope = self._scopes.add(start, self._unit.end, open_scopes[-1])
        self._note_function(plan, attributes, scope, open_scopes[-1])
        if sibling and not self._must_enter(plan, attributes, scope):
            self._scopes.ends[scope] = sibling
            self._scopes.passed_over.add(scope)
            return sibling
        open_scopes.append(scope)
        return position

    def _note_function(self, plan: Plan, attributes: dict[int, Attribute], scope: int, parent: int) -> None:
        if plan.tag == dw.TAG_SUBPROGRAM:
            self._in_function[scope] = _has_code(attributes)
        elif parent in self._in_function:
            self._in_function[scope] = self._in_function[parent]

    def _must_enter(self, plan: Plan, attributes: dict[int, Attribute], scope: int) -> bool:
        """Functions hold inlined sites and local classes; gcc puts the code of a local class's methods into the class.

        Declarations hold nothing, and the methods of other classes stand outside of them.
        """
        if not self._collects:
            return False
        if plan.tag == dw.TAG_SUBPROGRAM:
            return dw.AT_DECLARATION not in attributes
        return plan.tag not in _TYPES or (scope in self._in_function and plan.tag != dw.TAG_ENUMERATION)

    def _sibling(self, attributes: dict[int, Attribute], position: int) -> int | None:
        found = attributes.get(dw.AT_SIBLING)
        if found is None:
            return None
        sibling = reference(found, self._unit)
        if sibling is None or not position <= sibling <= self._unit.end:
            raise DamagedDwarf("a sibling outside of its unit")
        return sibling

    def _count_inlined(self, attributes: dict[int, Attribute], scope: int) -> None:
        origin = reference(attributes.get(dw.AT_ABSTRACT_ORIGIN), self._unit)
        if origin is not None and self._collects and self._in_function.get(scope, False):
            self._scan.inlined[origin] += 1


_VISITED = _BARREN | _TYPES | {dw.TAG_SUBPROGRAM, dw.TAG_INLINED_SUBROUTINE, dw.TAG_NAMESPACE, dw.TAG_MODULE}


def _has_code(attributes: dict[int, Attribute]) -> bool:
    if dw.AT_DECLARATION in attributes:
        return False
    low = attributes.get(dw.AT_LOW_PC)
    if low is None:
        return dw.AT_RANGES in attributes
    return low[0] != dw.FORM_ADDR or low[1] not in _TOMBSTONES


def reference(attribute: Attribute | None, unit: Unit) -> int | None:
    """Offset of the DIE that an attribute refers to; None for one in another file or a type unit."""
    if attribute is None:
        return None
    form, value = attribute
    if form in dw.REFERENCES:
        return unit.offset + value
    return value if form == dw.FORM_REF_ADDR else None
