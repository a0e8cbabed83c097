"""One session whose program this process observes. Commands go down from here, events come up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

from strobe import _core, threads
from strobe.capture.agent.agent_link import BUSY_ANSWER_S, Unresponsive
from strobe.capture.children import RecordedChildren
from strobe.capture.target import Departure, Target
from strobe.capture.task_status import is_stopped
from strobe.dataclass import replace
from strobe.errors import Code, StrobeError, failure
from strobe.model import (
    NO_CHANGE,
    EventFilter,
    ExitStatus,
    LoadedModule,
    Probe,
    Removal,
    TraceAnswer,
    TraceRequest,
    Watch,
)
from strobe.session import hook_report
from strobe.session.answers import Ending, ending_of, how_it_ended, runtime_answer
from strobe.session.confirmation import Confirmation
from strobe.session.early_calls import early_calls
from strobe.session.endings import end_columns, end_fields, open_warnings, signal_name
from strobe.session.extras.call_stacks import HEAP_STACK, check_count
from strobe.session.hooks import Hooks
from strobe.session.libraries import Libraries
from strobe.session.module_changes import ModuleChange, ModuleChanges
from strobe.session.session import Session
from strobe.session.start_warnings import start_warnings
from strobe.symbols import SymbolResolver
from strobe.symbols.select.patterns import Pattern, parse_all
from strobe.timeline.output import HostEventSource
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

if TYPE_CHECKING:
    from strobe.session.crashes.thread_stacks import ThreadStack
    from strobe.session.probes.session_probes import SessionProbes
    from strobe.session.variables.session_memory import Inside
    from strobe.values.decode.recorded import Block
    from strobe.values.lookup.scope import Scope

log = logging.getLogger(__name__)

_LOOK_S = 0.05  # whether a stopped program goes on
_STOPPED = "The program is stopped (SIGSTOP, or a debugger)."
_LEAVES_LATER = {
    Departure.LATER_BUT_HOOKS: f"{_STOPPED} Its hooks are uninstalled; Strobe's agent leaves it when it continues.",
    Departure.LATER: f"{_STOPPED} When it continues, its hooks are uninstalled and Strobe's agent leaves it.",
}


class LiveSession(Session):
    """A session whose program this process observes."""

    def __init__(
        self,
        store: Store,
        record: SessionRecord,
        resolver: SymbolResolver,
        on_end: Callable[[Session], None],
        text_bytes: int,
    ) -> None:
        super().__init__(store, record, on_end)
        self._resolver = resolver
        self._text_bytes = text_bytes
        # no map is kept: it would hold the memory of a dropped segment for as long as this object lives
        segment = _core.Segment(str(record.segment_path))
        self._start_ticks, self._number_shift = segment.start_ticks, segment.number_shift
        self._supply = _core.ChunkSupply(str(record.segment_path))
        self._source: HostEventSource | None = None
        self._lock = threading.RLock()
        self._status: ExitStatus | None = None
        self._end_lock = threading.Lock()
        self._exited = threading.Event()  # the program itself
        self._ended = threading.Event()  # with all of its children that are recorded
        self._begun = threading.Event()  # or given up: the program may end before
        self._children: RecordedChildren | None = None
        self._probes: SessionProbes | None = None  # made when there is one
        self._stopping = False
        self._recorded_until = 0  # ticks; 0: to the end
        self._failures: list[str] = []
        self._failures_lock = threading.Lock()
        self._module_changes = ModuleChanges()
        self._target: Target
        self.hooks: Hooks
        self._libraries: Libraries

    def begin(self, target: Target) -> None:
        """Takes over a target that has not been resumed yet."""
        self._target = target
        options = (self._text_bytes, self._now_ticks, self._is_going)
        self.hooks = Hooks(self._store, self.id, target, self._resolver, *options)
        self._libraries = Libraries(self._store, self.id, target, self.hooks, self._now_ticks)
        record = self._store.update_session(self.id, pid=target.pid)
        self._store.add_notes(self.id, {"form": target.setup.form})
        watched = (target, self.hooks, self._lock, self._start_ticks, str(record.segment_path))
        self._confirmation = Confirmation(
            self._store, self.id, *watched, lambda: self._stopping or self._exited.is_set(), self._recorded_children
        )
        if target.setup.form == "native":
            self._children = RecordedChildren(target.pid, str(record.segment_path))
        self._source = HostEventSource(self._store, self.id, target.pid, self._moment)
        if found := start_warnings(target):
            self._store.add_warnings(self.id, found)
        threads.start(f"strobe-modules-{target.pid}", self._follow_modules, self._later_failed)
        failed = partial(self.on_failure, "looking at the hooks again and again")
        threads.start(f"strobe-confirm-{target.pid}", partial(self._confirmation.follow, self._exited), failed)
        self._begun.set()

    @property
    def resolver(self) -> SymbolResolver:
        return self._resolver

    @property
    def inside(self) -> Inside | None:
        return self._target

    @property
    def warnings(self) -> list[str]:
        return list(dict.fromkeys([*super().warnings, *self._failures]))

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(self._failures)

    @property
    def depth(self) -> int:
        return self.hooks.extras.depth

    def resume(self) -> None:
        """Lets a started program run, and notes when; does nothing for one that was attached to."""
        if not self._target.attached:
            self._confirmation.look()  # the hooks that were installed before the program runs
            hooked = (hook.function for hook in list(self.hooks.installed.values()))
            early = early_calls(self._libraries.known, hooked)
            self._store.add_notes(self.id, {"resumed_ticks": self._now_ticks(), "early": early})
        self._target.resume()

    def confirm(self) -> None:
        self._confirmation.look()

    def settle_output(self, wanted: EventFilter) -> None:
        if self._source is not None:
            self._source.settle(wanted)

    def written_until(self, moment: int) -> int:
        if self._source is None:  # not begun
            return moment
        return self._target.written_until(moment, self._recorded_children())

    def _recorded_children(self) -> Sequence[int]:
        return self._children.known(self.timeline.forked_children) if self._children is not None else ()

    def trace(self, asked: TraceRequest = NO_CHANGE, *, is_one_of_several: bool = False) -> TraceAnswer:
        """`is_one_of_several`: what holds for all probes of a launch alike is said once, by the caller."""
        add, remove = asked.add, asked.remove
        added = {pattern.text: pattern for pattern in parse_all(add, self.record().project_root)}
        with self._lock:
            self._check_running()
            warnings = [f"'{text}' was not active." for text in remove if text not in self.hooks.patterns]
            if any(pattern.kind not in ("lib", "heap") for pattern in added.values()):
                self._check_program()
            kept = {text: item for text, item in self.hooks.patterns.items() if text not in remove}
            before = (self.hooks.patterns, self.hooks.extras.conditions)
            heap = [text for text, item in added.items() if item.kind == "heap"]
            self._prepare_stacks([*asked.stacks(), HEAP_STACK if heap else 0])
            self.hooks.extras.record_where([*remove, *added], asked.where, self._scope)
            self.hooks.extras.record_stacks([*remove, *added], asked.stack)
            self.hooks.extras.record_stacks(heap, asked.stack or HEAP_STACK)
            self.hooks.patterns = {**kept, **added}
            self.hooks.sampling = asked.sampling or self.hooks.sampling
            if asked.depth is not None:
                self.hooks.extras.follow(asked.depth, asked.adapts)
            warnings += self._change_watches(asked)
            self._apply()
            warnings += self._change_probes(asked)
            warnings += [] if is_one_of_several else self.inexact_probes(asked.probe)
            if asked.where is not None:
                self._check_condition(asked.where, *before)
            warnings += self._drop_unread(asked)
            unread = [f"Watch '{name}' is not read so far: {why}" for name, why in self.hooks.extras.unread().items()]
            found = [*warnings, *hook_report.warnings(self.hooks), *unread]
            if self.hooks.patterns:  # else more is to come
                self._store.add_warnings(self.id, hook_report.warnings(self.hooks))
            return runtime_answer(self.hooks, list(dict.fromkeys(found)), self.record().event_limit)

    def _prepare_stacks(self, counts: Sequence[int]) -> None:
        for count in counts:
            check_count(count)
        if not any(counts):
            return
        try:
            self.hooks.record_stacks(self._libraries.all())
        except ProcessLookupError as error:
            raise self.gone() from error

    def _change_probes(self, asked: TraceRequest) -> list[str]:
        """Raises as SessionProbes.add; those before it in the list stay."""
        if not asked.probe and not asked.unprobe:
            return []
        from strobe.session.probes.session_probes import SessionProbes

        if self._probes is None:
            self._probes = self.hooks.probes = SessionProbes(
                self._store, self.id, self._target, self.hooks, self._resolver, self._now_ticks, self._unrecorded
            )
        probes = self._probes
        try:
            said = [f"Probe '{label}' was not active." for label in asked.unprobe if not probes.remove(label)]
            modules = self._libraries.all()
            root = self.record().project_root
            for one in asked.probe:
                said += probes.add(one, modules, self._scope, root, anyway=asked.probes_ok)
        except ProcessLookupError as error:
            raise self.gone() from error
        return said

    def inexact_probes(self, probe: Sequence[Probe]) -> list[str]:
        """What is to be said, once, of those of them that are lines of optimized code."""
        inexact = "" if self._probes is None else self._probes.inexact([one.name for one in probe])
        return [inexact] if inexact else []

    def _unrecorded(self, numbers: Collection[int]) -> set[int]:
        """Those of removed probes with which nothing was recorded, and will not be: a forked child goes on with the
        probes that there were when it was made."""
        if self._children is None or self._children.living():
            return set()
        return self.timeline.unrecorded(numbers)

    def _change_watches(self, asked: TraceRequest) -> list[str]:
        """What is wrong with some of them. Raises it where nothing else was asked for, and none of them is right."""
        extras = self.hooks.extras
        problems = [f"Watch '{name}' was not active." for name in asked.unwatch if not extras.remove(name)]
        failed = []
        for one in asked.watch:
            try:
                extras.add(one, self._scope)
            except ProcessLookupError as error:
                raise self.gone() from error
            except StrobeError as error:
                failed.append(error)
                problems.append(f"Watch '{one.name}' was not added: {error.sentences}")
        if asked.changes_no_other_watch and failed and len(failed) == len(asked.watch):
            first = failed[0]
            if first.code is Code.LIMIT_REACHED:
                raise first
            raise failure(
                "watch_failed", what=asked.watch[0].name, reason=first.message.rstrip("."), hint=first.next_step
            )
        return problems

    def _check_condition(self, where: str, patterns: dict[str, Pattern], conditions: dict[str, str]) -> None:
        """Puts back what was traced before, as it was, where the condition of what was just added means nothing."""
        try:
            self.hooks.extras.check_condition(where)
        except StrobeError:
            self.hooks.patterns = patterns
            self.hooks.extras.restore_conditions(conditions)
            self._apply()
            raise

    def check_watches(self, watch: Sequence[Watch]) -> None:
        """Raises watch_failed for one that means nothing, unless it has patterns of its own: a library that is loaded
        later may have what it names."""
        with self._lock:
            unread = self.hooks.extras.unread()
        for one in watch:
            if one.name in unread and not one.on:
                raise unread[one.name].error(one.name)

    def _drop_unread(self, asked: TraceRequest) -> list[str]:
        """Takes back those that mean nothing in any function that is traced, as `_change_watches`."""
        unread = self.hooks.extras.unread() if self.hooks.enabled else {}
        failed = {one.name: unread[one.name] for one in asked.watch if one.name in unread}
        for name in failed:
            self.hooks.extras.remove(name)
        if asked.changes_no_other_watch and failed and len(failed) == len(asked.watch):
            raise failed[asked.watch[0].name].error(asked.watch[0].name)
        return [f"Watch '{name}' was not added: {why}" for name, why in failed.items()]

    def _scope(self) -> AbstractContextManager[Scope]:
        return self.reader.scope()

    def wait(self, timeout: float | None = None) -> ExitStatus | None:
        self._exited.wait(timeout)
        return self._status

    def wait_for_children(self, timeout: float | None = None) -> bool:
        return self._ended.wait(timeout)

    def add_event(self, event_type: str, text: str) -> int:
        number = None if self._source is None else self._source.event(event_type, text)
        if number is None:
            raise self.gone()
        return number

    def stop(self, retain: bool = False) -> int:
        self._is_wanted = self._is_wanted or retain
        with self._lock:
            self.confirm()
            self._stopping = True
            self._polls.stop("stopped")
            if self._children is not None:
                self._children.wake()
            if not self._target.attached:
                self._target.kill()
            elif not self._exited.is_set():  # nor let go of before
                self._recorded_until = self._confirmation.last_ticks or self._now_ticks()
                self._detach()
        self._ended.wait(10)
        return self._finish(retain)

    def ended(self) -> Ending | None:
        return ending_of(self.as_it_is(self.record()))

    def as_it_is(self, record: SessionRecord) -> SessionRecord:
        """The session's record, with the program's end also where that could not be written, as on a full disk."""
        if record.status != "running" or self._status is None:
            return record
        is_over = self._ended.is_set()
        if self._stopping:
            return replace(record, status="stopped") if is_over else record
        code, number = self._status.code, self._status.signal
        named = None if number is None else signal_name(number)
        return replace(record, status="exited" if is_over else "running", exit_code=code, signal=named)

    def give_up(self, target: Target | None) -> None:
        """Takes back a launch that failed before `begin` returned: nothing is held, and no process is left."""
        self._ended.set()
        self._exited.set()
        self._begun.set()
        if target is not None:
            target.give_up()
        self._supply.stop()
        for opened in (self._source, self._children):
            if opened is not None:
                opened.close()
        self._module_changes.end()
        self.timeline.close()

    def abort(self) -> None:
        """Takes back a launch that failed: no process, no data."""
        if self._target.attached:
            self._detach()
        else:
            self._target.kill_at_once()
        self._ended.wait(10)
        self._attempt("the removal of its data", lambda: self._finish(retain=False))

    def _detach(self) -> None:
        self._attempt("the agent's removal", self._remove_agent)
        self._end(None)
        if self._children is not None:
            self._children.close()

    def _remove_agent(self) -> None:
        departure = self._target.detach()
        if departure in _LEAVES_LATER:
            self._warn(_LEAVES_LATER[departure])

    # --- TargetEvents, called on threads of the capture layer

    def on_output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        """As TargetEvents."""
        if self._source is not None:
            self._source.output(stream, data)

    def on_exit(self, status: ExitStatus) -> None:
        """As TargetEvents."""
        self._begun.wait()
        if self._ended.is_set():  # it was let go of
            return
        self._attempt("the recording of its children", lambda: self._follow_children(status))
        self._end(status)

    def on_lone_call(self, why: str, keeps_recording: bool, leave: Callable[[], None]) -> None:
        """As TargetEvents."""
        self._begun.wait()
        with self._lock:
            if not self._stopping and not self._exited.is_set():
                self.confirm()
                try:
                    leave()
                except Exception as error:
                    self.on_failure("the agent's removal", error)
                    self._confirmation.note_left(why, keeps_recording, is_gone=False)
                else:
                    self._confirmation.note_left(why, keeps_recording, is_gone=True)

    def on_failure(self, what: str, error: BaseException) -> None:
        """As TargetEvents; it becomes a warning of the session, once."""
        text = f"{what[0].upper()}{what[1:]} has failed: {threads.reason(error)}."
        if self._warn(text):
            log.error("session %s: %s", self.id, text, exc_info=error)

    def _warn(self, text: str) -> bool:
        """Whether it is new."""
        with self._failures_lock:
            if text in self._failures:
                return False
            self._failures.append(text)
        self._store.add_warning_later(self.id, text)
        return True

    def on_module_added(self, module: LoadedModule | None, ready: Callable[[], None]) -> None:
        """As TargetEvents."""
        self._module_changes.put(ModuleChange(module, ready))

    def on_module_removed(self, removal: Removal) -> None:
        """As TargetEvents."""
        self._module_changes.put(ModuleChange(removal.module, removal=removal))

    def _apply(self, arrived: dict[int, int] | None = None) -> None:
        try:
            self.hooks.apply(self._libraries.all(), arrived or {})
        except ProcessLookupError as error:
            raise self.gone() from error
        if found := hook_report.notes(self.hooks, self.record().notes):
            self._store.add_notes(self.id, found)

    def _check_program(self) -> None:
        try:
            self.hooks.check_program(self._libraries.listed)
        except ProcessLookupError as error:
            raise self.gone() from error

    def gone(self) -> StrobeError:
        self._exited.wait(5)
        return failure("process_exited", session_id=self.id, how=how_it_ended(self.record()))

    def _now_ticks(self) -> int:
        return _core.ticks() - self._start_ticks

    def _moment(self) -> int:
        return self._now_ticks() >> self._number_shift

    def _check_running(self) -> None:
        if self._exited.is_set():
            raise failure("process_exited", session_id=self.id, how=how_it_ended(self.record()))

    def _follow_modules(self) -> None:
        """Libraries that are loaded later are matched as well; the thread that loads one waits meanwhile."""
        for change in self._module_changes:
            try:
                with self._lock:
                    arrived = self._change_module(change)
                    is_traced = self._trace_arrived(arrived)
                while not is_traced:
                    self._wait_while_stopped()
                    with self._lock:
                        is_traced = self._trace_arrived(arrived)
            except Exception as error:
                if not self._exited.is_set() and not self._stopping:
                    self.on_failure(f"tracing of {change.what}", error)
            finally:
                if change.ready is not None:
                    self._attempt(f"loading of {change.what}", change.ready)

    def _later_failed(self, error: BaseException) -> None:
        """Nobody waits for a thread that is no more."""
        self.on_failure("tracing of libraries that are loaded later", error)
        self._module_changes.end()

    def _is_going(self, base: int) -> bool:
        """Whether a library that was there has been unloaded, which nobody here has dealt with yet."""
        with suppress(StrobeError, ProcessLookupError):
            self._target.modules()  # the agent's answers follow what it has reported before
        return self._module_changes.is_going(base)

    def _change_module(self, change: ModuleChange) -> dict[int, int]:
        """As Libraries.change."""
        self._module_changes.begin(change)
        return {} if self._stopping or self._exited.is_set() else self._libraries.change(change)

    def _trace_arrived(self, arrived: dict[int, int]) -> bool:
        """False where the program is stopped (SIGSTOP) and no agent answers: the thread that loads them waits on."""
        if not arrived or self._stopping or self._exited.is_set():
            return True
        since = time.monotonic()
        try:
            if self.hooks.unwinding is not None:
                self.hooks.unwinding.update(self._libraries.all())
            self.hooks.extras.find_again(self._scope)
            if self.hooks.patterns:
                self._apply(arrived)
            if self._probes is not None:
                self._probes.apply(self._libraries.all(), self._scope, self.record().project_root)
                self._store.add_warnings(self.id, self._probes.warnings())
        except Unresponsive:
            if not is_stopped(self._target.pid) and time.monotonic() - since >= BUSY_ANSWER_S:
                raise
            return False
        return True

    def _wait_while_stopped(self) -> None:
        while is_stopped(self._target.pid) and not self._stopping:
            self._exited.wait(_LOOK_S)

    def _follow_children(self, status: ExitStatus) -> None:
        """The program's children are still recorded: the session lasts as long as they, or until `stop`."""
        known: list[int] = []
        while self._children is not None and not self._stopping and (pids := self._children.living()):
            if not known:
                self._attempt(
                    "the session's record", lambda: self._store.update_session(self.id, **end_columns(status))
                )
            if pids != known:
                self._attempt("the session's record", partial(self._store.add_notes, self.id, {"children": pids}))
            known = pids
            self._status = status
            self._exited.set()
            self._children.wait(pids)
        if self._children is not None:
            self._children.close()

    def _end(self, status: ExitStatus | None) -> None:
        """Everything that was recorded is readable when this returns. `status` None: the program goes on without us."""
        with self._end_lock:  # who stops it may come together with its own end
            if not self._ended.is_set():
                try:
                    self._close_recording(status)
                finally:
                    self._status = status or ExitStatus()
                    self._ended.set()
                    self._exited.set()
                    self._module_changes.end()

    def _close_recording(self, status: ExitStatus | None) -> None:
        """Each step, whatever has become of the one before."""
        self._attempt("the end of its polls", lambda: self._polls.stop("program"))
        self._attempt("the recording", self._supply.stop)
        self._attempt("the session's record", self._confirmation.note_unreported)
        self._attempt("what is known of its crash", lambda: self._note_crash(status))
        if self._source is not None:
            self._attempt("the program's output", self._source.close)
        self._attempt("the program's output", self._store.flush)
        until_ticks = self._recorded_until or self._now_ticks()
        streams = self._target.open_streams
        notes = {"ended_ticks": until_ticks, "open_streams": streams}
        self._attempt("the session's record", lambda: self._store.add_notes(self.id, notes))
        self._attempt("the session's record", lambda: self._store.add_warnings(self.id, open_warnings(streams)))
        fields = end_fields(status, self._stopping)
        self._attempt("the session's record", lambda: self._store.end_session(self.id, until_ticks, **fields))

    def _note_crash(self, status: ExitStatus | None) -> None:
        if status is None or status.signal is None or self._stopping:
            return
        from strobe.session.crashes.crash import crash_of
        from strobe.session.crashes.crash_events import crash_event, went_on
        from strobe.session.crashes.crash_values import Recording, crash_values

        segment, modules = _core.Segment(str(self.record().segment_path)), self._libraries.known
        goes_on = partial(went_on, self.id, self.query, segment)
        found = crash_of(segment, self._target.pid, status.signal, modules, self._resolver, goes_on)
        if found is None:
            return
        known = (self._open_call, self._stack, self._filled, self._attempt)
        values = crash_values(found, Recording(self, segment, modules, self._resolver, *known))
        event = crash_event(self.record().key, segment, self._target.pid, found, values)
        self._store.host_events.put([event])
        self._store.add_notes(self.id, {"crash": found.text})

    def thread_stacks(self) -> tuple[list[ThreadStack], int]:
        """As Session has it."""
        from strobe.session.crashes.thread_stacks import thread_stacks

        if self._exited.is_set():
            return [], 0

        def shown(block: Block) -> tuple[str, ...]:
            with self._making_stacks:
                return self._stack_names.shown(block, self._now_ticks())

        try:
            recorded = {thread.tid for thread in self.timeline.reading()[0].threads().values()}
            return thread_stacks(self._target.pid, self._libraries.known, self._resolver, shown, recorded)
        except OSError:  # it has just ended
            return [], 0

    def _attempt(self, what: str, step: Callable[[], object]) -> None:
        """A step without which the session can do, and says so."""
        try:
            step()
        except Exception as error:
            self.on_failure(what, error)
