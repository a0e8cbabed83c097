"""Recipes are put together here; csrc/recipe says what their steps mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from strobe import _abi, _core
from strobe.dataclass import dataclass, field

_STEP = _abi.RECIPE_STEP
STEP_BYTES = _STEP.size
_STEPS = _core.RECIPE_STEPS
_OPERATIONS = _core.RECIPE_OPERATIONS
_NAMES = ("OK", "NULL", "UNREADABLE", "FULL", "CUT", "BROKEN")
OK, NULL, UNREADABLE, FULL, CUT, BROKEN = (_core.RECIPE_STATUSES[name] for name in _NAMES)
ENDLESS = _core.RECIPE_STATUSES["ENDLESS"]
MAX_BYTES = 4 << 20
MAX_ITEMS = 1 << 16
NOWHERE = 0xFFFF_F000_0000_0000  # an address of the kernel's: no program has anything there, nor near it
_NEAR = 1 << 40

# (name, width, count, operand) of each; of CALC the name is the operation's.
Steps: TypeAlias = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Item:
    """What a step gave. Where `status` is not OK or CUT, `address` is what could not be read."""

    status: int
    address: int
    step: int
    data: bytes

    @property
    def is_there(self) -> bool:
        """Whether it has a value, which may be cut."""
        return self.status in (OK, CUT)

    @property
    def number(self) -> int:
        """Of NOTE, or of a loop; 0 where it is not known."""
        return int.from_bytes(self.data, "little")


OPERATIONS = tuple(_OPERATIONS)  # of CALC
CONSTANTS = _core.RECIPE_CONSTANTS  # what recipe.h calls these, without its prefix

MISSING = Item(FULL, 0, 0, b"")  # all that a run had no more room for


@dataclass
class Recipe:
    """Steps so far, and how many items and bytes they give at most."""

    code: list[bytes] = field(default_factory=list)
    items: int = 0
    capacity: int = 0
    turns: int = 1  # of the loops around what comes next

    def base(self, address: int) -> None:
        """The place is `address`."""
        self._add("BASE", operand=address)

    def passed(self, numbers: Sequence[int]) -> int:
        """To these words of the call, STROBE_PASSED_*, up to 8. The step's index: items of a bad place name it."""
        return self._add("PASSED", count=len(numbers), operand=int.from_bytes(bytes(numbers), "little"))

    def add(self, offset: int) -> None:
        """The place moves by `offset` bytes."""
        if offset:
            self._add("ADD", operand=offset)

    def dereference(self, offset: int = 0) -> int:
        """The step's index: items of a bad place name it."""
        return self._add("DEREF", operand=offset)

    def virtual_base(self, vtable_offset: int) -> None:
        """The place moves to a virtual base, whose offset the vtable has (Itanium C++ ABI 2.5.2)."""
        self._add("VIRTUAL_BASE", operand=vtable_offset)

    def save(self) -> None:
        """Keeps the place for `restore`."""
        self._add("SAVE")

    def restore(self) -> None:
        """Goes back to the place kept last, and makes it good again."""
        self._add("RESTORE")

    def read(self, size: int) -> None:
        """An item: `size` bytes."""
        self._item(size)
        self._add("READ", count=size)

    def text(self, characters: int, width: int) -> None:
        """An item: up to `characters` of `width` bytes each, up to the first zero."""
        self._item(characters * width)
        self._add("TEXT", width=width, count=characters)

    def begin(self, turns: int, stride: int) -> None:
        """What follows, up to `end`, happens `turns` times, `stride` bytes further each time."""
        self.turns *= max(turns, 1)
        self._add("REPEAT", count=turns, operand=stride)

    def end(self, turns: int) -> None:
        """The end of the loop that `begin` began, with the same `turns`."""
        self.turns //= max(turns, 1)
        self._add("NEXT")

    def numbers(self, steps: Steps) -> None:
        """Steps that push one number."""
        self.code += rows(steps)

    def note(self) -> None:
        """The top number becomes an item, and stays."""
        self._item(8)
        self._add("NOTE")

    def drop(self) -> None:
        """Removes the top number."""
        self._add("DROP")

    def go(self) -> int:
        """The step's index: items of a bad place name it."""
        return self._add("GO")

    def require(self) -> int:
        """The place is bad where the top number, which is taken away, is 0. The step's index, as `go`."""
        return self._add("REQUIRE")

    def pick(self, depth: int) -> None:
        """Pushes a copy of the number that has `depth` others above it."""
        self._add("PICK", count=depth)

    def read_many(self, most: int, size: int, *, or_fewer: bool = False) -> None:
        """As many times `size` bytes as the top number says, which stays. `or_fewer`: where there is no room for all,
        as many as there is room for."""
        self._item(most * size)
        self._add("READ_MANY", width=int(or_fewer), count=most, operand=size)

    @contextmanager
    def when(self) -> Iterator[None]:
        """What is added is left out where the top number, which is taken away, is 0 or bad."""
        at = self._add("WHEN")
        yield
        self.code[at] = _STEP.pack(_STEPS["WHEN"], 0, 0, len(self.code) - at - 1, 0)

    @contextmanager
    def looped(self, name: str, most: int, operand: int = 0, width: int = 0) -> Iterator[None]:
        """REPEAT_MANY, CHAIN, TREE or SLOTS around what is added."""
        if name != "REPEAT_MANY":
            self._item(8)
        self._add(name, width, most, operand)
        self.turns *= max(most, 1)
        yield
        self.end(most)

    def finished(self) -> tuple[bytes, int, int]:
        """As _core.run_recipes takes it."""
        code = b"".join([*self.code, _STEP.pack(_STEPS["END"], 0, 0, 0, 0)])
        return code, min(self.capacity, MAX_BYTES), min(self.items, MAX_ITEMS)

    def _item(self, size: int) -> None:
        self.items += self.turns
        self.capacity += size * self.turns

    def _add(self, name: str, width: int = 0, count: int = 0, operand: int = 0) -> int:
        self.code.append(_STEP.pack(_STEPS[name], width, 0, count, _signed(operand)))
        return len(self.code) - 1


def rows(steps: Steps) -> tuple[bytes, ...]:
    """As a recipe has them."""
    return tuple(
        _STEP.pack(_STEPS["CALC"], _OPERATIONS[name], 0, 0, operand)
        if name in _OPERATIONS
        else _STEP.pack(_STEPS[name], width, 0, count, _signed(operand))
        for name, width, count, operand in steps
    )


def quiet(name: str, count: int, operand: int = 0, width: int = 0) -> bytes:
    """The beginning of a loop over nodes that has no item."""
    return _STEP.pack(_STEPS[name], width, 1, count, _signed(operand))


def with_count(code: bytes, name: str, before: int, count: int) -> bytes:
    """The recipe with this `count` in those of its steps of that name that have `before`."""
    return b"".join(
        _STEP.pack(*row[:3], count, row[4]) if row[0] == _STEPS[name] and row[3] == before else _STEP.pack(*row)
        for row in _STEP.iter_unpack(code)
    )


def is_nowhere(address: int) -> bool:
    """Whether it was to be read there, or as far from there as an object has parts."""
    return abs(address - NOWHERE) < _NEAR


def decoded_steps(recipe: Recipe) -> list[tuple[str, int, int]]:
    """Names, operands and counts of its steps so far."""
    names = {number: name for name, number in _STEPS.items()}
    rows = (_STEP.unpack(row) for row in recipe.code)
    return [(names[op], operand, count) for op, _, _, count, operand in rows]


def named_rows(rows: Sequence[bytes]) -> list[tuple[str, int, int]]:
    """Names, widths and counts of these steps; of CALC the name is the operation's."""
    names = {number: name for name, number in _STEPS.items()}
    operations = {number: name for name, number in _OPERATIONS.items()}
    found = (_STEP.unpack(row) for row in rows)
    return [
        (operations.get(width, "") if names[op] == "CALC" else names[op], width, count)
        for op, width, _, count, _ in found
    ]


def single_number(rows: Sequence[bytes]) -> Steps | None:
    """The step of rows that do nothing but push a constant, or a variable; None of others."""
    if len(rows) != 1:
        return None
    op, width, _, count, operand = _STEP.unpack(rows[0])
    name = next(name for name in ("CONSTANT", "GET", "") if not name or _STEPS[name] == op)
    return ((name, width, count, operand),) if name else None


def with_bases(code: bytes, base_of: Callable[[tuple[int, ...]], int]) -> bytes:
    """The recipe, going to the address that `base_of` has for these words of a call instead of to the words."""
    found = []
    for kind, width, flag, count, operand in _STEP.iter_unpack(code):
        if kind == _STEPS["PASSED"]:
            numbers = (operand & (1 << 64) - 1).to_bytes(8, "little")[:count]
            found.append(_STEP.pack(_STEPS["BASE"], 0, 0, 0, _signed(base_of(tuple(numbers)))))
        else:
            found.append(_STEP.pack(kind, width, flag, count, operand))
    return b"".join(found)


def passed_words(recipe: Recipe) -> set[int]:
    """Numbers of the words that its steps PASSED name."""
    found: set[int] = set()
    for name, operand, count in decoded_steps(recipe):
        if name == "PASSED":
            found.update((operand & (1 << 64) - 1).to_bytes(8, "little")[:count])
    return found


def run(
    pid: int, recipes: Sequence[tuple[bytes, int, int]], read: Callable[[int, int], bytes | None] | None = None
) -> list[list[Item]]:
    """The items of each recipe, without those for which there was no room. Raises OSError where the process is gone or
    may not be read. `read`: another way to its memory, (address, size) -> bytes, None where not all can be read."""
    results = _core.run_recipes(pid, recipes) if read is None else _core.run_recipes(pid, recipes, read)
    broken = [status for status, _ in results if status not in (OK, FULL, ENDLESS)]
    if broken:
        raise ValueError(f"a recipe ended with status {broken[0]}")
    return [[Item(*item) for item in items] for _, items in results]


def _signed(address: int) -> int:
    address &= (1 << 64) - 1
    return address - (1 << 64) if address >> 63 else address
