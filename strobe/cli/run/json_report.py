"""`strobe run --json`: events as they are, one object per line."""

from __future__ import annotations

from collections.abc import Sequence

from strobe.cli.output.json_form import dumps, event_json, loss_json, totals_json
from strobe.cli.run.report import RunEnd, Sink, signal_name
from strobe.mcp.answers.totals_json import probe_totals
from strobe.model import RECORDED_EVENTS, Event, TraceAnswer

_REPORTED = (*RECORDED_EVENTS, "variable_snapshot", "crash")


class JsonReport:
    """Events as they are, one object per line, then one object with "summary": true."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._status: str | None = None

    @property
    def is_broken(self) -> bool:
        return self._sink.error is not None

    def begin(self, answer: TraceAnswer | None, warnings: Sequence[str]) -> None:
        self._status = None if answer is None else answer.status

    def events(self, events: Sequence[Event]) -> None:
        self._sink.lines(dumps(event_json(event)) for event in events if event.event_type in _REPORTED)

    def idle(self) -> None:
        pass

    def gap(self) -> None:
        pass

    def end(self, ending: RunEnd) -> None:
        self._sink.lines([dumps(_summary_json(ending) | {"status": self._status})])


def _summary_json(ending: RunEnd) -> dict[str, object]:
    return {
        "summary": True,
        "sessionId": ending.session_id,
        "kept": ending.kept,
        "exitCode": ending.status.code,
        "signal": None if ending.status.signal is None else signal_name(ending.status.signal),
        "totals": [totals_json(group, "function") for group in ending.totals],
        **({"probes": [probe_totals(one) for one in ending.probes]} if ending.probes else {}),
        "eventsRecorded": ending.events_recorded,
        "eventsNotPrinted": ending.events_not_printed,
        "loss": loss_json(ending.loss),
        "warnings": list(ending.warnings),
        "failures": list(ending.failures),
    }
