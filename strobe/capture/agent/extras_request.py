"""What agent/extras.ts takes: recipes, watches, sets and scripts, packed as the recorder has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from strobe import _abi
from strobe.dataclass import dataclass, field

_WORD = (1 << 64) - 1
MAX_WATCH_DEREFERENCES = _abi.WATCH_DEREFERENCES


@dataclass(frozen=True, slots=True)
class WatchAddress:
    """What the recorder reads for a watch: see struct strobe_watch, or the recipe whose first step is `address`."""

    number: int
    is_recipe: bool
    address: int


@dataclass
class ExtrasRequest:
    """What the agent is to record beside words: recipes, watches, sets of captures, scripts; and what moves.

    Lists of numbers go as JSON; the steps and rows of the ABI go as bytes.
    """

    recipes: list[tuple[int, int, int, int]] = field(default_factory=list)
    watches: list[int] = field(default_factory=list)
    sets: list[tuple[int, int, int, int, int, bytes]] = field(default_factory=list)
    scripts: list[tuple[int, str]] = field(default_factory=list)
    libraries: list[tuple[str, bool, int, str]] = field(default_factory=list)
    moves: list[tuple[bool, int, str]] = field(default_factory=list)
    steps: list[bytes] = field(default_factory=list)
    watch_rows: list[bytes] = field(default_factory=list)

    def add_recipe(self, number: int, code: bytes, size: int, items: int) -> None:
        """`size`, `items`: how many bytes and items it may give."""
        self.recipes.append((number, size, items, len(code) // _abi.RECIPE_STEP.size))
        self.steps.append(code)

    def add_watch(
        self, number: int, address: int, offsets: Sequence[int], width: int, *, is_thread_local: bool
    ) -> None:
        """`offsets`: one for each dereference. `is_thread_local`: `address` counts from the thread pointer."""
        padded = [*offsets, *[0] * (MAX_WATCH_DEREFERENCES - len(offsets))]
        self.watches.append(number)
        self.watch_rows.append(_abi.WATCH.pack(address & _WORD, *padded, len(offsets), width, is_thread_local))

    def add_set(
        self, entry: Sequence[bytes], leave: Sequence[bytes], words: int, condition: int = 0, needs: int = 0
    ) -> None:
        """The captures (struct strobe_capture) of a function's entry and return, which take `words` in a record.
        `condition`: the recipe that decides what is recorded, 0 for none; `needs`: STROBE_NEEDS_* of it."""
        self.sets.append((len(entry), len(leave), words, condition, needs, b"".join((*entry, *leave))))

    def leave_with(self, watch: WatchAddress, base: int, address: int) -> None:
        """The library at this base has it: it is read at `address` as soon as that is unloaded."""
        self.libraries.append((hex(base), watch.is_recipe, watch.number, hex(address)))

    def move(self, watch: WatchAddress, address: int) -> None:
        """It is read there from now on."""
        self.moves.append((watch.is_recipe, watch.number, hex(address)))

    def message(self, place: Callable[[bytes], int | None]) -> tuple[dict[str, Any], bytes]:
        """The request and the bytes that go with it, steps and then watches; what TypeScript's agent takes. `place`: as
        of CaptureTable. A set whose captures have no room is asked for with a place that the recorder refuses."""
        steps = b"".join(self.steps)
        sets = []
        for *counts, captures in self.sets:
            first = place(captures)
            sets.append((*counts, _abi.CAPTURE_CAPACITY + 1 if first is None else first))
        request = {
            "recipes": self.recipes,
            "watches": self.watches,
            "sets": sets,
            "scripts": self.scripts,
            "libraries": self.libraries,
            "moves": self.moves,
            "stepBytes": len(steps),
        }
        return request, b"".join([steps, *self.watch_rows])
