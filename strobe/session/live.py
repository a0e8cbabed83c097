"""One session whose program this process observes. Commands go down from here, events come up."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from signal import Signals
from typing import Literal

from strobe import _core
from strobe.capture.children import RecordedChildren
from strobe.capture.mapped_elf import located, unlisted
from strobe.capture.target import Target
from strobe.errors import Code, StrobeError, failure
from strobe.model import ExitStatus, LoadedModule, Sampling, TraceAnswer, Watch
from strobe.session.answers import how_it_ended, runtime_answer
from strobe.session.hooks import Hooks
from strobe.session.session import Session
from strobe.session.session_memory import Inside, restricts_calls
from strobe.session.writes import Rows, is_stopped
from strobe.symbols import SymbolResolver
from strobe.symbols.patterns import parse_all
from strobe.timeline.output import HostEventSource
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _ModuleChange:
    """A library came, and a thread waits for `ready`, or went."""

    module: LoadedModule
    ready: Callable[[], None] | None


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
        self._children: RecordedChildren | None = None
        self._stopping = False
        self._modules: dict[int, LoadedModule] = {}  # by base
        self._unlisted: dict[int, LoadedModule] = {}
        self._module_changes: queue.SimpleQueue[_ModuleChange | None] = queue.SimpleQueue()
        self._target: Target
        self._hooks: Hooks

    def begin(self, target: Target) -> None:
        """Takes over a target that has not been resumed yet."""
        self._target = target
        self._hooks = Hooks(self._store, self.id, target, self._resolver, self._text_bytes)
        self._modules = {module.base: located(target.pid, module) for module in target.modules()}
        record = self._store.update_session(self.id, pid=target.pid)
        if target.setup.form == "native":
            self._children = RecordedChildren(target.pid, str(record.segment_path))
        self._source = HostEventSource(self._store, self.id, target.pid, self._moment)
        if not target.setup.catches_returns:
            note = "The CPU protects return addresses here (shadow stack): entries are recorded, returns are not."
            self._store.add_warnings(self.id, [note])
        if target.setup.reason:
            note = f"The portable form of the recorder is in use, several times slower: {target.setup.reason}."
            self._store.add_warnings(self.id, [note])
        threading.Thread(target=self._follow_modules, name=f"strobe-modules-{target.pid}", daemon=True).start()

    @property
    def depth(self) -> int:
        return self._hooks.extras.depth

    def resume(self) -> None:
        self._target.resume()

    def trace(
        self,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        sampling: Sampling | None = None,
        *,
        watch: Sequence[Watch] = (),
        unwatch: Sequence[str] = (),
        depth: int | None = None,
    ) -> TraceAnswer:
        project_root = self._record().project_root
        added = {pattern.text: pattern for pattern in parse_all(add, project_root)}
        with self._lock:
            self._check_running()
            warnings = [f"'{text}' was not active." for text in remove if text not in self._hooks.patterns]
            if any(pattern.kind != "lib" for pattern in added.values()):
                self._check_program()
            kept = {text: item for text, item in self._hooks.patterns.items() if text not in remove}
            self._hooks.patterns = {**kept, **added}
            self._hooks.sampling = sampling or self._hooks.sampling
            if depth is not None:
                self._hooks.extras.follow(depth)
            warnings += self._change_watches(watch, unwatch, is_all=not (add or remove or unwatch))
            self._apply()
            found = [*warnings, *self._hooks.warnings()]
            self._store.add_warnings(self.id, self._hooks.warnings())
            return runtime_answer(self._hooks, list(dict.fromkeys(found)), self._record().event_limit)

    def _change_watches(self, watch: Sequence[Watch], unwatch: Sequence[str], is_all: bool) -> list[str]:
        """What is wrong with some of them. Raises it where nothing else was asked for, and none of them is right."""
        extras = self._hooks.extras
        problems = [f"Watch '{name}' was not active." for name in unwatch if not extras.remove(name)]
        failed = []
        for one in watch:
            try:
                extras.add(one, lambda: self._reads().scope())
            except ProcessLookupError as error:
                raise self._gone() from error
            except StrobeError as error:
                failed.append(error)
                told = f"{error.message} {error.next_step}".strip()
                problems.append(f"Watch '{one.name}' was not added: {told}")
        if is_all and failed and len(failed) == len(watch):
            first = failed[0]
            if first.code is Code.LIMIT_REACHED:
                raise first
            raise failure("watch_failed", what=watch[0].name, reason=first.message.rstrip("."), hint=first.next_step)
        return problems

    def wait(self, timeout: float | None = None) -> ExitStatus | None:
        self._exited.wait(timeout)
        return self._status

    def wait_for_children(self, timeout: float | None = None) -> bool:
        return self._ended.wait(timeout)

    def add_event(self, event_type: str, text: str) -> int:
        number = None if self._source is None else self._source.event(event_type, text)
        if number is None:
            raise self._gone()
        return number

    def stop(self, retain: bool = False) -> int:
        with self._lock:
            self._stopping = True
            self._polls.stop("stopped")
            if self._children is not None:
                self._children.wake()
            if self._target.attached and not self._exited.is_set():
                self._target.detach()
                self._end(None)
            else:
                self._target.kill()
        self._ended.wait(10)
        return self._finish(retain)

    def abort(self) -> None:
        """Takes back a launch that failed: no process, no data."""
        if self._target.attached:
            self._target.detach()
            self._end(None)
        else:
            self._target.kill_at_once()
        self._ended.wait(10)
        self._finish(retain=False)

    # --- TargetEvents, called on threads of the capture layer

    def on_output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        if self._source is not None:
            self._source.output(stream, data)

    def on_exit(self, status: ExitStatus) -> None:
        if self._ended.is_set():  # it was let go of
            return
        self._follow_children(status)
        self._end(status)

    def on_module_added(self, module: LoadedModule, ready: Callable[[], None]) -> None:
        self._module_changes.put(_ModuleChange(module, ready))

    def on_module_removed(self, module: LoadedModule) -> None:
        self._module_changes.put(_ModuleChange(module, None))

    def _apply(self) -> None:
        try:
            self._hooks.apply([*self._modules.values(), *self._find_unlisted()], self._now_ticks())
        except ProcessLookupError as error:
            raise self._gone() from error
        notes = {"inlined_only": self._hooks.inlined_only(), "partly_inlined": self._hooks.partly_inlined()}
        if found := {name: note for name, note in notes.items() if note}:
            self._store.add_notes(self.id, found)

    def _located(self, module: LoadedModule) -> LoadedModule:
        try:
            return located(self._target.pid, module)
        except ProcessLookupError:  # what comes next says so
            return module

    def _find_unlisted(self) -> list[LoadedModule]:
        """Nobody tells when one of these comes or goes, so they are looked for whenever hooks may change."""
        found = {module.base: module for module in unlisted(self._target.pid, list(self._modules.values()))}
        for base, module in self._unlisted.items():
            if found.get(base) != module:
                self._target.forget(module)
                self._hooks.forget(module, self._now_ticks())
        self._unlisted = found
        return list(found.values())

    def _check_program(self) -> None:
        try:
            self._hooks.check_program(list(self._modules.values()))
        except ProcessLookupError as error:
            raise self._gone() from error

    def _agent(self) -> Callable[[], Inside]:
        return lambda: self._target

    def _store_inside(self, rows: Rows) -> list[str] | None:
        if is_stopped(self._target.pid) or restricts_calls(self._target.pid):  # it could not answer, or must not
            return None
        try:
            return self._target.store(rows)
        except StrobeError as error:  # stopped by a signal, held by a debugger, or between fork and exec
            log.warning("session %s: the agent did not write: %s", self.id, error)
            return None

    def _symbols(self) -> SymbolResolver:
        return self._resolver

    def _gone(self) -> StrobeError:
        self._exited.wait(5)
        return failure("process_exited", session_id=self.id, how=how_it_ended(self._record()))

    def _now_ticks(self) -> int:
        return _core.ticks() - self._start_ticks

    def _moment(self) -> int:
        return self._now_ticks() >> self._number_shift

    def _check_running(self) -> None:
        if self._exited.is_set():
            raise failure("process_exited", session_id=self.id, how=how_it_ended(self._record()))

    def _follow_modules(self) -> None:
        """Libraries that are loaded later are matched as well; the thread that loads one waits meanwhile."""
        while (change := self._module_changes.get()) is not None:
            try:
                with self._lock:
                    self._change_module(change)
            except StrobeError as error:
                log.warning("session %s: no hooks in %s: %s", self.id, change.module.path, error)
            finally:
                if change.ready is not None:
                    change.ready()

    def _change_module(self, change: _ModuleChange) -> None:
        module = change.module
        if self._stopping or self._exited.is_set():
            return
        if change.ready is None:
            self._modules.pop(module.base, None)
            self._hooks.forget(module, self._now_ticks())
        else:
            self._modules[module.base] = self._located(module)
            if self._hooks.patterns:
                self._apply()

    def _follow_children(self, status: ExitStatus) -> None:
        """What the program has forked is recorded on, by itself; the session lasts as long as that, or until `stop`."""
        known: list[int] = []
        while self._children is not None and not self._stopping and (pids := self._children.living()):
            if not known:
                self._store.update_session(self.id, **_how(status))
            if pids != known:
                self._store.add_notes(self.id, {"children": pids})
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
                self._close_recording(status)

    def _close_recording(self, status: ExitStatus | None) -> None:
        self._polls.stop("program")
        self._supply.stop()
        if self._source is not None:
            self._source.close()
        self._store.close_spans(self.id, None, self._now_ticks())
        ended = datetime.now().astimezone().isoformat(timespec="seconds")
        how = {} if status is None or self._stopping else _how(status)
        self._store.flush()
        self._store.update_session(self.id, status="stopped" if self._stopping else "exited", ended_at=ended, **how)
        self._status = status or ExitStatus()
        self._ended.set()
        self._exited.set()
        self._module_changes.put(None)


def _how(status: ExitStatus) -> dict[str, str | int | None]:
    return {"exit_code": status.code, "signal": None if status.signal is None else _signal_name(status.signal)}


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:  # a real-time signal between SIGRTMIN and SIGRTMAX
        return f"SIGRTMIN+{number - Signals.SIGRTMIN}"
