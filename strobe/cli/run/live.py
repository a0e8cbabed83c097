"""Follows a running session: its new events go to a report, signals go to the program, and the totals come last.

The printer may be slower than the program. Nothing is queued for it: events wait in the segment, which evicts the
oldest by itself. A report for a person who watches is never more than two seconds behind: what is older is passed over,
with a line that says so, and counted at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from strobe.cli.output.progress import announced
from strobe.cli.run.forwarding import Forwarding
from strobe.cli.run.report import Report, RunEnd
from strobe.dataclass import dataclass, field, replace
from strobe.errors import StrobeError
from strobe.model import RECORDED_EVENTS, Event, EventFilter, ExitStatus
from strobe.session import Session

POLL_S = 0.05
_PRINTING_S = 0.2
_BATCH = 2_000
_LARGEST_LAG_NS = 2_000_000_000
_LAST_PRINTING_S = 2.0


@dataclass
class LiveRun:
    """One session in the terminal. `complete`: every event is reported, however long that takes."""

    session: Session
    report: Report
    signals: Forwarding
    complete: bool
    _after: int = 0
    _reported: int = 0
    _reported_until_ns: int = 0
    _failures: list[str] = field(default_factory=list)

    def follow(self, show_calls: bool, keep: bool) -> RunEnd:
        """Reports until the program has ended, then the totals; ends the session."""
        self.signals.begin(self.session.pid)
        self._attempt(lambda: self.report.begin(self.session.launch_answer, self.session.warnings))
        status = None
        while status is None:
            status = self.session.wait(POLL_S)
            if show_calls and status is None:
                self._attempt(self._report_new)
        if show_calls:
            with announced("printing the rest of the events (Ctrl-C to stop)"):
                self._attempt(self._report_rest)
        ending = RunEnd(status, session_id=self.session.id, kept=keep)
        try:
            ending = self._ending(status, show_calls, keep)
        except StrobeError as error:
            self._failures.append(error.message)
        try:
            self.session.stop(retain=keep)
        except StrobeError as error:
            self._failures.append(error.sentences)
            ending = replace(ending, kept=False)
        failures = list(dict.fromkeys([*self._failures, *self.session.failures]))
        ending = replace(ending, failures=failures)
        self.report.end(ending)
        return ending

    def _attempt(self, step: Callable[[], object]) -> None:
        """The program goes on, and is waited for, when what it does can no longer be read."""
        if self._failures:
            return
        try:
            step()
        except StrobeError as error:
            self._failures.append(error.message)

    def _report_new(self) -> None:
        """For a moment, so that the program's end is noticed soon whatever it records."""
        until = time.monotonic() + _PRINTING_S
        while time.monotonic() < until and not self._is_over():
            events = self._next()
            if not events:
                self.report.idle()
                return
            self._take(events)
            if not self.complete and self._lag_ns(events[-1]) > _LARGEST_LAG_NS:
                self._after = self.session.timeline.cursor()
                self.report.gap()

    def _report_rest(self) -> None:
        deadline = None if self.complete else time.monotonic() + _LAST_PRINTING_S
        pressed = self.signals.interrupts
        while events := self._next():
            self._take(events)
            if (
                self.signals.interrupts > pressed
                or self._is_over()
                or (deadline is not None and time.monotonic() > deadline)
            ):
                self.report.gap()
                return

    def _is_over(self) -> bool:
        return self.signals.given_up or self.report.is_broken

    def _next(self) -> list[Event]:
        """The next events; what was evicted before it could be printed is a gap in the listing."""
        evicted_until_ns = self.session.timeline.loss().evicted_until_ns
        if evicted_until_ns is not None and evicted_until_ns > self._reported_until_ns:
            self.report.gap()
        return self.session.tail(self._after, _BATCH)

    def _take(self, events: list[Event]) -> None:
        self._after = _number(events[-1])
        self._reported_until_ns = events[-1].timestamp_ns
        self._reported += sum(event.event_type in RECORDED_EVENTS for event in events)
        self.report.events(events)

    def _lag_ns(self, event: Event) -> int:
        """How long ago `event` happened, by the session's own clock."""
        return self.session.timeline.moment()[1] - event.timestamp_ns

    def _ending(self, status: ExitStatus, show_calls: bool, keep: bool) -> RunEnd:
        totals = self.session.timeline.totals(EventFilter(), "function")
        loss = self.session.timeline.loss()
        unheld = sum(group.unheld + group.unheld_exits for group in totals)
        missing = loss.sampled_out + loss.lost - loss.uncounted + unheld
        probes = self.session.timeline.probe_totals()
        counted = sum(group.count + group.completed for group in totals) + sum(probe.recorded for probe in probes)
        recorded = max(0, counted - missing)
        return RunEnd(
            status=status,
            totals=totals,
            loss=loss,
            warnings=list(self.session.warnings),
            events_recorded=recorded,
            events_not_printed=max(recorded - self._reported, 0) if show_calls else 0,
            session_id=self.session.id,
            kept=keep,
            children=self.session.children,
            probes=probes,
            crash=next(iter(self.session.last(EventFilter(event_type="crash"), 1)), None),
        )


def _number(event: Event) -> int:
    return int(event.id.rpartition("-")[2])
