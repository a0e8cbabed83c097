"""The Python API: a program under observation as an object. In this process, without the daemon.

    with strobe.launch(["./player", "song.mid"], trace=["audio::*"]) as player:
        player.wait(timeout=10)
        for call in player.calls("audio::set_tempo"):
            assert 20 <= call.arguments["bpm"] <= 300

Failures are StrobeError, with `code`, `message` and `next_step`.
"""

from __future__ import annotations

import heapq
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from strobe.calls import Call, pair, pair_unlinked
from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError, failure
from strobe.limits import READ_DEPTH, READ_TARGETS
from strobe.model import (
    Event,
    EventFilter,
    EventPage,
    EventType,
    ExitStatus,
    GroupBy,
    LaunchSpec,
    Loss,
    Probe,
    Sampling,
    TextMatch,
    TraceAnswer,
    TraceRequest,
    Watch,
)
from strobe.session import Session, SessionManager
from strobe.session.variables.polling import Polling, Sample
from strobe.symbols import Pattern
from strobe.symbols.select.nearest import nearest_names
from strobe.timeline.selection import text_test
from strobe.timeline.totals import ProbeTotals, Totals
from strobe.values.reading import ReadTarget
from strobe.values.write.writing import WriteTarget

if TYPE_CHECKING:
    from strobe.session.questions.heap import HeapReport

__all__ = ["Call", "Hit", "Polling", "Probe", "ProgramSession", "Sample", "Watch", "launch"]

_PAGE = 10_000
_LINKED_AT_ONCE = 20_000  # events: of more, the parents and children of some calls are looked for when asked for
_SHOWN = 5
_EVERYTHING = EventFilter()


def launch(
    program: Sequence[str | os.PathLike[str]],
    *,
    trace: Sequence[str] = (),
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    project_root: str | os.PathLike[str] | None = None,
    sampling: Sampling = "auto",
    watch: Sequence[str | Watch] = (),
    depth: int = 0,
    where: str | None = None,
    stack: int = 0,
    probe: Sequence[str | Probe] = (),
    keep: bool = False,
    missing_ok: bool = False,
    home: str | os.PathLike[str] | None = None,
) -> ProgramSession:
    """Starts `program` (its path or name, then its arguments) with the functions of `trace` traced from main on.

    `cwd` is where it runs (default: here), `env` adds to this process's environment, `stdin` is the text fed to the
    program, then end of file. `project_root` (default: `cwd`) says what @usercode is. `sampling` "off" keeps every
    event of hot functions. `watch`: variables that are read at each call and return, see `Call.watched`. `depth`, 0 to
    10: how many structs within each other are recorded of what arguments and results lead to. `where`: only calls are
    recorded for which it holds ("cents < 0"); totals are those of all calls. `stack`, 0 to 32: of
    traced calls up to so many callers are recorded, see `Call.stack`; of a probe see `Probe.stack`. `probe`: what is
    recorded at lines ("pool.cpp:42 if used > capacity : used"), see `hits`. `keep` leaves the
    session's data for `strobe query`. `missing_ok`: patterns of `trace` may match nothing, as those of a library
    that is loaded later do. `home` replaces STROBE_HOME.

    Use it in a with statement, or call `stop()`: that ends the program and frees what it recorded.
    Raises StrobeError when the program cannot be started, a pattern is not valid, or nothing of one can be recorded,
    with the nearest names; TypeError for a text in place of a list. No process is left then.
    """
    for name, given in {"program": program, "trace": trace, "watch": watch, "probe": probe}.items():
        _check_list(name, given)
    if not program:
        raise failure("bad_value", field="program", value="empty", reason="there is nothing to start", valid="a path")
    command, *arguments = [os.fspath(part) for part in program]
    folder = str(Path(cwd or ".").absolute())
    root = str(Path(project_root or folder).absolute())
    spec = LaunchSpec(command, tuple(arguments), folder, dict(env or {}), project_root=root, stdin=stdin)
    manager = SessionManager(Path(home) if home is not None else None)
    try:
        watched = _watches(watch)
        session = manager.launch(
            spec,
            TraceRequest(
                trace,
                sampling=sampling,
                watch=watched,
                depth=depth,
                where=where,
                stack=stack,
                probe=_probes(probe),
                probes_ok=missing_ok,
            ),
            missing_ok=missing_ok,
            use_staged=False,
        )
        return ProgramSession(manager, session, keep, trace if missing_ok else ())
    except BaseException:
        manager.close()
        raise


@dataclass(frozen=True, slots=True)
class Hit:
    """A thread came by a probe. `values`: what was shown there, by expression. `time_ns`: since session start. `stack`:
    the callers, the innermost first, "function file:line"; None where none was asked for."""

    id: str
    label: str
    values: dict[str, Any]
    time_ns: int
    function: str
    thread: str
    thread_id: int
    pid: int
    source_file: str | None = None
    line: int | None = None
    stack: tuple[str, ...] | None = None
    text: str | None = None  # what the probe's `log` says


class ProgramSession:
    """One launched program and what it did so far. Everything can be asked while it runs and after it has ended."""

    def __init__(self, manager: SessionManager, session: Session, keep: bool, may_miss: Sequence[str] = ()) -> None:
        self._manager = manager
        self._session = session
        self._keep = keep
        self._stopped = False
        self._may_miss = {text.strip() for text in may_miss}
        self._exit_status: ExitStatus | None = None

    def __enter__(self) -> ProgramSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def id(self) -> str:
        """The session's name, as `strobe query` and `strobe sessions` take it."""
        return self._session.id

    @property
    def pid(self) -> int:
        """The program's process id; it stays after the program's end."""
        return self._session.pid

    @property
    def warnings(self) -> list[str]:
        """What could not be done as asked, such as functions that exist only inlined."""
        return list(self._session.warnings)

    @property
    def exit_status(self) -> ExitStatus | None:
        """How the program ended, None while it runs."""
        if self._exit_status is None:
            self._exit_status = self._session.wait(0)
        return self._exit_status

    @property
    def crash(self) -> Event | None:
        """Where the program was when a signal ended it: `text` in a sentence, `values` {signal, reason, address,
        function, file, line, threadId, calls, …} as far as it is known. None where none of its own faults, nor abort,
        has."""
        return next(iter(self._session.last(EventFilter(event_type="crash"), 1)), None)

    @property
    def loss(self) -> Loss:
        """What is missing from the events; totals are exact nevertheless, but for the calls that are `in_no_total`."""
        return self._session.timeline.loss()

    @property
    def stdout(self) -> str:
        """What the program has written to its standard output so far."""
        return self._text("stdout")

    @property
    def stderr(self) -> str:
        """What the program has written to its standard error so far."""
        return self._text("stderr")

    @property
    def output(self) -> str:
        """Standard output and standard error together, as they came."""
        return self._text("stdout", "stderr")

    def wait(self, timeout: float | None = None) -> ExitStatus:
        """Waits until the program has ended; raises TimeoutError after `timeout` seconds and leaves it running."""
        status = self._exit_status or self._session.wait(timeout)
        if status is None:
            raise TimeoutError(f"the program of session {self.id} still runs after {timeout} s")
        self._exit_status = status
        return status

    @property
    def children(self) -> tuple[int, ...]:
        """Process ids of forked children that are still recorded, though the program itself has ended."""
        return self._session.children

    def wait_for_children(self, timeout: float | None = None) -> None:
        """Waits until the program has ended, and every child of it that is recorded; raises TimeoutError."""
        if not self._session.wait_for_children(timeout):
            raise TimeoutError(f"the program of session {self.id}, or a child of it, still runs after {timeout} s")

    def trace(
        self,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        sampling: Sampling | None = None,
        *,
        watch: Sequence[str | Watch] = (),
        unwatch: Sequence[str] = (),
        depth: int | None = None,
        where: str | None = None,
        stack: int = 0,
        probe: Sequence[str | Probe] = (),
        unprobe: Sequence[str] = (),
        missing_ok: bool = False,
    ) -> TraceAnswer:
        """Adds and removes patterns, probes and watches while it runs; says how many functions matched.

        `sampling`, `depth` None: as it was. `watch`: variables, or Watch of an address, an expression in JavaScript, or
        only some functions. `unwatch`: their names. `probe`, `unprobe`: probes, and labels of such. What is wrong with
        one of several watches is in the answer's warnings. `where`: of the functions of `add`, only calls are recorded
        for which it holds ("cents < 0"); totals are of all. `stack`: up to so many callers are recorded of them.
        `missing_ok`: patterns of `add` may match nothing, and probes have no place. Else, where nothing of one can be
        recorded, raises StrobeError with the nearest names; the others are active then. TypeError for a text in place
        of a list.
        """
        lists = {"add": add, "remove": remove, "watch": watch, "unwatch": unwatch, "probe": probe, "unprobe": unprobe}
        for name, given in lists.items():
            _check_list(name, given)
        asked = TraceRequest(
            add,
            remove,
            sampling,
            watch=_watches(watch),
            unwatch=unwatch,
            depth=depth,
            where=where,
            stack=stack,
            probe=_probes(probe),
            unprobe=unprobe,
            probes_ok=missing_ok,
        )
        answer = self._session.trace(asked)
        wanted = {text.strip() for text in add}
        if missing_ok:
            self._may_miss |= wanted
        elif missing := {text: why for text, why in answer.unmatched.items() if text in wanted}:
            self._session.trace(TraceRequest(remove=list(missing)))
            raise failure("nothing_traced", reason=" ".join(dict.fromkeys(missing.values())))
        return answer

    def calls(self, pattern: str | None = None, thread: str | None = None, *, missing_ok: bool = False) -> list[Call]:
        """Calls so far, in order of their start, each with its parent and children whatever was asked for.

        `pattern` matches names as a trace pattern does ("audio::*"), None means every traced function. `thread` is a
        part of the thread's name. Raises StrobeError where `pattern` matches no function that is or was traced, so that
        a misspelled name is not taken for one that was not called; with `missing_ok` there are no calls then.
        """
        names = None if pattern is None else self._names(pattern, missing_ok)
        if names == []:
            return []
        in_thread = None if thread is None else TextMatch(contains=thread)
        wanted = EventFilter(function=None if names is None else _any_of(names), thread_name=in_thread)
        if names is None and thread is None:
            return pair(self.events())
        found = pair_unlinked(self.events(wanted), lambda: self._link(found))
        if found and self._session.query(replace(_EVERYTHING, limit=1)).total_count <= _LINKED_AT_ONCE:
            self._link(found)
        return found

    def hits(self, label: str | None = None) -> list[Hit]:
        """Each time so far that a thread came by a probe and its condition held, in order. `label`: of one probe, which
        is its place unless it was given another. Raises StrobeError where there is no probe of that label."""
        known = [one.label for one in self._session.timeline.probe_totals()]
        if label is not None and label not in known:
            near = nearest_names(label, known) or known[:_SHOWN]
            valid = ", ".join(near) or "none: there are no probes"
            raise failure("bad_value", field="label", value=f"'{label}'", reason="no probe has that label", valid=valid)
        events = self.events(EventFilter(event_type="probe"))
        return [_hit(event) for event in events if label in (None, event.label)]

    def probe_totals(self) -> list[ProbeTotals]:
        """How often each probe was reached, and its condition held; exact, whatever was evicted."""
        return self._session.timeline.probe_totals()

    def heap(self, from_ns: int | None = None, to_ns: int | None = None) -> HeapReport:
        """What the program held at `to_ns`, ns since session start, or holds now, of what it has allocated, by stack;
        with `from_ns` what has grown since then. Trace "@heap" for that. What is not certain is in its `notes`."""
        from strobe.session.questions.heap import heap_report

        return heap_report(self._session, from_ns, to_ns)

    def _link(self, calls: list[Call]) -> None:
        """Finds the parents and children of some calls, which may have been made by, or have made, any other."""
        if self._stopped:
            raise failure("links_gone", session_id=self.id)
        pair(self.events(), known=calls)
        for call in calls:
            call.forget_link()

    def events(self, wanted: EventFilter = _EVERYTHING) -> Iterator[Event]:
        """All events that match, page by page, oldest first; the filter's own limit and offset do not count."""
        after = wanted.after_event_id
        while True:
            page = self._session.query(replace(wanted, after_event_id=after, limit=_PAGE, offset=0))
            yield from page.events
            if not page.has_more or not page.events:
                return
            after = page.events[-1].id

    def query(self, wanted: EventFilter = _EVERYTHING) -> EventPage:
        """One page of events, as debug_query gives it."""
        return self._session.query(wanted)

    def totals(
        self, group_by: GroupBy = "function", wanted: EventFilter = _EVERYTHING, *, missing_ok: bool = False
    ) -> list[Totals]:
        """Exact totals, most calls first; never sampled, never evicted.

        Raises StrobeError where `wanted.function` names no function that is or was traced, unless `missing_ok`.
        """
        found = self._session.timeline.totals(wanted, group_by)
        named = wanted.function
        if not found and named is not None and not missing_ok:
            passes, traced = text_test("function", named), self._session.timeline.traced_names()
            if not any(passes(name) for name in traced):
                raise _not_traced(named.equals or named.contains or named.matches or "", traced)
        return found

    def sql(self, statement: str, timeout: float = 60.0) -> tuple[list[str], list[tuple[object, ...]]]:
        """Column names and rows, at most a million, of a read-only statement over the view `events`.

        Raises StrobeError, LIMIT_REACHED where it takes longer than `timeout` seconds or has more rows.
        """
        return self._session.sql(statement, timeout)

    def read(self, variable: str, depth: int = 3, thread: int | None = None) -> Any:
        """The value of a variable, or of a part of one, at this moment: `gTempo`, `gState.voices[3].freq`, `*p`.

        A bool, int, float, str or list; a values.Record, with the fields as attributes, of a struct; a
        values.PointerTo of a pointer, which has the fields of the struct it leads to. `depth`, 1 to 5: how many structs
        within each other are read. `thread`: whose thread-local variable, by its id; None: the main thread's.
        Raises READ_FAILED with the reason, VALIDATION_ERROR, PROCESS_EXITED.
        """
        (result,) = self._session.reader.read([ReadTarget(variable, thread=thread)], _checked_depth(depth))
        for warning in self._session.reader.warnings():
            warnings.warn(warning, stacklevel=2)
        if result.error is not None:
            raise result.error
        return result.value

    def write(self, variable: str, value: Any, thread: int | None = None) -> Any:
        """Gives a variable, or a part of one, a new value while the program runs; returns the value it had.

        `value`: a number, bool or str, the name of an enumerator, "&gFoo" or None for pointers, a list for all of an
        array, a dict for members of a struct, or what `read` gave. Text goes into char arrays, char* and std::string
        within what they hold now. `thread`: as `read` has it. Raises WRITE_FAILED, READ_FAILED with the reason,
        PROCESS_EXITED; then nothing is written.
        """
        (result,) = self._session.writer.write([WriteTarget(variable, value, thread=thread)])
        if result.error is not None:
            raise result.error
        return result.previous

    def poll(
        self,
        variables: str | Sequence[str],
        interval: float = 0.05,
        duration: float = 1.0,
        depth: int = 3,
        thread: int | None = None,
    ) -> Polling:
        """Reads variables every `interval` seconds (0.05 to 5) for `duration` seconds (0.1 to 30), all at one moment.

            for sample in s.poll(["gTempo", "gClock->beat"], interval=0.1, duration=2):
                print(sample.timestamp_ns, sample["gTempo"])

        Each sample comes as soon as it was taken; all are in the timeline, too, as variable_snapshot events. It ends
        with the program. `depth` and `thread`: as `read` has them. Raises as `read`, and LIMIT_REACHED; what fails
        later is in the sample's `errors`.
        """
        wanted = [variables] if isinstance(variables, str) else list(dict.fromkeys(variables))
        if not 1 <= len(wanted) <= READ_TARGETS:
            reason, valid = "it is out of range", f"1 to {READ_TARGETS} variables"
            raise failure("bad_value", field="variables", value=len(wanted), reason=reason, valid=valid)
        targets = [ReadTarget(variable, thread=thread) for variable in wanted]
        return Polling(self._session, targets, round(interval * 1000), round(duration * 1000), _checked_depth(depth))

    def stop(self) -> None:
        """Ends the program if it still runs and frees the session's data, unless it was launched with keep=True."""
        if self._stopped:
            return
        self._stopped = True
        try:
            self._session.stop(retain=self._keep)
        finally:
            self._manager.close()

    def _names(self, pattern: str, missing_ok: bool) -> list[str]:
        """Names of the called functions that match; raises INVALID_PATTERN, VALIDATION_ERROR for selectors."""
        parsed = Pattern.parse(pattern, ".")
        if parsed.kind != "name":
            raise failure("bad_value", field="pattern", value=pattern, reason="not a name", valid="foo::bar, foo::*")
        names = [group.key for group in self.totals() if parsed.matches_name(group.key)]
        if not names and not missing_ok and parsed.text not in self._may_miss:
            traced = self._session.timeline.traced_names()
            if not any(map(parsed.matches_name, traced)):
                raise _not_traced(pattern, traced)
        return names

    def _text(self, *streams: EventType) -> str:
        """What the program wrote, in order."""
        each = [self.events(EventFilter(event_type=stream)) for stream in streams]
        return "".join(event.text or "" for event in heapq.merge(*each, key=lambda event: event.timestamp_ns))


def _checked_depth(depth: int) -> int:
    if not 1 <= depth <= READ_DEPTH:
        valid = f"1 to {READ_DEPTH}"
        raise failure("bad_value", field="depth", value=depth, reason="it is out of range", valid=valid)
    return depth


def _check_list(name: str, given: object) -> None:
    """A text is a sequence, too: of its letters."""
    if isinstance(given, str | bytes | os.PathLike | Watch):
        shown = str(given) if isinstance(given, os.PathLike) else given
        raise TypeError(f"{name} is a list: write {name}=[{shown!r}]")


def _not_traced(pattern: str, traced: Sequence[str]) -> StrobeError:
    if not traced:
        return failure("nothing_traced", reason=f"No function is or was traced, so none matches '{pattern}'.")
    nearest = nearest_names(pattern, traced) or traced[:_SHOWN]
    reason = f"No function that is or was traced matches '{pattern}'. Names like it: {', '.join(nearest)}."
    return failure("nothing_traced", reason=reason)


def _watches(wanted: Sequence[str | Watch]) -> list[Watch]:
    return [Watch(one) if isinstance(one, str) else one for one in wanted]


def _any_of(names: Sequence[str]) -> TextMatch:
    if len(names) == 1:
        return TextMatch(equals=names[0])
    return TextMatch(one_of=frozenset(names))


def _hit(event: Event) -> Hit:
    return Hit(
        id=event.id,
        label=event.label or "",
        values=event.watch_values or {},
        time_ns=event.timestamp_ns,
        function=event.function or "?",
        thread=event.thread_name,
        thread_id=event.thread_id,
        pid=event.pid,
        source_file=event.source_file,
        line=event.line,
        stack=event.stack,
        text=event.text,
    )


def _probes(given: Sequence[str | Probe]) -> list[Probe]:
    """Raises VALIDATION_ERROR for a text that is none."""
    from strobe.session.probes.text_form import probes_of

    texts = iter(probes_of([one for one in given if isinstance(one, str)]))
    return [next(texts) if isinstance(one, str) else one for one in given]
