"""How a frame lies at an address: its CFA, and where the caller's registers are (DWARF 5, section 6.4)."""

from __future__ import annotations

from collections.abc import Mapping

from strobe.dataclass import dataclass, field
from strobe.symbols.dwarf.expressions import BaseType, Operation, Surroundings, operations_of
from strobe.symbols.dwarf.locations import AtCfa, AtRegister, Computed, InRegister, Location, OptimizedOut
from strobe.symbols.dwarf.registers import RETURN_ADDRESS
from strobe.symbols.frames.tables import FrameSection, FrameTable, FunctionEntry, Pointers

_MAX_STEPS = 1 << 16
_MAX_REMEMBERED = 256
Cfa = AtRegister | Computed


@dataclass(frozen=True, slots=True)
class CallFrame:
    """`cfa`: the location whose address it is. `saved`: where the caller's registers are, by number; those that are
    missing are what they were. `return_register`: the one that stands for the return address. `is_signal_frame`: a
    signal's handler returns to it, and the caller is the instruction that was interrupted.
    """

    cfa: Cfa
    saved: Mapping[int, Location]
    return_register: int = RETURN_ADDRESS
    is_signal_frame: bool = False


class CallFrames:
    """Frames of one module. ValueError or struct.error where its tables are damaged."""

    def __init__(self, sections: Mapping[str, FrameSection]) -> None:
        """`sections`: .eh_frame, .eh_frame_hdr, .debug_frame, as far as there are any."""
        self._tables: list[FrameTable] = []
        if ".eh_frame" in sections:
            header = sections.get(".eh_frame_hdr")
            self._tables.append(FrameTable(sections[".eh_frame"], header, is_eh=True))
        if ".debug_frame" in sections:
            self._tables.append(FrameTable(sections[".debug_frame"], is_eh=False))

    def at(self, address: int) -> CallFrame | None:
        """None where no table covers the link-time address."""
        for table in self._tables:
            entry = table.find(address)
            if entry is not None:
                return _run(entry, address)
        return None


@dataclass
class _Rules:
    cfa: Cfa | None = None
    saved: dict[int, Location] = field(default_factory=dict)

    def copy(self) -> _Rules:
        return _Rules(self.cfa, dict(self.saved))


def _run(entry: FunctionEntry, address: int) -> CallFrame | None:
    machine = _Machine(entry, address)
    machine.run(entry.common.program)
    machine.initial = machine.rules.copy()
    machine.location = entry.start
    machine.run(entry.program)
    rules = machine.rules
    common = entry.common
    if rules.cfa is None:
        return None
    return CallFrame(rules.cfa, rules.saved, common.return_register, common.is_signal_frame)


class _Machine:
    """Call frame instructions, up to the address."""

    def __init__(self, entry: FunctionEntry, address: int) -> None:
        self._common = entry.common
        self._address = address
        self.location = 0
        self.rules = _Rules()
        self.initial = _Rules()
        self._remembered: list[_Rules] = []

    def run(self, program: bytes) -> None:
        cursor = Pointers(FrameSection(program), 0)
        for _ in range(_MAX_STEPS):
            if cursor.position >= len(program) or self.location > self._address:
                return
            code = cursor.number(1)
            if code & 0xC0 == 0x40:
                self._advance((code & 0x3F) * self._common.code_alignment)
            elif code & 0xC0 == 0x80:
                self._save(code & 0x3F, cursor.uleb())
            elif code & 0xC0 == 0xC0:
                self._restore(code & 0x3F)
            else:
                self._step(code, cursor)
        raise ValueError("too many call frame instructions")

    def _step(self, code: int, cursor: Pointers) -> None:
        if code == 0x01:  # set_loc
            self._to(cursor.pointer(self._common.pointer_encoding))
        elif 0x02 <= code <= 0x04:  # advance_loc1, 2, 4
            self._advance(cursor.number(1 << (code - 2)) * self._common.code_alignment)
        elif code in (0x05, 0x11, 0x2F):  # offset_extended, _sf, GNU_negative_offset_extended
            register = cursor.uleb()
            offset = cursor.uleb() if code != 0x11 else cursor.sleb()
            self._save(register, -offset if code == 0x2F else offset)
        elif code == 0x06:  # restore_extended
            self._restore(cursor.uleb())
        elif code in (0x07, 0x08):  # undefined, same_value
            self._forget(cursor.uleb(), is_lost=code == 0x07)
        elif code == 0x09:  # register
            register = cursor.uleb()
            self.rules.saved[register] = InRegister(cursor.uleb())
        elif code in (0x0A, 0x0B):  # remember_state, restore_state
            self._swap_state(remembers=code == 0x0A)
        elif code in (0x0C, 0x0D, 0x0E, 0x12, 0x13):
            self._define_cfa(code, cursor)
        elif code == 0x0F:  # def_cfa_expression
            self.rules.cfa = self._computed(cursor, is_value=False)
        elif code in (0x10, 0x16):  # expression, val_expression
            register = cursor.uleb()
            self.rules.saved[register] = self._computed(cursor, is_value=code == 0x16, starts_with_cfa=True)
        elif code in (0x14, 0x15):  # val_offset, _sf
            self._save_value(cursor.uleb(), cursor.uleb() if code == 0x14 else cursor.sleb())
        elif code == 0x2E:  # GNU_args_size
            cursor.uleb()
        elif code != 0x00:
            raise ValueError(f"an unknown call frame instruction {code:#x}")

    def _define_cfa(self, code: int, cursor: Pointers) -> None:
        """def_cfa, def_cfa_register, def_cfa_offset, and the first and third with factored offsets."""
        known = self.rules.cfa
        register = cursor.uleb() if code not in (0x0E, 0x13) else _register_of(known)
        if code == 0x0D:
            if not isinstance(known, AtRegister):
                raise ValueError("a CFA without offset")
            offset = known.offset
        elif code in (0x12, 0x13):
            offset = cursor.sleb() * self._common.data_alignment
        else:
            offset = cursor.uleb()
        self.rules.cfa = AtRegister(register, offset)

    def _advance(self, delta: int) -> None:
        self._to(self.location + delta)

    def _to(self, location: int) -> None:
        self.location = location

    def _save(self, register: int, factored: int) -> None:
        self.rules.saved[register] = AtCfa(factored * self._common.data_alignment)

    def _save_value(self, register: int, factored: int) -> None:
        steps = Operation("call_frame_cfa"), Operation("const", (factored * self._common.data_alignment,))
        self.rules.saved[register] = Computed((*steps, Operation("plus")), is_value=True)

    def _restore(self, register: int) -> None:
        self.rules.saved.pop(register, None)
        if register in self.initial.saved:
            self.rules.saved[register] = self.initial.saved[register]

    def _forget(self, register: int, *, is_lost: bool) -> None:
        self.rules.saved.pop(register, None)
        if is_lost:
            self.rules.saved[register] = OptimizedOut()

    def _swap_state(self, *, remembers: bool) -> None:
        if remembers:
            if len(self._remembered) >= _MAX_REMEMBERED:
                raise ValueError("too many remembered frame states")
            self._remembered.append(self.rules.copy())
        elif self._remembered:
            self.rules = self._remembered.pop()

    def _computed(self, cursor: Pointers, *, is_value: bool, starts_with_cfa: bool = False) -> Computed:
        steps = operations_of(cursor.take(cursor.uleb()), _NO_UNIT)
        if starts_with_cfa:
            if any(step.name in ("bra", "skip") for step in steps):
                raise ValueError("a frame expression with a jump")  # no producer is known to write one
            steps = (Operation("call_frame_cfa"), *steps)
        return Computed(steps, is_value)


def _register_of(cfa: Cfa | None) -> int:
    if not isinstance(cfa, AtRegister):
        raise ValueError("a CFA without register")
    return cfa.number


def _refused(index: int) -> int:
    raise ValueError("a frame expression that needs a unit")


def _no_type(offset: int) -> BaseType:
    raise ValueError("a frame expression that needs a unit")


_NO_UNIT = Surroundings(5, 8, 4, 0, _refused, _no_type)
