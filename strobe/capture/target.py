"""One process under observation: started or attached to, with the agent inside, until it ends."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import struct
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Literal

from strobe import threads
from strobe.capture import program
from strobe.capture.agent.agent_link import AgentLink, LeftChange
from strobe.capture.agent.agent_threads import held, keep_signals_from
from strobe.capture.agent.device import FRIDA_ERRORS, ROUTER, DeviceUse
from strobe.capture.agent.extras_request import ExtrasRequest
from strobe.capture.agent.frida_import import frida
from strobe.capture.agent.frida_session import FridaSession
from strobe.capture.attachable import check_owner, refused, wait_until_attachable
from strobe.capture.code_patches import Change, CodePatches, Probes
from strobe.capture.exit_status import wait_for_end, wait_unless
from strobe.capture.last_thread import end_with_last_thread
from strobe.capture.leaving import leave
from strobe.capture.limits import check_room, check_threads_of_session
from strobe.capture.lone_calls import CALLS, FILTER, FILTERS, end_lone_calls, follow_lone_calls
from strobe.capture.observers import observe
from strobe.capture.probe_sites import ProbeSites
from strobe.capture.probes import Plan
from strobe.capture.recorder_state import is_recording, place_of, switch_off, written_until
from strobe.capture.spawning import ended_early, killed_on_failure, spawn_hint
from strobe.capture.target_events import TargetEvents
from strobe.capture.task_status import filters_calls, is_stopped, task_ids
from strobe.errors import StrobeError, failure
from strobe.low_descriptors import fridas_descriptors, low_descriptors_taken
from strobe.model import ExitStatus, LaunchSpec, LoadedModule, Removal

log = logging.getLogger(__name__)

_OUTPUT_END_S = 1.0  # a grandchild may hold the pipe open for ever
_TERMINATION_S = 1.0
_WRITTEN_S = 1.0  # for threads that were interrupted in the middle of a record
_FILTERED = "it filters its system calls (seccomp), and would be killed for those that attaching needs"
_TOO_SLOW = (frida.ProcessNotRespondingError, frida.TimedOutError)
_SILENT = (frida.ProcessNotRespondingError, frida.TimedOutError, frida.TransportError, frida.ProtocolError)
_END = "the wait for the program's end"
_STREAMS: dict[int, Literal["stdout", "stderr"]] = {1: "stdout", 2: "stderr"}


class Departure(Enum):
    """When an attached process is as it was before. LATER_BUT_HOOKS: when it goes on, its hooks are taken out now."""

    NOW = "now"
    LATER_BUT_HOOKS = "later but hooks"
    LATER = "later"


class Target:
    """A process with the agent in it. `resume` starts a spawned one; `TargetEvents.on_exit` reports its end, once."""

    def __init__(self, pid: int, attached: bool, segment_path: str, events: TargetEvents) -> None:
        self.pid = pid
        self.attached = attached
        self._segment_path = segment_path
        self._events = events
        self._pidfd = os.pidfd_open(pid)
        self._pidfd_lock = threading.Lock()
        self._patches = CodePatches(pid)
        self.tells_of_libraries = True  # that come while it runs
        self.unobserved: Mapping[str, str] = {}  # as of observers.observe
        self._patches.running = attached
        self._is_allowed = False
        self._ended = threading.Event()
        self._released = threading.Event()  # the process has ended, or goes on without us
        self._has_left = False  # the agent, before it was told to
        self._goes_on = False  # the recorder, without it
        self._observes_on = False  # as it has left for a filter of system calls, of which others may be set
        self._left = threading.Event()  # the agent, or the process has ended
        self._open_streams = set() if attached else set(_STREAMS)
        self._recorder_place: tuple[int, int] | None = None  # as place_of has it
        self._output_ended = threading.Event()
        self._session: FridaSession | None = None
        self._agent: AgentLink
        self._agent_tasks: set[int] = set()  # when it was told to leave
        self._lone_calls: Sequence[LeftChange] = ()  # changes of the code that the agent leaves
        # one object, by which the router knows it again
        self._receiver = threads.guarded("output", self._receive_output, self._fail("the program's output"))
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @staticmethod
    def spawn(
        spec: LaunchSpec,
        resolved: program.Program,
        segment_path: str,
        stdin_path: str | None,
        events: TargetEvents,
        started: Callable[[int], None],
    ) -> Target:
        """Starts the program, stopped before main, with the recorder in it. Leaves no process behind when it fails.

        `started` gets the process id as soon as there is one, when nothing is in the process yet. Frida gives up after
        5 s where the machine is busy. As nothing of the program has run then, it is started anew.
        """
        try:
            return Target._spawn_once(spec, resolved, segment_path, stdin_path, events, started)
        except StrobeError as error:
            if not isinstance(error.__cause__, _TOO_SLOW):
                raise
            log.info("%s is started once more: %s", resolved.path, error.__cause__)
        return Target._spawn_once(spec, resolved, segment_path, stdin_path, events, started)

    @staticmethod
    def _spawn_once(
        spec: LaunchSpec,
        resolved: program.Program,
        segment_path: str,
        stdin_path: str | None,
        events: TargetEvents,
        started: Callable[[int], None],
    ) -> Target:
        check_threads_of_session()
        use = ROUTER.use()
        try:
            return Target._spawn_with(use, spec, resolved, segment_path, stdin_path, events, started)
        except BaseException:
            use.end()
            raise

    @staticmethod
    def _spawn_with(
        use: DeviceUse,
        spec: LaunchSpec,
        resolved: program.Program,
        segment_path: str,
        stdin_path: str | None,
        events: TargetEvents,
        started: Callable[[int], None],
    ) -> Target:
        stdio = "pipe" if spec.stdio == "capture" else "inherit"
        try:
            with low_descriptors_taken() as foreign:
                pid = use.device.spawn(
                    resolved.path, argv=list(resolved.argv), envp=resolved.env, cwd=resolved.cwd, stdio=stdio
                )
        except (frida.NotSupportedError, frida.PermissionDeniedError, frida.InvalidArgumentError) as error:
            raise failure("launch_failed", path=resolved.path, reason=error, hint=spawn_hint(error)) from error
        except (frida.ExecutableNotFoundError, frida.TransportError, frida.TimedOutError) as error:
            raise failure("launch_failed", path=resolved.path, reason=error) from error
        with killed_on_failure(pid):
            started(pid)
            target = Target(pid, False, segment_path, events)
            if stdio == "pipe":
                ROUTER.connect(pid, target._receiver)
            else:
                target._open_streams.clear()
            target._begin(use)
            foreign += fridas_descriptors(pid)
            target._agent.prepare_descriptors(stdin_path, stdio == "pipe", foreign)
        return target

    @staticmethod
    def attach(pid: int, segment_path: str, events: TargetEvents) -> Target:
        """Puts the agent into a running process.

        Raises no_such_process, attach_refused, static_program, process_stopped, process_blocked,
        agent_silent.
        """
        program.check_running(pid)
        if filters_calls(pid):
            raise failure("attach_refused", pid=pid, reason=_FILTERED, hint="Start it under Strobe instead.")
        check_threads_of_session()
        check_room(pid)
        check_owner(pid)
        wait_until_attachable(pid)
        try:
            target = Target(pid, True, segment_path, events)
            target._begin(ROUTER.use())
        except _SILENT as error:
            raise failure("agent_silent", pid=pid, reason=error) from error
        except (frida.ProcessNotFoundError, ProcessLookupError) as error:  # it was there, see above
            raise ended_early(pid, attached=True) from error
        except FRIDA_ERRORS as error:
            raise refused(pid, error, isinstance(error, frida.PermissionDeniedError)) from error
        return target

    def _begin(self, use: DeviceUse) -> None:
        self._use = use
        try:
            self._enter()
            last = partial(end_with_last_thread, self.pid, self._agent, self._released)
            threads.start(f"strobe-last-{self.pid}", last, self._fail("its end with its last thread"))
            threads.start(f"strobe-end-{self.pid}", self._watch_end, self._fail(_END))
        except BaseException:
            self._released.set()
            self._let_go()
            raise

    def _enter(self) -> None:
        self._session = FridaSession(self._use, self.pid, self._pidfd, self.attached)
        if self.attached:
            self._session.wait_for_beginning()
        # They do not fork while there is a hook without its guard, which Frida installs at any moment from here on, nor
        # while the agent loads libraries. Those of one that was running stand still already.
        with held([self.pid] if self.attached and not self._session.holds_main_thread else []):
            self._agent = AgentLink(
                self._session.session,
                self.pid,
                self._events.on_module_added,
                self._remove_module,
                self._fail("libraries that are loaded later"),
            )
            self._agent.prepare_forks()
        self._session.release_threads()
        self.setup = self._agent.setup(self._segment_path, not self.attached, self._session.loader)
        with contextlib.suppress(OSError), FileIO(f"/proc/{self.pid}/mem") as memory:
            self._recorder_place = place_of(memory, self.setup.recorder)
        if self.attached:
            keep_signals_from(self._agent, self.pid)
        self.probes = Probes(self._agent, self._patches, self.setup.interceptor_writes)
        self.sites = ProbeSites(self.pid, self._agent, self._patches, self.setup.form == "native")
        self._patches.take_back(self.setup.left)
        departure = (self._released, self._left)
        alone = partial(follow_lone_calls, self.pid, self.setup.recorder, *departure, self._leave_for_call)
        threads.start(f"strobe-alone-{self.pid}", alone, self._fail("leaving it before calls that need that"))
        self._lone_calls = self._agent.change_process()
        self.unobserved = observe(self.pid, self._agent, self._patches, self.setup.form == "native")
        self.tells_of_libraries = self._agent.observe_modules(self._session.socket)

    def _let_go(self) -> None:
        """After a failure on the way in: nothing of the process is open here, and one attached to is as before."""
        agent = getattr(self, "_agent", None)
        steps = [self._patches.take_out_observers] if self.attached else []
        if self.attached:
            steps.append(self._leave if agent is None else partial(self._end_agent, False))
        try:
            _take_each(steps)
        finally:
            if agent is not None:
                agent.close()
            self._left.set()
            if not self.attached:
                self._forget_session()
            self._close()

    def give_up(self) -> None:
        """Ends a process that was started and never ran; leaves another one running."""
        if self.attached:
            self.detach()
        else:
            self.kill_at_once()

    def resume(self) -> None:
        """Lets a started program run; does nothing for one that was attached to."""
        if not self.attached:
            keep_signals_from(self._agent, self.pid)  # not before: Frida holds the threads while it starts
            self._patches.running = True
            with contextlib.suppress(frida.ProcessNotFoundError):
                self._use.device.resume(self.pid)

    def modules(self) -> list[LoadedModule]:
        """The modules now loaded, the main program first."""
        return self._agent.modules()

    def register_unwinder(self, addresses: list[int]) -> None:
        """Makes statically linked unwinders, by the address of their __register_frame, know the return stubs."""
        self._agent.register_unwinder(addresses)

    def look(self, start_ticks: int) -> set[int] | None:
        """Function ids of hooks that something has written over; None where the recorder is off, or records elsewhere
        than into the segment that began at `start_ticks`. Nothing runs in the process for it.

        Raises ProcessLookupError when the process is gone, PermissionError where its memory may not be read.
        """
        try:
            memory = FileIO(f"/proc/{self.pid}/mem")
        except FileNotFoundError as error:
            raise ProcessLookupError(str(error)) from error
        with memory:
            missing = self._patches.missing(memory)
            missing |= self.sites.missing(memory, missing)
            if is_recording(memory, self.setup.recorder, start_ticks):
                return missing
        if self._is_gone():
            raise ProcessLookupError("it has ended")
        return None

    def has_become_another(self) -> bool:
        """Whether the process has become another program by exec. False where it may not be read, or is gone."""
        with contextlib.suppress(OSError), FileIO(f"/proc/{self.pid}/mem") as memory:
            return self._recorder_place not in (None, place_of(memory, self.setup.recorder))
        return False

    def look_at_child(self, pid: int, start_ticks: int) -> set[int]:
        """As `look`, of a forked child that is recorded as well; empty where it has ended, or is another program."""
        with contextlib.suppress(OSError), FileIO(f"/proc/{pid}/mem") as memory:
            overwritten = self._patches.overwritten(memory)
            if overwritten and is_recording(memory, self.setup.recorder, start_ticks):
                return overwritten & self._patches.overwritten(memory)
        return set()

    def written_until(self, moment: int, children: Sequence[int] = ()) -> int:
        """As recorder_state.written_until, of the process and of forked `children` that are recorded as well."""
        deadline = time.monotonic() + _WRITTEN_S
        for pid in (self.pid, *children):
            with contextlib.suppress(OSError), FileIO(f"/proc/{pid}/mem") as memory:
                moment = written_until(pid, memory, self.setup.recorder, moment, deadline)
        return moment

    @property
    def open_streams(self) -> list[str]:
        """Of the captured ones those whose end was not seen: another process may still write to them."""
        return sorted(_STREAMS[number] for number in self._open_streams.copy())

    def is_cut_off(self) -> bool:
        """The program has closed the agent's descriptors: hooks stay as they are, and are not installed in libraries
        that come."""
        return not self._has_left and self._session is not None and self._session.is_cut_off() and not self._is_gone()

    def _is_gone(self) -> bool:
        with self._pidfd_lock:
            if self._pidfd < 0:
                return True
            ended = select.poll()
            ended.register(self._pidfd, select.POLLIN)
            return bool(ended.poll(0))

    def set_callers(self, callers: bytes) -> None:
        """As AgentLink.set_callers."""
        self._agent.set_callers(callers)

    def add_unwind_tables(self, tables: Sequence[bytes]) -> list[int]:
        """As AgentLink.add_unwind_tables."""
        return self._agent.add_unwind_tables(tables)

    def set_unwinding(self, directory: bytes) -> None:
        """As AgentLink.set_unwinding."""
        self._agent.set_unwinding(directory)

    def has_room_for(self, plan: Plan) -> bool:
        """Whether the recorder's table has the plan's captures, or room for them, which is theirs from now on."""
        return self._agent.captures.place(plan.captures) is not None

    def prepare_extras(self, request: ExtrasRequest) -> list[int]:
        """As AgentLink.prepare_extras."""
        return self._agent.prepare_extras(request)

    def allow_tracer(self, pid: int) -> bool:
        """Has the process let another read and write it, where Yama allows that to relatives alone."""
        self._is_allowed = self._agent.allow_tracer(pid)
        return self._is_allowed

    def read_memory(self, address: int, size: int) -> bytes:
        """Up to `size` bytes, read by the process itself; fewer where no more can be read."""
        return self._agent.read_memory(address, size)

    def memory_map(self) -> str:
        """/proc/PID/maps, which another process may not be permitted to read."""
        return self._agent.memory_map()

    def maps(self) -> str:
        """/proc/PID/maps, read from outside where that is permitted. Raises ProcessLookupError."""
        try:
            return Path(f"/proc/{self.pid}/maps").read_text(errors="surrogateescape")
        except FileNotFoundError as error:
            raise ProcessLookupError(f"process {self.pid}") from error
        except PermissionError:
            return self.memory_map()

    def store(self, changes: Sequence[tuple[int, bytes, bytes]]) -> list[str]:
        """Writes (address, bytes, mask) in whole aligned words, from inside; for each "" or why it was not written."""
        return self._agent.store(changes)

    def kill(self) -> None:
        """Ends the process: SIGTERM, and SIGKILL if that does not do. Returns when it has ended."""
        self._signal(signal.SIGTERM)
        if not self._ended.wait(_TERMINATION_S):
            self._signal(signal.SIGKILL)
            self._ended.wait(_TERMINATION_S * 5)

    def kill_at_once(self) -> None:
        """For a process that never ran: it would not see SIGTERM before it is resumed."""
        self._signal(signal.SIGKILL)
        self._ended.wait(_TERMINATION_S * 5)

    def detach(self) -> Departure:
        """Leaves the process running, with its own code back in place. Raises agent_stays. Where the process is stopped
        this is done later, when it goes on, the hooks at once where that is possible."""
        self._released.set()
        if self._has_left:
            if self._goes_on:
                self._end_recorder()
            self._wake_watcher()
            return Departure.NOW
        are_out = False
        try:
            are_out = self._take_out()
        except (ProcessLookupError, StrobeError):
            pass
        except Exception:  # the agent leaves all the same
            log.exception("the hooks of process %d", self.pid)
        if leave(self.pid, self._is_stopped, self._take_back, self._fail("the agent's removal")):
            return Departure.NOW
        return Departure.LATER_BUT_HOOKS if are_out else Departure.LATER

    def _take_out(self) -> bool:
        """The jumps over functions' entries first, which lie over probed instructions. Whether all are out."""
        are_out = self._patches.take_out()
        return self.sites.take_out() and are_out

    def _is_stopped(self) -> bool:
        return not self._is_gone() and is_stopped(self.pid)

    def _take_back(self) -> None:
        try:
            self._remove_agent()
        finally:
            self._wake_watcher()

    def _wake_watcher(self) -> None:
        with self._pidfd_lock:
            if self._pidfd >= 0:
                os.eventfd_write(self._wake, 1)

    def _leave_for_call(self, name: str) -> bool:
        """A call waits that the agent's threads do not bear. Whether it leaves: not where the program's would not."""
        with contextlib.suppress(OSError, StrobeError):
            if name == FILTER or len(self._agent.program_threads(task_ids(self.pid))) == 1:
                why = FILTERS if name == FILTER else CALLS.format(name=name)
                goes_on = name == FILTER and self.setup.form == "native"
                self._events.on_lone_call(why, goes_on, partial(self._leave_early, why, goes_on))
                return True
        return self._released.is_set()

    def _leave_early(self, why: str, goes_on: bool) -> None:
        """Its end is waited for all the same. `goes_on`: the recorder does, with the hooks that there are."""
        self._has_left, self._goes_on, self._observes_on = True, goes_on, why == FILTERS and not goes_on
        self._agent.note_left_for(why)
        self._released.set()
        if not goes_on:
            with contextlib.suppress(ProcessLookupError, StrobeError):
                self._take_out()
        try:
            leave(self.pid, self._is_stopped, self._remove_agent, self._fail("the agent's removal"))
        except BaseException:
            self._left.set()  # the call waits no more
            raise

    def _end_recorder(self) -> None:
        """What is observed stays so, and the handler of faults, as some of the program's state is kept there."""
        end = partial(switch_off, self.pid, self.setup.recorder)
        for what, step in (("the end of the recording", end), ("the hooks' removal", self._take_out)):
            try:
                step()
            except (OSError, StrobeError, struct.error, OverflowError) as error:
                if not (self._is_gone() or self.has_become_another()):
                    self._events.on_failure(what, error)

    def _remove_agent(self) -> None:
        steps: tuple[Callable[[], object], ...] = (
            self._take_out,  # those that could not be taken out before
            self._agent.stop_recording,
            # not before: the faults of a thread that records must be caught
            self._agent.leave_observers if self._observes_on else self._patches.take_out_observers,
            self._agent.leave_faults,
            self._take_permission_back,
        )
        try:
            _take_each((self._agent.go_on_alone,) if self._goes_on else steps)
            self._end_agent(True)
        finally:
            self._agent.close()
            self._end_lone_calls()
            self._left.set()

    def _end_agent(self, waits_while_stopped: bool) -> None:
        """Raises agent_stays where a thread does not leave its code: it does no harm there, and would if it went."""
        with contextlib.suppress(ProcessLookupError, *FRIDA_ERRORS):
            if not self._agent.let_threads_leave():
                if self._session is not None:
                    self._session.stay()
                raise failure("agent_stays", pid=self.pid)
        threads: set[int] = set()
        with contextlib.suppress(OSError, StrobeError, *FRIDA_ERRORS):
            tasks = task_ids(self.pid)
            threads = self._agent.program_threads(tasks)
            self._agent_tasks = tasks - threads
        # the agent puts back itself what could not be taken out from here
        _take_each((self._agent.unload, partial(self._leave, waits_while_stopped, threads)))

    def _end_lone_calls(self) -> None:
        """The jumps that such calls wait behind are there to the last moment: what called meanwhile would fail."""
        changes: list[Change] = [(change.address, change.original, change.present, None) for change in self._lone_calls]
        with contextlib.suppress(OSError, StrobeError, struct.error, OverflowError):
            out: list[Callable[[], object]] = [self._patches.take_out_observers] if self._observes_on else []
            out.append(partial(self._patches.change, changes))
            end_lone_calls(self.pid, self.setup.recorder, self._agent_tasks, partial(_take_each, out))

    def _leave(self, waits_while_stopped: bool = False, threads: Collection[int] = ()) -> None:
        if self._session is not None:
            self._session.leave(waits_while_stopped, threads)

    def _take_permission_back(self) -> None:
        """Unless the program has given it to another process since: then this one may not read it any more."""
        if not self._is_allowed:
            return
        try:
            os.close(os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC))
        except PermissionError:
            return
        self._agent.restore_tracer()
        self._is_allowed = False

    def note_removal(self, number: int) -> None:
        """The hooks of this removed library, and of those before it, were forgotten."""
        self._agent.removals = number

    def forget(self, module: LoadedModule) -> None:
        """It was unloaded, and its hooks with it."""
        self._patches.forget(module.base, module.size)
        self.sites.forget(module.base, module.size)

    def _remove_module(self, removal: Removal) -> None:
        self.forget(removal.module)
        self._events.on_module_removed(removal)

    def _signal(self, number: int) -> None:
        with self._pidfd_lock, contextlib.suppress(ProcessLookupError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, number)

    def _receive_output(self, descriptor: int, data: bytes) -> None:
        stream = _STREAMS.get(descriptor)
        if stream is None:
            return
        if data:
            self._events.on_output(stream, data)
            return
        self._open_streams.discard(descriptor)
        if not self._open_streams:
            self._output_ended.set()

    def _fail(self, what: str) -> threads.Failed:
        return lambda error: self._events.on_failure(what, error)

    def _watch_end(self) -> None:
        status = ExitStatus()
        with contextlib.ExitStack() as last:
            last.callback(lambda: self._end(status))
            try:
                if self.attached and not wait_unless(self._pidfd, self._wake):
                    last.pop_all()  # detached: what becomes of the process is not our business any more
                    self._close()
                    return
                status = wait_for_end(self.pid, self._pidfd, self._segment_path)
            except BaseException as error:
                self._fail(_END)(error)
                if not self._is_gone():  # nobody would learn of its end any more
                    self.detach()

    def _end(self, status: ExitStatus) -> None:
        """Whatever fails in it: the program ends once, and nothing stays open."""
        with contextlib.ExitStack() as last:
            last.callback(self._agent.close)
            last.callback(ROUTER.disconnect, self.pid, self._receiver)
            last.callback(self._events.on_exit, status)
            last.callback(self._left.set)
            last.callback(self._released.set)
            last.callback(self._ended.set)
            last.callback(self._close)
            last.callback(self._forget_session)
            if self._open_streams:
                self._output_ended.wait(_OUTPUT_END_S)

    def _forget_session(self) -> None:
        """The process has ended."""
        if self._session is not None:
            self._session.forget()

    def _close(self) -> None:
        if not self._open_streams:  # who still writes there would be ended by SIGPIPE
            self._use.end()
        with self._pidfd_lock:
            os.close(self._pidfd)
            os.close(self._wake)
            self._pidfd = -1


def _take_each(steps: Sequence[Callable[[], object]]) -> None:
    """Whatever has become of the one before."""
    for step in steps:
        with contextlib.suppress(ProcessLookupError, StrobeError, *FRIDA_ERRORS):
            step()
