"""What is known of one point of a program: the function, the calls that were inlined there, their variables."""

from __future__ import annotations

from strobe.dataclass import dataclass
from strobe.symbols.dwarf.expressions import Operation
from strobe.symbols.dwarf.locations import Location
from strobe.symbols.frames.cfi import CallFrame
from strobe.symbols.types.model import Type


@dataclass(frozen=True, slots=True)
class Local:
    """A parameter or local variable in scope. `name` is empty where the source gives none.

    `ranges`: [start, end) of code in which `location` holds; none: wherever the variable is in scope.
    `is_artificial`: made by the compiler, as `this`. `is_shadowed`: a variable of an inner block has the same name.
    `file`, `line`: of its declaration, None where not known.
    """

    name: str
    type: Type
    location: Location
    ranges: tuple[tuple[int, int], ...]
    file: str | None
    line: int | None
    is_parameter: bool
    is_artificial: bool
    is_shadowed: bool
    die_offset: int


@dataclass(frozen=True, slots=True)
class CallLocation:
    """Where an inlined function was called, in the function that has it inlined. `column` 0: not known."""

    file: str | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function around the address. `location`: of the call that was inlined; None for the concrete function.

    `locals` has those of all blocks around the address, outer ones first. `file`, `line`: of the declaration.
    """

    name: str
    linkage_name: str | None
    file: str | None
    line: int | None
    location: CallLocation | None
    parameters: tuple[Local, ...]
    locals: tuple[Local, ...]
    die_offset: int


@dataclass(frozen=True, slots=True)
class Frame:
    """`calls`: inlined ones, the innermost first; the last is the concrete function.

    `frame_base`: the location whose address the frame base is, None where there is none. `layout`: the CFA and the
    caller's registers, None where no table says.
    """

    address: int
    calls: tuple[Call, ...]
    frame_base: Location | None
    layout: CallFrame | None


@dataclass(frozen=True, slots=True)
class CallParameter:
    """What a call passes. `location`: where the callee gets it, in a register or at its stack pointer + n.

    `value`: operations that compute it in the caller's frame; none where it is not known. `points_to`: the same of
    what it points to, where that is known.
    """

    location: Location
    value: tuple[Operation, ...]
    points_to: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in the machine code. `name`: of the function that it names; None for one through a pointer.

    `target`: operations that compute the address of such a one, in the caller; none where that is not known.
    """

    return_address: int
    name: str | None
    linkage_name: str | None
    callee_offset: int | None
    is_tail_call: bool
    target: tuple[Operation, ...]
    parameters: tuple[CallParameter, ...]
