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
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from strobe.calls import Call, pair
from strobe.errors import failure
from strobe.model import (
    Event,
    EventFilter,
    EventPage,
    EventType,
    ExitStatus,
    GroupBy,
    LaunchSpec,
    Loss,
    Sampling,
    TextMatch,
    Totals,
    TraceAnswer,
    Watch,
)
from strobe.session import Session, SessionManager
from strobe.session.polling import Polling, Sample
from strobe.symbols import Pattern
from strobe.values.reading import MAX_DEPTH, MAX_TARGETS, ReadTarget
from strobe.values.writing import WriteTarget

__all__ = ["Call", "Polling", "ProgramSession", "Sample", "Watch", "launch"]

_PAGE = 10_000
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
    keep: bool = False,
    home: str | os.PathLike[str] | None = None,
) -> ProgramSession:
    """Starts `program` (its path or name, then its arguments) with the functions of `trace` traced from main on.

    `cwd` is where it runs (default: here), `env` adds to this process's environment, `stdin` is the text fed to the
    program, then end of file. `project_root` (default: `cwd`) says what @usercode is. `sampling` "off" keeps every
    event of hot functions. `watch`: variables that are read at each call and return, see `Call.watched`. `depth`, 0 to
    10: how many structs within each other are recorded of what arguments and results lead to. `keep` leaves the
    session's data for `strobe query`. `home` replaces STROBE_HOME.

    Use it in a with statement, or call `stop()`: that ends the program and frees what it recorded.
    Raises StrobeError when the program cannot be started, or a pattern is not valid; no process is left then.
    """
    if not program:
        raise failure("bad_value", field="program", value="empty", reason="there is nothing to start", valid="a path")
    command, *arguments = [os.fspath(part) for part in program]
    folder = str(Path(cwd or ".").absolute())
    root = str(Path(project_root or folder).absolute())
    spec = LaunchSpec(command, tuple(arguments), folder, dict(env or {}), project_root=root, stdin=stdin)
    manager = SessionManager(Path(home) if home is not None else None)
    try:
        return ProgramSession(manager, manager.launch(spec, trace, sampling, watch=_watches(watch), depth=depth), keep)
    except BaseException:
        manager.close()
        raise


class ProgramSession:
    """One launched program and what it did so far. Everything can be asked while it runs and after it has ended."""

    def __init__(self, manager: SessionManager, session: Session, keep: bool) -> None:
        self._manager = manager
        self._session = session
        self._keep = keep
        self._stopped = False
        self._exit_status: ExitStatus | None = None

    def __enter__(self) -> ProgramSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def pid(self) -> int:
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
    def loss(self) -> Loss:
        """What is missing from the events; totals are exact nevertheless."""
        return self._session.loss()

    @property
    def stdout(self) -> str:
        return self._text("stdout")

    @property
    def stderr(self) -> str:
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
        """Process ids of forked children that are recorded on, though the program itself has ended."""
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
    ) -> TraceAnswer:
        """Adds and removes patterns and watches while it runs; says how many functions matched.

        `sampling`, `depth` None: as it was. `watch`: variables, or Watch of an address, an expression in JavaScript, or
        only some functions. `unwatch`: their names. What is wrong with one of several is in the answer's warnings.
        """
        return self._session.trace(add, remove, sampling, watch=_watches(watch), unwatch=unwatch, depth=depth)

    def calls(self, pattern: str | None = None, thread: str | None = None) -> list[Call]:
        """Calls so far, in order of their start.

        `pattern` matches names as a trace pattern does ("audio::*"), None means every traced function. `thread` is a
        part of the thread's name.
        """
        names = None if pattern is None else self._names(pattern)
        if names == []:
            return []
        in_thread = None if thread is None else TextMatch(contains=thread)
        wanted = EventFilter(function=None if names is None else _any_of(names), thread_name=in_thread)
        return pair(self.events(wanted))

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

    def totals(self, group_by: GroupBy = "function", wanted: EventFilter = _EVERYTHING) -> list[Totals]:
        """Exact totals, most calls first; never sampled, never evicted."""
        return self._session.totals(wanted, group_by)

    def sql(self, statement: str) -> tuple[list[str], list[tuple[object, ...]]]:
        """Column names and rows of a read-only statement over the view `events`."""
        return self._session.sql(statement)

    def read(self, variable: str, depth: int = 3, thread: int | None = None) -> Any:
        """The value of a variable, or of a part of one, at this moment: `gTempo`, `gState.voices[3].freq`, `*p`.

        A bool, int, float, str or list; a values.Record, with the fields as attributes, of a struct; a
        values.PointerTo of a pointer, which has the fields of the struct it leads to. `depth`, 1 to 5: how many structs
        within each other are read. `thread`: whose thread-local variable, by its id; None: the main thread's.
        Raises READ_FAILED with the reason, VALIDATION_ERROR, PROCESS_EXITED.
        """
        (result,) = self._session.read([ReadTarget(variable, thread=thread)], _checked_depth(depth))
        for warning in self._session.read_warnings():
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
        (result,) = self._session.write([WriteTarget(variable, value, thread=thread)])
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
        if not 1 <= len(wanted) <= MAX_TARGETS:
            reason, valid = "it is out of range", f"1 to {MAX_TARGETS} variables"
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

    def _names(self, pattern: str) -> list[str]:
        """Names of the called functions that match; raises INVALID_PATTERN, VALIDATION_ERROR for selectors."""
        parsed = Pattern.parse(pattern, ".")
        if parsed.kind != "name":
            raise failure("bad_value", field="pattern", value=pattern, reason="not a name", valid="foo::bar, foo::*")
        return [group.key for group in self.totals() if parsed.matches_name(group.key)]

    def _text(self, *streams: EventType) -> str:
        """What the program wrote, in order."""
        each = [self.events(EventFilter(event_type=stream)) for stream in streams]
        return "".join(event.text or "" for event in heapq.merge(*each, key=lambda event: event.timestamp_ns))


def _checked_depth(depth: int) -> int:
    if not 1 <= depth <= MAX_DEPTH:
        valid = f"1 to {MAX_DEPTH}"
        raise failure("bad_value", field="depth", value=depth, reason="it is out of range", valid=valid)
    return depth


def _watches(wanted: Sequence[str | Watch]) -> list[Watch]:
    return [Watch(one) if isinstance(one, str) else one for one in wanted]


def _any_of(names: Sequence[str]) -> TextMatch:
    if len(names) == 1:
        return TextMatch(equals=names[0])
    return TextMatch(one_of=frozenset(names))
