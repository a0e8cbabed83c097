"""Numbers of functions in recorded events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from strobe import _abi
from strobe.model import FunctionSymbol
from strobe.session.modules import FileState, TracedModule

LAST = _abi.FUNCTION_CAPACITY - 1


class _Place(NamedTuple):
    """One function of one file, wherever that is loaded, or one place of a probe. `generation`: of several probes that
    have had the same label, one after the other."""

    path: str
    state: FileState
    address: int
    probe: str
    generation: int


class FunctionIds:
    """Those of one session, from 1. Events keep theirs, so one that is free again is given to the same function of the
    same file alone: a library that is loaded again and again needs no more of them."""

    def __init__(self) -> None:
        self._next = 1
        self._free: dict[_Place, list[int]] = {}
        self._taken: dict[int, list[tuple[_Place, int]]] = {}  # by base of the module

    def take(
        self, module: TracedModule, functions: Sequence[FunctionSymbol], generation: int = 0
    ) -> dict[int, FunctionSymbol]:
        """The functions by id, in their order, without those that there are no ids for. `generation`: as _Place."""
        found = {}
        for function in functions:
            probe = function.name if function.is_probe else ""
            place = _Place(module.symbols.path, module.state, function.address, probe, generation)
            free = self._free.get(place)
            if not free and self._next > LAST:
                continue
            if free:
                function_id = free.pop()
            else:
                function_id, self._next = self._next, self._next + 1
            self._taken.setdefault(module.module.base, []).append((place, function_id))
            found[function_id] = function
        return found

    def give_back_all(self, base: int) -> None:
        """Of a module that was unloaded."""
        self.give_back(base, {function_id for _, function_id in self._taken.get(base, ())})

    def give_back(self, base: int, ids: Collection[int]) -> None:
        """Of functions of the module at `base` that are not hooked after all."""
        taken = self._taken.pop(base, [])
        for place, function_id in taken:
            if function_id in ids:
                self._free.setdefault(place, []).append(function_id)
        if kept := [one for one in taken if one[1] not in ids]:
            self._taken[base] = kept
