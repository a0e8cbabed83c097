"""What is known of a session's polls besides their events: which there were, and how they went. Kept in its notes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from strobe.dataclass import dataclass
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

PollEnd = Literal["duration", "program", "stopped", "failed"]
_NOTE = "polls"
POLLS_KEPT = 32  # the newest ones


@dataclass(frozen=True, slots=True)
class PollRecord:
    """`number` identifies it: the event number of its start. Of its `expected` ticks, `samples` became events,
    `missed` were left out as they came too late; the others were not reached. `end_ns` is None while it goes on."""

    number: int
    targets: tuple[str, ...]
    interval_ms: int
    expected: int
    start_ns: int
    samples: int = 0
    missed: int = 0
    end_ns: int | None = None
    ended_by: PollEnd | None = None


def note_poll(store: Store, session_id: str, poll: PollRecord) -> None:
    """Adds it, or replaces what is noted of it. Raises session_not_found."""

    def change(notes: dict[str, object]) -> dict[str, object]:
        known: Any = notes.get(_NOTE, [])
        others = [item for item in known if item["number"] != poll.number]
        newest = sorted([*others, asdict(poll)], key=lambda item: int(item["number"]))[-POLLS_KEPT:]
        return notes | {_NOTE: newest}

    store.change_notes(session_id, change)


def polls_of(record: SessionRecord) -> list[PollRecord]:
    """Oldest first."""
    noted: Any = record.notes.get(_NOTE, [])
    return [PollRecord(**{**item, "targets": tuple(item["targets"])}) for item in noted]
