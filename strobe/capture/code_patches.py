"""The jumps at the entries of hooked functions: written and taken out from outside, while the threads are held."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from io import FileIO

from strobe import _core
from strobe.capture.agent_link import Trampoline
from strobe.errors import failure

_JUMP = 0xE9  # jmp rel32
_JUMP_BYTES = 5


@dataclass(frozen=True, slots=True)
class PatchRequest:
    """A jump to make at the entry of a function. `code`: what must stand there, as far as it is known."""

    address: int
    trampoline: Trampoline
    code: bytes


@dataclass(slots=True)
class _Patch:
    address: int
    original: bytes
    jump: bytes
    displaced: int
    placed: bool = False


class CodePatches:
    """The patches of one process, by function id."""

    def __init__(self, pid: int, beneath: CodePatches | None = None) -> None:
        """`beneath`: patches that were placed before these and are taken out after them."""
        self._pid = pid
        self._beneath = beneath
        self._patches: dict[int, _Patch] = {}
        self.running = False  # no thread of the program runs before it was resumed, and a tracer still holds it

    def add(self, requests: dict[int, PatchRequest]) -> dict[int, str]:
        """Takes what is asked for by function id. Returns those that cannot be placed, and why."""
        refused = {}
        with self._memory() as memory:
            for function_id, request in requests.items():
                made = _patch(request, memory, {} if self._beneath is None else self._beneath.originals())
                if isinstance(made, str):
                    refused[function_id] = made
                else:
                    self._patches[function_id] = made
        return refused

    def place(self, function_ids: Iterable[int]) -> None:
        self._write(self._known(function_ids), True)

    def take_out(self, function_ids: Iterable[int] | None = None) -> None:
        """None: all of them."""
        self._write(self._known(list(self._patches) if function_ids is None else function_ids), False)

    def originals(self) -> dict[int, bytes]:
        """What stood where the jumps are now, by address."""
        return {patch.address: patch.original for patch in self._patches.values() if patch.placed}

    def missing(self, memory: FileIO) -> set[int]:
        """Function ids of jumps that were placed and whose bytes are others now. `memory`: /proc/PID/mem.

        Raises ProcessLookupError when the process is gone. Where nothing is mapped a library was unloaded.
        """
        placed = [(item, patch) for item, patch in list(self._patches.items()) if patch.placed]
        return {
            item for item, patch in placed if _bytes_at(memory, patch.address, _JUMP_BYTES) not in (patch.jump, b"")
        }

    def forget(self, start: int, size: int) -> None:
        """The library there was unloaded."""
        for item, patch in list(self._patches.items()):
            if start <= patch.address < start + size:
                self._patches.pop(item, None)

    def _known(self, function_ids: Iterable[int]) -> list[_Patch]:
        """A library may be unloaded in this moment, which another thread is told."""
        found = (self._patches.get(item) for item in function_ids)
        return [patch for patch in found if patch is not None]

    def _write(self, patches: list[_Patch], placed: bool) -> None:
        """Raises ProcessLookupError when the process is gone, attach_refused when another debugger holds it."""
        changed = self._present([patch for patch in patches if patch.placed != placed])
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

    def _present(self, patches: list[_Patch]) -> list[_Patch]:
        """Those where memory has what was last seen or written there; nothing is written over what came since, such as
        another library at the place of one that was unloaded."""
        if not patches:
            return []
        with self._memory() as memory:
            return [
                patch
                for patch in patches
                if _bytes_at(memory, patch.address, _JUMP_BYTES) == (patch.jump if patch.placed else patch.original)
            ]

    def _memory(self) -> FileIO:
        try:
            return FileIO(f"/proc/{self._pid}/mem")
        except FileNotFoundError as error:
            raise ProcessLookupError(str(error)) from error


def _patch(request: PatchRequest, memory: FileIO, originals: dict[int, bytes]) -> _Patch | str:
    """`originals`: what stood where patches beneath this one are."""
    trampoline = request.trampoline
    place = request.address + trampoline.skip
    distance = trampoline.address - (place + _JUMP_BYTES)
    if not -(1 << 31) <= distance < 1 << 31:
        return "too-far"
    here = _bytes_at(memory, request.address, trampoline.skip + max(_JUMP_BYTES, trampoline.displaced))
    own = here[trampoline.skip :]
    before = here
    if place in originals:
        before = here[: trampoline.skip] + originals[place] + here[trampoline.skip + _JUMP_BYTES :]
    if len(own) < _JUMP_BYTES or any(found != wanted for found, wanted in zip(before, request.code, strict=False)):
        return "other-code"
    return _Patch(place, own[:_JUMP_BYTES], struct.pack("<Bi", _JUMP, distance), trampoline.displaced)


def _bytes_at(memory: FileIO, address: int, size: int) -> bytes:
    """Raises ProcessLookupError when the process is gone."""
    try:
        found = os.pread(memory.fileno(), size, address)
    except OSError:  # nothing is mapped there
        return b""
    if not found:  # so it is when there is no memory any more
        raise ProcessLookupError("its memory is gone")
    return found
