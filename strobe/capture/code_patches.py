"""The jumps at the entries of hooked functions: written and taken out from outside, while the threads are held."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from strobe import _core
from strobe.capture.agent_link import Trampoline
from strobe.errors import failure

_JUMP = 0xE9  # jmp rel32
_JUMP_BYTES = 5


@dataclass(slots=True)
class _Patch:
    address: int
    original: bytes
    jump: bytes
    displaced: int
    placed: bool = False


class CodePatches:
    """The patches of one process, by function id."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._patches: dict[int, _Patch] = {}
        self.running = False  # no thread of the program runs before it was resumed, and a tracer still holds it

    def add(self, trampolines: dict[int, tuple[int, Trampoline]]) -> list[int]:
        """Takes function id -> (its address, its trampoline). Returns the ids whose trampoline is out of reach."""
        unreachable = []
        with Path(f"/proc/{self._pid}/mem").open("rb") as memory:
            for function_id, (entry, trampoline) in trampolines.items():
                address = entry + trampoline.skip
                distance = trampoline.address - (address + _JUMP_BYTES)
                if not -(1 << 31) <= distance < 1 << 31:
                    unreachable.append(function_id)
                    continue
                memory.seek(address)
                original = memory.read(_JUMP_BYTES)
                jump = struct.pack("<Bi", _JUMP, distance)
                self._patches[function_id] = _Patch(address, original, jump, trampoline.displaced)
        return unreachable

    def place(self, function_ids: Iterable[int]) -> None:
        self._write([self._patches[item] for item in function_ids], True)

    def take_out(self, function_ids: Iterable[int] | None = None) -> None:
        """None: all of them."""
        ids = self._patches if function_ids is None else function_ids
        self._write([self._patches[item] for item in ids], False)

    def forget(self, start: int, size: int) -> None:
        """The library there was unloaded."""
        gone = [item for item, patch in self._patches.items() if start <= patch.address < start + size]
        for item in gone:
            del self._patches[item]

    def _write(self, patches: list[_Patch], placed: bool) -> None:
        """Raises ProcessLookupError when the process is gone, attach_refused when another debugger holds it."""
        changed = [patch for patch in patches if patch.placed != placed]
        if not changed:
            return
        changes = [(patch.address, patch.jump if placed else patch.original, patch.displaced) for patch in changed]
        try:
            _core.write_code(self._pid, changes, stop=self.running)
        except (FileNotFoundError, ProcessLookupError) as error:
            raise ProcessLookupError(str(error)) from error
        except OSError as error:
            raise failure("attach_refused", pid=self._pid, reason=error.strerror) from error
        for patch in changed:
            patch.placed = placed
