"""Where debug information says that values are, as steps of recipes: forms that compilers seldom write, and computed
ones, which two interpreters have to agree about."""

from __future__ import annotations

import random

import pytest
from support.oracles.located import Machine, Reader, Unknown, fetched

from strobe import _abi
from strobe.symbols.dwarf.expressions import GENERIC, BaseType, Operation
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
    Piece,
    Pieces,
    ThreadLocal,
)
from strobe.symbols.dwarf.registers import NAMES
from strobe.symbols.frames.cfi import CallFrame
from strobe.symbols.frames.model import Frame
from strobe.symbols.types.model import VOID
from strobe.values.lookup.computed import Unlocated
from strobe.values.lookup.located import Locator
from strobe.values.lookup.locations import ValueLocation
from strobe.values.memory.recipes import Recipe

STACK, SLIDE = 0x7FFF_0000_0000, 0x5555_0000_0000
MEMORY = bytes(range(1, 256)) * 8
WORDS = {number: 0x0101_0101_0101_0101 * (number + 1) for number in range(_abi.PASSED_WORDS)}
WORDS |= {6: STACK + 512, 7: STACK + 256, 0: 5, 1: 2**64 - 3, 2: 0}
INT, UNSIGNED, SHORT, BYTE = BaseType(0x05, 4), BaseType(0x07, 4), BaseType(0x05, 2), BaseType(0x08, 1)
FRAME = Frame(0x1000, (), AtCfa(0), CallFrame(AtRegister(7, 16), {}))


def read(address: int, size: int) -> bytes | None:
    for start in (STACK, SLIDE + 0x4000):
        if start <= address <= start + len(MEMORY) - size:
            return MEMORY[address - start :][:size]
    return None


def machine() -> Machine:
    registers = {NAMES[number]: word for number, word in WORDS.items()}
    return Machine(registers, [(STACK, MEMORY), (SLIDE + 0x4000, MEMORY)], SLIDE)


def value(location: Location, size: int, frame: Frame = FRAME, *, is_signed: bool = False) -> bytes | None:
    """None where it lies in memory that is not there."""
    reached = ValueLocation(Recipe(), VOID)
    reached.is_value = Locator(frame, SLIDE).go_to(reached.recipe, location, size, is_signed=is_signed)
    item = fetched(reached, WORDS, read, size)
    return item.data if item.is_there else None


def computed(*steps: tuple[object, ...], is_value: bool = True) -> Computed:
    return Computed(tuple(Operation(str(name), tuple(operands)) for name, *operands in steps), is_value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("location", "size", "expected"),
    [
        (InRegister(1), 4, (2**32 - 3).to_bytes(4, "little")),
        (InRegister(17), 8, WORDS[17].to_bytes(8, "little")),
        (AtRegister(6, -8), 4, MEMORY[504:508]),
        (AtFrameBase(-16), 8, MEMORY[256:264]),
        (AtCfa(8), 2, MEMORY[280:282]),
        (AtAddress(0x4010), 4, MEMORY[16:20]),
        (Constant(-1), 4, b"\xff" * 4),
        (Constant(0), 8, bytes(8)),
        (Constant(b"\x07\x00"), 2, b"\x07\x00"),
        (Pieces((Piece(InRegister(0), 64), Piece(InRegister(2), 32))), 12, (5).to_bytes(12, "little")),
        (computed(("register_plus", 0, 0)), 8, (5).to_bytes(8, "little")),
        (computed(("register_plus", 2, 0)), 8, bytes(8)),  # 0 is a value, not a null pointer
        (computed(("register_plus", 2, -1)), 8, b"\xff" * 8),
        (computed(("fbreg", -16), ("deref",)), 8, MEMORY[256:264]),
        (computed(("addr", 0x4020), is_value=False), 4, MEMORY[32:36]),
    ],
)
def test_values_are_found(location: Location, size: int, expected: bytes) -> None:
    assert value(location, size) == expected
    assert Reader(machine(), FRAME).bytes_of(location, size) == expected


@pytest.mark.parametrize(
    ("location", "size", "reason"),
    [
        (OptimizedOut(), 4, "is optimized out"),
        (OptimizedOut(((1, 2),)), 4, "is optimized out"),
        (EntryValue(5), 4, "only as what rdi was when the function was called"),
        (ImplicitPointer(64, 0, OptimizedOut()), 8, "taken apart"),
        (ThreadLocal(8), 4, "thread-local"),
        (InRegister(33), 8, "needs st0, which is not kept"),
        (InRegister(16), 8, "needs rip, which is not kept"),
        (InRegister(0), 16, "does not hold all of it"),
        (InRegister(17), 16, "of which the low 8 bytes are kept"),
        (Constant(bytes(16)), 16, "has 16 bytes"),
        (Pieces((Piece(InRegister(0), 32), Piece(InRegister(1), 32))), 8, "in parts of registers"),
        (Pieces((Piece(InRegister(0), 64), Piece(OptimizedOut(), 64))), 16, "not all of them in registers"),
        (Pieces((Piece(InRegister(0), 32),)), 8, "some of which are optimized out"),
        (computed(("const", 1), ("bra", 2), ("const", 2)), 4, "DW_OP_bra"),
        (computed(("entry_value", (Operation("register", (5,)),)), ("const", 1), ("plus",)), 4, "called with"),
        (computed(("const", 1), ("convert", BaseType(0x04, 8))), 8, "not integers"),
        (computed(("plus",)), 4, "make no sense"),
        (computed(), 4, "make no sense"),
        (computed(("const", 1), *[("plus_uconst", 1)] * 100), 4, "too many steps"),
        (computed(("const", 1), *[("dup",), ("plus",)] * 30), 4, "too many steps"),
    ],
)
def test_what_cannot_be_had_is_refused(location: Location, size: int, reason: str) -> None:
    with pytest.raises(Unlocated, match=reason):
        value(location, size)


def test_frames_that_are_not_there_are_refused() -> None:
    at_entry = Frame(0x1000, (), AtRegister(6, 0), CallFrame(AtRegister(7, 8), {}))
    with pytest.raises(Unlocated, match="not set up at this instruction"):
        value(AtFrameBase(-8), 4, at_entry)
    assert (
        value(AtFrameBase(-8), 4, Frame(0, (), AtRegister(6, 0), CallFrame(AtRegister(6, 16), {}))) == MEMORY[504:508]
    )
    for base in (None, AtFrameBase(0), computed(("fbreg", 0), is_value=False), Constant(5)):
        with pytest.raises(Unlocated, match="whose base is not known"):
            value(AtFrameBase(-8), 4, Frame(0, (), base, None))
    with pytest.raises(Unlocated, match="no table tells"):
        value(AtCfa(-8), 4, Frame(0, (), None, None))
    around = computed(("call_frame_cfa",), is_value=False)
    with pytest.raises(Unlocated, match="whose base is not known"):
        value(AtCfa(-8), 4, Frame(0, (), None, CallFrame(around, {})))


LEAVES: tuple[tuple[object, ...], ...] = (
    ("const", 0),
    ("const", 7),
    ("const", 2**64 - 2),
    ("register_plus", 0, 3),
    ("register_plus", 1, 0),
    ("regval_type", 1, INT),
    ("regval_type", 1, UNSIGNED),
    ("regval_type", 3, SHORT),
    ("const_type", BYTE, b"\xf0"),
    ("fbreg", -16),
    ("call_frame_cfa",),
    ("addr", 0x4000),
)
BINARY = ("plus", "minus", "mul", "and", "or", "xor", "shl", "shr", "shra", "eq", "ne", "lt", "le", "gt", "ge")
UNARY = ("neg", "not", "abs", "dup", "convert", "plus_uconst", "over", "swap", "rot", "pick", "drop", "deref", "size")


def some_steps(chance: random.Random) -> list[tuple[object, ...]]:
    """Operations that make sense, with numbers of no type on the stack where the type would tell."""
    steps: list[tuple[object, ...]] = []
    height = 0
    for _ in range(chance.randint(1, 12)):
        name = chance.choice((*BINARY, *UNARY, "leaf", "leaf", "leaf"))
        if name == "leaf" or height == 0:
            leaf = chance.choice(LEAVES)
            steps += [leaf, ("convert", GENERIC)] if str(leaf[0]).endswith("type") else [leaf]
            height += 1
        elif name in BINARY and height > 1:
            # counts of bits that are beyond the width are not the same everywhere
            steps += [("const", 31), ("and",)] if name in ("shl", "shr", "shra") else []
            steps.append((name,))
            height -= 1
        elif name == "convert":
            steps += [(name, chance.choice((INT, UNSIGNED, SHORT, BYTE))), (name, GENERIC)]
        elif name == "plus_uconst":
            steps.append((name, chance.randint(0, 300)))
        elif name == "deref":
            steps += [("const", 255), ("and",), ("fbreg", -16), ("plus",), (name,)]
        elif name == "size":
            steps += [("const", 255), ("and",), ("fbreg", -16), ("plus",), ("deref_size", chance.choice((1, 2, 4)))]
        elif name in ("neg", "not", "abs") or (name == "dup" and height):
            steps.append((name,))
            height += name == "dup"
        elif name == "drop" and height > 1:
            steps.append((name,))
            height -= 1
        elif name in ("over", "pick") and height > 1:
            steps.append((name, 1) if name == "pick" else (name,))
            height += 1
        elif (name == "swap" and height > 1) or (name == "rot" and height > 2):
            steps.append((name,))
    return steps


def test_computed_values_are_those_of_another_interpreter() -> None:
    chance = random.Random(12)
    compared = 0
    for _ in range(3000):
        location = computed(*some_steps(chance))
        size, is_signed = chance.choice((1, 2, 4, 8)), chance.random() < 0.5
        try:
            ours = value(location, size, is_signed=is_signed)
            theirs = Reader(machine(), FRAME).bytes_of(location, size)
        except (Unlocated, Unknown):
            continue
        assert ours == theirs, location
        compared += 1
    assert compared > 1500
