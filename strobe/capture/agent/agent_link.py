"""Talks to the agent in one target: loads it, and turns its messages into typed calls with a bound on the wait."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from strobe import _abi, resources, threads
from strobe._abi import Refusal
from strobe.capture import task_status
from strobe.capture.agent.extras_request import ExtrasRequest
from strobe.capture.agent.frida_import import frida
from strobe.capture.attachable import live_segments
from strobe.capture.landings import Landing
from strobe.capture.probes import CaptureTable, Plan, ProbeSpec, Trampoline
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.model import LoadedModule, Removal

log = logging.getLogger(__name__)

ANSWER_S = 5.0  # of a process that is stopped
BUSY_ANSWER_S = 30.0  # of one that gets little of the processors
LEAVING_S = 5.0
INSTALL_S = 60.0  # thousands of hooks
SPECS_AT_ONCE = 8192  # so that the time depends on how busy the machine is, and not on how many there are
_LEAVING_POLL_S = 0.002
LEAVING_TURNS = 300  # that the agent has had to answer; where they take longer, so do the program's threads
_STORE_MARGIN_S = 1.0  # between the agent's last moment to write and ours to wait

_NO_MEMORY = "the recorder could not start: error 12"  # ENOMEM, agent/recorder.ts
_OTHER_SESSION = "another session records it"  # agent/recorder.ts: two attach at the same moment

# A library is there, and the thread that loads it waits until the second argument is called. None: those that
# mapped_elf.unlisted finds have changed.
ModuleAdded = Callable[[LoadedModule | None, Callable[[], None]], None]
ModuleRemoved = Callable[[Removal], None]


class Unresponsive(StrobeError):
    """No answer has come in time; it may come yet."""


@dataclass(frozen=True, slots=True)
class LeftChange:
    """Code that an agent leaves, or one before it has left: what stands there, and what is to."""

    address: int
    present: bytes
    original: bytes


@dataclass(frozen=True, slots=True)
class SiteTrampoline:
    """Made by the agent for an instruction. `address`: where it begins; `back`: where its last jump lies, 0 where
    nothing follows the instruction; `original`: its bytes; `mark`: as Trampoline has it."""

    address: int
    back: int
    original: bytes
    mark: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ProbeChange:
    """Of an instruction's first bytes: a breakpoint instruction, or else a jump. `original`: the instruction."""

    address: int
    leads_to: int
    original: bytes
    is_breakpoint: bool


@dataclass(frozen=True, slots=True)
class Setup:
    """`form`: which form of the recorder is in use. `catches_returns`: False where the CPU forbids replacing return
    addresses (shadow stack), so that only entries are recorded. `reason`: why it is not the native form.
    `recorder`: address of its struct strobe_recorder. `left`: to be taken back before anything is hooked.
    `first_function`: the first number of a function that this session gives.
    `interceptor_writes`: Frida writes the hooks while threads run, so it may only do so before any does."""

    form: str
    catches_returns: bool
    reason: str = ""
    interceptor_writes: bool = False
    recorder: int = 0
    left: tuple[LeftChange, ...] = ()
    first_function: int = 1


class AgentLink:
    """The agent of one process. Its methods raise agent_unresponsive, agent_failed, agent_left, and ProcessLookupError
    when the process is gone."""

    def __init__(
        self, session: Any, pid: int, on_added: ModuleAdded, on_removed: ModuleRemoved, failed: threads.Failed
    ) -> None:
        self._pid = pid
        self._given_up = threading.Event()  # set when the last question that was given up has been answered
        self._given_up.set()
        self._on_added = on_added
        self._on_removed = on_removed
        self._interceptor_writes = False
        self.captures = CaptureTable()
        self._loads_lock = threading.Lock()
        self._loads: set[str] = set()  # what threads that load a library wait for
        self._is_leaving = False
        self._left_for = ""  # what the program does, as a clause
        self.removals = 0  # of libraries: the number of the last one that was dealt with
        source = resources.AGENT.read_text()
        self._script = self._call(lambda: session.create_script(source, name="strobe", runtime="qjs"))
        self._receiver = threads.guarded("a message of the agent", self._receive, failed)
        self._script.on("message", self._receiver)
        self._call(self._script.load)

    def prepare_forks(self) -> None:
        """Forked children find locks free that threads of the agent hold (agent/libc_locks.ts)."""
        if library := _library():
            self._ask(self._script.exports_sync.prepare_forks, library)

    def setup(self, segment_path: str, is_own_program: bool, loader: tuple[int, int]) -> Setup:
        """`loader`: from where to where the memory lies from which Frida has loaded the agent; (0, 0): not known."""
        segment = Path(segment_path).lstat()
        request = {
            "source": resources.RECORDER.read_text(),
            "library": _library(),
            "segmentPath": segment_path,
            "segmentBytes": segment.st_size,
            "segmentInode": str(segment.st_ino),
            "loader": [str(loader[0]), str(loader[1])],
            "isOwnProgram": is_own_program,
        }
        answer = self._ask(self._script.exports_sync.setup, request)
        self._interceptor_writes = bool(answer["interceptorWrites"])
        recorder = int(answer["recorder"], 16)
        left = _changes(answer["left"])
        form, catches_returns, reason = answer["form"], answer["catchesReturns"], answer["reason"]
        first = int(answer["firstFunction"])
        return Setup(form, catches_returns, reason, self._interceptor_writes, recorder, left, first)

    def change_process(self) -> tuple[LeftChange, ...]:
        """The code that is changed whatever is traced (agent/process_hooks.ts). Returns what of it the agent leaves."""
        return _changes(self._ask(self._script.exports_sync.change_process))

    def prepare_descriptors(self, stdin_path: str | None, by_line: bool, foreign: Sequence[int]) -> None:
        """Of a program that was just started. `foreign`: those that are not for it."""
        self._ask(self._script.exports_sync.prepare_descriptors, stdin_path, by_line, foreign)

    def program_threads(self, threads: set[int]) -> set[int]:
        """Of these thread ids the program's own; the others are the agent's."""
        return set(self._ask(self._script.exports_sync.program_threads, sorted(threads)))

    def end_program(self, code: int) -> None:
        """As the C library does when the last thread ends, where that has ended with 0; else at once."""
        with contextlib.suppress(ProcessLookupError):  # that is what is wanted
            self._ask(self._script.exports_sync.end_program, code)

    def modules(self) -> list[LoadedModule]:
        """Without the recorder's own, which must never be hooked."""
        found = [_module(item) for item in self._ask(self._script.exports_sync.modules)]
        return [module for module in found if module.path != str(resources.NATIVE_RECORDER)]

    def observe_modules(self, socket: tuple[int, str] | None) -> bool:
        """`socket`: the agent's connection, its descriptor and its inode's number; None where it is not known. False
        where libraries will not be reported."""
        return bool(self._ask(self._script.exports_sync.observe_modules, socket))

    def register_unwinder(self, addresses: list[int]) -> None:
        """`addresses`: where `__register_frame` is; unwinders there get to know the recorder's stubs."""
        self._ask(self._script.exports_sync.register_unwinder, [hex(address) for address in addresses])

    def make_trampolines(self, specs: Sequence[ProbeSpec]) -> list[Trampoline | Refusal]:
        """Changes no code yet; for a function that cannot be hooked, why not: UNLOADED for what lay in a library that
        has gone since the last of `removals`.

        Where Interceptor writes the hooks they are installed when this returns, and NOTHING stands for such a one.
        """
        removals = self.removals
        made: list[Trampoline | Refusal] = []
        for first in range(0, len(specs), SPECS_AT_ONCE):
            made += self._make_trampolines(specs[first : first + SPECS_AT_ONCE], removals)
        return made

    def _make_trampolines(self, specs: Sequence[ProbeSpec], removals: int) -> list[Trampoline | Refusal]:
        request = {
            "ids": [spec.function_id for spec in specs],
            "addresses": [hex(spec.address) for spec in specs],
            "sizes": [spec.size for spec in specs],
            "removals": removals,
        }
        plans = self._packed(spec.plan for spec in specs)
        answers = self._ask(self._script.exports_sync.make_trampolines, request, plans, seconds=INSTALL_S)
        if self._interceptor_writes:
            return [Refusal(answer["refusal"]) for answer in answers]
        return [_trampoline(spec.address, answer) for spec, answer in zip(specs, answers, strict=True)]

    def set_plans(self, plans: Mapping[int, Plan]) -> None:
        """Of what has no trampoline of its own: of the probes of instructions."""
        self._ask(self._script.exports_sync.set_plans, list(plans), self._packed(plans.values()))

    def _packed(self, plans: Iterable[Plan]) -> bytes:
        """struct strobe_function_plan each, whose captures the recorder has then. There is room for them."""
        rows = []
        for plan in plans:
            place = self.captures.place(plan.captures)
            assert place is not None
            rows.append(_abi.FUNCTION_PLAN.pack(plan.flags, *plan.counts, place))
        self._write_captures()
        return b"".join(rows)

    def _write_captures(self) -> None:
        self.captures.write_new(lambda first, new: self._ask(self._script.exports_sync.set_captures, first, new))

    def make_sites(self, wanted: Sequence[tuple[int, int, int]]) -> list[SiteTrampoline | Refusal]:
        """`wanted`: for each instruction its first probe's number, where it lies, and where the program has it, if it
        is a copy in a trampoline. Changes no code yet; for one that cannot be probed, why not."""
        request = {
            "ids": [first for first, _, _ in wanted],
            "addresses": [hex(address) for _, address, _ in wanted],
            "owners": [hex(owner) for _, _, owner in wanted],
        }
        answers = self._ask(self._script.exports_sync.make_sites, request, seconds=INSTALL_S)
        return [_site(answer) for answer in answers]

    def note_probes(self, changes: Sequence[ProbeChange]) -> bool:
        """Before they are made. False where breakpoint instructions would end the program."""
        noted = [
            {
                "address": hex(change.address),
                "leadsTo": hex(change.leads_to),
                "original": change.original[:8].ljust(8, b"\0").hex(),
                "isBreakpoint": change.is_breakpoint,
            }
            for change in changes
        ]
        return bool(self._ask(self._script.exports_sync.note_probes, noted))

    def limit_probes(self, probes: Sequence[int], first: int, limit: tuple[int, int, int, int] | None) -> None:
        """Sites of one probe, by their numbers, whose first site is `first`, 0 where it has no limit. Before they are
        installed. `limit`: how many times are left out, how many are recorded then (NO_LIMIT: all), how many in a
        second, and whether it is counted how often they are reached (FACT_HIT); None where that goes on, of other
        sites."""
        self._ask(self._script.exports_sync.limit_probes, list(probes), first, limit)

    def add_probes(self, probes: Sequence[tuple[int, int]]) -> None:
        """More probes of instructions that have some: the number of the first one, and a further one's."""
        self._ask(self._script.exports_sync.add_probes, [list(pair) for pair in probes])

    def remove_probes(self, probes: Sequence[tuple[int, int]]) -> None:
        """Likewise, of those that record no more."""
        self._ask(self._script.exports_sync.remove_probes, [list(pair) for pair in probes])

    def observer_trampolines(self, landings: Sequence[Landing]) -> list[tuple[str, Trampoline | Refusal]]:
        """Functions of the C library that the recorder has to know the calls of, and these of the program: name, and
        the trampoline that a jump is to lead to, or why there is none. Changes no code yet."""
        own = [{"offset": one.offset, "size": one.size} for one in landings]
        answers = self._ask(self._script.exports_sync.observer_trampolines, own)
        return [(answer["name"], _trampoline(int(answer["entry"], 16), answer)) for answer in answers]

    def begin_observing(self, may_be_blocked: bool) -> None:
        """Their jumps are there. `may_be_blocked`: a thread may have SIGSEGV or SIGBUS blocked."""
        self._ask(self._script.exports_sync.begin_observing, may_be_blocked)

    def go_on_alone(self) -> None:
        """The recorder, of the native form, needs no agent any more: what is hooked stays so. The agent leaves next."""
        self._ask(self._script.exports_sync.go_on_alone)

    def leave_observers(self) -> None:
        """What is observed stays so when the agent has gone: it is for the host to take out."""
        self._ask(self._script.exports_sync.leave_observers)

    def stop_recording(self) -> None:
        """Returns when no thread records any more."""
        self._ask(self._script.exports_sync.stop_recording)

    def leave_faults(self) -> None:
        """The program's handlers of faults are back. Nothing is recorded or observed any more."""
        self._ask(self._script.exports_sync.leave_faults)

    def prepare_extras(self, request: ExtrasRequest) -> list[int]:
        """The numbers of its sets; 0 where there is no room. Raises agent_failed for an expression that is none."""
        message, data = request.message(self.captures.place)
        self._write_captures()
        numbers: list[int] = self._ask(self._script.exports_sync.prepare_extras, message, data, seconds=INSTALL_S)
        return numbers

    def assign_extras(self, plans: dict[int, Plan]) -> None:
        """Which sets the functions' calls get, once their flags say that they get any."""
        numbers = {function: plan.extras for function, plan in plans.items() if plan.extras}
        if numbers:
            self._ask(self._script.exports_sync.assign_extras, list(numbers), list(numbers.values()))

    def set_callers(self, callers: bytes) -> None:
        """`callers`: as struct strobe_recorder has them."""
        self._ask(self._script.exports_sync.set_callers, callers)

    def add_unwind_tables(self, tables: Sequence[bytes]) -> list[int]:
        """Their addresses in the target, where they stay to the end of the session (csrc/unwind/table.h)."""
        sizes = [len(one) for one in tables]
        added: list[str] = self._ask(
            self._script.exports_sync.add_unwind_tables, sizes, b"".join(tables), seconds=INSTALL_S
        )
        return [int(one, 16) for one in added]

    def set_unwinding(self, directory: bytes) -> None:
        """`directory`: struct strobe_unwind_directory."""
        self._ask(self._script.exports_sync.set_unwinding, directory)

    def set_flags(self, plans: dict[int, Plan]) -> None:
        """Of installed hooks; their captures stay."""
        self._ask(self._script.exports_sync.set_flags, list(plans), [plan.flags for plan in plans.values()])

    def allow_tracer(self, pid: int) -> bool:
        """Has the process let another read and write it, where Yama allows that to relatives alone."""
        return bool(self._ask(self._script.exports_sync.allow_tracer, pid))

    def restore_tracer(self) -> None:
        """Only those whom the program itself has permitted so since the session began."""
        self._ask(self._script.exports_sync.restore_tracer)

    def read_memory(self, address: int, size: int) -> bytes:
        """Up to `size` bytes of the process's own memory; fewer where no more can be read."""
        return bytes(self._ask(self._script.exports_sync.read_memory, hex(address), size))

    def memory_map(self) -> str:
        """/proc/PID/maps, as the process itself sees it."""
        return str(self._ask(self._script.exports_sync.memory_map))

    def store(self, changes: Sequence[tuple[int, bytes, bytes]]) -> list[str]:
        """Writes (address, bytes, mask) as _core.write_memory does, but in whole aligned words, which no thread sees
        half written. For each "" or why it was not written. The agent does nothing once this has given up waiting."""
        writes = [
            {"address": hex(address), "size": len(content), "masked": bool(mask)} for address, content, mask in changes
        ]
        content = b"".join(one + mask for _, one, mask in changes)
        deadline = 1000 * (time.time() + ANSWER_S - _STORE_MARGIN_S)
        answers: list[str] = self._ask(self._script.exports_sync.store, writes, deadline, content, seconds=ANSWER_S)
        return answers

    def close(self) -> None:
        """Frida keeps a script as long as this process lives, and with it who listens to it: nobody does any more."""
        with contextlib.suppress(ValueError):  # closed already
            self._script.off("message", self._receiver)

    def note_left_for(self, why: str) -> None:
        """From now on what it is asked raises agent_left: it was taken out as the program did this, a clause."""
        self._left_for = why

    def let_threads_leave(self) -> bool:
        """Whether no thread of the program is in code that goes with the agent, nor will be; waits for it.

        The code goes with the agent, whoever runs there: a call in the portable form, or a library that comes or goes.
        Threads that load a library and wait for its hooks go on.
        """
        with self._loads_lock:
            self._is_leaving = True
            waiting = list(self._loads)
        for ticket in waiting:
            self._let_load(ticket)
        begun = time.monotonic()
        quiet = turns = 0
        while quiet < 2 and time.monotonic() < begun + (LEAVING_S if turns >= LEAVING_TURNS else BUSY_ANSWER_S):
            turns += 1
            try:
                inside = self._ask(self._script.exports_sync.let_leave)
            except StrobeError:
                return True  # it does not answer; when it is asked to end, it waits for them itself
            quiet = quiet + 1 if inside == 0 else 0
            if quiet == 0:
                time.sleep(_LEAVING_POLL_S)
        return quiet == 2

    def unload(self) -> None:
        """The target's own bytes are back everywhere when this returns."""
        self._call(self._script.unload)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        cancellable = frida.Cancellable()
        answered = threading.Event()

        def watch() -> None:
            if not self._answers(answered.wait, BUSY_ANSWER_S):
                cancellable.cancel()

        since = time.monotonic()
        threads.start(f"strobe-limit-{self._pid}", watch, threads.logged_only)
        try:
            with cancellable, self._translate_errors():
                return function(*arguments)
        except frida.OperationCancelledError as error:
            raise self._unresponsive(since) from error
        finally:
            answered.set()

    def _ask(self, function: Callable[..., Any], *arguments: Any, seconds: float = BUSY_ANSWER_S) -> Any:
        """An RPC, on a thread of its own: Frida 17 waits for the answer to one whatever is cancelled meanwhile."""
        outcome: list[tuple[Any, BaseException | None]] = []
        answered = threading.Event()

        def ask() -> None:
            try:
                outcome.append((function(*arguments), None))
            except BaseException as error:  # for who waits
                outcome.append((None, error))
            answered.set()

        since = time.monotonic()
        # one that was given up has its thread as long as the agent owes the answer: no more of them are begun
        if not self._answers(self._given_up.wait, seconds):
            raise self._unresponsive(since)
        threads.start(f"strobe-ask-{self._pid}", ask, threads.logged_only)
        if not self._answers(answered.wait, seconds):
            self._given_up = answered
            raise self._unresponsive(since)
        answer, error = outcome[0]
        with self._translate_errors():
            if error is not None:
                raise error
        return answer

    def _answers(self, wait: Callable[[float], bool], seconds: float) -> bool:
        """Whether the answer comes within that time; `ANSWER_S` where the process is stopped."""
        deadline = time.monotonic() + seconds
        while not wait(min(ANSWER_S, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline or task_status.is_stopped(self._pid):
                return False
        return True

    def _unresponsive(self, since: float) -> StrobeError:
        error = failure("agent_unresponsive", pid=self._pid, seconds=f"{time.monotonic() - since:.0f}")
        return Unresponsive(error.code, error.message, error.next_step)

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (frida.InvalidOperationError, frida.TransportError, frida.ProcessNotFoundError) as error:
            if self._left_for:
                raise failure("agent_left", pid=self._pid, reason=self._left_for) from error
            raise ProcessLookupError(str(error)) from error
        except frida.RPCException as error:
            if _NO_MEMORY in str(error):
                raise failure("no_memory_there", pid=self._pid) from error
            if _OTHER_SESSION in str(error):
                session = next((path.name for path in live_segments(self._pid)), "of another home")
                raise failure("recorded_already", pid=self._pid, session=session) from error
            raise failure("agent_failed", pid=self._pid, reason=str(error).split("\n")[0]) from error

    def _receive(self, message: Any, _data: bytes | None) -> None:
        payload = message.get("payload")
        if message["type"] != "send" or not isinstance(payload, dict):
            log.warning("agent in process %d: %s", self._pid, message.get("description", message))
        elif payload.get("type") == "module-added":
            ticket = payload["ticket"]
            with self._loads_lock:
                self._loads.add(ticket)
            if self._is_leaving:
                self._let_load(ticket)
            else:
                module = payload["module"]
                self._on_added(None if module is None else _module(module), lambda: self._let_load(ticket))
        elif payload.get("type") == "module-removed":
            self._on_removed(Removal(_module(payload["module"]), int(payload["gone"]), payload["removal"]))

    def _let_load(self, ticket: str) -> None:
        with self._loads_lock:
            if ticket not in self._loads:
                return
            self._loads.discard(ticket)
        with contextlib.suppress(frida.InvalidOperationError):  # the process is gone
            self._script.post({"type": ticket, "removals": self.removals})


def _library() -> str:
    """Path of the recorder's native form; "" where the portable one is asked for, or this CPU has no other."""
    if os.environ.get("STROBE_RECORDER") == "portable" or not resources.NATIVE_RECORDER.exists():
        return ""
    return str(resources.NATIVE_RECORDER)


def _trampoline(entry: int, answer: dict[str, Any]) -> Trampoline | Refusal:
    if refusal := Refusal(answer["refusal"]):
        return refusal
    address = int(answer["address"], 16)
    if not address:  # Interceptor makes none for a function that it hooks already
        return Refusal.IN_USE
    distances = answer["copies"].to_bytes(4, "little")
    first, second, third, fourth = (address + distance if distance else 0 for distance in distances)
    mark = int(answer["mark"], 16), answer["number"]
    return Trampoline(entry, address, answer["skip"], answer["displaced"], (first, second, third, fourth), mark)


def _site(answer: dict[str, Any]) -> SiteTrampoline | Refusal:
    if refusal := Refusal(answer["refusal"]):
        return refusal
    mark = int(answer["mark"], 16), answer["number"]
    return SiteTrampoline(int(answer["address"], 16), int(answer["back"], 16), bytes.fromhex(answer["original"]), mark)


def _changes(items: Sequence[dict[str, Any]]) -> tuple[LeftChange, ...]:
    return tuple(
        LeftChange(int(item["address"], 16), bytes.fromhex(item["present"]), bytes.fromhex(item["original"]))
        for item in items
    )


def _module(item: dict[str, Any]) -> LoadedModule:
    return LoadedModule(item["name"], item["path"], int(item["base"], 16), item["size"])
