"""Instructions that are probed. Each has a trampoline, which the agent makes; its own bytes become a jump to it where
it is as long as one, else its first byte becomes a breakpoint instruction, whose handler has the thread go on there.

A function that is traced begins with a jump over its first instructions, and runs copies of them in its trampoline.
What is probed among these has a breakpoint instruction in its copy, too, so it does not matter which of the two runs.
"""

from __future__ import annotations

import contextlib
import logging
import struct
from collections.abc import Callable, Iterable, Sequence
from io import FileIO

from strobe import _abi
from strobe._abi import Refusal
from strobe.capture.agent.agent_link import AgentLink, PlaceTrampoline, ProbeChange
from strobe.capture.code_patches import JUMP, JUMP_BYTES, Change, CodePatch, CodePatches, bytes_at
from strobe.capture.probes import Plan, Trampoline
from strobe.capture.task_status import task_ids
from strobe.dataclass import dataclass, field

log = logging.getLogger(__name__)

_BREAKPOINT = b"\xcc"  # int3
_LOCK = b"\xf0"
_LONGEST = 16  # more than any instruction has
_NOTED_BYTES = 8  # of an instruction, as the agent keeps them


@dataclass(frozen=True, slots=True)
class PlaceSpec:
    """A probe of the instruction at `address`. `code`: the first bytes that must stand there, as many as are known.
    `in_c_library`: which blocks signals by itself, so that no breakpoint instruction may stand in it."""

    function_id: int
    address: int
    plan: Plan
    code: bytes = b""
    in_c_library: bool = False


@dataclass(slots=True)
class _Copy:
    """A copy of a probed instruction, in the trampoline of a traced function. `original`: its bytes."""

    address: int
    trampoline: int
    original: bytes
    mark: tuple[int, int]
    is_placed: bool = False


@dataclass(slots=True)
class Place:
    """A probed instruction. `first`: the number of its first probe; `recorded`: of those that record at present.
    `back`: where its trampoline's last jump lies, 0 for none. `is_placed`: it is changed, or would be if no hook's jump
    lay over it."""

    address: int
    first: int
    trampoline: int
    back: int
    original: bytes
    mark: tuple[int, int]
    is_jump: bool
    in_c_library: bool
    recorded: set[int] = field(default_factory=set)
    copies: dict[int, _Copy] = field(default_factory=dict)
    is_placed: bool = False

    @property
    def next(self) -> int:
        """Where the instruction behind it begins."""
        return self.address + len(self.original)

    @property
    def changed(self) -> bytes:
        """What stands there in the place of its first bytes."""
        if not self.is_jump:
            return _BREAKPOINT
        return jump_to(self.address, self.trampoline)


def jump_to(address: int, leads_to: int) -> bytes:
    """A jump at `address`."""
    return struct.pack("<Bi", JUMP, leads_to - (address + JUMP_BYTES))


class Places:
    """The probed instructions of one process. Its methods raise as AgentLink and CodePatches do."""

    def __init__(self, pid: int, agent: AgentLink, patches: CodePatches, is_native: bool) -> None:
        self._pid = pid
        self._agent = agent
        self._patches = patches
        self._is_native = is_native
        self._places: dict[int, Place] = {}
        self._of_probe: dict[int, Place] = {}
        self._returns_of: dict[int, int] = {}  # by probe: the number of the function
        patches.places = self

    def install(self, specs: Sequence[PlaceSpec]) -> list[Refusal]:
        """Places probes in one batch; for each why it was not placed."""
        if not self._is_native:
            return [Refusal.NOT_NATIVE] * len(specs)
        plans = {spec.function_id: spec.plan for spec in specs}
        self._agent.assign_extras(plans)
        self._agent.set_plans(plans)
        refused = self._make([spec for spec in specs if spec.address not in self._places])
        for spec in specs:
            place = self._places.get(spec.address)
            if place is None:  # refused, or its library has just been unloaded
                refused.setdefault(spec.address, Refusal.UNLOADED)
            if place is None or refused.get(spec.address):
                continue
            if place.first != spec.function_id:
                self._agent.add_probes([(place.first, spec.function_id)])
            self._of_probe[spec.function_id] = place
            if spec.plan.is_enabled:
                place.recorded.add(spec.function_id)
        chosen = {spec.address: self._of_probe.get(spec.function_id) for spec in specs}
        refused |= self._write(
            [place for address, place in chosen.items() if place is not None and not refused.get(address)]
        )
        off = {}
        for spec in specs:
            place = self._places.get(spec.address)
            if refused.get(spec.address) and place is not None:
                place.recorded.discard(spec.function_id)
                off[spec.function_id] = spec.plan.disabled()
        if off:  # the instruction may be placed later, for another probe
            self._agent.set_flags(off)
        return [refused.get(spec.address, Refusal.NOTHING) for spec in specs]

    def limit(
        self, probes: Sequence[int], first: int, after: int, most: int | None, rate: int | None, *, is_counted: bool
    ) -> None:
        """As AgentLink.limit_probes; None: all."""
        if self._is_native:
            most, rate = (_abi.NO_LIMIT if one is None else one for one in (most, rate))
            self._agent.limit_probes(probes, first, after, most, rate, is_counted)

    def install_at_returns(self, plans: dict[int, Plan], functions: Sequence[tuple[int, int]]) -> None:
        """Probes of the returns of functions that are hooked. `functions`: a function's number, and a probe's."""
        self._agent.assign_extras(plans)
        self._agent.set_plans(plans)
        self._agent.add_probes(functions)
        self._returns_of |= {probe: function for function, probe in functions}

    def remove(self, plans: dict[int, Plan]) -> None:
        """Of probes that record no more, and never will again: plans that say so. An instruction without others gets
        its own bytes back; where that cannot be now, it goes through its trampoline as before."""
        self._agent.assign_extras(plans)
        self._agent.set_flags(plans)
        left: dict[int, Place] = {}
        further = []
        for probe in plans:
            if probe in self._returns_of:
                further.append((self._returns_of.pop(probe), probe))
            place = self._of_probe.pop(probe, None)
            if place is None:
                continue
            place.recorded.discard(probe)
            left[place.address] = place
            if probe != place.first:
                further.append((place.first, probe))
        self._write(list(left.values()))
        if further:
            self._agent.remove_probes(further)

    def take_out(self) -> bool:
        """All of them. Whether none stands any more."""
        places = self._all()
        for place in places:
            place.recorded.clear()
        return not self._write(places)

    def missing(self, memory: FileIO) -> set[int]:
        """Probes whose change is not there any more. `memory`: /proc/PID/mem."""
        return {
            probe
            for place in self._all()
            if place.is_placed
            and not self._patches.covering(place.address)
            and bytes_at(memory, place.address, len(place.changed)) not in (place.changed, b"")
            for probe in place.recorded
        }

    def forget(self, start: int, size: int) -> None:
        """The library there was unloaded."""
        for place in self._all():
            if start <= place.address < start + size:
                self._places.pop(place.address, None)
                for probe in [probe for probe, one in list(self._of_probe.items()) if one is place]:
                    self._of_probe.pop(probe, None)

    def without(self, address: int, code: bytes) -> bytes:
        """`code`, which stands at `address`, with the probed instructions as they are without probes."""
        return self._overlaid(address, code, lambda place: place.original)

    def over(self, address: int, code: bytes) -> bytes:
        """`code`, which would stand at `address` without probes, with them."""
        return self._overlaid(address, code, lambda place: place.changed if place.is_placed else b"")

    def cover(self, trampolines: Iterable[Trampoline]) -> dict[int, Refusal]:
        """As ProbedCode."""
        refused: dict[int, Refusal] = {}
        for one in trampolines:
            start = one.start
            near = [place for place in self._all() if start - _LONGEST < place.address < start + JUMP_BYTES]
            patch = CodePatch(start, b"", b"", one.resume, one.copies, one.mark)
            if near and (why := self._cover_one(patch, near)):
                refused[one.entry] = why
        return refused

    def _cover_one(self, patch: CodePatch, near: Sequence[Place]) -> Refusal:
        under = [place for place in near if patch.covers(place.address)]
        if any(place.in_c_library for place in under):
            return Refusal.LIBRARY_BLOCKS
        made = self._make_copies({patch.copy_of(place.address): place for place in under})
        if made is not Refusal.NOTHING:
            return made
        jumps = [place for place in under if place.is_jump]
        placed = [place for place in jumps if place.is_placed]
        changes: list[Change] = [
            (place.address, _BREAKPOINT + place.original[1:JUMP_BYTES], place.changed, None) for place in placed
        ]
        for place in jumps:
            place.is_jump = False
        if any(place.is_placed for place in under) and not self._note(under):
            for place in jumps:
                place.is_jump = True
            return Refusal.SIGNAL_BLOCKED
        refused = self._change(changes)
        for place, why in zip(placed, refused, strict=True):
            if why:  # a jump stands there as before
                place.is_jump = True
        if any(refused):
            return max(refused)
        return self._write_copies(under) or self._write_tails(self._tails(patch, near))

    def _make(self, specs: Sequence[PlaceSpec]) -> dict[int, Refusal]:
        """New ones, which are not placed yet; by address why there is none."""
        first = {spec.address: spec for spec in reversed(specs)}
        wanted = list(first.values())
        if not wanted:
            return {}
        made = self._agent.make_places([(spec.function_id, spec.address, spec.address) for spec in wanted])
        refused = {}
        for spec, answer in zip(wanted, made, strict=True):
            found = self._place_of(spec, answer)
            if isinstance(found, Refusal):
                refused[spec.address] = found
            else:
                self._places[spec.address] = found
        return refused

    def _place_of(self, spec: PlaceSpec, made: PlaceTrampoline | Refusal) -> Place | Refusal:
        if isinstance(made, Refusal):
            return made
        if any(found != known for found, known in zip(made.original, spec.code, strict=False)):
            return Refusal.OTHER_CODE
        hooks = self._patches.around(spec.address, spec.address + len(made.original))
        if any(item < 0 for item, _ in hooks):
            return Refusal.UNDER_OBSERVER
        under = [patch for _, patch in hooks if patch.covers(spec.address)]
        reaches = -(1 << 31) <= made.address - (spec.address + JUMP_BYTES) < 1 << 31
        # code that jumps over the prefix where there is one thread alone
        is_whole = not made.original.startswith(_LOCK)
        is_jump = len(made.original) >= JUMP_BYTES and reaches and is_whole and not under
        place = Place(
            spec.address, spec.function_id, made.address, made.back, made.original, made.mark, is_jump,
            spec.in_c_library,
        )  # fmt: skip
        if not is_jump and spec.in_c_library:
            return Refusal.LIBRARY_BLOCKS
        for patch in under:
            if why := self._make_copies({patch.copy_of(place.address): place}):
                return why
        changes = [change for _, patch in hooks for change in self._tails(patch, [place])]
        return self._write_tails(changes) or place

    def _make_copies(self, owners: dict[int, Place]) -> Refusal:
        """`owners`: by the addresses of the copies. What is probed there leads back into its own trampoline."""
        new = [(address, place) for address, place in owners.items() if address not in place.copies]
        made = self._agent.make_places([(place.first, address, place.address) for address, place in new]) if new else []
        for (address, place), one in zip(new, made, strict=True):
            if isinstance(one, Refusal):
                return one
            place.copies[address] = _Copy(address, one.address, one.original, one.mark)
        return Refusal.NOTHING

    def _write(self, places: Sequence[Place]) -> dict[int, Refusal]:
        """Brings the code in line with what is recorded; by address why not."""
        changed = [place for place in places if place.is_placed != bool(place.recorded)]
        coming = [place for place in changed if place.recorded]
        traps = [place for place in coming if not place.is_jump or place.copies]
        refused: dict[int, Refusal] = {}
        self._note([place for place in coming if place not in traps])
        if not self._note(traps):
            refused = {place.address: Refusal.SIGNAL_BLOCKED for place in traps}
        chosen = [place for place in changed if place.address not in refused]
        bases = [place for place in chosen if not self._patches.covering(place.address)]
        for place in chosen:
            place.is_placed = bool(place.recorded)
        changes: list[Change] = []
        for place in bases:
            own, other = place.original, place.changed
            wanted, present = (other, own) if place.is_placed else (own[: len(other)], other)
            changes.append((place.address, wanted, present, None))
        results = self._change(changes, [place.mark if place.is_placed else None for place in bases])
        for place, why in zip(bases, results, strict=True):
            if why:
                refused[place.address] = why
                place.is_placed = not place.is_placed
        for place in chosen:
            if place.address not in refused and (why := self._write_copies([place])) and place.is_placed:
                refused[place.address] = why
                self._withdraw(place, is_base_written=place in bases)
        return refused

    def _withdraw(self, place: Place, is_base_written: bool) -> None:
        """Of a place that could not be written everywhere."""
        place.is_placed = False
        if is_base_written:
            present = place.changed
            self._change([(place.address, place.original[: len(present)], present, None)])
        self._write_copies([place])

    def _write_copies(self, places: Iterable[Place]) -> Refusal:
        """Brings the copies of instructions in line with these; why one could not be."""
        chosen = [
            (place, copy) for place in places for copy in place.copies.values() if copy.is_placed != place.is_placed
        ]
        changes: list[Change] = []
        for place, copy in chosen:
            own = copy.original[:1]
            wanted, present = (_BREAKPOINT, own) if place.is_placed else (own, _BREAKPOINT)
            changes.append((copy.address, wanted, present, None))
        failed = Refusal.NOTHING
        for (place, copy), why in zip(chosen, self._change(changes), strict=True):
            failed = failed or why
            if not why:
                copy.is_placed = place.is_placed
        return failed

    def _tails(self, patch: CodePatch, places: Iterable[Place]) -> list[Change]:
        """Trampolines that lead into the middle of a function's jump lead into its copies instead."""
        changes: list[Change] = []
        for place in places:
            if place.back and patch.covers(place.next) and place.next != patch.address:
                present = self._patches.read(place.back, JUMP_BYTES)
                wanted = jump_to(place.back, patch.copy_of(place.next))
                if present != wanted:
                    changes.append((place.back, wanted, present, None))
        return changes

    def _write_tails(self, changes: list[Change]) -> Refusal:
        """Why one of them was not made; those that were lead to the same instructions as before."""
        return next((why for why in self._change(changes) if why), Refusal.NOTHING)

    def _change(self, changes: list[Change], marks: Sequence[tuple[int, int] | None] = ()) -> list[Refusal]:
        """As CodePatches.change; breakpoint instructions where SIGTRAP is not blocked."""
        agents: set[int] = set()
        if self._patches.running and any(wanted[:1] == _BREAKPOINT for _, wanted, _, _ in changes):
            with contextlib.suppress(OSError):  # the process is gone
                tasks = task_ids(self._pid)
                agents = tasks - self._agent.program_threads(tasks)
        return self._patches.change(changes, marks, agents)

    def _note(self, places: Iterable[Place]) -> bool:
        """False where breakpoint instructions may not be written."""
        changes = []
        for place in places:
            original = place.original[:_NOTED_BYTES]
            changes.append(ProbeChange(place.address, place.trampoline, original, not place.is_jump))
            changes += [ProbeChange(one.address, one.trampoline, one.original, True) for one in place.copies.values()]
        return not changes or self._agent.note_probes(changes)

    def _all(self) -> list[Place]:
        """`forget` may come at any moment, on the thread to which libraries are reported."""
        return list(self._places.values())

    def _overlaid(self, address: int, code: bytes, given: Callable[[Place], bytes]) -> bytes:
        found = bytearray(code)
        for place in self._all():
            if address - _LONGEST < place.address < address + len(code):
                for offset, byte in enumerate(given(place)):
                    if 0 <= place.address + offset - address < len(code):
                        found[place.address + offset - address] = byte
        return bytes(found)
