"""Why a query for output or snapshots found nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence

from strobe.dataclass import replace
from strobe.errors import command_names
from strobe.model import EventFilter
from strobe.timeline import snapshots
from strobe.timeline.moments import NUMBER_MAX
from strobe.timeline.output import IDLE_S, LINE_BYTES, STREAMS, asks_for_text, streams_of
from strobe.timeline.polls import POLLS_KEPT, polls_of
from strobe.timeline.reader import SessionReader
from strobe.timeline.records import SessionRecord
from strobe.timeline.selection import Selection

_NAMES_SHOWN = 5
_OF_CALLS = "A snapshot of variables has no function, duration or return value."
_ANY = "select 1 from host_events where session = ? and event_type = ? limit 1"
_RECEIVED = " A line has the time when Strobe received it, which is a little after it was written."
# an event of a stream that is no whole line, though another one follows
_PIECES = """
    select 1 from host_events where session = ? and event_type = ? and substr(text, -1) <> x'0a' and number <
        (select max(number) from host_events where session = ? and event_type = ?)
    limit 1"""


def host_absence(reader: SessionReader, wanted: EventFilter, selection: Selection) -> str:
    """What an empty answer says of output and snapshots: whether it proves that there was none."""
    kind = wanted.event_type
    if kind == snapshots.EVENT_TYPE:
        return _snapshot_absence(reader, wanted, selection)
    if kind is None:
        both = [host_absence(reader, replace(wanted, event_type=kind), selection) for kind in STREAMS]
        return " ".join(dict.fromkeys(both))
    if kind in STREAMS:
        if not captures_output(reader.record()):
            return f"Nothing is known of {kind}: it is not captured in this session."
        scope = " that the other conditions select" if _has_conditions(wanted) else ""
        if doubts := doubts_of_output(reader, wanted):
            return f"This does not prove that it was not written. No event of {kind} has it. {' '.join(doubts)}"
        if kind in _open_streams(reader.record()):
            return (
                f"Nothing was captured of {kind}{scope}. A process that the program had started still had it open when"
                " the recording ended: what was written to it after that is not captured."
            )
        return (
            f"All of {kind} is captured: the program has written nothing to it{scope}"
            " (what it keeps in a buffer of its own appears when it flushes it; what it writes to a file that it has"
            f" put in the place of {kind} is not captured).{_RECEIVED if _has_times(wanted) else ''}"
        )
    found = f"No {kind} event was recorded{' that the other conditions select' if _has_conditions(wanted) else ''}."
    if kind != "crash":
        return found
    if reader.record().notes.get("form") == "portable":
        return f"{found} The portable form of the recorder reports no crashes."
    return f"{found} Crashes of its children are not reported."


def doubts_of_output(reader: SessionReader, wanted: EventFilter) -> list[str]:
    """Why more may have been written than there are events of, one sentence each; none where no output is asked for."""
    if not streams_of(wanted):
        return []
    found = []
    record = reader.record()
    if record.status == "running" and record.owner_pid != os.getpid():
        found.append(
            f"Process {record.owner_pid} captures the output: lines of the last tenth of a second, and one that has no"
            " end yet, are not known here."
        )
    if cut := _cut_lines(reader, wanted):
        found.append(cut)
    return found


def _cut_lines(reader: SessionReader, wanted: EventFilter) -> str | None:
    """Why a text that was asked for may have been written, and is in no event; None where it is not so."""
    if not asks_for_text(wanted):
        return None
    if not any(reader.rows(_PIECES, (reader.key, stream, reader.key, stream)) for stream in streams_of(wanted)):
        return None
    return (
        f"A line is in several events where the program wrote it in pieces more than {1000 * IDLE_S:.0f} ms apart, or "
        f"had not ended it when this was asked, or where it is longer than {LINE_BYTES >> 10} KiB, as one here: a text"
        " that lies across two of them is in none."
    )


def captures_output(record: SessionRecord) -> bool:
    """A program that Strobe attached to, or that writes to Strobe's own output, is the only one to have it."""
    return not record.notes.get("attached") and not record.notes.get("inherits_stdio")


def _open_streams(record: SessionRecord) -> list[object]:
    """Those that were not at their end when the recording was."""
    noted = record.notes.get("open_streams")
    return noted if isinstance(noted, list) else []


def _snapshot_absence(reader: SessionReader, wanted: EventFilter, selection: Selection) -> str:
    """Whether variables were looked at in the window."""
    polls = polls_of(reader.record())
    if not polls and reader.rows(_ANY, (reader.key, snapshots.EVENT_TYPE)):
        if selection.hosts is None:
            return _OF_CALLS
        which = "that the other conditions select" if is_asked(wanted) or not _has_times(wanted) else "in this time"
        return f"No variable was polled in this session, and none written by Strobe {which}."
    if not polls:
        return f"No variable was polled in this session, nor written by Strobe. Poll some: {command_names()['poll']}."
    start = selection.from_ns or 0
    until = NUMBER_MAX if selection.to_ns is None else selection.to_ns
    inside = [poll for poll in polls if poll.start_ns <= until and start <= (poll.end_ns or NUMBER_MAX)]
    if not inside:
        ends = [poll.end_ns for poll in polls]
        last = "now" if None in ends else f"{max(end for end in ends if end is not None)} ns"
        if len(polls) >= POLLS_KEPT:
            return (
                f"Of the last {len(polls)} polls none was in this time: they ran from {polls[0].start_ns} ns to {last}."
                " No sample of an earlier one is selected."
            )
        return (
            f"No variable was polled in this time: the polls of this session ran from {polls[0].start_ns} ns to {last}."
        )
    targets = listed(list(dict.fromkeys(target for poll in inside for target in poll.targets)))
    if selection.hosts is None:
        return f"Polled: {targets}; but {_OF_CALLS[0].lower()}{_OF_CALLS[1:]}"
    which = " that the other conditions select" if _has_conditions(wanted) else " of them yet"
    return f"Polled in this time: {targets}; but there is no sample{which}."


def is_narrowed(wanted: EventFilter) -> bool:
    """Whether a filter asks for a part of the host's events only."""
    conditions = (
        wanted.time_from,
        wanted.time_to,
        wanted.after_event_id,
        wanted.pid,
        wanted.thread_id,
        wanted.thread_name,
        wanted.text or None,
    )
    return any(condition is not None for condition in conditions)


def is_asked(wanted: EventFilter) -> bool:
    """Whether events have to be looked at one by one: for their values, or for what led to them."""
    by_row = wanted.depth is not None or wanted.caller is not None or wanted.address is not None
    by_row = by_row or wanted.inside is not None
    return by_row or wanted.where is not None or bool(wanted.select)


def _has_times(wanted: EventFilter) -> bool:
    return any(item is not None for item in (wanted.time_from, wanted.time_to, wanted.after_event_id))


def _has_conditions(wanted: EventFilter) -> bool:
    return is_narrowed(wanted) or is_asked(wanted)


def listed(names: Sequence[str]) -> str:
    """The first of them."""
    shown = ", ".join(names[:_NAMES_SHOWN])
    return f"{shown} …" if len(names) > _NAMES_SHOWN else shown
