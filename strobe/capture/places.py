"""Instructions that are probed. Each has a trampoline, which the agent makes; its own bytes become a jump to it where
it is as long as one, else its first byte becomes a breakpoint instruction, whose handler has the thread go on there.

A function that is traced begins with a jump over its first instructions, and runs copies of them in its trampoline.
What is probed among these has a breakpoint instruction in its copy, too, so it does not matter which of the two runs.
"""

from __future__ import annotations

import contextlib
import logging
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from io import FileIO

from strobe import _abi
from strobe._abi import Refusal
from strobe.capture.agent.agent_link import AgentLink, PlaceTrampoline, ProbeChange
from strobe.capture.code_patches import JUMP, JUMP_BYTES, Change, CodePatch, CodePatches, bytes_at
from strobe.capture.probes import Plan
from strobe.capture.task_status import task_ids
from strobe.dataclass import dataclass, field
from strobe.errors import StrobeError

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


@dataclass(frozen=True, slots=True)
class Limit:
    """How often a probe is recorded, of all its places together: not the first `after` times, then `most` times, and
    `rate` times a second; None: always. `is_counted`: it is counted how often they are reached."""

    after: int
    most: int | None
    rate: int | None
    is_counted: bool

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """As AgentLink.limit_probes takes them."""
        most, rate = (_abi.NO_LIMIT if one is None else one for one in (self.most, self.rate))
        return self.after, most, rate, int(self.is_counted)

    @property
    def is_one(self) -> bool:
        """Whether there is anything to count."""
        return self.after > 0 or self.most is not None or self.rate is not None or self.is_counted


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
    `back`: where its trampoline's last jump lies, 0 for none. `can_jump`: a jump has room in it, and reaches its
    trampoline; `is_jump`: it is, or is to be, one. `is_placed`: it is changed, or would be if no hook's jump lay over
    it."""

    address: int
    first: int
    trampoline: int
    back: int
    original: bytes
    mark: tuple[int, int]
    can_jump: bool
    is_jump: bool
    in_c_library: bool
    recorded: set[int] = field(default_factory=set)
    copies: dict[int, _Copy] = field(default_factory=dict)
    is_placed: bool = False

    @property
    def differs(self) -> bool:
        """Whether the code is not what it is to be for those that record."""
        wanted = bool(self.recorded)
        return self.is_placed != wanted or any(copy.is_placed != wanted for copy in self.copies.values())

    @property
    def next(self) -> int:
        """Where the instruction behind it begins."""
        return self.address + len(self.original)

    @property
    def changed(self) -> bytes:
        """What stands there in the place of its first bytes."""
        return self.jump if self.is_jump else _BREAKPOINT

    @property
    def jump(self) -> bytes:
        """To its trampoline."""
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
        self._forgotten: list[tuple[int, int]] = []  # start and size of libraries that have gone while places are made
        patches.places = self

    def install(self, specs: Sequence[PlaceSpec]) -> list[Refusal]:
        """Places probes in one batch; for each why it was not placed. Where this raises none of them records."""
        if not self._is_native:
            return [Refusal.NOT_NATIVE] * len(specs)
        try:
            return self._install(specs)
        except BaseException:
            self._give_up({spec.function_id: spec.plan.disabled() for spec in specs})
            raise

    def _install(self, specs: Sequence[PlaceSpec]) -> list[Refusal]:
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

    def _give_up(self, plans: dict[int, Plan]) -> None:
        """What could not be installed is as if nobody had asked for it, as far as the process still listens."""
        left = [place for probe in plans if (place := self._of_probe.pop(probe, None)) is not None]
        for place in left:
            place.recorded -= plans.keys()
        with contextlib.suppress(ProcessLookupError, StrobeError):
            self._agent.set_flags(plans)
            self._write(left)

    def limit(self, probes: Sequence[int], first: int, limit: Limit | None) -> None:
        """As AgentLink.limit_probes."""
        if self._is_native:
            self._agent.limit_probes(probes, first, None if limit is None else limit.numbers)

    def install_at_returns(self, plans: dict[int, Plan], functions: Sequence[tuple[int, int]]) -> None:
        """Probes of the returns of functions that are hooked. `functions`: a function's number, and a probe's. Where
        this raises none of them records."""
        try:
            self._agent.assign_extras(plans)
            self._agent.set_plans(plans)
            self._agent.add_probes(functions)
        except BaseException:
            with contextlib.suppress(ProcessLookupError, StrobeError):
                self._agent.set_flags({probe: plan.disabled() for probe, plan in plans.items()})
                self._agent.remove_probes(functions)
            raise
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
        if further:
            self._agent.remove_probes(further)
        try:
            self._write(list(left.values()))
        except StrobeError as error:  # another debugger has the process
            log.info("probed instructions of process %d stay as they are: %s", self._pid, error)

    def take_out(self) -> bool:
        """All of them. Whether none stands any more."""
        places = self._all()
        for place in places:
            place.recorded.clear()
        return not self._write(places)

    def missing(self, memory: FileIO, hooks: Collection[int]) -> set[int]:
        """Probes whose change is not there any more, be it the jump of one of these `hooks`, whose own are not: what is
        under it, or hangs on its returns, is not reached either. `memory`: /proc/PID/mem."""
        gone = {
            place.address
            for place in self._all()
            if place.is_placed
            and not self._patches.covering(place.address)
            and bytes_at(memory, place.address, len(place.changed)) not in (place.changed, b"")
        }
        if hooks:
            gone |= {place.address for place in self._all() if self._patches.covering(place.address, hooks)}
        of_returns = {probe for probe, function in list(self._returns_of.items()) if function in hooks}
        return of_returns | {probe for place in self._all() if place.address in gone for probe in list(place.recorded)}

    def forget(self, start: int, size: int) -> None:
        """The library there was unloaded."""
        self._forgotten.append((start, size))
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

    def cover(self, patches: Mapping[int, CodePatch]) -> dict[int, Refusal]:
        """As ProbedCode."""
        refused: dict[int, Refusal] = {}
        places = self._ordered()
        for item, patch in patches.items():
            if (near := _near(patch, places)) and (why := self._cover_one(patch, near)):
                refused[item] = why
        return refused

    def uncover(self, patches: Iterable[CodePatch]) -> None:
        """As ProbedCode. What cannot be a jump now stays a breakpoint instruction, which records the same."""
        places = self._ordered()
        under = [place for patch in patches for place in _near(patch, places) if place.can_jump and not place.is_jump]
        free = [place for place in under if not self._patches.covering(place.address)]
        placed = [place for place in free if place.is_placed]
        try:
            if not self._note(placed, as_jumps=True):
                return
            # nobody goes on in the middle of the instruction: who has run into its breakpoint goes to the trampoline
            changes: list[Change] = [
                (place.address, place.jump, _BREAKPOINT + place.original[1:JUMP_BYTES], (0, 0, 0, 0))
                for place in placed
            ]
            results = self._change(changes)
        except StrobeError as error:
            log.info("probed instructions of process %d stay breakpoints: %s", self._pid, error)
            return
        refused = {place.address for place, why in zip(placed, results, strict=True) if why}
        for place in free:
            place.is_jump = place.address not in refused

    def _cover_one(self, patch: CodePatch, near: Sequence[Place]) -> Refusal:
        under = [place for place in near if patch.covers(place.address)]
        if any(place.in_c_library for place in under):
            return Refusal.LIBRARY_BLOCKS
        made = self._make_copies({patch.copy_of(place.address): place for place in under})
        if made is not Refusal.NOTHING:
            return made
        if any(place.is_placed for place in under) and not self._note(under, as_jumps=False):
            return Refusal.SIGNAL_BLOCKED
        return (
            self._become_breakpoints([place for place in under if place.is_jump])
            or self._write_copies(under)
            or self._write_tails(self._tails(patch, near))
        )

    def _become_breakpoints(self, places: Sequence[Place]) -> Refusal:
        """Why one of them cannot: there a jump stands as before."""
        placed = [place for place in places if place.is_placed]
        results = self._change(
            [(place.address, _BREAKPOINT + place.original[1:JUMP_BYTES], place.jump, None) for place in placed]
        )
        refused = {place.address: why for place, why in zip(placed, results, strict=True) if why}
        for place in places:
            place.is_jump = place.address in refused
        return max(refused.values(), default=Refusal.NOTHING)

    def _make(self, specs: Sequence[PlaceSpec]) -> dict[int, Refusal]:
        """New ones, which are not placed yet; by address why there is none."""
        first = {spec.address: spec for spec in reversed(specs)}
        wanted = list(first.values())
        if not wanted:
            return {}
        self._forgotten = []
        made = self._agent.make_places([(spec.function_id, spec.address, spec.address) for spec in wanted])
        refused = {}
        for spec, answer in zip(wanted, made, strict=True):
            found = self._place_of(spec, answer)
            if isinstance(found, Refusal):
                refused[spec.address] = found
                continue
            self._places[spec.address] = found
            # its trampoline has gone with its library, which may come again
            if any(start <= spec.address < start + size for start, size in self._forgotten):
                self._places.pop(spec.address, None)
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
        can_jump = len(made.original) >= JUMP_BYTES and reaches and is_whole
        is_jump = can_jump and not any(patch.placed for patch in under)
        place = Place(
            spec.address, spec.function_id, made.address, made.back, made.original, made.mark, can_jump, is_jump,
            spec.in_c_library,
        )  # fmt: skip
        if spec.in_c_library and (under or not is_jump):  # copies have breakpoint instructions
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
        """Brings the code in line with what is recorded; by address why not. Where a step raises nothing of that step
        is written, and what is known of the code stays right: the next call goes on from there."""
        changed = [place for place in places if place.differs]
        coming = [place for place in changed if place.recorded]
        traps = [place for place in coming if not place.is_jump or place.copies]
        refused: dict[int, Refusal] = {}
        self._note([place for place in coming if place not in traps])
        if not self._note(traps):
            refused = {place.address: Refusal.SIGNAL_BLOCKED for place in traps}
        chosen = [place for place in changed if place.address not in refused]
        written = self._write_bases(chosen)
        refused |= {address: why for address, why in written.items() if why}
        for place in chosen:
            if place.address not in refused and (why := self._write_copies([place])) and place.is_placed:
                refused[place.address] = why
                self._withdraw(place, is_base_written=place.address in written)
        return refused

    def _write_bases(self, places: Sequence[Place]) -> dict[int, Refusal]:
        """Of the instructions themselves, where no jump lies over them: by address why one was not written."""
        wanted = {place.address: bool(place.recorded) for place in places}
        chosen = [place for place in places if place.is_placed != wanted[place.address]]
        bases = [place for place in chosen if not self._patches.covering(place.address)]
        changes: list[Change] = []
        for place in bases:
            own, other = place.original, place.changed
            new, present = (other, own) if wanted[place.address] else (own[: len(other)], other)
            changes.append((place.address, new, present, None))
        results = self._change(changes, [place.mark if wanted[place.address] else None for place in bases])
        written = {place.address: why for place, why in zip(bases, results, strict=True)}
        for place in chosen:
            if not written.get(place.address):
                place.is_placed = wanted[place.address]
        return written

    def _withdraw(self, place: Place, is_base_written: bool) -> None:
        """Of a place that could not be written everywhere."""
        if is_base_written:
            present = place.changed
            if any(self._change([(place.address, place.original[: len(present)], present, None)])):
                return  # it goes through its trampoline, where nothing is recorded
        place.is_placed = False
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

    def _note(self, places: Iterable[Place], as_jumps: bool | None = None) -> bool:
        """False where breakpoint instructions may not be written. `as_jumps`: what they are about to become."""
        changes = []
        for place in places:
            is_jump = place.is_jump if as_jumps is None else as_jumps
            original = place.original[:_NOTED_BYTES]
            changes.append(ProbeChange(place.address, place.trampoline, original, not is_jump))
            changes += [ProbeChange(one.address, one.trampoline, one.original, True) for one in place.copies.values()]
        return not changes or self._agent.note_probes(changes)

    def _all(self) -> list[Place]:
        """`forget` may come at any moment, on the thread to which libraries are reported."""
        return list(self._places.values())

    def _ordered(self) -> list[Place]:
        return sorted(self._all(), key=_address)

    def _overlaid(self, address: int, code: bytes, given: Callable[[Place], bytes]) -> bytes:
        found = bytearray(code)
        for place in self._all():
            if address - _LONGEST < place.address < address + len(code):
                for offset, byte in enumerate(given(place)):
                    if 0 <= place.address + offset - address < len(code):
                        found[place.address + offset - address] = byte
        return bytes(found)


def _address(place: Place) -> int:
    return place.address


def _near(patch: CodePatch, places: Sequence[Place]) -> Sequence[Place]:
    """Those that its jump lies over, and those in front of it. `places`: by address."""
    first = bisect_right(places, patch.address - _LONGEST, key=_address)
    return places[first : bisect_left(places, patch.address + JUMP_BYTES, key=_address)]
