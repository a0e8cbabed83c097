"""The jumps at the entries of hooked and observed functions: one list, written and taken out from outside, while the
threads are held. What of them an agent has to take back itself, or another one finds: agent/code_changes.ts."""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import FileIO
from typing import Protocol

from strobe import _core
from strobe._abi import Refusal
from strobe.capture.agent.agent_link import AgentLink, LeftChange
from strobe.capture.attachable import refused
from strobe.capture.probes import Plan, ProbeSpec, Trampoline
from strobe.dataclass import dataclass

log = logging.getLogger(__name__)

_RESULTS = {  # of write_code
    0: Refusal.NOTHING, 1: Refusal.OTHER_CODE, 2: Refusal.THREAD_INSIDE, 3: Refusal.SIGNAL_BLOCKED,
}  # fmt: skip
JUMP = 0xE9  # jmp rel32
JUMP_BYTES = 5
# address, what is to stand there, what must stand there; where threads go on that stand 1 to 4 bytes behind it
Change = tuple[int, bytes, bytes, tuple[int, int, int, int] | None]
_NONE: Mapping[int, bytes] = {}


@dataclass(slots=True)
class CodePatch:
    """A jump to a trampoline, as it is or will be written over the entry of a function. `original`: what stood there.
    `resume`, `copies`, `mark`: as Trampoline has them."""

    address: int
    original: bytes
    jump: bytes
    resume: int
    copies: tuple[int, int, int, int]
    mark: tuple[int, int]
    installed: bool = False

    def covers(self, address: int) -> bool:
        """Whether the instruction that begins there is run as a copy while the jump stands."""
        return self.address <= address < self.address + JUMP_BYTES

    def copy_of(self, address: int) -> int:
        """Where that copy lies; 0 where no instruction begins at the address."""
        return self.resume if address == self.address else self.copies[address - self.address - 1]


class ProbedCode(Protocol):
    """Instructions that are changed one by one, beneath the jumps (probe_sites.py)."""

    def without(self, address: int, code: bytes) -> bytes:
        """`code`, which stands at `address`, with the probed instructions as they are without probes."""

    def over(self, address: int, code: bytes) -> bytes:
        """`code`, which would stand at `address` without probes, with them."""

    def cover(self, patches: Mapping[int, CodePatch]) -> dict[int, Refusal]:
        """Jumps are about to be written. By number why one may not be."""

    def uncover(self, patches: Iterable[CodePatch]) -> None:
        """Jumps have been taken out."""


class CodePatches:
    """The patches of one process, by function id; by negative numbers those of observed functions, over which hooks may
    lie: they are installed before these and taken out after them."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._patches: dict[int, CodePatch] = {}
        self.sites: ProbedCode | None = None
        self.running = False  # not before it was resumed: until then Frida holds its thread

    def install(self, trampolines: Mapping[int, Trampoline], codes: Mapping[int, bytes] = _NONE) -> dict[int, Refusal]:
        """Writes the jumps to new trampolines, by function id. `codes`: what must stand at an entry, as far as that is
        known. Returns those that were not installed, and why."""
        refused = self._add(trampolines, codes)
        return refused | self.reinstall(item for item in trampolines if item not in refused)

    def covering(self, address: int, function_ids: Collection[int] | None = None) -> bool:
        """Whether a jump stands over the instruction at this address, one of these; None: any."""
        return any(
            patch.installed and patch.covers(address)
            for item, patch in self._all()
            if function_ids is None or item in function_ids
        )

    def around(self, first: int, last: int) -> list[tuple[int, CodePatch]]:
        """Patches over some of these bytes, installed or not, with their numbers."""
        return [
            (item, patch) for item, patch in self._all() if patch.address <= last and patch.address + JUMP_BYTES > first
        ]

    def read(self, address: int, size: int) -> bytes:
        """What stands there. Raises ProcessLookupError when the process is gone."""
        with self._memory() as memory:
            return bytes_at(memory, address, size)

    def _add(self, trampolines: Mapping[int, Trampoline], codes: Mapping[int, bytes]) -> dict[int, Refusal]:
        refused = {}
        installed = ((item, patch) for item, patch in self._all() if patch.installed)
        observed = {patch.address: patch.original for item, patch in installed if item < 0}
        with self._memory() as memory:
            for function_id, trampoline in trampolines.items():
                made = _patch(trampoline, codes.get(function_id, b""), memory, observed, self.sites)
                if isinstance(made, Refusal):
                    refused[function_id] = made
                else:
                    self._patches[function_id] = made
        return refused

    def reinstall(self, function_ids: Iterable[int]) -> dict[int, Refusal]:
        """Writes the jumps that do not stand there. Returns those that were not installed, and why; a later call tries
        them again."""
        coming = {item: patch for item, patch in self._known(function_ids) if not patch.installed}
        refused = {} if self.sites is None else self.sites.cover(coming)
        return refused | self._write([item for item in coming if item not in refused], True)

    def take_out(self, function_ids: Iterable[int] | None = None) -> bool:
        """None: all hooks, for good. Whether none of them stands any more: what cannot be taken out now stays, and a
        later call tries it again."""
        if function_ids is None:
            return not self._write([item for item, _ in self._all() if item >= 0], False)
        going = {item: patch for item, patch in self._known(function_ids) if patch.installed}
        refused = self._write(going, False)
        if self.sites is not None:
            self.sites.uncover(patch for item, patch in going.items() if item not in refused)
        return not refused

    def take_out_observers(self) -> None:
        """After the hooks, and once nothing is recorded any more."""
        self._write([item for item, _ in self._all() if item < 0], False)

    def take_back(self, left: Sequence[LeftChange]) -> None:
        """What an agent before this one has left; where other code stands now it stays. Raises attach_refused where a
        thread does not stop: calls would be recorded by the numbers of functions that another session had."""
        changes: list[Change] = [(change.address, change.original, change.present, None) for change in left]
        if Refusal.THREAD_BLOCKED in self.change(changes):
            reason = (
                "an earlier session has left jumps in its code, and one of its threads does not stop for their removal"
            )
            raise refused(self._pid, reason, False)

    def missing(self, memory: FileIO) -> set[int]:
        """Function ids of jumps that were installed and whose bytes are others now. `memory`: /proc/PID/mem.

        Raises ProcessLookupError when the process is gone. Where nothing is mapped a library was unloaded.
        """
        installed = [(item, patch) for item, patch in self._all() if patch.installed and item >= 0]
        return {
            item for item, patch in installed if bytes_at(memory, patch.address, JUMP_BYTES) not in (patch.jump, b"")
        }

    def overwritten(self, memory: FileIO) -> set[int]:
        """As `missing`, of a forked child: those whose bytes are neither the jump's nor the function's own, which stand
        there where the hook was installed after the fork."""
        installed = [(item, patch) for item, patch in self._all() if patch.installed and item >= 0]
        return {
            item
            for item, patch in installed
            if bytes_at(memory, patch.address, JUMP_BYTES) not in (patch.jump, patch.original, b"")
        }

    def forget(self, start: int, size: int) -> None:
        """The library there was unloaded."""
        for item, patch in self._all():
            if start <= patch.address < start + size:
                self._patches.pop(item, None)

    def _write(self, function_ids: Iterable[int], installed: bool) -> dict[int, Refusal]:
        """Raises ProcessLookupError when the process is gone, attach_refused when another debugger holds it."""
        changed = {item: patch for item, patch in self._known(function_ids) if patch.installed != installed}
        if not changed:
            return {}
        # the trampolines of a library that is unloaded go with it, before it can be loaded again
        marks = [patch.mark if installed else None for patch in changed.values()]
        changes = [_change_of(patch, installed, self.sites) for patch in changed.values()]
        results = self.change(changes, marks)
        refused = {}
        for (function_id, patch), change, why in zip(changed.items(), changes, results, strict=True):
            if why and not (why is Refusal.OTHER_CODE and not installed and self._is_out(change)):
                refused[function_id] = why
            else:
                patch.installed = installed
        return refused

    def _is_out(self, removal: Change) -> bool:
        """Whether what it would write stands there already, or nothing is mapped: the library was unloaded, perhaps
        loaded again, and the agent of a stopped program reports neither."""
        address, beneath, *_ = removal
        with self._memory() as memory:
            return bytes_at(memory, address, len(beneath)) in (beneath, b"")

    def change(
        self, changes: list[Change], marks: Sequence[tuple[int, int] | None] = (), agents: Collection[int] = ()
    ) -> list[Refusal]:
        """Makes them all while the threads are held; for each why it was not made. `marks`: of each that it is made
        for only. `agents`: threads that are not the program's, where breakpoint instructions are written. Raises
        ProcessLookupError when the process is gone, attach_refused when another debugger holds it."""
        if not changes:
            return []
        try:
            _, results = _core.write_code(self._pid, changes, self.running, list(marks), sorted(agents))
        except TimeoutError as error:
            log.warning("code of process %d was not changed: %s", self._pid, error)
            return [Refusal.THREAD_BLOCKED] * len(changes)
        except (FileNotFoundError, ProcessLookupError) as error:
            raise ProcessLookupError(str(error)) from error
        except OSError as error:
            raise refused(self._pid, error.strerror, isinstance(error, PermissionError)) from error
        return [_RESULTS[result] for result in results]

    def _all(self) -> list[tuple[int, CodePatch]]:
        """`forget` may come at any moment, on the thread to which libraries are reported."""
        return list(self._patches.items())

    def _known(self, function_ids: Iterable[int]) -> Iterator[tuple[int, CodePatch]]:
        """A library may be unloaded at this moment, which is reported to another thread."""
        for function_id in function_ids:
            patch = self._patches.get(function_id)
            if patch is not None:
                yield function_id, patch

    def _memory(self) -> FileIO:
        try:
            return FileIO(f"/proc/{self._pid}/mem")
        except FileNotFoundError as error:
            raise ProcessLookupError(str(error)) from error


class Probes:
    """The probes of one process: the agent makes trampolines, and jumps to them are written from outside."""

    def __init__(self, agent: AgentLink, patches: CodePatches, interceptor_writes: bool) -> None:
        """`interceptor_writes`: the jumps, as the agent makes the trampolines; only before the program runs."""
        self._agent = agent
        self._patches = patches
        self._interceptor_writes = interceptor_writes

    def install(self, specs: Sequence[ProbeSpec]) -> list[Refusal]:
        """Installs hooks in one batch; for each why it was not installed: UNLOADED where its library has gone since the
        last removal that `note_removal` got, whatever lies there now. Raises as AgentLink and CodePatches do."""
        if self._interceptor_writes and self._patches.running:
            return [Refusal.ALREADY_RUNNING] * len(specs)
        self._agent.assign_extras({spec.function_id: spec.plan for spec in specs})
        made = self._agent.make_trampolines(specs)
        answers = {spec.function_id: answer for spec, answer in zip(specs, made, strict=True)}
        trampolines = {item: answer for item, answer in answers.items() if isinstance(answer, Trampoline)}
        refused = {item: answer for item, answer in answers.items() if isinstance(answer, Refusal)}
        refused |= self._patches.install(trampolines, {spec.function_id: spec.code for spec in specs})
        return [refused.get(spec.function_id, Refusal.NOTHING) for spec in specs]

    def change(self, plans: dict[int, Plan]) -> dict[int, Refusal]:
        """Changes what installed hooks record; one whose plan is not enabled is taken out of the code. Returns those
        that could not be installed again, and why. Raises as `install`."""
        self._agent.assign_extras(plans)
        self._agent.set_flags(plans)
        refused = self._patches.reinstall(item for item, plan in plans.items() if plan.is_enabled)
        self._patches.take_out([item for item, plan in plans.items() if not plan.is_enabled])
        return refused


def _patch(
    trampoline: Trampoline, code: bytes, memory: FileIO, originals: dict[int, bytes], sites: ProbedCode | None
) -> CodePatch | Refusal:
    """`originals`: what stood where patches beneath this one are."""
    start = trampoline.start
    distance = trampoline.address - (start + JUMP_BYTES)
    if not -(1 << 31) <= distance < 1 << 31:
        return Refusal.TOO_FAR
    here = bytes_at(memory, trampoline.entry, trampoline.skip + max(JUMP_BYTES, trampoline.displaced))
    here = here if sites is None else sites.without(trampoline.entry, here)
    own = here[trampoline.skip :]
    before = here
    if start in originals:
        before = here[: trampoline.skip] + originals[start] + here[trampoline.skip + JUMP_BYTES :]
    if len(own) < JUMP_BYTES or any(found != wanted for found, wanted in zip(before, code, strict=False)):
        return Refusal.OTHER_CODE
    jump = struct.pack("<Bi", JUMP, distance)
    return CodePatch(start, own[:JUMP_BYTES], jump, trampoline.resume, trampoline.copies, trampoline.mark)


def _change_of(patch: CodePatch, installed: bool, sites: ProbedCode | None) -> Change:
    """Written only over what was last seen or written there, not over what came since, such as another library at the
    place of one that was unloaded."""
    beneath = patch.original if sites is None else sites.over(patch.address, patch.original)
    if installed:
        return patch.address, patch.jump, beneath, patch.copies
    return patch.address, beneath, patch.jump, None


def bytes_at(memory: FileIO, address: int, size: int) -> bytes:
    """What stands there; b"" where nothing is mapped. `memory`: /proc/PID/mem. Raises ProcessLookupError when the
    process is gone."""
    try:
        found = os.pread(memory.fileno(), size, address)
    except OSError:  # nothing is mapped there
        return b""
    if not found:  # so it is when there is no memory any more
        raise ProcessLookupError("its memory is gone")
    return found
