"""What `strobe run` writes: text for a person, or JSON lines for a program."""

from __future__ import annotations

import errno
import os
import select
import signal
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from strobe.cli.output.tables import totals_table
from strobe.dataclass import dataclass, field
from strobe.errors import enumerated
from strobe.model import Event, ExitStatus, Loss, ProbeAnswer, TraceAnswer
from strobe.report import wording
from strobe.report.calltree import CallTree
from strobe.report.palette import Palette

if TYPE_CHECKING:
    from strobe.timeline.totals import ProbeTotals, Totals

_FRAME_CHARACTERS = 120  # of a longer one template arguments are left out


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What there is to say when the program has ended. Counts are of events, an enter and an exit being two."""

    status: ExitStatus
    totals: Sequence[Totals] = ()
    loss: Loss = field(default_factory=Loss)
    warnings: Sequence[str] = ()
    events_recorded: int = 0
    events_not_printed: int = 0
    session_id: str = ""
    kept: bool = False
    children: Sequence[int] = ()  # that outlive the program
    failures: Sequence[str] = ()  # of Strobe's, because of which something is missing
    probes: Sequence[ProbeTotals] = ()
    crash: Event | None = None


class Report(Protocol):
    """How `strobe run` shows a session: as a call tree, or as JSON. Called on one thread."""

    @property
    def is_broken(self) -> bool:
        """Nothing more can be written, or nobody reads it."""

    def begin(self, answer: TraceAnswer | None, warnings: Sequence[str]) -> None:
        """The program was started; what was said of the patterns."""

    def events(self, events: Sequence[Event]) -> None:
        """Events in the order of time, each once."""

    def idle(self) -> None:
        """No event came since the last time."""

    def gap(self) -> None:
        """What comes next is not reported."""

    def end(self, ending: RunEnd) -> None:
        """The last call: the program has ended, or Strobe lets go of it."""


class Sink:
    """Writes whole texts to a descriptor that may be shared with the program, which may have made it non-blocking.

    What cannot be written is no reason to disturb the program: nothing more is written then, and `error` says why.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.error: OSError | None = None

    def lines(self, lines: Iterable[str]) -> None:
        """Writes lines, waiting while a pipe is full. After an error, which `error` keeps, nothing is written."""
        if self.error is not None:
            return
        data = "".join(f"{line}\n" for line in lines).encode(errors="replace")
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                room = select.poll()  # select takes no descriptor above 1,023
                room.register(self._descriptor, select.POLLOUT)
                room.poll()
            except OSError as error:
                self.error = error
                return

    def failure(self, name: str) -> str | None:
        """What is to be said of the report `name`; None where it is complete, or its reader did not want more."""
        if self.error is None or self.error.errno == errno.EPIPE:
            return None
        return f"{name} could not be written to its end: {self.error.strerror}"


class TextReport:
    """The call tree, then the totals."""

    def __init__(self, sink: Sink, palette: Palette) -> None:
        self._sink = sink
        self._palette = palette
        self._tree = CallTree(palette)
        self._warned: set[str] = set()

    @property
    def is_broken(self) -> bool:
        return self._sink.error is not None

    def begin(self, answer: TraceAnswer | None, warnings: Sequence[str]) -> None:
        if answer is not None:
            self._sink.lines([f"strobe: {answer.status}", *(f"strobe: {_sites(one)}" for one in answer.probes)])
        self._warn(warnings)

    def events(self, events: Sequence[Event]) -> None:
        self._sink.lines(self._tree.feed(events))

    def idle(self) -> None:
        self._sink.lines(self._tree.flush())

    def gap(self) -> None:
        self._sink.lines(self._tree.gap("the program is faster than this listing: events not printed"))

    def end(self, ending: RunEnd) -> None:
        self._sink.lines(self._tree.finish())
        if ending.totals:
            self._sink.lines(["", *totals_table(ending.totals, "function", self._palette)])
        if ending.probes:
            self._sink.lines(["", *map(probe_line, ending.probes)])
        self._warn([text for text in ending.warnings if text not in ending.failures])
        self._sink.lines(f"strobe: {line}" for line in ending_lines(ending))

    def _warn(self, warnings: Sequence[str]) -> None:
        """Each warning once, whether it was known at the start or came later."""
        label = self._palette.warning("warning:")
        self._sink.lines(f"strobe: {label} {text}" for text in warnings if text not in self._warned)
        self._warned.update(warnings)


def _sites(answer: ProbeAnswer) -> str:
    """Where a probe records."""
    names = dict.fromkeys(site.function for site in answer.places if not site.problem)
    count = sum(not site.problem for site in answer.places)
    return f"probe {answer.probe.name}: {wording.counted(count, 'place')}, in {enumerated(names)}"


def probe_line(totals: ProbeTotals) -> str:
    """How often it was reached, and its condition held."""
    line = f"probe {totals.label}: reached {wording.counted(totals.hits, 'time')}"
    if totals.held != totals.hits:
        line += f", its condition held {wording.counted(totals.held, 'time')}"
    if totals.recorded != totals.held:
        line += f", {wording.counted(totals.recorded, 'time')} recorded"
    if totals.undecided:
        line += f", and could not be decided {wording.counted(totals.undecided, 'time')}"
    return line


def missing_lines(ending: RunEnd) -> list[str]:
    """What the listing has not, one line each."""
    lines = [*ending.failures]
    if ending.events_not_printed:
        lines.append(f"{wording.counted(ending.events_not_printed, 'event')} not printed; the totals count them")
    return lines


def ending_lines(ending: RunEnd) -> list[str]:
    """How it ended and what is missing, one line each."""
    lines = [*wording.loss_lines(ending.loss), *missing_lines(ending)]
    if not ending.totals and not ending.probes and not ending.loss.total and not ending.failures:
        lines.append("no traced function was called")
    if ending.status.code is None:
        lines.append(how_it_ended(ending.status))
        lines += crash_lines(ending.crash)
    if ending.children:
        pids = ", ".join(map(str, ending.children))
        goes_on = f"child {pids} goes" if len(ending.children) == 1 else f"children {pids} go"
        lines.append(f"its {goes_on} on, not recorded any more")
    if ending.kept:
        lines.append(f"kept as session {ending.session_id}; read it with: strobe query {ending.session_id}")
    return lines


def crash_lines(crash: Event | None) -> list[str]:
    """Where it was, its stack, and the traced calls that its thread was in, innermost first."""
    if crash is None:
        return []
    calls = (crash.values or {}).get("calls", ())
    thread = f" (thread {wording.one_line(crash.thread_name)})" if crash.thread_name else ""
    return [
        f"{crash.text}{thread}",
        *(f"  freed: {line}" for line in (crash.values or {}).get("freed", ())),
        *_stack_lines(crash.values or {}),
        *(f"  in call of {one['call']}" for one in calls),
    ]


def _stack_lines(values: dict[str, Any]) -> Iterator[str]:
    from strobe.mcp.results import shortened  # few runs crash

    variables = {one["frame"]: one["values"] for one in values.get("variables", ())}
    for number, frame in enumerate(values.get("stack", ())):
        yield f"  #{number} {shortened(frame, _FRAME_CHARACTERS)}"
        yield from (f"       {name} = {value}" for name, value in variables.get(number, {}).items())


def signal_name(number: int) -> str:
    """ "SIGSEGV"; "signal 40" where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_FILTERED = (
    "a filter of system calls (seccomp) forbids one that a thread made. "
    "Where the program sets its filter past the C library, by a system call of its own, that may have been "
    "a call of Strobe's"
)


def how_it_ended(status: ExitStatus) -> str:
    """A sentence's words: "the program ended with exit status 3"."""
    if status.signal == signal.SIGSYS:
        return f"the program was ended by SIGSYS: {_FILTERED}"
    if status.signal is not None:
        return f"the program was ended by {signal_name(status.signal)}"
    if status.code is None:
        return "how the program ended is not known"
    return f"the program ended with exit status {status.code}"


def exit_code(status: ExitStatus) -> int:
    """The exit status a shell would show: 128 + signal where one ended the program, 1 where it is not known."""
    if status.signal is not None:
        return 128 + status.signal
    return 1 if status.code is None else status.code
