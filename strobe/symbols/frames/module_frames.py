"""Frames of one module: which function and inlined calls an address belongs to, and where their variables are.

Of a module only the DIEs of the one function are read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property

from elftools.dwarf.die import DIE

from strobe._core import clearest_name
from strobe.dataclass import replace
from strobe.symbols.dwarf import columns, dies
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.expressions import Operation
from strobe.symbols.dwarf.location_reader import Held, LocationReader, inherited, origins
from strobe.symbols.dwarf.locations import AtRegister, InRegister, Location, OptimizedOut, location_of
from strobe.symbols.frames.cfi import CallFrame, CallFrames
from strobe.symbols.frames.model import Call, CallLocation, CallParameter, CallSite, Frame, Local
from strobe.symbols.frames.tables import FrameSection
from strobe.symbols.types.module_types import Types

_PARAMETER, _VARIABLE, _INLINED, _BLOCK = 0x05, 0x34, 0x1D, 0x0B
_CALL_SITES = (0x48, 0x4109)
_ENTRY = ("DW_AT_entry_pc", "DW_AT_low_pc")
_RETURN_PC = ("DW_AT_call_return_pc", "DW_AT_low_pc")  # of DWARF 5; of GNU's call sites in DWARF 4
_CALLEE = ("DW_AT_call_origin", "DW_AT_abstract_origin")
_TAIL_CALL = ("DW_AT_call_tail_call", "DW_AT_GNU_tail_call")
_TARGET = ("DW_AT_call_target", "DW_AT_call_target_clobbered", "DW_AT_GNU_call_site_target")
_VALUE = ("DW_AT_call_value", "DW_AT_GNU_call_site_value")
_POINTS_TO = ("DW_AT_call_data_value", "DW_AT_GNU_call_site_data_value")
_PARAMETERS_OF_CALLS = ("DW_TAG_call_site_parameter", "DW_TAG_GNU_call_site_parameter")
_MAX_LOCALS = 1 << 16
FrameSections = Callable[[], Mapping[str, FrameSection]]


class Frames:
    """Addresses are link-time. Raises one of UNREADABLE where debug information is damaged."""

    def __init__(self, debug_info: DebugInfo, types: Types, sections: FrameSections) -> None:
        """`sections`: as CallFrames takes them."""
        self._debug_info = debug_info
        self._types = types
        self._sections = sections
        self._locations = LocationReader(debug_info)

    @cached_property
    def _call_frames(self) -> CallFrames:
        return CallFrames(self._sections())

    def at(self, address: int) -> Frame | None:
        """None where no function with debug information has code at the address."""
        function = self._debug_info.core.function_at(address)
        if function is None:
            return None
        scopes = _Scopes(self._debug_info.core.scope_dies(function, address))
        with self._debug_info.dwarf.lock:
            die = self._locations.die_at(function)
            is_entry = address in [dies.number(die, attribute) for attribute in _ENTRY]
            calls = tuple(self._call(scopes, number, address, is_entry) for number in reversed(scopes.calls))
            return Frame(address, calls, self._frame_base(function, address), self.layout(address))

    def calls_at(self, address: int) -> tuple[Call, ...]:
        """The calls that `at` has, without their variables; none where it has no frame."""
        function = self._debug_info.core.function_at(address)
        if function is None:
            return ()
        scopes = _Scopes(self._debug_info.core.scope_dies(function, address))
        with self._debug_info.dwarf.lock:
            return tuple(self._call_alone(scopes, number) for number in reversed(scopes.calls))

    def begins_at(self, call: Call, address: int) -> bool:
        """Whether code of a call around the address does not go on from the instructions before it."""
        function = self._debug_info.core.function_at(address - 1)
        if function is None or call.location is None:
            return True
        return all(offset != call.die_offset for offset, *_ in self._debug_info.core.scope_dies(function, address - 1))

    def inlined_in(self, function: int) -> set[int]:
        """DIEs of the functions of which calls were inlined into one, those without any code left, too."""
        found: set[int] = set()
        waiting = [function]
        with self._debug_info.dwarf.lock:
            while waiting and len(found) < _MAX_LOCALS:
                offset = waiting.pop()
                inlined = self._debug_info.core.children(offset, _INLINED)
                found.update(origins(self._locations.die_at(one))[-1].offset for one in inlined)
                waiting += [*inlined, *self._debug_info.core.children(offset, _BLOCK)]
        return found

    def inlined_sites(self, names: Container[str]) -> list[tuple[int, int]]:
        """Where functions of these names were inlined: DIE of each site, and where its code is entered."""
        found: list[tuple[int, int]] = []
        is_meant: dict[int, bool] = {}
        for origin, die, entry in zip(*self._sites, strict=True):
            if origin not in is_meant:
                linkage, *_ = self._debug_info.core.declaration(origin)
                is_meant[origin] = self._name(origin, linkage) in names
            if is_meant[origin]:
                found.append((die, entry))
        return found

    @cached_property
    def _sites(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        content = self._debug_info.core.inlined_sites()
        return columns.words(content["origin"]), columns.words(content["die"]), columns.words(content["entry"])

    def loops_over_ranges(self, call: int) -> set[tuple[str | None, int]]:
        """File and line of each `for (x : xs)` that gcc tells of in a call, by its DIE, without calls inlined there: x
        is declared before the loop's own variables, or in a block of theirs."""
        core = self._debug_info.core
        found: set[tuple[str | None, int]] = set()
        waiting = [call]
        with self._debug_info.dwarf.lock:
            for offset in waiting:
                blocks, variables = core.children(offset, _BLOCK), core.children(offset, _VARIABLE)
                waiting += blocks[: _MAX_LOCALS - len(waiting)]
                ranges = [at for at, one in enumerate(variables) if self._has_name(one, "__for_range")]
                if ranges:
                    near = [variables[at - 1] for at in ranges if at]
                    near += [inner[0] for block in blocks if (inner := core.children(block, _VARIABLE))]
                    found.update((file, line) for _, file, line in map(core.declaration, near) if line)
        return found

    def _has_name(self, offset: int, name: str) -> bool:
        die = inherited(self._locations.die_at(offset), "DW_AT_name")
        return die is not None and dies.text(die) == name

    def declared(self, die: int) -> tuple[str, str | None, int | None]:
        """Name, file and line of a function's DIE."""
        linkage, file, line = self._debug_info.core.declaration(die)
        return self._name(die, linkage), file, line or None

    def layout(self, address: int) -> CallFrame | None:
        """Where the CFA and the caller's registers are; None where no table says, or the machine is not x86-64."""
        return self._call_frames.at(address) if self._debug_info.machine == "x86-64" else None

    def call_site(self, return_address: int) -> CallSite | None:
        """The call that returns to an address; None where debug information has none, as without optimization."""
        inside = max(return_address - 1, 0)
        function = self._debug_info.core.function_at(inside)
        if function is None:
            return None
        rows = self._debug_info.core.scope_dies(function, inside)
        with self._debug_info.dwarf.lock:
            sites = (self._locations.die_at(offset) for offset, tag, *_ in rows if tag in _CALL_SITES)
            die = next((die for die in sites if _first_number(die, _RETURN_PC) == return_address), None)
            return None if die is None else self._call_site(die, return_address)

    def _frame_base(self, function: int, address: int) -> Location | None:
        found = self._locations.at(self._locations.die_at(function), address, "DW_AT_frame_base").location
        if isinstance(found, InRegister):
            return AtRegister(found.number, 0)
        return None if isinstance(found, OptimizedOut) else found

    def _call(self, scopes: _Scopes, number: int, address: int, is_entry: bool) -> Call:
        found = self._locals(scopes, number, address, is_entry)
        parameters = tuple(local for local in found if local.is_parameter)
        others = tuple(local for local in found if not local.is_parameter)
        return replace(self._call_alone(scopes, number), parameters=parameters, locals=others)

    def _call_alone(self, scopes: _Scopes, number: int) -> Call:
        offset, tag, *_ = scopes.rows[number]
        linkage, file, line = self._debug_info.core.declaration(offset)
        location = self._location(self._locations.die_at(offset)) if tag == _INLINED else None
        return Call(self._name(offset, linkage), linkage or None, file, line or None, location, (), (), offset)

    def _name(self, offset: int, linkage: str) -> str:
        """As functions are called everywhere: debug information's name, of lambdas the symbol's."""
        return clearest_name(self._debug_info.qualified_name(offset), linkage)

    def _location(self, die: DIE) -> CallLocation:
        file = dies.number(die, "DW_AT_call_file")
        path = None if file is None else self._debug_info.core.file_path(die.offset, file)
        return CallLocation(path, dies.number(die, "DW_AT_call_line") or 0, dies.number(die, "DW_AT_call_column") or 0)

    def _locals(self, scopes: _Scopes, call: int, address: int, is_entry: bool) -> list[Local]:
        """Of all blocks of one call, outer ones first."""
        found: list[Local] = []
        inner_names: set[str] = set()
        for block in reversed(scopes.blocks[call]):
            own = [self._local(die, address, is_entry, inner_names) for die in self._variables(scopes, block)]
            inner_names.update(local.name for local in own)
            found = own + found
        return found

    def _variables(self, scopes: _Scopes, block: int) -> Iterator[DIE]:
        """Those of a block, and at last those that its abstract instance alone has: they were optimized out."""
        known: set[int] = set()
        for offset in scopes.variables[block][:_MAX_LOCALS]:
            die = self._locations.die_at(offset)
            known.add(origins(die)[-1].offset)
            yield die
        yield from self._lost(scopes, block, known)

    def _lost(self, scopes: _Scopes, block: int, known: set[int]) -> Iterator[DIE]:
        origin = dies.target(self._locations.die_at(scopes.rows[block][0]), "DW_AT_abstract_origin")
        if origin is None:
            return
        children = [offset for tag in (_PARAMETER, _VARIABLE) for offset in self._children(origin, tag)]
        lost = [die for die in map(self._locations.die_at, children) if origins(die)[-1].offset not in known]
        if lost:  # or only moved, into a block
            moved = {origins(self._locations.die_at(offset))[-1].offset for offset in scopes.below(block)}
            yield from (die for die in lost if origins(die)[-1].offset not in moved)

    def _children(self, die: DIE, tag: int) -> list[int]:
        return self._debug_info.core.children(die.offset, tag)

    def _local(self, die: DIE, address: int, is_entry: bool, inner_names: set[str]) -> Local:
        named = inherited(die, "DW_AT_name")
        name = "" if named is None else dies.text(named)
        _, file, line = self._debug_info.core.declaration(die.offset)
        typed = inherited(die, "DW_AT_type") or die
        held = self._held(die, name, address, is_entry)
        return Local(
            name,
            self._types.of_die(dies.target(typed)),
            held.location,
            held.ranges,
            file,
            line or None,
            die.tag == "DW_TAG_formal_parameter",
            inherited(die, "DW_AT_artificial") is not None,
            name in inner_names,
            die.offset,
        )

    def _held(self, die: DIE, name: str, address: int, is_entry: bool) -> Held:
        held = self._locations.at(die, address, is_entry=is_entry)
        if held.location == OptimizedOut() and name:
            definition = self._definition(die, name)
            if definition is not None:
                return self._locations.at(self._locations.die_at(definition), address)
        return held

    def _definition(self, die: DIE, name: str) -> int | None:
        """Of `extern int x;` in a function the variable in the innermost namespace around that has one, and of statics
        of inlined functions the one that all copies share.
        """
        linkage = self._debug_info.core.declaration(die.offset)[0]
        if linkage:
            rows = [row for row in self._debug_info.find_variables(name) if row.linkage_name == linkage]
        elif dies.flag(die, "DW_AT_declaration"):
            around = self._debug_info.qualified_name(die.offset)
            named = (row for row in self._debug_info.find_variables(name) if row.is_external)
            rows = [row for row in named if around.startswith(row.name.removesuffix(name))]
        else:
            return None
        return max(rows, key=lambda row: len(row.name)).die_offset if rows else None

    def _call_site(self, die: DIE, return_address: int) -> CallSite:
        callee = next((found for name in _CALLEE if (found := dies.target(die, name)) is not None), None)
        linkage = "" if callee is None else self._debug_info.core.declaration(callee.offset)[0]
        return CallSite(
            return_address,
            None if callee is None else self._name(callee.offset, linkage),
            linkage or None,
            None if callee is None else callee.offset,
            any(dies.flag(die, name) for name in _TAIL_CALL),
            self._expression(die, _TARGET),
            tuple(self._call_parameter(child) for child in dies.children(die, *_PARAMETERS_OF_CALLS)),
        )

    def _call_parameter(self, die: DIE) -> CallParameter:
        operations = self._locations.expression(die, "DW_AT_location")
        return CallParameter(
            location_of(operations, lambda offset: OptimizedOut()),
            self._expression(die, _VALUE),
            self._expression(die, _POINTS_TO),
        )

    def _expression(self, die: DIE, attributes: tuple[str, ...]) -> tuple[Operation, ...]:
        present = next((name for name in attributes if name in die.attributes), None)
        return () if present is None else self._locations.expression(die, present)


class _Scopes:
    """DIEs around an address, by the call that they belong to."""

    def __init__(self, rows: list[tuple[int, int, int, bool]]) -> None:
        self.rows = rows
        self.calls = [number for number, (_, tag, *_) in enumerate(rows) if number == 0 or tag == _INLINED]
        self.blocks: dict[int, list[int]] = {number: [number] for number in self.calls}  # of each call, outer first
        self.variables: dict[int, list[int]] = {}
        self._apart: dict[int, list[int]] = {}
        self._call_of = {number: number for number in self.calls}
        for number, (offset, tag, scope, is_apart) in enumerate(rows):
            if tag in (_PARAMETER, _VARIABLE):
                (self._apart if is_apart else self.variables).setdefault(scope, []).append(offset)
            elif tag not in _CALL_SITES and number not in self._call_of:
                self._call_of[number] = self._call_of[scope]
                self.blocks[self._call_of[number]].append(number)
        for number in self._call_of:
            self.variables.setdefault(number, [])

    def below(self, block: int) -> list[int]:
        """Variables in blocks of a block, those around the address or not."""
        blocks = self.blocks[self._call_of[block]]
        inner = blocks[blocks.index(block) :]
        nested = [offset for number in inner[1:] for offset in self.variables[number]]
        return nested + [offset for number in inner for offset in self._apart.get(number, [])]


def _first_number(die: DIE, attributes: tuple[str, ...]) -> int | None:
    return next((found for name in attributes if (found := dies.number(die, name)) is not None), None)
