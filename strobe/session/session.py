"""A session as what it recorded: it can be asked, waited for and dropped. live.py adds the program."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from strobe.dataclass import replace
from strobe.errors import StrobeError, failure
from strobe.limits import SQL_SECONDS
from strobe.model import (
    NO_CHANGE,
    Event,
    EventFilter,
    EventPage,
    ExitStatus,
    SessionSummary,
    TextMatch,
    TraceAnswer,
    TraceRequest,
)
from strobe.session.answers import Ending, ending_of, going_on, how_it_ended
from strobe.session.endings import signal_number
from strobe.session.variables.polls import Listener, Poll, Polls, check_bounds, expected_samples
from strobe.symbols import ElfResolver, SymbolResolver
from strobe.timeline import retention
from strobe.timeline.moments import event_id, event_number
from strobe.timeline.polls import PollEnd, PollRecord, note_poll, polls_of
from strobe.timeline.query import Timeline
from strobe.timeline.records import SessionRecord
from strobe.timeline.store import Store

if TYPE_CHECKING:  # most runs ask for no variable, and these take longer to import than such a run
    from strobe.session.crashes.thread_stacks import ThreadStack
    from strobe.session.questions import Counted, Found, Touched
    from strobe.session.questions.compare import Compared, Side
    from strobe.session.questions.joining import Join, Joined
    from strobe.session.stacks import StackNames
    from strobe.session.variables.reader import VariableReader
    from strobe.session.variables.session_memory import Inside
    from strobe.session.variables.writer import VariableWriter
    from strobe.timeline.scan import Progress
    from strobe.values.decode.recorded import Block, Recorded
    from strobe.values.reading import ReadTarget

log = logging.getLogger(__name__)

_ENTRIES = 50  # of calls within it, before a return's own is found


class Session:
    """A stored session: what was recorded can be read. `LiveSession` adds what needs the program. For any thread."""

    def __init__(self, store: Store, record: SessionRecord, on_end: Callable[[Session], None]) -> None:
        self.id = record.id
        self._store = store
        self._on_end = on_end
        looks = (self.written_until, self.confirm, self.settle_output)
        self.timeline = Timeline(store, record.id, record.segment_path, *looks)
        self._making = threading.Lock()
        self._making_stacks = threading.Lock()
        self._reader: VariableReader | None = None
        self._polls = Polls(self)
        self._finishing = threading.Lock()
        self._is_finishing = False
        self._is_wanted = False  # one of those who stop it wants it kept
        self._collected: int | None = None
        self.pending_patterns_applied: list[str] = []
        self.launch_answer: TraceAnswer | None = None  # to the patterns of the launch

    @property
    def reader(self) -> VariableReader:
        """Reads of the program's variables and memory."""
        from strobe.session.variables.reader import VariableReader

        with self._making:
            if self._reader is None:
                self._reader = VariableReader(self)
            return self._reader

    @property
    def writer(self) -> VariableWriter:
        """Writes of them."""
        from strobe.session.variables.writer import VariableWriter

        return VariableWriter(self, self.reader)

    @property
    def resolver(self) -> SymbolResolver:
        """Where symbols come from."""
        return ElfResolver()

    @property
    def inside(self) -> Inside | None:
        """The agent in the program; None where it is another process's."""
        return None

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self.record().pid

    @property
    def warnings(self) -> list[str]:
        """What could not be done as asked, and what limits the recording; a sentence or two each."""
        return [*self.record().warnings, *self.timeline.own_limits()]

    @property
    def failures(self) -> tuple[str, ...]:
        """What of the observation has failed, one sentence each; they are among the `warnings`, too."""
        return ()

    @property
    def children(self) -> tuple[int, ...]:
        """Process ids of forked children that are still recorded, though the program itself has ended."""
        return self.record().children

    @property
    def depth(self) -> int:
        """How many structs within each other are recorded of what arguments and results lead to."""
        return 0

    def going_on(self) -> str | None:
        """A sentence about these children; None where there are none."""
        return going_on(self.record())

    def ending(self) -> str | None:
        """How the program itself ended, in words; None while it runs."""
        ended = self.ended()
        return None if ended is None else ended.how

    def ended(self) -> Ending | None:
        """How the program itself ended; None while it runs."""
        return ending_of(self.record())

    def summary(self) -> SessionSummary:
        """As it is listed."""
        return self.record().summary()

    def trace(self, asked: TraceRequest = NO_CHANGE) -> TraceAnswer:
        """Changes what is recorded. What is wrong with one of several watches is a warning.

        Raises invalid_pattern, bad_value, stacks_impossible, process_exited, agent_unresponsive, owned_elsewhere, and
        as SessionProbes.add.
        """
        raise self.not_here()

    def query(self, wanted: EventFilter) -> EventPage:
        """One page of events. Raises bad_value, bad_regex, bad_cursor, events_unreadable, expression_wrong."""
        from strobe.session import questions

        if questions.is_one(wanted):
            return self._asked(wanted)
        page = self.timeline.query(wanted)
        return replace(page, events=[self._filled(event) for event in page.events])

    def _asked(self, wanted: EventFilter) -> EventPage:
        from strobe.session.questions import Question
        from strobe.session.questions.unreturned import unreturned

        reader, until = self.timeline.reading(wanted)
        question = Question(reader, wanted, self._filled, self._labels())
        found = question.page(until)
        left_out = unreturned(question, until)
        reader.check_whole()
        is_partial = found.unchecked_after is not None or found.unchecked_before is not None
        absence = None if found.held else self.why_none(wanted, found, question.wanted)
        return EventPage(
            events=found.events,
            total_count=found.held,
            has_more=wanted.offset + len(found.events) < found.held or is_partial,
            loss=self.timeline.loss(),
            pids=self.timeline.pids,
            absence=absence,
            checked=found.checked,
            undecided=found.undecided,
            undecided_why=found.undecided_why,
            unchecked_after=found.unchecked_after,
            unchecked_before=found.unchecked_before,
            values=found.values if wanted.select else None,
            errors=found.errors if wanted.select else None,
            places=None if wanted.address is None else found.places,
            callers_unrecorded=self.timeline.callers_unrecorded(wanted),
            not_returned=0 if left_out is None else left_out.count,
            not_returned_why="" if left_out is None else left_out.why,
            inside=None if found.inside is None else found.inside.facts(),
        )

    def counts(self, wanted: EventFilter, *expressions: str) -> tuple[list[Counted], Found]:
        """How many of the events that the filter selects have which values, most first; of the events that were kept.
        `expressions`: as questions.group_expression has them. Raises expression_wrong, bad_value, and as
        Timeline.query."""
        from strobe.session.questions import Question, group_expression
        from strobe.session.questions.unreturned import unreturned

        reader, until = self.timeline.reading(wanted)
        asked = replace(wanted, select=tuple(map(group_expression, expressions)), limit=1, offset=0)
        question = Question(reader, asked, self._filled, self._labels(), is_of_groups=True)
        groups, found = question.groups(until)
        found.unreturned = unreturned(question, until)
        reader.check_whole()
        if not found.held:
            found.absence = self.why_none(asked, found, question.wanted)
        elif not groups:
            found.absence = f"None of {found.held} events has a value of {', '.join(expressions)}."
        return groups, found

    def joined(self, wanted: EventFilter, join: Join) -> tuple[Joined, list[str]]:
        """A page of events, each with another one, as questions.joining has it; and why there may have been more of
        the other ones, if there are any. Raises bad_value, expression_wrong, and as `query`."""
        from strobe.session.questions import Question
        from strobe.session.questions.joining import joined

        reader, until = self.timeline.reading(wanted)
        filled, labels = self._filled, self._labels()
        found = joined(lambda one, parts: Question(reader, one, filled, labels, None, parts), wanted, join, until)
        reader.check_whole()
        if not found.candidates and found.of_others.absent:
            facts = f"It held for {found.of_others.held}, which never have what `on` is about"
            found.absence = f"{facts}: {found.of_others.absent_why}."
        elif not found.candidates:
            found.absence = self.why_none(found.asked, found.of_others, found.other_filter)
            return found, []
        return found, self.timeline.doubts(found.other_filter)

    def compare(self, other: Session, wanted: EventFilter, of_other: EventFilter) -> Compared:
        """In what the calls that the filter selects differ from those that `of_other` selects of another session, or of
        this one. Raises as `query`."""
        from strobe.session.questions.compare import compare

        here, there = self._side(wanted), other._side(of_other)
        found = compare(here, there)
        here.reader.check_whole()
        there.reader.check_whole()
        return found

    def traced_alone(self, other: Session, wanted: EventFilter, of_other: EventFilter) -> tuple[list[str], list[str]]:
        """Functions and probes that `wanted` selects here and the other session does not have, and the reverse."""
        from strobe.session.questions.compare import traced_alone

        return traced_alone(self._side(wanted), other._side(of_other))

    def _side(self, wanted: EventFilter) -> Side:
        from strobe.session.questions.compare import Side

        reader, until = self.timeline.reading(wanted)
        return Side(reader, until, wanted, self._filled, self._labels())

    def entry_of(self, returned: Event) -> Event | None:
        """The entry of the call whose return this event is; None where it was not kept. Raises as `query`."""
        before = EventFilter(
            event_type="function_enter",
            function=TextMatch(equals=returned.function),
            thread_id=returned.thread_id,
            to_event=returned.id,
            newest_first=True,
            limit=_ENTRIES,
        )
        return next((event for event in self.query(before).events if event.depth == returned.depth), None)

    def history(self, wanted: EventFilter) -> tuple[list[Touched], Found]:
        """In which events the filter's address is found and as what, by first time. Raises as `query`."""
        from strobe.session.questions import Question

        reader, until = self.timeline.reading()
        found = Question(reader, wanted, self._filled, self._labels()).touched(until)
        reader.check_whole()
        return found

    def why_none(self, wanted: EventFilter, found: Found, looked_at: EventFilter | None = None) -> str:
        """What it says that what was asked of the events held for none. `looked_at`: as Question.wanted."""
        from strobe.session.questions import why_none
        from strobe.session.questions.inside import calls_of

        nowhere = None
        if wanted.inside is not None and found.inside is not None:
            enclosing = calls_of(replace(wanted.inside, where=None), by_exit=False)
            nowhere = found.inside.absence(wanted.inside, lambda: self.timeline.doubts(enclosing))
        if nowhere is not None:
            return nowhere
        asked = looked_at or wanted
        of_all = asked if asked.event_type == "probe" else wanted
        return why_none(
            found, lambda: self.timeline.absence(of_all), lambda: self.timeline.doubts(asked), wanted.address
        )

    def _labels(self) -> frozenset[str]:
        """Names of watches, and of variables that were polled or written."""
        labels = {str(json.loads(text).get("label", "")) for text in self._store.extras(self.id).values()}
        return frozenset(labels | {target for poll in self.polls() for target in poll.targets}) - {""}

    def check(self, wanted: EventFilter) -> None:
        """Raises what a query with this filter would raise because of its expressions."""
        from strobe.session.questions import Question

        Question(self.timeline.reading()[0], wanted, self._filled, self._labels())

    def around(self, event: str, wanted: EventFilter) -> dict[str, Any]:
        """What happened before and after an event: `event`; of each of `thread` and `others` two pages of `limit`
        events: (before, the newest first; after). Raises bad_cursor, and as `query`."""
        number = event_number(self.id, event)
        found, _ = self.first(EventFilter(), number - 1)
        if found is None or found.id != event:
            raise failure("bad_cursor", cursor=event, session_id=self.id)
        before = replace(wanted, to_event=event_id(self.id, number - 1), newest_first=True)
        after = replace(wanted, from_event=event_id(self.id, number + 1))
        own = found.thread_id
        scopes: dict[str, dict[str, Any]] = {"others": {}}  # of what is the program's, no thread's
        if own:
            scopes = {"thread": {"thread_id": own}, "others": {"other_than_thread": own}}
        answer: dict[str, Any] = {"event": found}
        for name, scope in scopes.items():
            answer[name] = (self.query(replace(before, **scope)), self.query(replace(after, **scope)))
        return answer

    def confirm(self) -> None:
        """Looks whether the hooks stand and the recorder is on, where this process observes the program."""

    def written_until(self, moment: int) -> int:
        """Calls up to then are all recorded: `moment`, or an earlier one where a thread is in the middle of a record
        since. In ticks; seen where this process observes the program."""
        return moment

    def settle_output(self, wanted: EventFilter) -> None:
        """What was received of the output that the filter asks for is in events when this returns, lines without an
        end, too."""

    def names_of(self, text: str) -> frozenset[str]:
        """Traced functions that a name or pattern matches, by other names of the same code as well."""
        from strobe.symbols import Pattern

        try:
            pattern = Pattern.parse(text, ".")
        except StrobeError:  # it is none
            return frozenset()
        names = {name for name in self.timeline.traced_names() if pattern.matches_name(name)}
        return frozenset(names | {name for other, name in self.same_code().items() if pattern.matches_name(other)})

    def same_code(self) -> dict[str, str]:
        """Of functions whose code is that of a traced one: under which name their calls are recorded."""
        noted = self.record().notes.get("same_code")
        return {str(other): str(name) for other, name in noted.items()} if isinstance(noted, dict) else {}

    def no_such_function(self, field: str, text: str) -> StrobeError:
        """What is raised where a parameter names none that is traced."""
        from strobe.symbols.select.nearest import nearest_names

        names = self.timeline.traced_names()
        nearest = ", ".join(nearest_names(text, names) or names[:5]) or "none: trace some"
        return failure(
            "bad_value", field=field, value=repr(text), reason="no traced function matches it", valid=nearest
        )

    def tail(self, after: int, limit: int = 10_000) -> list[Event]:
        """Events after the one numbered `after`, in the order of their numbers, `limit` at most."""
        return [self._filled(event) for event in self.timeline.tail(after, limit)]

    def first(
        self, wanted: EventFilter, after: int, progress: Progress | None = None, deadline: float | None = None
    ) -> tuple[Event | None, int]:
        """The first event behind number `after` that the filter selects, and up to which number was looked. Where there
        is a condition: `progress`, what a look has left behind for the next one, and `deadline`, by time.monotonic(),
        when it stops."""
        from strobe.session.questions import Question, is_one

        if is_one(wanted):
            reader, until = self.timeline.reading()
            asked = replace(wanted, after_event_id=event_id(self.id, max(0, after)))
            question = Question(reader, asked, self._filled, self._labels(), progress)
            event, looked = question.first(until, deadline)
            return event, max(after, looked)
        found, until = self.timeline.first(wanted, after)
        return (None if found is None else self._filled(found)), until

    def last(self, wanted: EventFilter, count: int) -> list[Event]:
        """The last `count` events that the filter selects, by time."""
        return [self._filled(event) for event in self.timeline.last(wanted, count)]

    def here(self) -> str:
        """An event id of this moment, to go on from."""
        return event_id(self.id, self.timeline.cursor())

    def add_event(self, event_type: str, text: str) -> int:
        """Puts an event of this moment into the timeline; its number. Raises process_exited, session_not_found.

        The session may be of another process: then the event is written at once, else within 50 ms.
        """
        number = self._store.add_host_event(self.id, event_type, text, self.timeline.cursor)
        if number is None:
            raise self.not_here()
        return number

    def poll(
        self,
        targets: Sequence[ReadTarget],
        interval_ms: int,
        duration_ms: int,
        depth: int = 1,
        listener: Listener | None = None,
    ) -> Poll:
        """Reads the targets at once and then every `interval_ms`, each time as one variable_snapshot event.

        Those that nothing can be made of (no such variable) have an error in `first` and are left out; with none left
        nothing is polled. Raises what `reader.read` does, bad_value, too_many_polls.
        """
        check_bounds(interval_ms, duration_ms)
        first = self.reader.repeated(targets, depth)
        results = first.read()
        polled = [target for target in dict.fromkeys(targets) if target not in first.refused]
        source = self.reader.repeated(polled, depth)
        expected = expected_samples(interval_ms, duration_ms) if polled else 0
        return self._polls.begin(source, polled, results, interval_ms, expected, listener)

    def polls(self) -> list[PollRecord]:
        """Those of the session, oldest first: which there were, how many samples they gave, how they ended."""
        noted = {poll.number: poll for poll in polls_of(self.record())}
        return list((noted | {poll.number: poll for poll in self._polls.records()}).values())

    def note_poll(self, poll: PollRecord) -> None:
        """Keeps what is known of a poll now."""
        note_poll(self._store, self.id, poll)

    def poll_end(self) -> PollEnd:
        """Why a poll ends that cannot go on: by another process the session is stopped, or dropped, at any time."""
        try:
            return "stopped" if self.record().status == "stopped" else "program"
        except StrobeError:
            return "stopped"

    def sql(self, statement: str, timeout_s: float = SQL_SECONDS) -> tuple[list[str], list[tuple[object, ...]]]:
        """Columns and rows, at most a million, of a read-only statement over the view `events`.

        Raises bad_sql, sql_too_long after `timeout_s`, sql_too_much.
        """
        return self.timeline.sql(statement, timeout_s, self._more)

    def _more(self, event: Event) -> tuple[str | None, str | None, str | None]:
        """Values of watches, the stack, and arguments with what they lead to, as JSON."""
        from strobe.values.decode import text

        filled = self._filled(event)
        values = filled.watch_values
        shown = None if values is None else {name: text.plain(value) for name, value in values.items()}
        return (
            None if shown is None else json.dumps(shown, ensure_ascii=False),
            None if filled.stack is None else json.dumps(filled.stack, ensure_ascii=False),
            json.dumps({one.name: text.plain(one.value) for one in filled.arguments or ()}, ensure_ascii=False),
        )

    def wait(self, timeout: float | None = None) -> ExitStatus | None:
        """How the program ended, None while it runs. `timeout` in seconds, None without bound.

        Children that it has forked may still be recorded: see `children`, `wait_for_children`.
        """
        record = self.record()
        if record.status == "running":
            raise self.not_here()
        return ExitStatus(record.exit_code, None if record.signal is None else signal_number(record.signal))

    def wait_for_children(self, timeout: float | None = None) -> bool:
        """Waits until neither the program nor a child of it is recorded any more; False after `timeout` seconds."""
        if self.record().status == "running":
            raise self.not_here()
        return True

    def stop(self, retain: bool = False) -> int:
        """Ends the session; without `retain` its data are dropped. Returns how many events were collected.

        Children of the program that still live go on, unrecorded.
        """
        record = self.record()
        if record.status == "running":
            raise self.not_here()
        return self._finish(retain)

    def close(self) -> None:
        """Lets go of the files; the session stays."""
        self._polls.stop("stopped")
        self.timeline.close()

    def wait_finished(self, seconds: float) -> bool:
        """False where nobody is about to keep or drop its data; else waits until that is done, and for its files."""
        if not self._is_finishing:
            return False
        if self._finishing.acquire(timeout=seconds):
            self._finishing.release()
        return True

    def _finish(self, retain: bool) -> int:
        """Of several who stop it at once each is told the same, and it is kept where one of them wants that. Raises
        session_not_found where another one has dropped it."""
        self._is_wanted = self._is_wanted or retain
        with self._finishing:
            self._is_finishing = True
            try:
                if self._collected is None:
                    self._collected = self._count()
                record = self.record()
                if not self._is_wanted:
                    retention.drop_session(self._store, record)
                elif not record.retained:
                    retention.keep_session(self._store, self.id)
            finally:
                self._on_end(self)
            return self._collected

    def _count(self) -> int:
        """How many events were collected, as far as they can be read; closes the timeline."""
        try:
            return self.timeline.query(EventFilter(limit=1)).total_count + self.timeline.loss().evicted
        except StrobeError as error:  # the segment is gone
            log.warning("session %s: %s", self.id, error)
            return 0
        finally:
            self.timeline.close()

    @cached_property
    def _recorded(self) -> Recorded:
        from strobe.values.decode.recorded import Recorded

        return Recorded(lambda: self._store.extras(self.id), self.timeline.name_at, self._stack)

    @cached_property
    def _stack_names(self) -> StackNames:
        from strobe.session.stacks import StackNames

        return StackNames(self.resolver, self.timeline.loads, self._builds)

    def _builds(self) -> dict[str, str]:
        noted = self.record().notes.get("builds")
        return noted if isinstance(noted, dict) else {}

    def _stack(self, block: Block, timestamp_ns: int) -> tuple[str, ...]:
        with self._making_stacks:
            return self._stack_names.shown(block, self.timeline.ticks_from_ns(timestamp_ns))

    def _filled(self, event: Event) -> Event:
        """With the values of watches, and of what arguments lead to."""
        return self._recorded.filled(event) if event.extras or event.event_type == "probe" else event

    def _open_call(self, function_id: int, number: int) -> dict[str, str]:
        """Of a crash: a call that was open, with its arguments where its entry, with that number, is still there."""
        from strobe.session.crashes.crash import call_text

        if number:
            event, _ = self.first(EventFilter(function=TextMatch(contains="")), number - 1)
            if event is not None and event.id == event_id(self.id, number):
                return {"call": call_text(event), "id": event.id}
        symbol = self._store.functions(self.id).get(function_id)
        return {"call": "?" if symbol is None else symbol.name}

    def record(self) -> SessionRecord:
        """As the store has it now. Raises SESSION_NOT_FOUND where it was deleted."""
        return self._store.get_session(self.id)

    def thread_stacks(self) -> tuple[list[ThreadStack], int]:
        """Where the threads of its program are, and how many there was no time to look at. None
        where it does not run, or is another process's."""
        return [], 0

    def gone(self) -> StrobeError:
        """What to raise where its program has just ended."""
        return failure("process_exited", session_id=self.id, how="it has just ended")

    def not_here(self) -> StrobeError:
        """What to raise where its program does not run, or is another process's."""
        record = self.record()
        if record.status == "running" and record.owner_pid == os.getpid():
            return failure("still_starting", session_id=self.id)
        if record.status == "running":
            return failure("owned_elsewhere", session_id=self.id, owner=record.owner_pid)
        return failure("process_exited", session_id=self.id, how=how_it_ended(record))
