"""Numbers of functions in recorded events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from strobe import _abi
from strobe.model import FunctionSymbol
from strobe.session.modules import FileState, TracedModule

LAST = _abi.FUNCTION_CAPACITY - 1
_NONE: Mapping[int, int] = {}


class _Meaning(NamedTuple):
    """What a number stands for: one function of one file, wherever that is loaded, or one site of a probe, with the
    label and the message of its events. `generation`: of several probes that have had the same label, one after the
    other."""

    path: str
    state: FileState
    address: int
    probe: str
    message: str
    generation: int


class FunctionIds:
    """Those of one session. They go on after those of the sessions before in the same process, as a suspended coroutine
    may come to a trampoline of these at any time; the one after the last is 1. Events keep theirs, so one that is free
    again is given to the same function of the same file alone: a library that is loaded again and again needs no more
    of them. Likewise one of a removed probe is given to a probe of the same label at the same instruction, as long as
    nothing was recorded with it."""

    def __init__(self, first: int = 1) -> None:
        self._first = first
        self._given = 0
        self._free: dict[_Meaning, list[int]] = {}
        self._removed: dict[_Meaning, int] = {}  # of probes, whatever their generation
        self._taken: dict[int, list[tuple[_Meaning, int]]] = {}  # by base of the module

    def take(
        self,
        module: TracedModule,
        functions: Sequence[FunctionSymbol],
        generation: int = 0,
        again: Mapping[int, int] = _NONE,
    ) -> list[int]:
        """An id for each function, 0 where there is none left. `generation`: as _Meaning. `again`: by index, those that
        `removed` gave."""
        found = []
        for index, function in enumerate(functions):
            meaning = _meaning(module, function, generation)
            free = self._free.get(meaning)
            if index in again:
                number = again[index]
            elif free:
                number = free.pop()
            elif self._given < LAST:
                number = (self._first - 1 + self._given) % LAST + 1
                self._given += 1
            else:
                number = 0
            if number:
                self._taken.setdefault(module.module.base, []).append((meaning, number))
            found.append(number)
        return found

    def give_back_all(self, base: int) -> None:
        """Of a module that was unloaded."""
        self.give_back(base, {function_id for _, function_id in self._taken.get(base, ())})

    def give_back(self, base: int, ids: Collection[int]) -> None:
        """Of functions of the module at `base` that are not hooked after all."""
        for meaning, function_id in self._pop(base, ids):
            self._free.setdefault(meaning, []).append(function_id)

    def remove(self, base: int, ids: Collection[int]) -> None:
        """Of sites of a probe that was removed, in the module at `base`."""
        for meaning, function_id in self._pop(base, ids):
            self._removed[meaning._replace(generation=0)] = function_id

    def removed(self, module: TracedModule, functions: Sequence[FunctionSymbol]) -> dict[int, int]:
        """By index, ids that removed probes had at the same sites under the same labels. They are given once: whether
        anything was recorded with one is for the caller to see."""
        given = {}
        for index, function in enumerate(functions):
            if number := self._removed.pop(_meaning(module, function, 0), 0):
                given[index] = number
        return given

    def removed_of(self, ids: Collection[int]) -> set[int]:
        """Those of them that `removed` could give."""
        return set(ids).intersection(self._removed.values())

    def keep_removed(self, ids: Collection[int]) -> None:
        """These are called otherwise now (`label #1`), so no other probe gets them."""
        self._removed = {meaning: number for meaning, number in self._removed.items() if number not in ids}

    def _pop(self, base: int, ids: Collection[int]) -> list[tuple[_Meaning, int]]:
        taken = self._taken.pop(base, [])
        if kept := [one for one in taken if one[1] not in ids]:
            self._taken[base] = kept
        return [one for one in taken if one[1] in ids]


def _meaning(module: TracedModule, function: FunctionSymbol, generation: int) -> _Meaning:
    probe = function.name if function.is_probe else ""
    return _Meaning(module.symbols.path, module.state, function.address, probe, function.message, generation)
