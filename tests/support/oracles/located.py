"""Reads values as locations describe them, from registers and memory of a stopped program, without a debugger; and as
recipes of locations and conditions do, with these registers instead of a probe's."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strobe import _abi, _core
from strobe.symbols.dwarf.expressions import BaseType, Operation
from strobe.symbols.dwarf.locations import (
    AtAddress,
    AtCfa,
    AtFrameBase,
    AtRegister,
    Computed,
    Constant,
    EntryValue,
    InRegister,
    Location,
    OptimizedOut,
    Pieces,
    ThreadLocal,
)
from strobe.symbols.dwarf.registers import register_name
from strobe.symbols.frames.model import CallSite, Frame
from strobe.values.language import Condition
from strobe.values.lookup.locations import ValueLocation
from strobe.values.memory import recipes
from strobe.values.memory.recipes import STEP_BYTES, Item, Recipe

WORD = (1 << 64) - 1
Read = Callable[[int, int], bytes | None]
_WORDS_AT = 1 << 62  # where the kept words seem to lie
_STEP = _abi.RECIPE_STEP
_PASSED, _BASE = _core.RECIPE_STEPS["PASSED"], _core.RECIPE_STEPS["BASE"]
SIGNED_ENCODINGS = (0x05, 0x06, 0x0D)


class Unknown(Exception):
    """The value needs what is not there: memory that was not saved, a caller that says nothing, floating point."""


@dataclass
class Machine:
    """A stopped thread. `memory`: (start, bytes) of what was saved of it. `tls`: where the module's block is."""

    registers: dict[str, int]
    memory: list[tuple[int, bytes]]
    slide: int
    tls: int | None = None
    caller: tuple[Machine, Frame | None, CallSite | None] | None = None

    def register(self, number: int) -> int:
        name = register_name(number)
        if name not in self.registers:
            raise Unknown(name)
        return self.registers[name]

    def read(self, address: int, size: int) -> bytes:
        for start, content in self.memory:
            if start <= address and address + size <= start + len(content):
                return content[address - start : address - start + size]
        raise Unknown(f"memory at {address:#x}")


@dataclass
class Reader:
    """Values of one frame."""

    machine: Machine
    frame: Frame
    _cfa: list[int] = field(default_factory=list)

    def cfa(self) -> int:
        if self.frame.layout is None:
            raise Unknown("no table of frames")
        if not self._cfa:
            self._cfa.append(self._address_or_fail(self.frame.layout.cfa))
        return self._cfa[0]

    def frame_base(self) -> int:
        if self.frame.frame_base is None:
            raise Unknown("no frame base")
        return self._address_or_fail(self.frame.frame_base)

    def address(self, location: Location) -> int | None:
        """Where a value lies in memory; None for one that does not."""
        match location:
            case AtFrameBase(offset):
                return self.frame_base() + offset & WORD
            case AtCfa(offset):
                return self.cfa() + offset & WORD
            case AtRegister(number, offset):
                return self.machine.register(number) + offset & WORD
            case AtAddress(address):
                return address + self.machine.slide
            case ThreadLocal(offset):
                if self.machine.tls is None:
                    raise Unknown("no thread-local storage")
                return self.machine.tls + offset
            case Computed(operations, False):
                return self.run(operations)
        return None

    def bytes_of(self, location: Location, size: int) -> bytes:
        """The value's bytes. Unknown where they cannot be had."""
        address = self.address(location)
        if address is not None:
            return self.machine.read(address, size)
        match location:
            case InRegister(number):
                return self.machine.register(number).to_bytes(16, "little")[:size].ljust(size, b"\0")
            case Constant(bytes() as content):
                return content[:size].ljust(size, b"\0")
            case Constant(int() as value):
                return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            case EntryValue(number):
                return self.entry_value(number).to_bytes(8, "little")[:size].ljust(size, b"\0")
            case Computed(operations, True):
                return (self.run(operations) & WORD).to_bytes(8, "little")[:size].ljust(size, b"\0")
            case Pieces(pieces):
                return self._assembled(pieces)[:size]
        raise Unknown(str(location))

    def entry_value(self, number: int) -> int:
        """What the call site in the caller says of a register at entry."""
        if self.machine.caller is None:
            raise Unknown("no caller")
        machine, frame, site = self.machine.caller
        for parameter in () if site is None else site.parameters:
            if parameter.location == InRegister(number) and parameter.value and frame is not None:
                return Reader(machine, frame).run(parameter.value) & WORD
        raise Unknown("the call site does not say")

    def run(self, operations: Sequence[Operation]) -> int:
        return _Stack(self).run(operations)

    def _address_or_fail(self, location: Location) -> int:
        address = self.address(location)
        if address is None:
            raise Unknown(str(location))
        return address

    def _assembled(self, pieces: Sequence[Any]) -> bytes:
        found = b""
        for piece in pieces:
            location, bits, bit_offset = piece.location, piece.bits, piece.bit_offset
            if bits % 8 or bit_offset % 8:
                raise Unknown("bits")
            if isinstance(location, OptimizedOut):
                found += b"\0" * (bits // 8)
            else:
                found += self.bytes_of(location, (bits + bit_offset) // 8)[bit_offset // 8 :]
        return found


class _Stack:
    """DWARF's stack machine, for numbers (DWARF 5, section 2.5.1)."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._values: list[int] = []

    def run(self, operations: Sequence[Operation]) -> int:
        index: Any = 0
        steps = 0
        while index < len(operations):
            steps += 1
            assert steps < 10_000
            operation = operations[index]
            index += 1
            if operation.name in ("skip", "bra"):
                if operation.name == "skip" or self._pop():
                    index = operation.operands[0]
            else:
                self._step(operation.name, operation.operands)
        return self._pop()

    def _pop(self) -> int:
        return self._values.pop()

    def _push(self, value: int) -> None:
        self._values.append(value & WORD)

    def _step(self, name: str, operands: Sequence[Any]) -> None:
        reader, values = self._reader, self._values
        match name, *operands:
            case "const", value:
                self._push(value)
            case "addr", value:
                self._push(value + reader.machine.slide)
            case "register_plus", number, offset:
                self._push(reader.machine.register(number) + offset)
            case "fbreg", offset:
                self._push(reader.frame_base() + offset)
            case ("call_frame_cfa",):
                self._push(reader.cfa())
            case "plus_uconst", value:
                self._push(self._pop() + value)
            case ("deref",):
                self._push(int.from_bytes(reader.machine.read(self._pop(), 8), "little"))
            case "deref_size", size:
                self._push(int.from_bytes(reader.machine.read(self._pop(), size), "little"))
            case "deref_type", size, kind:
                self._push(_as_type(int.from_bytes(reader.machine.read(self._pop(), size), "little"), kind))
            case "entry_value", inner:
                if len(inner) != 1 or inner[0].name != "register":
                    raise Unknown("entry value of an expression")
                self._push(reader.entry_value(inner[0].operands[0]))
            case "regval_type", number, kind:
                self._push(_as_type(reader.machine.register(number), kind))
            case "const_type", kind, content:
                self._push(_as_type(int.from_bytes(content, "little"), kind))
            case (("convert" | "reinterpret"), kind):
                self._push(_as_type(self._pop(), kind))
            case ("dup",):
                values.append(values[-1])
            case ("drop",):
                values.pop()
            case ("over",):
                values.append(values[-2])
            case "pick", index:
                values.append(values[-1 - index])
            case ("swap",):
                values[-1], values[-2] = values[-2], values[-1]
            case ("rot",):
                values[-1], values[-2], values[-3] = values[-2], values[-3], values[-1]
            case ("neg",):
                self._push(-self._pop())
            case ("not",):
                self._push(~self._pop())
            case ("abs",):
                self._push(abs(_signed(self._pop())))
            case _:
                self._binary(name)

    def _binary(self, name: str) -> None:
        if name not in BINARY:
            raise Unknown(name)
        right, left = self._pop(), self._pop()
        self._push(int(BINARY[name](left, right)))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _as_type(value: int, kind: object) -> int:
    assert isinstance(kind, BaseType)
    if kind.encoding == 0x04:
        raise Unknown("floating point")
    value &= (1 << 8 * kind.size) - 1
    if kind.encoding in SIGNED_ENCODINGS and value >> (8 * kind.size - 1):
        value -= 1 << 8 * kind.size
    return value


def _quotient(left: int, right: int) -> int:
    quotient = abs(_signed(left)) // abs(_signed(right))
    return quotient if (left >> 63) == (right >> 63) else -quotient


BINARY = {
    "plus": lambda left, right: left + right,
    "minus": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "div": _quotient,
    "mod": lambda left, right: left % right,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "xor": lambda left, right: left ^ right,
    "shl": lambda left, right: left << right if right < 64 else 0,
    "shr": lambda left, right: left >> right,
    "shra": lambda left, right: _signed(left) >> right,
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: _signed(left) < _signed(right),
    "le": lambda left, right: _signed(left) <= _signed(right),
    "gt": lambda left, right: _signed(left) > _signed(right),
    "ge": lambda left, right: _signed(left) >= _signed(right),
}


def fetched(location: ValueLocation, words: Mapping[int, int], read: Read, size: int) -> Item:
    """What lies at a location: `size` bytes of it, and its address; of a value its bytes alone. `words`: by number."""
    recipe = Recipe(list(location.recipe.code))
    recipe.read(0 if location.is_value else size)
    code, most, count = recipe.finished()
    item = _run(code, most, count, words, read)
    if not location.is_value:
        return item
    return Item(item.status, 0, item.step, struct.pack("<Q", item.address)[:size])


def holds(condition: Condition, words: Mapping[int, int], read: Read) -> bool:
    """What a condition says. Fails where something that it needs is not there."""
    item = _run(condition.code, 8, 1, words, read)
    assert item.is_there
    return item.number != 0


def _run(code: bytes, most: int, count: int, words: Mapping[int, int], read: Read) -> Item:
    """The first item. Words that are kept are memory here."""
    rows, kept = _over_memory([code[at : at + STEP_BYTES] for at in range(0, len(code), STEP_BYTES)], words)

    def fetch(address: int, size: int) -> bytes | None:
        if _WORDS_AT <= address <= _WORDS_AT + len(kept):
            return kept[address - _WORDS_AT :][:size]
        return read(address, size)

    ((item,),) = recipes.run(os.getpid(), [(b"".join(rows), most, count)], fetch)
    return item


def _over_memory(code: Sequence[bytes], words: Mapping[int, int]) -> tuple[list[bytes], bytes]:
    rows: list[bytes] = []
    kept = b""
    for row in code:
        step, _, _, count, operand = _STEP.unpack(row)
        if step != _PASSED:
            rows.append(row)
            continue
        numbers = (operand & WORD).to_bytes(8, "little")[:count]
        rows.append(_STEP.pack(_BASE, 0, 0, 0, _WORDS_AT + len(kept)))
        kept += b"".join((words[number] & WORD).to_bytes(8, "little") for number in numbers)
    return rows, kept
