"""From where debug information says that a value is to the steps that lead there, with the registers of a probe."""

from __future__ import annotations

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.symbols.dwarf.locations import (
    AtAddress,
    AtCfa,
    AtFrameBase,
    AtRegister,
    Computed,
    Constant,
    EntryValue,
    ImplicitPointer,
    InRegister,
    Location,
    OptimizedOut,
    Pieces,
    ThreadLocal,
)
from strobe.symbols.dwarf.registers import STACK_POINTER, register_name
from strobe.symbols.frames.model import Frame
from strobe.values.lookup.computed import CALLED, Computation, Unlocated, add_number, as_integer, computation
from strobe.values.lookup.context import WORD_BYTES, context_word
from strobe.values.memory.recipes import Recipe

_FRAME_POINTER = 6
_MOST_WORDS = 8
_WORD = (1 << 64) - 1
_NEVER_NULL = 0x1D8E_4E27_C47D_124F  # GO to 0 is a null pointer: values are moved there, and back again


@dataclass(frozen=True, slots=True)
class Locator:
    """Adds the steps that lead to values at one instruction. `slide`: of the module that it lies in."""

    frame: Frame
    slide: int

    def go_to(self, recipe: Recipe, location: Location, size: int | None, *, is_signed: bool = False) -> bool:
        """Whether what is reached is the value itself, which lies nowhere: an integer of `size` bytes, with its sign
        where `is_signed`. Raises Unlocated."""
        match location:
            case InRegister(number):
                self._to_registers(recipe, [number], size)
            case AtRegister(number, offset):
                recipe.passed([_word(number)])
                recipe.dereference()
                recipe.add(offset)
            case AtFrameBase(offset):
                self._to_frame_base(recipe)
                recipe.add(offset)
            case AtCfa(offset):
                self._to_cfa(recipe)
                recipe.add(offset)
            case AtAddress(address):
                recipe.base(address + self.slide & _WORD)
            case Pieces():
                self._to_registers(recipe, _registers(location, size), size)
            case Computed(operations, False):
                self._compute(recipe, computation(operations))
                recipe.go()
            case Constant() | Computed():
                self._to_value(recipe, location, size or 0, is_signed)
                return True
            case _:
                raise Unlocated(_reason(location))
        return False

    def _to_value(self, recipe: Recipe, location: Constant | Computed, size: int, is_signed: bool) -> None:
        if not 1 <= size <= WORD_BYTES:
            raise Unlocated(f"is computed, and has {size} bytes")
        if isinstance(location, Constant):
            recipe.base(_integer(_number(location.value), size, is_signed))
            return
        value = as_integer(computation(location.operations), size, is_signed=is_signed)
        self._compute(recipe, Computation("PLUS", 0, (value, Computation("const", _NEVER_NULL))))
        recipe.go()
        recipe.add(-_NEVER_NULL)

    def _to_registers(self, recipe: Recipe, numbers: list[int], size: int | None) -> None:
        words = [_word(number) for number in numbers]
        if size is None or len(words) > _MOST_WORDS or size > WORD_BYTES * len(words):
            is_vector = words[0] >= _abi.CONTEXT_XMM0
            reason = "of which the low 8 bytes are kept" if is_vector else "which does not hold all of it"
            raise Unlocated(f"is in {', '.join(map(register_name, numbers))}, {reason}")
        recipe.passed(words)

    def _to_frame_base(self, recipe: Recipe) -> None:
        base = self.frame.frame_base
        if base is None or isinstance(base, AtFrameBase) or _names(base, "fbreg"):
            raise Unlocated("is in a frame whose base is not known")
        if isinstance(base, AtRegister) and base.number == _FRAME_POINTER:
            self._check_frame_pointer()
        if self.go_to(recipe, base, WORD_BYTES):
            raise Unlocated("is in a frame whose base is not known")

    def _check_frame_pointer(self) -> None:
        """It is the caller's until the function has set it, and again before it returns."""
        layout = self.frame.layout
        cfa = None if layout is None else layout.cfa
        if isinstance(cfa, AtRegister) and cfa.number == STACK_POINTER:
            raise Unlocated("is in the frame, which is not set up at this instruction")

    def _to_cfa(self, recipe: Recipe) -> None:
        if self.frame.layout is None:
            raise Unlocated("is in the frame, and no table tells where that is here")
        if _names(self.frame.layout.cfa, "call_frame_cfa"):
            raise Unlocated("is in a frame whose base is not known")
        self.go_to(recipe, self.frame.layout.cfa, WORD_BYTES)

    def _compute(self, recipe: Recipe, found: Computation) -> None:
        def to_base(name: str) -> None:
            if name == "cfa":
                self._to_cfa(recipe)
            else:
                self._to_frame_base(recipe)

        recipe.base(0)  # a location that is bad would stay so
        add_number(recipe, found, _word, self.slide, to_base)


def _names(location: Location, operation: str) -> bool:
    """Whether it is computed with an operation, which would lead back to it."""
    return isinstance(location, Computed) and any(step.name == operation for step in location.operations)


def _word(register: int) -> int:
    found = context_word(register)
    if found is None:
        raise Unlocated(f"needs {register_name(register)}, which is not kept")
    return found


def _number(value: int | bytes) -> int:
    if isinstance(value, int):
        return value & _WORD
    if len(value) > WORD_BYTES:
        raise Unlocated(f"is a constant of {len(value)} bytes, more than a word holds")
    return int.from_bytes(value, "little")


def _integer(value: int, size: int, is_signed: bool) -> int:
    value &= (1 << 8 * size) - 1
    return value - (1 << 8 * size) if is_signed and value >> (8 * size - 1) else value


def _registers(location: Pieces, size: int | None) -> list[int]:
    """Of a value whose parts are whole registers, one after the other."""
    numbers: list[int] = []
    last = len(location.pieces) - 1
    for at, piece in enumerate(location.pieces):
        if not isinstance(piece.location, InRegister):
            raise Unlocated("is in parts, not all of them in registers")
        if piece.bit_offset or (at < last and piece.bits != 8 * WORD_BYTES):
            raise Unlocated("is in parts of registers")
        numbers.append(piece.location.number)
    if sum(piece.bits for piece in location.pieces) != 8 * (size or 0):
        raise Unlocated("is in parts, some of which are optimized out")
    return numbers


def _reason(location: Location) -> str:
    match location:
        case OptimizedOut():
            return "is optimized out"
        case EntryValue(number):
            return f"is known only as what {register_name(number)} was when {CALLED}"
        case ImplicitPointer():
            return "is a pointer to what the compiler has taken apart"
        case ThreadLocal():
            return "is thread-local, which is not read here"
    return "is where it cannot be read"
