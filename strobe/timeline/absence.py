"""Why a query found nothing: whether "it was not called" can be trusted, in one paragraph."""

from __future__ import annotations

from collections.abc import Sequence

from strobe.model import CALL_EVENTS, EventFilter, Loss
from strobe.timeline import snapshots
from strobe.timeline.moments import NUMBER_MAX
from strobe.timeline.polls import polls_of
from strobe.timeline.reader import SessionReader
from strobe.timeline.selection import Selection, id_blob, text_test

_NAMES_SHOWN = 5

Spans = dict[int, list[tuple[int, int | None]]]  # function id -> (from, to) in ticks, as Store.hook_spans gives them


def absence_of(reader: SessionReader, wanted: EventFilter, selection: Selection, loss: Loss) -> str:
    """What is known about the absence of events that the filter selects."""
    if wanted.event_type is not None and wanted.event_type not in CALL_EVENTS:
        return _host_absence(reader, wanted, selection)
    spans = reader.store.hook_spans(reader.session_id)
    hooked = _hooked_functions(spans, selection)
    sentences = [_coverage(reader, selection, spans, hooked), _calls_at_all(reader, wanted, selection, hooked)]
    sentences += [_missing(selection, loss), _inlined(reader, wanted)]
    return " ".join(sentence for sentence in sentences if sentence)


def _host_absence(reader: SessionReader, wanted: EventFilter, selection: Selection) -> str:
    kind = wanted.event_type
    if kind == snapshots.EVENT_TYPE:
        return _snapshot_absence(reader, wanted, selection)
    if kind in ("stdout", "stderr"):
        scope = " that the other conditions select" if _is_narrowed(wanted) else ""
        return (
            f"All of {kind} is captured: the program has written nothing to it{scope}"
            " (what it keeps in a buffer of its own appears when it flushes it)."
        )
    return f"No {kind} event was recorded{' that the other conditions select' if _is_narrowed(wanted) else ''}."


def _snapshot_absence(reader: SessionReader, wanted: EventFilter, selection: Selection) -> str:
    """Whether variables were looked at in the window."""
    polls = polls_of(reader.record())
    if not polls:
        return "No variable was polled in this session, nor written by Strobe. Poll some: debug_read with poll."
    start = selection.from_ns or 0
    until = NUMBER_MAX if selection.to_ns is None else selection.to_ns
    inside = [poll for poll in polls if poll.start_ns <= until and start <= (poll.end_ns or NUMBER_MAX)]
    if not inside:
        ends = [poll.end_ns for poll in polls]
        last = "now" if None in ends else f"{max(end for end in ends if end is not None)} ns"
        return (
            f"No variable was polled in this time: the polls of this session ran from {polls[0].start_ns} ns to {last}."
        )
    targets = _listed(list(dict.fromkeys(target for poll in inside for target in poll.targets)))
    if selection.hosts is None:
        return f"Polled: {targets}; but a snapshot of variables has no function, duration or return value."
    which = " that the other conditions select" if _is_narrowed(wanted) else " of them yet"
    return f"Polled in this time: {targets}; but there is no sample{which}."


def _is_narrowed(wanted: EventFilter) -> bool:
    conditions = (
        wanted.time_from,
        wanted.time_to,
        wanted.after_event_id,
        wanted.pid,
        wanted.thread_id,
        wanted.thread_name,
    )
    return any(condition is not None for condition in conditions)


def _hooked_functions(spans: Spans, selection: Selection) -> list[int]:
    named = selection.functions
    return sorted(spans if named is None else spans.keys() & set(named))


def _coverage(reader: SessionReader, selection: Selection, spans: Spans, hooked: Sequence[int]) -> str:
    """Whether calls would have been seen in the whole window."""
    if not hooked:
        everything = len(spans)
        if everything == 0:
            return "No function was traced in this session, so nothing is known of its calls."
        return f"None of the {everything} traced functions matches the filter, so nothing is known of its calls."
    start, end = _window_ticks(reader, selection)
    gaps = [function_id for function_id in hooked if not _is_covered(spans[function_id], start, end)]
    if not gaps:
        return f"{_naming(reader, hooked)} traced for the whole window."
    first = min(begin for function_id in gaps for begin, _ in spans[function_id])
    return (
        f"{_naming(reader, gaps)} not traced for the whole window (first from {reader.segment.to_ns(first)} ns on):"
        " calls outside that time are not known."
    )


def _window_ticks(reader: SessionReader, selection: Selection) -> tuple[int, int]:
    """The window asked for. It begins no earlier than the program did, which is held until its hooks are placed."""
    segment = reader.segment
    resumed = reader.record().notes.get("resumed_ticks", 0)
    start = max(int(str(resumed)), segment.ticks_from_ns(selection.from_ns or 0))
    newest = segment.ticks_of(reader.newest_number())
    return start, newest if selection.to_ns is None else min(newest, segment.ticks_until_ns(selection.to_ns))


def _is_covered(spans: Sequence[tuple[int, int | None]], start: int, end: int) -> bool:
    """Spans come in order and do not overlap, so following them from the start tells."""
    reached = start
    for begin, until in spans:
        if begin <= reached:
            reached = max(reached, NUMBER_MAX if until is None else until)
    return reached >= end


def _calls_at_all(reader: SessionReader, wanted: EventFilter, selection: Selection, hooked: Sequence[int]) -> str:
    """What the exact totals of these functions say, which neither eviction nor sampling touches."""
    if not hooked:
        return ""
    calls = reader.scalar(
        "select sum(calls) from strobe_totals where path = ? and functions = ?",
        (reader.path(), id_blob(hooked)),
    )
    if calls == 0:
        return "The exact totals count no call of them."
    others = " that the other conditions select" if _has_other_conditions(wanted) else ""
    return f"The exact totals count {calls} calls of them in all, but no event{others} was kept."


def _has_other_conditions(wanted: EventFilter) -> bool:
    others = (wanted.event_type, wanted.return_value, wanted.min_duration_ns)
    return _is_narrowed(wanted) or any(condition is not None for condition in others)


def _missing(selection: Selection, loss: Loss) -> str:
    parts = []
    window_is_evicted = loss.evicted_until_ns is None or (selection.from_ns or 0) <= loss.evicted_until_ns
    if loss.evicted and window_is_evicted:
        until = "" if loss.evicted_until_ns is None else f", all from before {loss.evicted_until_ns} ns"
        parts.append(f"{loss.evicted} older events were evicted{until}")
    if loss.sampled_out:
        parts.append(f"{loss.sampled_out} events of hot functions were left out by sampling")
    if loss.lost:
        parts.append(f"{loss.lost} events found no room")
    return (
        f"Missing from the events: {'; '.join(parts)}."
        if parts
        else "No event of this window was evicted, sampled or lost."
    )


def _inlined(reader: SessionReader, wanted: EventFilter) -> str:
    """Functions that exist only as copies inside others never show as calls, others not at every place."""
    everywhere = _noted(reader, "inlined_only", wanted) if wanted.function is not None else []
    partly = _noted(reader, "partly_inlined", wanted)
    sentences = []
    if everywhere:
        names = _listed(everywhere)
        sentences.append(f"Inlined everywhere, so never seen as calls: {names}; build with -fno-inline to see them.")
    if partly:
        sentences.append(
            f"Inlined at some of their call sites, where calls are not seen: {_listed(partly)}; so no event of them "
            "does not mean that they were not called. Build with -fno-inline to see all calls."
        )
    return " ".join(sentences)


def _noted(reader: SessionReader, note: str, wanted: EventFilter) -> list[str]:
    sites = reader.record().notes.get(note, {})
    assert isinstance(sites, dict)
    test = None if wanted.function is None else text_test("function", wanted.function)
    found = [(name, count) for name, count in sites.items() if test is None or test(name)]
    return [f"{name} ({count} {'site' if count == 1 else 'sites'})" for name, count in found]


def _naming(reader: SessionReader, function_ids: Sequence[int]) -> str:
    functions = reader.functions()
    names = list(
        dict.fromkeys(functions[item].name if item in functions else f"function {item}" for item in function_ids)
    )
    if len(names) > _NAMES_SHOWN:
        return f"{len(names)} functions ({_listed(names)}) were"
    return f"{_listed(names)} {'was' if len(names) == 1 else 'were'}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    return f"{shown} …" if len(names) > _NAMES_SHOWN else shown
