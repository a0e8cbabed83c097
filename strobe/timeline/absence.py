"""Why a query found nothing: whether "it was not called" can be trusted, in one paragraph.

It begins with what is known. Only what was seen is said to be so: that the functions were hooked in all of the time
asked for, that the recorder was on, that nothing was left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from strobe.dataclass import dataclass, field, replace
from strobe.model import RECORDED_EVENTS, EventFilter, FunctionSymbol, Loss, TextMatch
from strobe.timeline.coverage import Coverage, Window, coverage_of, window_of
from strobe.timeline.host_absence import doubts_of_output, host_absence, is_asked, is_narrowed, listed
from strobe.timeline.reader import SessionReader
from strobe.timeline.records import SessionRecord, among_left_out, left_out
from strobe.timeline.selection import Selection, id_blob, select, text_test

# The system loads libraries, and runs their constructors, before Strobe has its hooks in place.
_EARLIEST = "from before main"
_PERIODS_SHOWN = 3
_NO_PROOF = "This does not prove that it did not happen."
_OWN_CODE = "Its entry was not reached: what may have run is inlined code of it."
_UNSEEN = {  # by what symbols/select/unseen_calls.py says
    "inlined": "The compiler has inlined {} where no code of it is left: calls there are not seen.",
    "optimized": "LLVM, or gcc with -flto, has optimized {}, and does not say of all calls that it inlined them: those"
    " are not seen.",
    "thunk": "Calls of {} through another base class run a copy of it, in a thunk, and are not seen.",
}
_LEFT_OUT = {  # by note, of `strobe.timeline.store.Store.add_notes`
    "refused": "not hooked",
    "namesakes": "called as a traced one is, and not recorded",
    "same_code": "recorded under another name, as they have the same code",
    "inlined_only": "inlined everywhere, so never seen as calls",
    "partly_inlined": "inlined at some of their call sites, where calls are not seen",
    "folded": "only jumps to other functions",
    "unseen": "such that the compiler may have inlined them, or calls them by a copy",
}
_OF_NAMED = ("refused", "namesakes", "same_code", "inlined_only")  # said where functions are asked for alone
_DURATION, _RETURN = "$duration", "$return"
_NOT_REACHED = "No probed instruction was reached (a line of optimized code may run without its own)."


@dataclass(frozen=True, slots=True)
class _Counts:
    """Exact totals of the functions asked for, in the whole session."""

    calls: int = 0
    exits: int = 0
    unwound: int = 0
    exits_missed: int = 0
    sampled_out: int = 0
    lost: int = 0
    unheld: int = 0
    undecided: int = 0
    beyond: int = 0  # of probes: what their limits have left out
    probes: int = 0  # 1: they are of probes


@dataclass(slots=True)
class _Findings:
    """`doubts`: why it may have happened all the same; `inlined`: the same, of calls that ran a copy of the function's
    code within its caller. Neither: it is known not to have."""

    facts: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    inlined: list[str] = field(default_factory=list)

    @property
    def all_doubts(self) -> list[str]:
        return [*self.doubts, *self.inlined]


def absence_of(reader: SessionReader, wanted: EventFilter, selection: Selection, loss: Loss, moment: int) -> str:
    """What is known about the absence of events that the filter selects. `moment`: ticks of the question; all that was
    recorded up to then has been looked at."""
    is_of_host = wanted.event_type is not None and wanted.event_type not in RECORDED_EVENTS
    if is_of_host or (wanted.event_type is None and wanted.text is not None):
        if loss.unwritten:
            return f"Nothing can be said of that yet: {_unwritten(loss)}."
        return host_absence(reader, wanted, selection)
    found, counts = _findings(reader, wanted, selection, loss, moment)
    return " ".join([_verdict(wanted, found, counts), *found.all_doubts, *found.facts])


def doubts_of(reader: SessionReader, wanted: EventFilter, selection: Selection, loss: Loss, moment: int) -> list[str]:
    """Why there may have been more than the events that the filter selects, one sentence each; none: there was not.
    `moment`: as of absence_of."""
    doubts = []
    if selection.calls is not None:
        doubts += _findings(reader, wanted, selection, loss, moment)[0].all_doubts
    if selection.hosts is not None and loss.unwritten:
        doubts.append(f"{_unwritten(loss)}.")
    if selection.hosts is not None:
        doubts += doubts_of_output(reader, wanted)
    return doubts


def names_in_doubt(reader: SessionReader, names: Sequence[str]) -> set[str]:
    """Functions of which calls may have been made that are not seen as theirs: what `_add_not_seen` and `_add_early`
    say of them. All, of which some are among the `names`."""
    notes = reader.record().notes
    found = {item.name for item in reader.functions().values() if item.source_file is None and not item.is_probe}
    found.update(item.name for item in _called_early(reader))
    for note in ("refused", "namesakes", "inlined_only", "partly_inlined", "folded", "unseen"):
        named = notes.get(note)
        found.update(named if isinstance(named, dict) else ())
    return found | among_left_out(reader.record(), names)


def _unwritten(loss: Loss) -> str:
    lines = f"{loss.unwritten} lines of output, or of what else is seen from outside"
    return f"{lines}, could not be written ({loss.unwritten_reason})"


def _findings(
    reader: SessionReader, wanted: EventFilter, selection: Selection, loss: Loss, moment: int
) -> tuple[_Findings, _Counts]:
    window = window_of(reader, selection, moment)
    coverage = coverage_of(reader, selection, window)
    counts = _counts(reader, coverage.hooked)
    found = _Findings()
    if reason := reader.store.unmade_changes(reader.key):
        found.doubts.append(f"What was traced lately could not be written yet ({reason}).")
    _add_window(found, reader, window)
    if not window.is_empty:
        _add_coverage(found, reader, wanted, window, coverage)
    if coverage.hooked:
        _add_calls(found, reader, wanted, counts)
        _add_missing(found, reader, selection, loss, counts)
    _add_not_seen(found, reader, wanted, coverage.hooked)
    _add_processes(found, reader, wanted, window, coverage)
    _add_threads(found, reader, wanted, coverage, counts)
    _add_early(found, reader, window, coverage)
    if coverage.hooked and not window.is_empty:
        _add_sight(found, reader, wanted, window)
    for around in (wanted.caller, None if wanted.inside is None else wanted.inside.function):
        if around is not None:
            _add_enclosing(found, reader, around, loss, moment)
    return found, counts


def _add_enclosing(found: _Findings, reader: SessionReader, around: TextMatch, loss: Loss, moment: int) -> None:
    """Why there may have been more calls than have events, of the functions whose calls are to enclose what is asked
    for: what happened in these is not found."""
    asked = EventFilter(event_type="function_enter", function=around)
    doubts = _findings(reader, asked, select(reader, asked), loss, moment)[0].all_doubts
    found.doubts += [f"Of the enclosing calls: {doubt}" for doubt in doubts if doubt not in found.doubts]


def _verdict(wanted: EventFilter, found: _Findings, counts: _Counts) -> str:
    if wanted.event_type == "probe" and not found.all_doubts:
        return _NOT_REACHED if counts.calls == 0 else "It did not happen where the probes are."
    asks_for_calls = not is_narrowed(wanted) and wanted.event_type != "function_exit"
    is_named = wanted.function is not None and wanted.function.equals is not None
    if found.doubts:
        return _NO_PROOF
    if found.inlined:
        return f"{_NO_PROOF} {_OWN_CODE}" if counts.calls == 0 and asks_for_calls and is_named else _NO_PROOF
    if counts.calls == 0 and asks_for_calls:
        return "It was not called." if is_named else "No traced function that matches was called."
    return "It did not happen." if is_named else "It did not happen in the traced functions."


def _add_window(found: _Findings, reader: SessionReader, window: Window) -> None:
    """Where nothing of the time asked for is known."""
    if not window.is_empty:
        return
    to_ns = reader.segment.to_ns
    if window.from_ticks > window.end:
        which = "now" if window.is_running else "the end of the recording"
        found.doubts.append(f"The time asked for begins after {which} ({to_ns(window.end)} ns).")
    elif window.begin:
        found.facts.append(f"The program began to run at {to_ns(window.begin)} ns, after the time asked for.")
    else:
        found.doubts.append("The time asked for is empty.")


def _add_coverage(
    found: _Findings, reader: SessionReader, wanted: EventFilter, window: Window, coverage: Coverage
) -> None:
    """Whether calls would have been recorded in the whole window."""
    if not coverage.hooked:
        if wanted.event_type == "probe":
            found.doubts.append(_why_no_probe(reader))
            return
        everything = f"None of the {coverage.traced} traced functions matches the filter"
        if coverage.traced == 0:
            everything = "No function was traced in this session"
        found.doubts.append(f"{everything}, so nothing is known of its calls.")
        return
    if not coverage.gaps:
        _add_traced(found, reader, window, _naming(reader, coverage.hooked))
        return
    first, *others = coverage.gaps.values()
    shown = ", ".join(_period(reader, *period) for period in first[:_PERIODS_SHOWN])
    shown = f"only {shown}{' …' if len(first) > _PERIODS_SHOWN else ''}" if shown else "at no time of it"
    shown = f"the first of them {shown}" if any(periods != first for periods in others) else shown
    found.doubts.append(
        f"{_naming(reader, list(coverage.gaps))} not traced for the whole window ({shown}): calls outside that time are"
        " not known."
    )
    if reader.record().notes.get("attached"):
        found.doubts.append("The program ran before Strobe attached to it.")


def _why_no_probe(reader: SessionReader) -> str:
    labels = list(dict.fromkeys(symbol.name for symbol in reader.functions().values() if symbol.is_probe))
    if not labels:
        return "This session has no probes: they are asked for when it is launched, or while it runs."
    return f"No probe of this session matches the filter; there are: {listed(labels)}."


def _add_traced(found: _Findings, reader: SessionReader, window: Window, names: str) -> None:
    """Strobe has not removed their hooks within the window. Whether they stood, in what the program was by then, is
    known as far as it was seen."""
    if window.is_seen:
        found.facts.append(f"{names} traced for the whole window, {_extent(reader, window)}.")
    elif window.seen_until > window.from_ticks:
        until = reader.segment.to_ns(window.seen_until)
        found.facts.append(f"{names} traced {_start(reader, window)} to {until} ns.")


def _add_early(found: _Findings, reader: SessionReader, window: Window, coverage: Coverage) -> None:
    """What may have been called before the hooks were in place, by constructors of linked libraries for example."""
    if window.from_ticks > window.begin:
        return
    early = _called_early(reader)
    functions = reader.functions()
    names = [functions[item].name for item in coverage.hooked if item in functions and functions[item] in early]
    if names:
        found.doubts.append(
            f"What runs before the program's first instruction may have called {listed(list(dict.fromkeys(names)))}: "
            "constructors of a linked library, .preinit_array, or what chooses an IFUNC."
        )


def _called_early(reader: SessionReader) -> set[FunctionSymbol]:
    """Functions that may have been called before the hooks were in place."""
    early = reader.record().notes.get("early")
    if not isinstance(early, dict):
        return set()
    modules, names = set(early["modules"]), set(early["functions"])
    return {item for item in reader.functions().values() if item.module in modules or item.raw_name in names}


def _start(reader: SessionReader, window: Window) -> str:
    is_whole = window.begin and window.from_ticks == window.begin
    return _EARLIEST if is_whole else f"from {reader.segment.to_ns(window.from_ticks)} ns"


def _extent(reader: SessionReader, window: Window) -> str:
    to_ns, start = reader.segment.to_ns, _start(reader, window)
    if window.to_ticks < window.end:
        return f"{start} to {to_ns(window.to_ticks)} ns"
    if window.is_running:
        return f"{start} to now ({to_ns(window.to_ticks)} ns)"
    return f"{start} to the end of the recording ({to_ns(window.to_ticks)} ns)"


def _period(reader: SessionReader, start: int, end: int) -> str:
    return f"from {reader.segment.to_ns(start)} ns to {reader.segment.to_ns(end)} ns"


def _add_sight(found: _Findings, reader: SessionReader, wanted: EventFilter, window: Window) -> None:
    """Whether the recorder was seen to be on, and the hooks to stand, until the end of the window."""
    to_ns, record = reader.segment.to_ns, reader.record()
    overwritten = _noted(record, "overwritten", wanted)
    if names := listed([name for name, seen in overwritten.items() if window.to_ticks > seen[0]]):
        found.doubts.append(f"Something has written over the entry of {names}: calls were not recorded after that.")
    off = record.notes.get("recorder_off")
    if isinstance(off, list) and window.to_ticks > int(off[0]):
        found.doubts.append(f"The recorder in the program was on at {to_ns(off[0])} ns and off at {to_ns(off[1])} ns.")
    elif not window.seen_until:
        found.doubts.append("Whether the recorder was on was not checked.")
    elif not window.is_seen:
        seen, end = to_ns(window.seen_until), to_ns(window.to_ticks)
        found.doubts.append(
            f"That the recorder was on and its hooks stood was last seen at {seen} ns, {end - seen} ns before the end"
            " of the window: up to then it did not happen."
            if not found.all_doubts
            else f"The recorder was last seen to be on at {seen} ns."
        )
    elif window.checked_until >= window.to_ticks:
        found.facts.append("The recorder was seen to be on, with its hooks in place, to the end of it.")
    else:
        before = to_ns(window.to_ticks) - to_ns(window.checked_until)
        found.facts.append(
            f"The recorder was seen to be on to the end of it; {before} ns before, its hooks were seen in place."
        )


def _add_calls(found: _Findings, reader: SessionReader, wanted: EventFilter, counts: _Counts) -> None:
    """What the exact totals of these functions say, which neither eviction nor sampling touches."""
    every = reader.scalar("select sum(calls) from strobe_totals where path = ?", (reader.path(),))
    if counts.calls:
        others = " that the other conditions select" if _has_other_conditions(wanted) else ""
        found.facts.append(f"The exact totals count {_reached(counts)} in all, but no event{others} was kept.")
        of_durations = wanted.min_duration_ns is not None or _DURATION in (wanted.where or "")
        of_results = wanted.return_value is not None or _RETURN in (wanted.where or "")
        if not counts.probes and (of_durations or of_results or wanted.event_type == "function_exit"):
            _add_returns(found, counts, of_durations)
        return
    other = f"and {every} calls of other functions" if every else "nor of any other traced function"
    found.facts.append(f"The exact totals count no call of them, {other}.")
    if not every and reader.record().notes.get("attached"):  # threads that ran before have yet to be seen to record
        found.doubts.append(
            "No call was recorded since Strobe attached, so it is not certain that the program's threads are "
            "recorded: also trace a function that is surely called."
        )


def _reached(counts: _Counts) -> str:
    return f"that they were reached {_times(counts.calls)}" if counts.probes else f"{counts.calls} calls of them"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _add_returns(found: _Findings, counts: _Counts, of_durations: bool) -> None:
    """Calls that began and gave no return event. How long these took, or take, is not known."""
    said = found.doubts if of_durations else found.facts
    whose = "its calls" if of_durations else "them"
    unknown = ", and how long is not known" if of_durations else ""
    still_open = counts.calls - counts.exits - counts.unwound - counts.exits_missed
    if counts.exits_missed:
        found.doubts.append(f"Of {counts.exits_missed} calls the return could not be recorded.")
    if still_open > 0:
        said.append(f"{still_open} of {whose} have not returned{unknown}.")
    if counts.unwound:
        by = "by an exception, a jump or the end of their thread"
        said.append(f"{counts.unwound} of {whose} were left {by}{unknown}.")


def _has_other_conditions(wanted: EventFilter) -> bool:
    kind = None if wanted.event_type == "probe" else wanted.event_type
    others = (kind, wanted.return_value, wanted.min_duration_ns)
    return is_narrowed(wanted) or is_asked(wanted) or any(condition is not None for condition in others)


def _add_missing(found: _Findings, reader: SessionReader, selection: Selection, loss: Loss, counts: _Counts) -> None:
    lost = reader.segment.loss()
    uncounted = lost["lost_no_thread"] + lost["lost_no_clock"] + lost["lost_reentrant"] + lost["lost_no_totals"]
    if uncounted:
        found.doubts.append(
            f"{uncounted} calls could not be recorded and are in no total: calls of it may be among them."
        )
    if counts.calls == 0:
        return  # nothing of it can be missing from the events
    parts = []
    window_is_evicted = loss.evicted_until_ns is None or (selection.from_ns or 0) <= loss.evicted_until_ns
    if loss.evicted and window_is_evicted:
        until = "" if loss.evicted_until_ns is None else f", all from before {loss.evicted_until_ns} ns"
        parts.append(f"{loss.evicted} older events were evicted{until}")
    if counts.sampled_out:
        parts.append(f"{counts.sampled_out} events of hot functions were left out by sampling")
    if counts.lost:
        parts.append(f"{counts.lost} events found no room")
    if counts.undecided:
        of = "a probe" if counts.probes else "their trace"
        parts.append(f"{_times(counts.undecided)} it could not be decided whether the condition of {of} holds")
    if parts:
        found.doubts.append(f"Missing from the events: {'; '.join(parts)}.")
    unasked = []
    if unheld := counts.unheld - counts.undecided:
        if counts.probes:
            unasked.append(f"{_times(unheld)} the condition of a probe did not hold")
        else:
            unasked.append(f"{unheld} calls for which the condition of their trace did not hold")
    if counts.beyond:
        unasked.append(f"{_times(counts.beyond)} the limit of a probe left out what was reached")
    if unasked:
        found.doubts.append(f"Left out as it was asked for, not lost: {'; '.join(unasked)}.")
    if not parts and not unasked:
        found.facts.append("No event of this window was evicted, sampled or lost.")


def _counts(reader: SessionReader, ids: Sequence[int]) -> _Counts:
    if not ids:
        return _Counts()
    rows = reader.rows(
        "select sum(calls), sum(exits), sum(unwound), sum(exits_missed), sum(sampled_out_enters + sampled_out_exits),"
        " sum(lost_enters + lost_exits), sum(unheld_enters), sum(undecided), sum(unheld_exits)"
        " from strobe_totals where path = ? and functions = ?",
        (reader.path(), id_blob(ids)),
    )
    *numbers, beyond = (int(str(item or 0)) for item in rows[0])
    found = _Counts(*numbers)
    symbol = reader.functions().get(ids[0])
    if symbol is None or not symbol.is_probe:
        return found
    return replace(found, unheld=found.unheld - beyond, beyond=beyond, probes=1)


def _without_debug_information(reader: SessionReader, hooked: Sequence[int]) -> list[str]:
    functions = reader.functions()
    symbols = (functions.get(function_id) for function_id in hooked)
    found = (item.name for item in symbols if item is not None and item.source_file is None and not item.is_probe)
    return list(dict.fromkeys(found))


def _add_not_seen(found: _Findings, reader: SessionReader, wanted: EventFilter, hooked: Sequence[int]) -> None:
    """Functions that were not hooked; copies inside others, which never show as calls."""
    record = reader.record()
    if wanted.function is not None:
        for name, reason in list(_noted(record, "refused", wanted).items())[:_PERIODS_SHOWN]:
            found.doubts.append(f"Not hooked: {name}: {reason}.")
        for name, count in list(_noted(record, "namesakes", wanted).items())[:_PERIODS_SHOWN]:
            others = "another function" if count == 1 else f"{count} other functions"
            found.doubts.append(f"There is {others} called {name}, whose calls are not recorded.")
        for other, name in list(_noted(record, "same_code", wanted).items())[:_PERIODS_SHOWN]:
            found.doubts.append(f"{other} has the same code as {name}: calls of both are recorded as {name}.")
        if everywhere := _noted(record, "inlined_only", wanted):
            names = _with_sites(everywhere)
            found.doubts.append(
                f"Inlined everywhere, so never seen as calls: {names}; build with -fno-inline to see them."
            )
    if unreported := reader.segment.unreported_libraries:
        libraries = "A library was" if unreported == 1 else f"{unreported} libraries were"
        found.doubts.append(
            f"{libraries} loaded when Strobe's agent could not report it, because the program had closed the agent's"
            " descriptors or its main thread had ended: their functions are not traced."
        )
    if left := int(str(record.notes.get("agent_left", 0))):
        found.doubts.append(
            f"Strobe's agent left the program at {reader.segment.to_ns(left)} ns, as that filters its system calls:"
            " functions of libraries that were loaded later are not traced."
        )
    if partly := _noted(record, "partly_inlined", wanted):
        found.inlined.append(
            f"Inlined at some of their call sites, where calls are not seen: {_with_sites(partly)}; so no event of "
            "them does not mean that they were not called. Build with -fno-inline to see all calls."
        )
    folded = _noted(record, "folded", wanted)
    if names := listed([f"{name} (to {other})" for name, other in folded.items()]):
        found.doubts.append(
            f"Only a jump to another function, as gcc leaves of functions with the same code: {names}; its callers may "
            "call the other one directly. Build with -fno-ipa-icf to see them apart."
        )
    if unknown := [name for name in _without_debug_information(reader, hooked) if name not in folded]:
        found.inlined.append(
            f"There is no debug information of {listed(unknown)}, which would say whether it was inlined anywhere: "
            "calls of such copies are not seen."
        )
    _add_unseen(found, record, wanted)
    _add_left_out(found, record, wanted)


def _add_left_out(found: _Findings, record: SessionRecord, wanted: EventFilter) -> None:
    """Of what is asked for there may be some among the names that were too many to be noted."""
    names = _names(wanted.function)
    for note, left in left_out(record).items():
        number = left.number if names is None else sum(map(left.may_have, names))
        if number == 0 or (wanted.function is None and note in _OF_NAMED):
            continue
        where = found.inlined if note in ("partly_inlined", "unseen") else found.doubts
        what, verb = ("function", "is") if number == 1 else ("functions", "are")
        where.append(f"{number:,} more {what} {verb} {_LEFT_OUT[note]}: too many for Strobe to note their names.")


def _names(asked: TextMatch | None) -> Collection[str] | None:
    """None: they are not known."""
    if asked is None or asked.one_of is not None:
        return None if asked is None else asked.one_of
    return None if asked.equals is None else [asked.equals]


def _add_unseen(found: _Findings, record: SessionRecord, wanted: EventFilter) -> None:
    """What may have been inlined where nothing says so, and copies in thunks."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in _noted(record, "unseen", wanted).items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        where = found.doubts if reason == "thunk" else found.inlined
        where.append(f"{_UNSEEN[reason].format(listed(names))} Build with -fno-inline to see all calls.")


def _noted(record: SessionRecord, note: str, wanted: EventFilter) -> dict[str, Any]:
    notes = record.notes.get(note, {})
    assert isinstance(notes, dict)
    test = None if wanted.function is None else text_test("function", wanted.function)
    return {name: item for name, item in notes.items() if test is None or test(name)}


def _with_sites(sites: dict[str, object]) -> str:
    return listed([f"{name} ({count} {'site' if count == 1 else 'sites'})" for name, count in sites.items()])


def _add_processes(
    found: _Findings, reader: SessionReader, wanted: EventFilter, window: Window, coverage: Coverage
) -> None:
    """What is not known of other processes than the program's own."""
    record = reader.record()
    children = reader.segment.forked_children
    known = {thread.pid for thread in reader.threads().values()} | {record.pid}
    if wanted.pid is not None and wanted.pid not in known:
        found.doubts.append(f"Nothing was recorded of process {wanted.pid}; this session is of {record.pid}.")
    if record.notes.get("form") == "portable":
        found.facts.append(f"Of process {record.pid} alone: its children are not recorded in the portable form.")
        return
    if wanted.pid is None and coverage.hooked:
        found.facts.append(
            f"Process {record.pid} is recorded, and children of fork() until they exec, but not those of vfork, clone"
            " or _Fork, nor libraries that a child loads."
        )
    if children and wanted.pid != record.pid:
        _add_changed_children(found, record, wanted, window)
    if children and wanted.pid in (None, *(known - {record.pid})) and _is_hooked_late(reader, window, coverage):
        found.doubts.append(
            f"The program has forked {children} {'child' if children == 1 else 'children'}, which a hook that was"
            " installed after the fork does not reach."
        )


def _add_threads(
    found: _Findings, reader: SessionReader, wanted: EventFilter, coverage: Coverage, counts: _Counts
) -> None:
    """What is not known of threads by their names, which are read now and then."""
    if wanted.thread_name is None or not coverage.hooked:
        return
    if counts.calls:
        found.doubts.append(
            "A thread is known by the name that it had when that was last read, for all of its calls: it may have had "
            "another one at the time."
        )
    names = sorted({thread.name for thread in reader.threads().values()})
    found.facts.append(f"Threads that called traced functions: {listed(names) or 'none'}.")


def _add_changed_children(found: _Findings, record: SessionRecord, wanted: EventFilter, window: Window) -> None:
    """Forked children whose own code is not as the hooks were installed: they are looked at once a second."""
    changed = [
        (name, pid)
        for name, seen in _noted(record, "overwritten_by", wanted).items()
        for pid, _ in seen
        if wanted.pid in (None, pid)
    ]
    if changed and not window.is_empty:
        pids = listed([str(pid) for pid in dict.fromkeys(pid for _, pid in changed)])
        names = listed(list(dict.fromkeys(name for name, _ in changed)))
        found.doubts.append(
            f"Forked children ({pids}) have written over the entry of {names}: their calls were not recorded any more."
        )
    elif not found.doubts:
        found.facts.append(
            "Of forked children it is not known that the hooks stood all the time: one that changes its own code, and"
            " ends within a second, may have called it."
        )


def _is_hooked_late(reader: SessionReader, window: Window, coverage: Coverage) -> bool:
    """Whether some of them were hooked when the program ran already."""
    spans = reader.store.hook_spans(reader.session_id)
    return any(span[0] > window.begin for function_id in coverage.hooked for span in spans[function_id])


def _naming(reader: SessionReader, function_ids: Sequence[int]) -> str:
    functions = reader.functions()
    names = list(
        dict.fromkeys(functions[item].name if item in functions else f"function {item}" for item in function_ids)
    )
    if len(names) > 5:
        return f"{len(names)} functions ({listed(names)}) were"
    return f"{listed(names)} {'was' if len(names) == 1 else 'were'}"
