"""Calls without a return, which a question about results or durations leaves out: how many of them it could mean."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator

from strobe import _core
from strobe.dataclass import dataclass, replace
from strobe.expressions.evaluation import Undecided
from strobe.expressions.normal import Absent, truth
from strobe.session.questions.found import Unreturned
from strobe.session.questions.question import Question
from strobe.session.questions.sieving import Sieving, Sifted, can_sieve
from strobe.timeline.moments import event_id
from strobe.timeline.reader import SessionReader
from strobe.timeline.scan import Seen, Sight, Tally, seen
from strobe.timeline.selection import id_blob, select, without_probes

MOST = 2_000  # calls that are looked at one by one
_MANY = 200_000  # that are not even selected
_SECONDS = 2.0
_SHOWN = 3  # ids
_ROW = struct.Struct("<QQQ")  # thread index << 32 | tid, number, how: as _core.call_spans has them
_OPEN, _LEFT, _UNCAUGHT = 0, 1, 2
_WORDS = {
    _OPEN: "open",
    _LEFT: "left by an exception, a jump or the end of their thread",
    _UNCAUGHT: "such that the return could not be recorded",
}


@dataclass(frozen=True, slots=True)
class _Totals:
    """Of the functions that are asked about: `open` calls have no return, exactly; of others the return was `lost`."""

    open: int
    lost: int


def unreturned(question: Question, until: int) -> Unreturned | None:
    """None where the question is not one of results, or asks for returns itself; or where all calls have returned."""
    if not question.picks_returns:
        return None
    reader, wanted = question.reader, question.sight.wanted
    ids = without_probes(reader, select(reader, wanted).functions)
    ids = list(reader.functions()) if ids is None else ids
    totals = _totals(reader, ids)
    if not totals.open and not totals.lost:
        return None
    *_, left = _core.call_spans(reader.segment, id_blob(ids), None, False, until, True)
    if len(left) // _ROW.size > _MANY:
        return Unreturned(len(left) // _ROW.size, "they are too many to be looked at: which are meant is not known")
    how = {number: (thread, way) for thread, number, way in _ROW.iter_unpack(left)}
    found, checked, is_cut = _that_may_be_meant(question, how, until)
    missing = totals.open - len(how)
    is_certain = reader.record().status != "running"
    doubts = []
    if is_cut:
        doubts.append("there was no time to look at all of them")
    elif checked > MOST and question.evaluate is not None:
        doubts.append("they are too many to be looked at one by one: whether the condition holds is not known")
    if missing > 0 and (is_certain or any(reader.segment.loss()[name] for name in ("evicted", "lost_no_chunk"))):
        doubts.append(
            f"of {missing:,} more calls of these functions the entry is not among the events (evicted, sampled, lost, "
            "or left out by a condition that is decided at the return), and whether they are meant is not known"
        )
    if totals.lost and found:
        doubts.append(f"up to {totals.lost:,} of them have returned, and the return was lost")
    if not found and not doubts:
        return None
    count = checked if checked > MOST or is_cut else len(found)
    return Unreturned(count, "; ".join([*_told(reader, found, how, count), *doubts]))


def _told(reader: SessionReader, found: list[int], how: dict[int, tuple[int, int]], count: int) -> list[str]:
    if not found:
        return []
    ways = [how[number][1] for number in found]
    parts = [
        f"{ways.count(way):,} {_verb(way, ways.count(way))} {words}" for way, words in _WORDS.items() if way in ways
    ]
    ids = ", ".join(event_id(reader.session_id, number) for number in found[:_SHOWN])
    more = " …" if count > _SHOWN else ""
    of_first = "of the first ones " if count > len(found) else ""
    return [f"{of_first}{', '.join(parts)}", f"their entries: {ids}{more}"]


def _verb(way: int, count: int) -> str:
    verb = "was" if way == _LEFT else "is"
    return verb if count == 1 else {"was": "were", "is": "are"}[verb]


def _totals(reader: SessionReader, ids: list[int]) -> _Totals:
    statement = (
        "select sum(calls - exits - unheld_enters + unheld_exits), sum(lost_exits) from strobe_totals"
        " where path = ? and functions = ?"
    )
    (row,) = reader.rows(statement, (reader.path(), id_blob(ids)))
    return _Totals(*(max(0, int(str(number or 0))) for number in row))


def _that_may_be_meant(question: Question, how: dict[int, tuple[int, int]], until: int) -> tuple[list[int], int, bool]:
    """Numbers of those entries that the question selects and of which its condition holds, or is not known: the first
    MOST; how many it selects; and whether there was no time for all of them."""
    within = question.within(until)
    rows = sorted((thread, number) for number, (thread, _) in how.items())
    if within is not None:
        rows = [(key, number) for key, number in rows if within.holds(key >> 32, key & 0xFFFFFFFF, number)]
    if not rows:
        return [], 0, False
    wanted = replace(question.sight.wanted, event_type="function_enter", min_duration_ns=None, return_value=None)
    tally = Tally(time.monotonic() + _SECONDS)
    sifted = Sifted(tally.deadline)
    found = []
    for one in _entries(
        question, replace(question.sight, wanted=wanted, entries=False, fails=None), rows, until, sifted
    ):
        if _may_hold(question, one):
            found.append(one.number)
    return found, sifted.checked, sifted.stopped_at is not None


def _entries(
    question: Question, sight: Sight, rows: list[tuple[int, int]], until: int, sifted: Sifted
) -> Iterator[Seen]:
    reader = question.reader
    if can_sieve(reader, sight):
        spans = b"".join(_ROW.pack(thread, number, number) for thread, number in rows)
        sieving = Sieving(reader, sight, until, None, question.known, frozenset(), False, spans)
        for index, candidate in enumerate(sieving.candidates(sifted, lambda: MOST)):
            if index < MOST:  # all are counted
                yield candidate.seen
        return
    numbers = {number for _, number in rows}
    tally = Tally(sifted.deadline)
    for one in seen(reader, sight, until, tally):
        if one.number in numbers:
            sifted.checked += 1
            if sifted.checked <= MOST:
                yield one
    sifted.stopped_at = tally.stopped_at


def _may_hold(question: Question, one: Seen) -> bool:
    if question.evaluate is None:
        return True
    try:
        return truth(question.evaluate(question.context.see(one)))
    except Absent:
        return False
    except Undecided:
        return True
