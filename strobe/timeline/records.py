"""Rows of strobe.db as objects; and names too many for a session's notes: how many, and whether one is such."""

from __future__ import annotations

import base64
import json
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from strobe.dataclass import dataclass, field
from strobe.model import Probe, SessionStatus, SessionSummary, Watch
from strobe.timeline.owners import Owner, is_alive

_WORD = "I"  # of 4 bytes


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as stored. `key` stands for the id in the other tables; `pid` is 0 until the program was started."""

    key: int
    id: str
    binary_path: str
    project_root: str | None
    pid: int
    started_at: str
    ended_at: str | None
    status: SessionStatus
    exit_code: int | None
    signal: str | None
    folder: Path
    segment_path: Path
    owner_pid: int
    owner_start_time: int
    retained: bool
    event_limit: int
    warnings: tuple[str, ...]
    notes: dict[str, object]
    owner_namespace: int

    @property
    def children(self) -> tuple[int, ...]:
        """Processes that are still recorded after the end of the session's own one."""
        noted = self.notes.get("children") if self.status == "running" else None
        return tuple(noted) if isinstance(noted, list) else ()

    def summary(self) -> SessionSummary:
        """The record as sessions are listed."""
        return SessionSummary(
            session_id=self.id,
            binary_path=self.binary_path,
            pid=self.pid,
            started_at=self.started_at,
            ended_at=self.ended_at,
            status=self.status,
            exit_code=self.exit_code,
            signal=self.signal,
            project_root=self.project_root,
            folder=self.folder,
            children=self.children,
        )

    @property
    def owner(self) -> Owner:
        """The Strobe process that runs the session, or did."""
        return Owner(self.owner_pid, self.owner_start_time, self.owner_namespace)

    def owner_alive(self, home: Path) -> bool:
        """`home`: where this process has it; the owner may have it at another path."""
        return is_alive(self.owner, home)


@dataclass(frozen=True, slots=True)
class StagedTraces:
    """What `debug_trace` without a session has staged for the next launch of a project root. `conditions`: of patterns
    that have one; `stacks`: of those whose calls' stacks are recorded, with how many callers."""

    patterns: tuple[str, ...]
    sampling: str
    watches: tuple[Watch, ...] = ()
    depth: int | None = None
    conditions: dict[str, str] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    stacks: dict[str, int] = field(default_factory=dict)


def session_record(row: Sequence[object]) -> SessionRecord:
    """From a row of `select * from sessions`."""
    fields = list(row)
    fields[10], fields[11] = Path(str(row[10])), Path(str(row[11]))
    fields[14] = bool(row[14])
    fields[16] = tuple(json.loads(str(row[16])))
    fields[17] = json.loads(str(row[17]))
    return SessionRecord(*fields)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`number` of names, of which the sorted hashes are kept."""

    number: int
    hashes: array[int]

    def may_have(self, name: str) -> bool:
        """False: it has not. One name in 100,000 is taken for one of 40,000 that it is not."""
        wanted = _hash(name)
        at = bisect_left(self.hashes, wanted)
        return at < len(self.hashes) and self.hashes[at] == wanted


def left_out_note(names: Collection[str]) -> list[object]:
    """As a note of the session has it: how many, and their hashes as text."""
    hashes = array(_WORD, sorted(map(_hash, names)))
    return [len(names), base64.b64encode(hashes.tobytes()).decode()]


def left_out(record: SessionRecord) -> dict[str, LeftOut]:
    """By the note that they are too many for."""
    notes = record.notes.get("left_out")
    found = {}
    for note, (number, text) in notes.items() if isinstance(notes, dict) else ():
        hashes = array(_WORD)
        hashes.frombytes(base64.b64decode(text))
        found[note] = LeftOut(number, hashes)
    return found


def among_left_out(record: SessionRecord, names: Iterable[str]) -> set[str]:
    """Those of the names that may have been left out of a note."""
    notes = list(left_out(record).values())
    return {name for name in names if any(note.may_have(name) for note in notes)}


def _hash(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogateescape"))
