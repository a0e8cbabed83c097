"""Two runs, or two intervals of one, side by side: what was called more often, which values differ, and the first call
that differs in the sequence of each thread. Times, addresses and thread ids differ in every run and are left aside."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from strobe import _abi
from strobe.dataclass import dataclass, field, replace
from strobe.model import Event, EventFilter, Text, TextMatch
from strobe.timeline.events import EventDecoder
from strobe.timeline.reader import SessionReader, Thread
from strobe.timeline.scan import Row, Sight, Tally, seen
from strobe.timeline.selection import select
from strobe.values.decode import text

SECONDS = 20.0  # that events are looked at, of all threads together
_KIND, _FUNCTION, _THREAD, _DEPTH, _WORDS, _FLAGS = 2, 3, 4, 6, 9, 10
_BEFORE = 3  # events that are shown of what both have in common last
_DIGITS = re.compile(r"\d+")
_ADDRESS = re.compile(r"(?P<number>0x[0-9a-f]{1,16})( <(?P<name>.*)>)?")
_UNREADABLE = re.compile(r"Address not readable: 0x[0-9a-f]+")
_EVERY_ELEMENT = re.compile(r"\[\d+\]")
_MISSING = object()  # of a value that the other event does not have
_DIFFERENT = 200  # values that are distinguished: a function, and what of it

Key = tuple[int, str, int]  # kind of record, name of function or probe, depth


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: where its events are read, up to which number, which of them; `filled`: an event with what its
    pointers lead to; `labels`: as Question has them."""

    reader: SessionReader
    until: int
    wanted: EventFilter
    filled: Callable[[Event], Event]
    labels: frozenset[str]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event in which a pair of threads differs in what was called. The `equal` events before it are alike;
    `before` are the last of these, and `within` the calls that are open, outermost first, all as the first side has
    them. None: that side has no more events."""

    thread: str
    other_thread: str
    equal: int
    one: Event | None
    other: Event | None
    before: tuple[Event, ...]
    within: tuple[str, ...]


@dataclass(slots=True)
class Different:
    """A value that differs at events which are alike but for that: `count` times of `of`. `one` and `other`: the event
    ids and values at the first of them."""

    function: str
    what: str
    one: tuple[str, Any]
    other: tuple[str, Any]
    count: int = 1
    of: int = 0


@dataclass(slots=True)
class Compared:
    """`threads`: how many pairs were compared; `equal`: events that are alike in what was called; `alone`: threads that
    have no partner, by side; `untraced`: functions that are traced on one side only, which are not compared;
    `undecided`: events of which is not known whether the condition holds, by side; `by_order`: threads were paired by
    the order in which they began, as their names do not tell them apart; `stopped`: there was no time for the rest."""

    divergences: list[Divergence] = field(default_factory=list)
    different: list[Different] = field(default_factory=list)
    threads: int = 0
    equal: int = 0
    alone: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    untraced: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    undecided: tuple[int, int] = (0, 0)
    by_order: bool = False
    stopped: bool = False


def compare(one: Side, other: Side, seconds: float = SECONDS) -> Compared:
    """Raises as Session.query."""
    found = Compared()
    names, others = _traced(one), _traced(other)
    found.untraced = traced_alone(one, other)
    common = names.keys() & others.keys()
    sides = [
        _calls_of(side, {key for name in common for key in of[name]}) for side, of in ((one, names), (other, others))
    ]
    looks = [_Look(side) for side in sides]
    pairs, found.alone, found.by_order = _paired(_threads(sides[0]), _threads(sides[1]))
    deadline = time.monotonic() + seconds
    values = _Values(one, other)
    for thread, partner in pairs:
        _compare_threads(found, values, looks, thread, partner, deadline)
    found.threads = len(pairs)
    found.different = values.different()
    found.undecided = looks[0].undecided, looks[1].undecided
    found.divergences.sort(key=_moment)
    return found


def traced_alone(one: Side, other: Side) -> tuple[list[str], list[str]]:
    """Functions and probes that the filters select and only this side has, by side."""
    names, others = _traced(one), _traced(other)
    return sorted(names.keys() - others.keys()), sorted(others.keys() - names.keys())


def _moment(one: Divergence) -> int:
    """When it came, by the first side's time: where that has no more events, after its last one."""
    last = one.one or (one.before[-1] if one.before else None)
    return 0 if last is None else last.timestamp_ns


def _traced(side: Side) -> dict[str, list[int]]:
    """Ids by name, of the functions and probes that the filter selects."""
    functions = side.reader.functions()
    ids = select(side.reader, replace(side.wanted, function=side.wanted.function or TextMatch(contains=""))).functions
    found: dict[str, list[int]] = {}
    for key in functions if ids is None else ids:
        if key in functions:
            found.setdefault(functions[key].name, []).append(key)
    return found


def _calls_of(side: Side, ids: set[int]) -> Side:
    return replace(side, wanted=replace(side.wanted, function_ids=frozenset(ids), limit=1, offset=0))


def _threads(side: Side) -> list[Thread]:
    """Those that recorded something which is asked for, the main thread first."""
    selection = select(side.reader, _only_calls(side.wanted), side.until)
    if selection.calls is None:
        return []
    statement = f"select distinct thread_index from strobe_calls where {selection.calls.sql()}"
    used = {int(str(row[0])) for row in side.reader.rows(statement, tuple(selection.calls.values))}
    found = [thread for index, thread in sorted(side.reader.threads().items()) if index in used]
    return sorted(found, key=lambda thread: thread.pid != thread.tid)


def _only_calls(wanted: EventFilter) -> EventFilter:
    return replace(wanted, function=wanted.function or TextMatch(contains=""))


def _paired(
    one: Sequence[Thread], other: Sequence[Thread]
) -> tuple[list[tuple[Thread, Thread]], tuple[list[str], list[str]], bool]:
    """Threads of the same name, else of names that differ in a number, else of names that each run makes anew; each
    time in the order in which they began to be recorded, and whether that order has decided which."""
    left, left_there = list(one), list(other)
    pairs: list[tuple[Thread, Thread]] = []
    by_order = False
    for sort in (_name, _role, lambda _: None):
        waiting: dict[object, deque[Thread]] = {}
        for thread in left_there:
            waiting.setdefault(sort(thread), deque()).append(thread)
        many = {key for key, threads in waiting.items() if len(threads) > 1}
        many |= {key for key, count in Counter(map(sort, left)).items() if count > 1}
        unpaired = []
        for thread in left:
            if partners := waiting.get(sort(thread)):
                by_order |= sort(thread) in many
                pairs.append((thread, partners.popleft()))
            else:
                unpaired.append(thread)
        paired = {partner.index for _, partner in pairs}
        left, left_there = unpaired, [thread for thread in left_there if thread.index not in paired]
    order = {thread.index: number for number, thread in enumerate(one)}
    pairs.sort(key=lambda pair: order[pair[0].index])
    return pairs, ([_named(thread) for thread in left], [_named(thread) for thread in left_there]), by_order


def _name(thread: Thread) -> object:
    return thread.pid == thread.tid, thread.name


def _role(thread: Thread) -> object:
    return thread.pid == thread.tid, _DIGITS.sub("0", thread.name)


def _named(thread: Thread) -> str:
    return f"{thread.name} {thread.tid}".strip()


class _Look:
    """The events of one side, thread by thread, and what was called in them."""

    def __init__(self, side: Side) -> None:
        functions = side.reader.functions()
        self.undecided = 0
        self._side = side
        self._names = {key: symbol.name for key, symbol in functions.items()}
        self._probes = {key for key, symbol in functions.items() if symbol.is_probe}
        self._depths: list[int] = []
        self.open: list[str] = []  # calls, the outermost first

    def rows(self, thread: Thread, tally: Tally) -> Iterator[Row]:
        """Of the events of a thread, oldest first."""
        from strobe.session.questions.found import Found
        from strobe.session.questions.question import Question, is_one

        self._depths.clear()
        self.open.clear()
        side, found = self._side, Found()
        wanted = replace(_only_calls(side.wanted), thread_id=thread.tid)
        if is_one(wanted):
            events = Question(side.reader, wanted, side.filled, side.labels).held(found, side.until, tally)
        else:
            events = seen(side.reader, Sight(wanted), side.until, tally)
        try:
            for one in events:
                if not one.is_host and one.row[_THREAD] == thread.index:
                    yield one.row
        finally:  # also where what follows a difference is not looked at
            self.undecided += found.undecided

    def key(self, row: Row) -> Key:
        """The depth is that among the calls which are compared: others may be traced on this side alone."""
        return row[_KIND], self._names.get(row[_FUNCTION], ""), bisect_left(self._depths, row[_DEPTH])

    def follow(self, row: Row) -> None:
        """Which calls are open behind an event, by depth."""
        kind, name, depth = self.key(row)
        if row[_FUNCTION] in self._probes:
            return
        del self._depths[depth:], self.open[depth:]
        if kind == _abi.RECORD_ENTER:
            self._depths.append(row[_DEPTH])
            self.open.append(name)


def _compare_threads(
    found: Compared, values: _Values, looks: Sequence[_Look], thread: Thread, partner: Thread, deadline: float
) -> None:
    tallies = Tally(deadline), Tally(deadline)
    here, there = looks
    before: deque[Row] = deque(maxlen=_BEFORE)
    equal = 0
    for row, twin in zip_longest(here.rows(thread, tallies[0]), there.rows(partner, tallies[1])):
        if (row is None and tallies[0].stopped_at is not None) or (twin is None and tallies[1].stopped_at is not None):
            break
        key = None if row is None else here.key(row)
        if row is None or twin is None or key is None or key != there.key(twin):
            decoded = tuple(values.event(0, item) for item in before)
            first = None if row is None else values.event(0, row)
            second = None if twin is None else values.event(1, twin)
            found.divergences.append(
                Divergence(_named(thread), _named(partner), equal, first, second, decoded, tuple(here.open))
            )
            break
        equal += 1
        before.append(row)
        here.follow(row)
        there.follow(twin)
        if row[_WORDS] != twin[_WORDS] or row[_FLAGS] != twin[_FLAGS]:
            values.add(key, row, twin)
        else:
            values.same(key)
    found.equal += equal
    found.stopped = found.stopped or any(tally.stopped_at is not None for tally in tallies)


class _Values:
    """What events that are alike in what was called differ in."""

    def __init__(self, one: Side, other: Side) -> None:
        self._decoders = EventDecoder(one.reader), EventDecoder(other.reader)
        self._filled = one.filled, other.filled
        self._checked: Counter[tuple[int, str]] = Counter()
        self._found: dict[tuple[int, str, str], Different] = {}

    def event(self, side: int, row: Row) -> Event:
        """Of a row of that side, with what its pointers lead to."""
        return self._filled[side](self._decoders[side].call(row))

    def same(self, key: Key) -> None:
        """Two events without a difference."""
        self._checked[key[:2]] += 1

    def add(self, key: Key, row: Row, twin: Row) -> None:
        """Two events whose records are not the same, byte for byte."""
        self.same(key)
        one, other = self.event(0, row), self.event(1, twin)
        values, others = dict(_leaves(one)), dict(_leaves(other))
        for what in {**values, **others}:
            if _comparable(values.get(what, _MISSING)) == _comparable(others.get(what, _MISSING)):
                continue
            kind = (*key[:2], _EVERY_ELEMENT.sub("[…]", what))
            if kind in self._found:
                self._found[kind].count += 1
            elif len(self._found) < _DIFFERENT:
                first = (one.id, values.get(what)), (other.id, others.get(what))
                self._found[kind] = Different(key[1], what, *first)

    def different(self) -> list[Different]:
        """In the order in which they were met."""
        for (kind, name, _), one in self._found.items():
            one.of = self._checked[kind, name]
        return list(self._found.values())


def _leaves(event: Event) -> Iterator[tuple[str, Any]]:
    """Each single value of an event and what it is called."""
    for argument in event.arguments or ():
        yield from _flat(argument.name, text.plain(argument.value))
    for name, value in (event.watch_values or {}).items():
        yield from _flat(name, text.plain(value))
    if event.event_type == "function_exit":
        yield from _flat("$return", text.plain(event.return_value))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value.keys() == {"pointer", "to"}:
        yield from _flat(f"*{name}", value["to"])
    elif isinstance(value, dict):
        for member, content in value.items():
            yield from _flat(f"{name}.{member}", content)
    elif isinstance(value, list):
        yield f"size({name})", len(value)
        for index, content in enumerate(value):
            yield from _flat(f"{name}[{index}]", content)
    else:
        yield name, value


def _comparable(value: Any) -> Any:
    """Of an address only whether it is null, and what is called so there."""
    if isinstance(value, Text) or not isinstance(value, str):
        return value
    if (found := _ADDRESS.fullmatch(value)) is not None:
        return _Somewhere(not int(found["number"], 16), found["name"])
    return _UNREADABLE.sub("Address not readable", value)


@dataclass(frozen=True, slots=True)
class _Somewhere:
    """What is compared of an address."""

    is_null: bool
    name: str | None
