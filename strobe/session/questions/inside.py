"""`inside`: only what a thread recorded between entry and return of calls of a function, of those for which a condition
holds."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from strobe import _core
from strobe.dataclass import dataclass, replace
from strobe.model import EventFilter, EventType, Inside
from strobe.timeline.reader import SessionReader
from strobe.timeline.selection import id_blob, select
from strobe.timeline.totals import calls_without_events

_ROW = struct.Struct("<QQQ")  # thread index << 32 | tid, first and last number
_TID_BITS = 32


@dataclass(slots=False)
class Within:
    """`rows`: as _core.call_spans gives them. `calls` were found; of `opened` the entry was evicted; `unreturned` have
    no return that could decide; `uncaught` have none that was recorded; of `undecided` ones the condition is not
    known. `unchecked`: there was no time to look at all calls."""

    rows: bytes
    calls: int
    opened: int = 0
    unreturned: int = 0
    uncaught: int = 0
    undecided: int = 0
    undecided_why: str = ""
    left_out: int = 0
    unchecked: bool = False

    @cached_property
    def _by_thread(self) -> dict[int, tuple[list[int], list[int]]]:
        found: dict[int, tuple[list[int], list[int]]] = {}
        for thread, first, last in _ROW.iter_unpack(self.rows):
            firsts, lasts = found.setdefault(thread, ([], []))
            firsts.append(first)
            lasts.append(last)
        return found

    def holds(self, thread_index: int, tid: int, number: int) -> bool:
        """Whether a thread's event with this number is within one of the calls."""
        own = self._by_thread.get(thread_index << _TID_BITS | tid)
        if own is None:
            return False
        index = bisect_left(own[1], number)
        return index < len(own[1]) and own[0][index] <= number

    def facts(self) -> dict[str, Any]:
        """What an answer says of the calls: how many, and of how many not all is known."""
        doubts = {
            "entryEvicted": self.opened,
            "notReturned": self.unreturned,
            "returnNotRecorded": self.uncaught,
            "undecided": self.undecided,
            "notRecorded": self.left_out,
        }
        found: dict[str, Any] = {"calls": self.calls} | {name: count for name, count in doubts.items() if count}
        if self.undecided:
            found["undecidedWhy"] = self.undecided_why
        return found | ({"unchecked": True} if self.unchecked else {})

    def absence(self, inside: Inside, others: Callable[[], Sequence[str]]) -> str | None:
        """Why there is nothing inside of the calls; None where there were some. `others`: why there may have been more
        calls than have events, in sentences."""
        if self.calls:
            return None
        which = "" if inside.where is None else f" with {inside.where}"
        said = f"No recorded call{which} is known of what inside names."
        doubts = {
            "of {} the entry was evicted": self.opened,
            "{} have not returned, or were left by an exception": self.unreturned,
            "of {} the return could not be recorded": self.uncaught,
            "of {} the condition is not known": self.undecided,
        }
        reasons = [text.format(count) for text, count in doubts.items() if count]
        unseen = others()
        if reasons:
            said += f" This does not prove that there was none: {'; '.join(reasons)}."
        elif unseen:
            said += " This does not prove that there was none."
        return " ".join([said, *unseen])


def calls_of(inside: Inside, by_exit: bool) -> EventFilter:
    """The events by which calls are chosen: their returns where the condition is about these, else their entries."""
    kind: EventType = "function_exit" if by_exit else "function_enter"
    return EventFilter(event_type=kind, function=inside.function, where=inside.where)


def spans(reader: SessionReader, inside: Inside, numbers: Sequence[int] | None, by_exit: bool, until: int) -> Within:
    """`numbers` of the chosen events, ascending; None: all calls."""
    ids = select(reader, calls_of(replace(inside, where=None), by_exit=False)).functions or ()
    held = None if numbers is None else struct.pack(f"<{len(numbers)}Q", *numbers)
    found = Within(*_core.call_spans(reader.segment, id_blob(ids), held, by_exit, until, inside.whole)[:-1])
    found.left_out = calls_without_events(reader, ids)
    return found
