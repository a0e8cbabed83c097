"""Recipes are put together here; csrc/recipe says what their steps mean."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from strobe import _core

_STEP = struct.Struct("<BBHIq")
_STEPS = _core.RECIPE_STEPS
OK, NULL, UNREADABLE, FULL, CUT = (_core.RECIPE_STATUSES[name] for name in ("OK", "NULL", "UNREADABLE", "FULL", "CUT"))
MAX_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Item:
    """What one READ, TEXT or LOAD gave. Where `status` is not OK or CUT, `address` is what could not be read."""

    status: int
    address: int
    step: int
    data: bytes

    @property
    def is_there(self) -> bool:
        return self.status in (OK, CUT)


@dataclass
class Recipe:
    """Steps so far, and how many items and bytes they give at most."""

    code: list[bytes] = field(default_factory=list)
    items: int = 0
    capacity: int = 0
    turns: int = 1  # of the loops around what comes next

    def base(self, address: int) -> None:
        self._add("BASE", operand=_signed(address))

    def add(self, offset: int) -> None:
        if offset:
            self._add("ADD", operand=offset)

    def dereference(self, offset: int = 0) -> int:
        """The step's index: items of a bad place name it."""
        return self._add("DEREF", operand=offset)

    def virtual_base(self, vtable_offset: int) -> None:
        self._add("VIRTUAL_BASE", operand=vtable_offset)

    def save(self) -> None:
        self._add("SAVE")

    def restore(self) -> None:
        self._add("RESTORE")

    def read(self, size: int) -> None:
        self._item(size)
        self._add("READ", count=size)

    def text(self, characters: int, width: int) -> None:
        self._item(characters * width)
        self._add("TEXT", width=width, count=characters)

    def begin(self, turns: int, stride: int) -> None:
        self.turns *= max(turns, 1)
        self._add("REPEAT", count=turns, operand=stride)

    def end(self, turns: int) -> None:
        self.turns //= max(turns, 1)
        self._add("NEXT")

    def finished(self) -> tuple[bytes, int, int]:
        """As _core.run_recipes takes it."""
        code = b"".join([*self.code, _STEP.pack(_STEPS["END"], 0, 0, 0, 0)])
        return code, min(self.capacity, MAX_BYTES), self.items

    def _item(self, size: int) -> None:
        self.items += self.turns
        self.capacity += size * self.turns

    def _add(self, name: str, width: int = 0, count: int = 0, operand: int = 0) -> int:
        self.code.append(_STEP.pack(_STEPS[name], width, 0, count, operand))
        return len(self.code) - 1


def run(pid: int, recipes: Sequence[tuple[bytes, int, int]]) -> list[list[Item]]:
    """The items of each recipe. Raises OSError where the process is gone or may not be read."""
    results = _core.run_recipes(pid, recipes)
    broken = [status for status, _ in results if status != OK]
    if broken:
        raise ValueError(f"a recipe ended with status {broken[0]}")
    return [[Item(*item) for item in items] for _, items in results]


def _signed(address: int) -> int:
    address &= (1 << 64) - 1
    return address - (1 << 64) if address >> 63 else address
