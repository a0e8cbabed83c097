"""When the calls of functions were recorded, and up to when that was seen to be so: what absence.py rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strobe import _abi
from strobe.dataclass import dataclass, field
from strobe.model import FunctionSymbol
from strobe.timeline.moments import NUMBER_MAX
from strobe.timeline.reader import SessionReader
from strobe.timeline.records import SessionRecord
from strobe.timeline.selection import Selection

Span = tuple[int, int | None]  # from, to in ticks; None while it goes on
Spans = dict[int, list[Span]]  # by function id, as Store.hook_spans gives them


@dataclass(frozen=True, slots=True)
class Window:
    """The time asked for, in ticks, cut to the time in which the program can have called anything that is known of.

    `begin`: when a program that was launched began to run; 0 where it ran before the session did. `end`: the moment of
    the question, or the end of the recording. `seen_until`: the recorder was seen to be on up to then; 0: never.
    `checked_until`: so were the hooks seen to stand.
    """

    from_ticks: int
    to_ticks: int
    begin: int
    end: int
    is_running: bool
    seen_until: int
    checked_until: int

    @property
    def is_empty(self) -> bool:
        """Whether it ends before it begins."""
        return self.from_ticks > self.to_ticks

    @property
    def is_seen(self) -> bool:
        """Whether the recorder was seen to be on until its end."""
        return self.seen_until >= self.to_ticks


@dataclass(slots=True)
class Coverage:
    """Function ids that the filter names, and which of them were not recorded for the whole window.

    `gaps`: by function id, when those were recorded within the window.
    """

    hooked: list[int] = field(default_factory=list)
    traced: int = 0
    gaps: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


def window_of(reader: SessionReader, selection: Selection, moment: int) -> Window:
    """`moment`: ticks of the question."""
    segment, record = reader.segment, reader.record()
    is_running = record.status == "running" and not record.children and record.owner_alive(reader.store.home)
    begin = _ticks(record, "resumed_ticks")
    newest = segment.ticks_of(reader.newest_number())
    # one whose Strobe process was killed: nobody has seen its end
    end = moment if is_running else _ticks(record, "ended_ticks") or (moment if record.children else newest)
    start = max(begin, segment.ticks_from_ns(selection.from_ns or 0))
    until = end if selection.to_ns is None else min(end, segment.ticks_until_ns(selection.to_ns))
    if selection.to_ns is not None and selection.to_ns < 0:
        until = -1
    return Window(start, until, begin, end, is_running, _seen_until(reader, record, end), segment.checked_ticks)


def coverage_of(reader: SessionReader, selection: Selection, window: Window) -> Coverage:
    """A function of a library need not be recorded while that was not in the process."""
    spans = reader.store.hook_spans(reader.session_id)
    named = selection.functions
    hooked = sorted(spans if named is None else spans.keys() & set(named))
    known = reader.functions()
    probes = {item for item in spans if (symbol := known.get(item)) is not None and symbol.is_probe}
    # where both are asked for, what is said is said of functions
    functions = [item for item in hooked if item not in probes]
    found = Coverage(functions or hooked, len(spans) - len(probes))
    loads: dict[str, list[Span]] = {}
    for load in reader.store.loads(reader.session_id):
        loads.setdefault(load.module, []).append((load.from_ticks, load.to_ticks))
    for ids in _instances(known, found.hooked).values():
        recorded = _merged(span for function_id in ids for span in spans[function_id])
        symbol = known.get(ids[0])
        present = loads.get(symbol.module, []) if symbol is not None else []
        needed = [_cut(span, window) for span in present or [(0, None)]]
        if not all(_is_covered(recorded, start, end) for start, end in needed if start <= end):
            found.gaps[ids[0]] = [cut for span in recorded if (cut := _cut(span, window))[0] < cut[1]]
    return found


def last_gap(coverage: Coverage, window: Window) -> tuple[int, int] | None:
    """The last time within the window in which one of the functions was not recorded any more; from, to in ticks."""
    found = None
    for recorded in coverage.gaps.values():
        begins = [begin for begin, _ in recorded[1:]]
        for (_, end), begin in zip(recorded, [*begins, window.to_ticks], strict=True):
            if end < begin and (found is None or begin > found[1]):
                found = (end, begin)
    return found


def _ticks(record: SessionRecord, note: str) -> int:
    return int(str(record.notes.get(note, 0)))


def _seen_until(reader: SessionReader, record: SessionRecord, end: int) -> int:
    """Who has recorded a call was on; the exit is written by the recorder, too. But by a child of vfork, perhaps: it
    must be how the program has ended."""
    checked = reader.segment.checked_ticks
    if stopped := reader.segment.stopped_ticks:
        return min(checked, stopped)
    if "recorder_off" in record.notes or not checked:
        return checked
    state, code = reader.segment.exit_state()
    exited = record.status != "running" and state == _abi.EXIT_CALLED and record.exit_code == code & 0xFF
    return end if exited else max(checked, reader.segment.ticks_of(reader.newest_call_number()))


def _instances(functions: dict[int, FunctionSymbol], ids: Sequence[int]) -> dict[object, list[int]]:
    """One function has several ids where its library was loaded again."""
    found: dict[object, list[int]] = {}
    for function_id in ids:
        symbol = functions.get(function_id)
        probe = "" if symbol is None or not symbol.is_probe else symbol.name
        key = function_id if symbol is None else (symbol.module, symbol.address, probe)
        found.setdefault(key, []).append(function_id)
    return found


def _merged(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """In order, without those that touch."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((start, NUMBER_MAX if end is None else end) for start, end in spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _cut(span: Span, window: Window) -> tuple[int, int]:
    start, end = span
    return max(start, window.from_ticks), min(NUMBER_MAX if end is None else end, window.to_ticks)


def _is_covered(recorded: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    return any(begin <= start and end <= until for begin, until in recorded)
