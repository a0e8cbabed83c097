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
from strobe.capture.agent.agent_link import AgentLink, ProbeChange, SiteTrampoline
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
class SiteSpec:
    """A probe of the instruction at `address`. `code`: the first bytes that must stand there, as many as are known.
    `in_c_library`: which blocks signals by itself, so that no breakpoint instruction may stand in it."""

    function_id: int
    address: int
    plan: Plan
    code: bytes = b""
    in_c_library: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """How often a probe is recorded, of all its sites together: not the first `after` times, then `most` times, and
    `rate` times a second; None: always. `is_counted`: it is counted how often they are reached. `ends`: behind the last
    one its condition is not looked at any more."""

    after: int
    most: int | None
    rate: int | None
    is_counted: bool
    ends: bool = False

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """As AgentLink.limit_probes takes them."""
        most, rate = (_abi.NO_LIMIT if one is None else one for one in (self.most, self.rate))
        flags = (_abi.LIMIT_COUNTS_HITS if self.is_counted else 0) | (_abi.LIMIT_ENDS if self.ends else 0)
        return self.after, most, rate, flags

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
    is_installed: bool = False


@dataclass(slots=True)
class Site:
    """A probed instruction. `first`: the number of its first probe; `recorded`: of those that record at present;
    `chain`: in the order in which a thread that reaches it goes through them, the first one also when it is removed.
    `back`: where its trampoline's last jump lies, 0 for none. `can_jump`: a jump has room in it, and reaches its
    trampoline; `is_jump`: it is, or is to be, one. `is_installed`: it is changed, or would be if no hook's jump lay
    over it."""

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
    chain: list[int] = field(default_factory=list)
    copies: dict[int, _Copy] = field(default_factory=dict)
    is_installed: bool = False

    @property
    def differs(self) -> bool:
        """Whether the code is not what it is to be for those that record."""
        wanted = bool(self.recorded)
        return self.is_installed != wanted or any(copy.is_installed != wanted for copy in self.copies.values())

    @property
    def next(self) -> int:
        """Where the instruction behind it begins."""
        return self.address + len(self.original)

    @property
    def changed(self) -> bytes:
        """What stands there instead of its first bytes."""
        return self.jump if self.is_jump else _BREAKPOINT

    @property
    def jump(self) -> bytes:
        """To its trampoline."""
        return jump_to(self.address, self.trampoline)


def jump_to(address: int, leads_to: int) -> bytes:
    """A jump at `address`."""
    return struct.pack("<Bi", JUMP, leads_to - (address + JUMP_BYTES))


class ProbeSites:
    """The probed instructions of one process. Its methods raise as AgentLink and CodePatches do."""

    def __init__(self, pid: int, agent: AgentLink, patches: CodePatches, is_native: bool) -> None:
        self._pid = pid
        self._agent = agent
        self._patches = patches
        self._is_native = is_native
        self._sites: dict[int, Site] = {}
        self._of_probe: dict[int, Site] = {}
        self._returns_of: dict[int, int] = {}  # by probe: the number of the function
        self._forgotten: list[tuple[int, int]] = []  # start and size of libraries that have gone while sites are made
        patches.sites = self

    def install(self, specs: Sequence[SiteSpec]) -> list[Refusal]:
        """Installs probes in one batch; for each why it was not installed. Where this raises none of them records."""
        if not self._is_native:
            return [Refusal.NOT_NATIVE] * len(specs)
        try:
            return self._install(specs)
        except BaseException:
            self._give_up({spec.function_id: spec.plan.disabled() for spec in specs})
            raise

    def _install(self, specs: Sequence[SiteSpec]) -> list[Refusal]:
        plans = {spec.function_id: spec.plan for spec in specs}
        again = {
            spec.function_id: spec.plan
            for spec in specs
            if (site := self._sites.get(spec.address)) is not None and site.first == spec.function_id
        }
        self._agent.assign_extras(plans)
        self._agent.set_plans({number: plan for number, plan in plans.items() if number not in again})
        if again:  # which have others behind them
            self._agent.set_flags(again)
        refused = self._make([spec for spec in specs if spec.address not in self._sites])
        for spec in specs:
            site = self._sites.get(spec.address)
            if site is None:  # refused, or its library has just been unloaded
                refused.setdefault(spec.address, Refusal.UNLOADED)
            if site is None or refused.get(spec.address):
                continue
            if spec.function_id not in site.chain:
                self._agent.add_probes([(site.first, spec.function_id)])
                site.chain.append(spec.function_id)
            self._of_probe[spec.function_id] = site
            if spec.plan.is_enabled:
                site.recorded.add(spec.function_id)
        chosen = {spec.address: self._of_probe.get(spec.function_id) for spec in specs}
        refused |= self._write(
            [site for address, site in chosen.items() if site is not None and not refused.get(address)]
        )
        off = {}
        for spec in specs:
            site = self._sites.get(spec.address)
            if refused.get(spec.address) and site is not None:
                site.recorded.discard(spec.function_id)
                off[spec.function_id] = spec.plan.disabled()
        if off:  # the instruction may be installed later, for another probe
            self._agent.set_flags(off)
        return [refused.get(spec.address, Refusal.NOTHING) for spec in specs]

    def _give_up(self, plans: dict[int, Plan]) -> None:
        """What could not be installed is as if nobody had asked for it, as far as the process still listens."""
        left = [site for probe in plans if (site := self._of_probe.pop(probe, None)) is not None]
        for site in left:
            site.recorded -= plans.keys()
        with contextlib.suppress(ProcessLookupError, StrobeError):
            self._agent.set_flags(plans)
            self._write(left)

    def prepare(self, plans: dict[int, Plan]) -> None:
        """What `install` will have numbers of removed probes record: until then they record nothing, and never again
        what they recorded before."""
        self._agent.assign_extras(plans)
        self._agent.set_flags({number: plan.disabled() for number, plan in plans.items()})

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

    def remove(self, plans: dict[int, Plan]) -> set[int]:
        """Of probes that record no more: plans that say so. An instruction without others gets its own bytes back;
        where that cannot be now, it goes through its trampoline as before.

        Gives the numbers that another probe of the same instruction can have: a thread that stands at one of them has
        no other probe behind it, or finds them as before.
        """
        free = set()
        self._agent.assign_extras(plans)
        self._agent.set_flags(plans)
        left: dict[int, Site] = {}
        further = []
        for probe in plans:
            if probe in self._returns_of:
                further.append((self._returns_of.pop(probe), probe))
            site = self._of_probe.pop(probe, None)
            if site is None:
                continue
            site.recorded.discard(probe)
            left[site.address] = site
            if probe in (site.first, site.chain[-1]):
                free.add(probe)
            if probe != site.first:
                further.append((site.first, probe))
                site.chain.remove(probe)
        if further:
            self._agent.remove_probes(further)
        try:
            self._write(list(left.values()))
        except StrobeError as error:  # another debugger has the process
            log.info("probed instructions of process %d stay as they are: %s", self._pid, error)
        return free

    def take_out(self) -> bool:
        """All of them. Whether none stands any more."""
        sites = self._all()
        for site in sites:
            site.recorded.clear()
        return not self._write(sites)

    def missing(self, memory: FileIO, hooks: Collection[int]) -> set[int]:
        """Probes whose change is not there any more, be it the jump of one of these `hooks`, whose own are not: what is
        under it, or hangs on its returns, is not reached either. `memory`: /proc/PID/mem."""
        gone = {
            site.address
            for site in self._all()
            if site.is_installed
            and not self._patches.covering(site.address)
            and bytes_at(memory, site.address, len(site.changed)) not in (site.changed, b"")
        }
        if hooks:
            gone |= {site.address for site in self._all() if self._patches.covering(site.address, hooks)}
        of_returns = {probe for probe, function in list(self._returns_of.items()) if function in hooks}
        return of_returns | {probe for site in self._all() if site.address in gone for probe in list(site.recorded)}

    def forget(self, start: int, size: int) -> None:
        """The library there was unloaded."""
        self._forgotten.append((start, size))
        for site in self._all():
            if start <= site.address < start + size:
                self._sites.pop(site.address, None)
                for probe in [probe for probe, one in list(self._of_probe.items()) if one is site]:
                    self._of_probe.pop(probe, None)

    def without(self, address: int, code: bytes) -> bytes:
        """`code`, which stands at `address`, with the probed instructions as they are without probes."""
        return self._overlaid(address, code, lambda site: site.original)

    def over(self, address: int, code: bytes) -> bytes:
        """`code`, which would stand at `address` without probes, with them."""
        return self._overlaid(address, code, lambda site: site.changed if site.is_installed else b"")

    def cover(self, patches: Mapping[int, CodePatch]) -> dict[int, Refusal]:
        """As ProbedCode."""
        refused: dict[int, Refusal] = {}
        sites = self._ordered()
        for item, patch in patches.items():
            if (near := _near(patch, sites)) and (why := self._cover_one(patch, near)):
                refused[item] = why
        return refused

    def uncover(self, patches: Iterable[CodePatch]) -> None:
        """As ProbedCode. What cannot be a jump now stays a breakpoint instruction, which records the same."""
        sites = self._ordered()
        under = [site for patch in patches for site in _near(patch, sites) if site.can_jump and not site.is_jump]
        free = [site for site in under if not self._patches.covering(site.address)]
        installed = [site for site in free if site.is_installed]
        try:
            if not self._note(installed, as_jumps=True):
                return
            # nobody goes on in the middle of the instruction: who has run into its breakpoint goes to the trampoline
            changes: list[Change] = [
                (site.address, site.jump, _BREAKPOINT + site.original[1:JUMP_BYTES], (0, 0, 0, 0)) for site in installed
            ]
            results = self._change(changes)
        except StrobeError as error:
            log.info("probed instructions of process %d stay breakpoints: %s", self._pid, error)
            return
        refused = {site.address for site, why in zip(installed, results, strict=True) if why}
        for site in free:
            site.is_jump = site.address not in refused

    def _cover_one(self, patch: CodePatch, near: Sequence[Site]) -> Refusal:
        under = [site for site in near if patch.covers(site.address)]
        if any(site.in_c_library for site in under):
            return Refusal.LIBRARY_BLOCKS
        made = self._make_copies({patch.copy_of(site.address): site for site in under})
        if made is not Refusal.NOTHING:
            return made
        if any(site.is_installed for site in under) and not self._note(under, as_jumps=False):
            return Refusal.SIGNAL_BLOCKED
        return (
            self._become_breakpoints([site for site in under if site.is_jump])
            or self._write_copies(under)
            or self._write_tails(self._tails(patch, near))
        )

    def _become_breakpoints(self, sites: Sequence[Site]) -> Refusal:
        """Why one of them cannot: there a jump stands as before."""
        installed = [site for site in sites if site.is_installed]
        results = self._change(
            [(site.address, _BREAKPOINT + site.original[1:JUMP_BYTES], site.jump, None) for site in installed]
        )
        refused = {site.address: why for site, why in zip(installed, results, strict=True) if why}
        for site in sites:
            site.is_jump = site.address in refused
        return max(refused.values(), default=Refusal.NOTHING)

    def _make(self, specs: Sequence[SiteSpec]) -> dict[int, Refusal]:
        """New ones, which are not installed yet; by address why there is none."""
        first = {spec.address: spec for spec in reversed(specs)}
        wanted = list(first.values())
        if not wanted:
            return {}
        self._forgotten = []
        made = self._agent.make_sites([(spec.function_id, spec.address, spec.address) for spec in wanted])
        refused = {}
        for spec, answer in zip(wanted, made, strict=True):
            found = self._site_of(spec, answer)
            if isinstance(found, Refusal):
                refused[spec.address] = found
                continue
            self._sites[spec.address] = found
            # its trampoline has gone with its library, which may come again
            if any(start <= spec.address < start + size for start, size in self._forgotten):
                self._sites.pop(spec.address, None)
        return refused

    def _site_of(self, spec: SiteSpec, made: SiteTrampoline | Refusal) -> Site | Refusal:
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
        is_jump = can_jump and not any(patch.installed for patch in under)
        site = Site(
            spec.address, spec.function_id, made.address, made.back, made.original, made.mark, can_jump, is_jump,
            spec.in_c_library, chain=[spec.function_id],
        )  # fmt: skip
        if spec.in_c_library and (under or not is_jump):  # copies have breakpoint instructions
            return Refusal.LIBRARY_BLOCKS
        for patch in under:
            if why := self._make_copies({patch.copy_of(site.address): site}):
                return why
        changes = [change for _, patch in hooks for change in self._tails(patch, [site])]
        return self._write_tails(changes) or site

    def _make_copies(self, owners: dict[int, Site]) -> Refusal:
        """`owners`: by the addresses of the copies. What is probed there leads back into its own trampoline."""
        new = [(address, site) for address, site in owners.items() if address not in site.copies]
        made = self._agent.make_sites([(site.first, address, site.address) for address, site in new]) if new else []
        for (address, site), one in zip(new, made, strict=True):
            if isinstance(one, Refusal):
                return one
            site.copies[address] = _Copy(address, one.address, one.original, one.mark)
        return Refusal.NOTHING

    def _write(self, sites: Sequence[Site]) -> dict[int, Refusal]:
        """Brings the code in line with what is recorded; by address why not. Where a step raises nothing of that step
        is written, and what is known of the code stays right: the next call goes on from there."""
        changed = [site for site in sites if site.differs]
        coming = [site for site in changed if site.recorded]
        traps = [site for site in coming if not site.is_jump or site.copies]
        refused: dict[int, Refusal] = {}
        self._note([site for site in coming if site not in traps])
        if not self._note(traps):
            refused = {site.address: Refusal.SIGNAL_BLOCKED for site in traps}
        chosen = [site for site in changed if site.address not in refused]
        written = self._write_bases(chosen)
        refused |= {address: why for address, why in written.items() if why}
        for site in chosen:
            if site.address not in refused and (why := self._write_copies([site])) and site.is_installed:
                refused[site.address] = why
                self._withdraw(site, is_base_written=site.address in written)
        return refused

    def _write_bases(self, sites: Sequence[Site]) -> dict[int, Refusal]:
        """Of the instructions themselves, where no jump lies over them: by address why one was not written."""
        wanted = {site.address: bool(site.recorded) for site in sites}
        chosen = [site for site in sites if site.is_installed != wanted[site.address]]
        bases = [site for site in chosen if not self._patches.covering(site.address)]
        changes: list[Change] = []
        for site in bases:
            own, other = site.original, site.changed
            new, present = (other, own) if wanted[site.address] else (own[: len(other)], other)
            changes.append((site.address, new, present, None))
        results = self._change(changes, [site.mark if wanted[site.address] else None for site in bases])
        written = {site.address: why for site, why in zip(bases, results, strict=True)}
        for site in chosen:
            if not written.get(site.address):
                site.is_installed = wanted[site.address]
        return written

    def _withdraw(self, site: Site, is_base_written: bool) -> None:
        """Of a site that could not be written everywhere."""
        if is_base_written:
            present = site.changed
            if any(self._change([(site.address, site.original[: len(present)], present, None)])):
                return  # it goes through its trampoline, where nothing is recorded
        site.is_installed = False
        self._write_copies([site])

    def _write_copies(self, sites: Iterable[Site]) -> Refusal:
        """Brings the copies of instructions in line with these; why one could not be."""
        chosen = [
            (site, copy) for site in sites for copy in site.copies.values() if copy.is_installed != site.is_installed
        ]
        changes: list[Change] = []
        for site, copy in chosen:
            own = copy.original[:1]
            wanted, present = (_BREAKPOINT, own) if site.is_installed else (own, _BREAKPOINT)
            changes.append((copy.address, wanted, present, None))
        failed = Refusal.NOTHING
        for (site, copy), why in zip(chosen, self._change(changes), strict=True):
            failed = failed or why
            if not why:
                copy.is_installed = site.is_installed
        return failed

    def _tails(self, patch: CodePatch, sites: Iterable[Site]) -> list[Change]:
        """Trampolines that lead into the middle of a function's jump lead into its copies instead."""
        changes: list[Change] = []
        for site in sites:
            if site.back and patch.covers(site.next) and site.next != patch.address:
                present = self._patches.read(site.back, JUMP_BYTES)
                wanted = jump_to(site.back, patch.copy_of(site.next))
                if present != wanted:
                    changes.append((site.back, wanted, present, None))
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

    def _note(self, sites: Iterable[Site], as_jumps: bool | None = None) -> bool:
        """False where breakpoint instructions may not be written. `as_jumps`: what they are about to become."""
        changes = []
        for site in sites:
            is_jump = site.is_jump if as_jumps is None else as_jumps
            original = site.original[:_NOTED_BYTES]
            changes.append(ProbeChange(site.address, site.trampoline, original, not is_jump))
            changes += [ProbeChange(one.address, one.trampoline, one.original, True) for one in site.copies.values()]
        return not changes or self._agent.note_probes(changes)

    def _all(self) -> list[Site]:
        """`forget` may come at any moment, on the thread to which libraries are reported."""
        return list(self._sites.values())

    def _ordered(self) -> list[Site]:
        return sorted(self._all(), key=_address)

    def _overlaid(self, address: int, code: bytes, given: Callable[[Site], bytes]) -> bytes:
        found = bytearray(code)
        for site in self._all():
            if address - _LONGEST < site.address < address + len(code):
                for offset, byte in enumerate(given(site)):
                    if 0 <= site.address + offset - address < len(code):
                        found[site.address + offset - address] = byte
        return bytes(found)


def _address(site: Site) -> int:
    return site.address


def _near(patch: CodePatch, sites: Sequence[Site]) -> Sequence[Site]:
    """Those that its jump lies over, and those in front of it. `sites`: by address."""
    first = bisect_right(sites, patch.address - _LONGEST, key=_address)
    return sites[first : bisect_left(sites, patch.address + JUMP_BYTES, key=_address)]
