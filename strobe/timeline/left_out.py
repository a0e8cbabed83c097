"""Names that are too many to be kept among a session's notes: how many those are, and whether a name may be one."""

from __future__ import annotations

import base64
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable

from strobe.dataclass import dataclass
from strobe.timeline.records import SessionRecord

_WORD = "I"  # of 4 bytes


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
