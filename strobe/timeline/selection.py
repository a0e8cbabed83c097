"""An EventFilter as conditions on the segment's calls and on the host's events, checked and resolved to ids."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from strobe import _abi
from strobe.dataclass import dataclass, field, replace
from strobe.errors import failure, field_name
from strobe.model import RECORD_KINDS, RECORDED_EVENTS, EventFilter, FunctionSymbol, ReturnMatch, TextMatch, ValueKind
from strobe.symbols.select.linear_regex import LinearRegex, RegexError
from strobe.timeline.decode.captured import decode_return, type_mask, words_of
from strobe.timeline.decode.compared import encode, is_in_a_word, is_nullable, is_what_is_asked
from strobe.timeline.moments import NUMBER_MAX, before_newest_ns, event_number, host_number
from strobe.timeline.reader import SessionReader

LIMIT_MAX = 10_000  # of the layer; the tools allow 500, the Python API pages by this
_SHOWN_LETTERS = 100


@dataclass(slots=True)
class Conditions:
    """Terms of a `where`, joined by `and`, with the values they bind."""

    terms: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    def add(self, term: str, *values: object) -> None:
        """One more term, with a `?` for each of the values."""
        self.terms.append(term)
        self.values.extend(values)

    def sql(self) -> str:
        """All terms, joined by `and`."""
        return " and ".join(self.terms)


@dataclass(slots=True)
class Selection:
    """What a filter selects. `calls` and `hosts` are None where nothing of that sort can match.

    `functions` and `threads` are the ids (thread indexes) that the filter names, None where it names none.
    `from_ns` and `to_ns` are the window asked for, ends included; None where it is open.
    """

    calls: Conditions | None = None
    hosts: Conditions | None = None
    functions: list[int] | None = None
    threads: list[int] | None = None
    tid: int | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    # whether the recorder's totals can answer: nothing but functions and threads is asked for
    by_totals: bool = True
    # what a row's function id and words must pass besides `calls`, where values are compared that are no single word
    passes: Callable[[int, bytes], bool] | None = None


def check_page(wanted: EventFilter) -> None:
    """Raises `bad_value` for a limit or offset out of range."""
    if not 1 <= wanted.limit <= LIMIT_MAX:
        raise failure("bad_value", field="limit", value=wanted.limit, reason="out of range", valid=f"1 to {LIMIT_MAX}")
    if wanted.offset < 0:
        raise failure("bad_value", field="offset", value=wanted.offset, reason="it is negative", valid="0 or more")


def select(reader: SessionReader, wanted: EventFilter, until_number: int | None = None) -> Selection:
    """Resolves a filter. `until_number` leaves out events beyond it. Raises `bad_value`, `bad_regex`, `bad_cursor`."""
    _check_possible(wanted)
    found = Selection(functions=_functions(reader, wanted), tid=wanted.thread_id, threads=_threads(reader, wanted))
    found.from_ns = _moment(reader, "timeFrom", wanted.time_from)
    found.to_ns = _moment(reader, "timeTo", wanted.time_to)
    found.by_totals = not (_has_times(wanted) or wanted.return_value or wanted.min_duration_ns)
    if (wanted.event_type is None or wanted.event_type in RECORDED_EVENTS) and wanted.text is None:
        found.calls = _call_conditions(reader, wanted, found, until_number)
        found.passes = _value_test(reader, wanted.return_value, found.functions)
    only_calls = wanted.function or wanted.source_file or wanted.return_value or wanted.min_duration_ns is not None
    only_calls = only_calls or wanted.function_ids is not None
    if wanted.event_type not in RECORDED_EVENTS and not only_calls:
        found.hosts = _host_conditions(reader, wanted, found, until_number)
    return found


def _check_possible(wanted: EventFilter) -> None:
    """Raises `bad_value` for what no event of a call can be: that there is none would not say that nothing happened. Of
    the host's events `host_absence` says so."""
    if wanted.event_type not in ("function_enter", "probe"):
        return
    for name, value in (("returnValue", wanted.return_value), ("minDurationNs", wanted.min_duration_ns)):
        if value is not None:
            reason = f"it goes together with {field_name(name)}, and only the exit of a call has one"
            valid = "function_exit, or no type of event"
            raise failure("bad_value", field="eventType", value=f"'{wanted.event_type}'", reason=reason, valid=valid)


def id_blob(ids: Iterable[int]) -> bytes:
    """Ids as the segment functions take them: 32-bit integers."""
    numbers = list(ids)
    return struct.pack(f"<{len(numbers)}I", *numbers)


def _has_times(wanted: EventFilter) -> bool:
    times = (wanted.time_from, wanted.time_to, wanted.after_event_id, wanted.from_event, wanted.to_event)
    return any(item is not None for item in times)


def _call_conditions(reader: SessionReader, wanted: EventFilter, found: Selection, until: int | None) -> Conditions:
    calls = Conditions(["path = ?"], [reader.path()])
    if wanted.event_type is not None:
        calls.add("kind = ?", RECORD_KINDS[wanted.event_type])
    if found.functions is not None:
        calls.add("functions = ?", id_blob(found.functions))
    if found.threads is not None:
        calls.add("threads = ?", id_blob(found.threads))
    if found.tid is not None:
        calls.add("tid = ?", found.tid)
    if found.from_ns is not None:
        calls.add("timestamp_ns >= ?", found.from_ns)
    if found.to_ns is not None:
        calls.add("timestamp_ns <= ?", found.to_ns)
    if wanted.min_duration_ns is not None:
        calls.add("duration_ns >= ?", _duration(wanted.min_duration_ns))
    if wanted.return_value is not None:
        calls.add("returns = ?", return_tests(reader, wanted.return_value))
    _add_numbers(reader, wanted, calls, until)
    return calls


def _host_conditions(reader: SessionReader, wanted: EventFilter, found: Selection, until: int | None) -> Conditions:
    hosts = Conditions(["session = ?"], [reader.key])
    if wanted.event_type is not None:
        hosts.add("event_type = ?", wanted.event_type)
    if wanted.text is not None:
        hosts.add(
            "event_type in ('stdout', 'stderr') and instr(text, ?)", wanted.text.encode("utf-8", "surrogateescape")
        )
    if wanted.pid is not None:
        hosts.add("pid = ?", min(wanted.pid, NUMBER_MAX))
    if found.tid is not None:
        hosts.add("thread_id = ?", found.tid)
    if wanted.other_than_thread is not None:
        hosts.add("thread_id <> ?", wanted.other_than_thread)
    if wanted.thread_name is not None:
        names = reader.rows("select distinct thread_name from host_events where session = ?", (reader.key,))
        passes = text_test("threadName", wanted.thread_name)
        named = [str(row[0]) for row in names if passes(str(row[0]))]
        hosts.add(f"thread_name in ({','.join('?' * len(named))})", *named)
    if found.from_ns is not None:
        ticks = reader.segment.ticks_from_ns(found.from_ns)
        hosts.add("number >= ?", host_number(reader.segment.moment(ticks)))
    if found.to_ns is not None:
        ticks = reader.segment.ticks_until_ns(found.to_ns)
        hosts.add("number <= ?", host_number(reader.segment.moment(ticks)))
    _add_numbers(reader, wanted, hosts, until)
    return hosts


def _add_numbers(reader: SessionReader, wanted: EventFilter, conditions: Conditions, until: int | None) -> None:
    for sign, given in ((">", wanted.after_event_id), (">=", wanted.from_event), ("<=", wanted.to_event)):
        if given is not None:
            number = event_number(reader.session_id, given)
            before = wanted.newest_first and sign == ">"
            conditions.add("number < ?" if before else f"number {sign} ?", number)
    if until is not None:
        conditions.add("number <= ?", until)


def number_bounds(reader: SessionReader, wanted: EventFilter, until: int | None) -> tuple[int, int]:
    """The least and the greatest number that the filter selects, `until` included. Raises `bad_cursor`."""
    low, high = 0, NUMBER_MAX if until is None else until
    if wanted.after_event_id is not None:
        number = event_number(reader.session_id, wanted.after_event_id)
        low, high = (low, min(high, number - 1)) if wanted.newest_first else (number + 1, high)
    if wanted.from_event is not None:
        low = max(low, event_number(reader.session_id, wanted.from_event))
    if wanted.to_event is not None:
        high = min(high, event_number(reader.session_id, wanted.to_event))
    return low, high


def without_probes(reader: SessionReader, functions: list[int] | None) -> list[int] | None:
    """Ids of functions alone; None for all there are."""
    known = reader.functions()
    probes = {function_id for function_id, symbol in known.items() if symbol.is_probe}
    if not probes:
        return functions
    return [item for item in (known if functions is None else functions) if item not in probes]


def _functions(reader: SessionReader, wanted: EventFilter) -> list[int] | None:
    named = _named(reader, wanted)
    if wanted.event_type == "probe":
        probes = [function_id for function_id, symbol in reader.functions().items() if symbol.is_probe]
        return probes if named is None else [item for item in probes if item in named]
    return named if wanted.event_type is None or wanted.with_probes else without_probes(reader, named)


def _named(reader: SessionReader, wanted: EventFilter) -> list[int] | None:
    if wanted.function is None and wanted.source_file is None:
        return None if wanted.function_ids is None else sorted(wanted.function_ids)
    by_name = text_test("function", wanted.function)
    by_file = text_test("sourceFile", wanted.source_file)
    return [
        function_id
        for function_id, symbol in reader.functions().items()
        if (by_name(symbol.name) or (symbol.is_probe and by_name(symbol.raw_name)))
        and (wanted.source_file is None or by_file(symbol.source_file or ""))
        and (wanted.function_ids is None or function_id in wanted.function_ids)
    ]


def _threads(reader: SessionReader, wanted: EventFilter) -> list[int] | None:
    if wanted.other_than_thread is not None:
        others = [item.index for item in reader.threads().values() if item.tid != wanted.other_than_thread]
        chosen = _threads(reader, replace(wanted, other_than_thread=None))
        return others if chosen is None else [index for index in others if index in chosen]
    if wanted.thread_name is None and wanted.pid is None:
        return None
    by_name = text_test("threadName", wanted.thread_name)
    threads = reader.threads().values()
    found = [item.index for item in threads if by_name(item.name) and wanted.pid in (None, item.pid)]
    # threads beyond the table have no name; they are of the program itself
    shared_pid = wanted.pid is None or wanted.pid == reader.record().pid
    return [*found, _abi.THREAD_INDEX_SHARED] if shared_pid and wanted.thread_name is None else found


def text_test(name: str, match: TextMatch | None) -> Callable[[str], bool]:
    """A test of names by `match`, which every name passes where it is None. Raises `bad_value`, `bad_regex`."""
    if match is None:
        return lambda text: True
    if match == TextMatch():
        raise failure(
            "bad_value", field=name, value="empty", reason="it has no condition", valid="equals, contains, matches"
        )
    pattern = _regex(match.matches)

    def passes(text: str) -> bool:
        if match.equals is not None and text != match.equals:
            return False
        if match.contains is not None and match.contains not in text:
            return False
        if match.one_of is not None and text not in match.one_of:
            return False
        return pattern is None or pattern.finds(text)

    return passes


def _regex(text: str | None) -> LinearRegex | None:
    if text is None:
        return None
    try:
        return LinearRegex(text)
    except RegexError as error:
        shown = text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"
        raise failure("bad_regex", regex=shown, reason=error) from error


def _duration(nanoseconds: int) -> int:
    if nanoseconds < 0:
        raise failure("bad_value", field="minDurationNs", value=nanoseconds, reason="it is negative", valid="0 or more")
    return min(nanoseconds, NUMBER_MAX)


def _moment(reader: SessionReader, name: str, value: int | str | None) -> int | None:
    if value is None:
        return None
    before = before_newest_ns(name, value)
    if before is None:
        return min(int(value), NUMBER_MAX)
    newest_ns = reader.segment.to_ns(reader.segment.ticks_of(reader.newest_number()))
    return max(-1 if name == "timeTo" else 0, newest_ns - before)  # a window may end before the session began


def _value_test(
    reader: SessionReader, match: ReturnMatch | None, wanted: list[int] | None
) -> Callable[[int, bytes], bool] | None:
    """A test of results that are text, structs or wide numbers; None where no function wanted returns such."""
    if match is None or match.equals is None:
        return None
    functions = {key: symbol for key, symbol in reader.functions().items() if not is_in_a_word(symbol)}
    if not functions or (wanted is not None and functions.keys().isdisjoint(wanted)):
        return None

    def passes(function_id: int, words: bytes) -> bool:
        symbol = functions.get(function_id)
        return symbol is None or is_what_is_asked(decode_return(symbol, words_of(words))[0], match)

    return passes


def return_tests(reader: SessionReader, match: ReturnMatch) -> bytes:
    """Rows of (function id, mask, value, equal or not) for the functions that can return what is asked for."""
    if match.equals is None and match.is_null is None:
        raise failure(
            "bad_value", field="returnValue", value="empty", reason="it has no condition", valid="equals, isNull"
        )
    rows: list[int] = []
    for function_id, symbol in reader.functions().items():
        rows += _return_test(function_id, symbol, match)
    return struct.pack(f"<{len(rows)}Q", *rows)


def _return_test(function_id: int, symbol: FunctionSymbol, match: ReturnMatch) -> list[int]:
    mask = type_mask(symbol.returns)
    if match.is_null is not None and not is_nullable(symbol.returns):
        return []
    if match.equals is None:
        return [function_id, mask, 0, int(bool(match.is_null))]
    if not is_in_a_word(symbol):
        return [function_id, 1, 2, 0]  # every result, as no word has this bit under this mask; _value_test decides
    value = encode(match.equals, symbol.returns)
    if symbol.returns is not None and symbol.returns.kind is ValueKind.FLOAT and value is not None:
        mask = mask if value & mask >> 1 else mask >> 1  # -0.0 equals 0.0
        value &= mask
    if value == 1 and symbol.returns is not None and symbol.returns.kind is ValueKind.BOOL:
        return [function_id, mask, 0, 0]  # every byte but 0 reads as true
    contradiction = match.is_null is not None and value is not None and (value == 0) != match.is_null
    return [] if value is None or contradiction else [function_id, mask, value, 1]
