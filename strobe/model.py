"""The nouns that the layers hand to each other. No behaviour beyond small conversions, no imports of other layers.

Times are nanoseconds since session start unless a name says otherwise. Function ids are per session, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, Literal

from strobe import _abi
from strobe.dataclass import dataclass, field
from strobe.limits import LARGE_EVENT_BYTES, PLAIN_EVENT_BYTES

# a new one: here, where it is made, and in the answers (event_json.py of mcp, query_command.py of cli)
EventType = Literal["function_enter", "function_exit", "probe", "stdout", "stderr", "variable_snapshot", "crash"]
CALL_EVENTS: tuple[EventType, ...] = ("function_enter", "function_exit")
# by the recorder, in the program: the kind of their records
RECORD_KINDS: dict[EventType, int] = {
    "function_enter": _abi.RECORD_ENTER,
    "function_exit": _abi.RECORD_EXIT,
    "probe": _abi.RECORD_ENTER,
}
RECORDED_EVENTS: tuple[EventType, ...] = tuple(RECORD_KINDS)
GroupBy = Literal["function", "thread", "file"]
Sampling = Literal["auto", "off"]
SessionStatus = Literal["running", "exited", "stopped"]


class ValueKind(StrEnum):
    """How the raw 64-bit word of an argument or return value is to be read."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    BOOL = "bool"
    CHAR = "char"
    POINTER = "pointer"
    REFERENCE = "reference"
    ENUM = "enum"
    FLOAT = "float"
    AGGREGATE = "aggregate"
    ARRAY = "array"
    OPTIONAL = "optional"
    FUNCTION = "function"
    VOID = "void"


class CaptureKind(IntEnum):
    """What the recorder makes of a source: STROBE_CAPTURE_* of the ABI."""

    WORD = 0
    VECTOR = 1
    CHARS = 2
    PAIR = 3
    STRING = 4
    BYTES = 5
    LIBCXX = 6
    X87 = 7


@dataclass(frozen=True, slots=True)
class Capture:
    """One piece of what is recorded of a value: struct strobe_capture of the ABI, where the fields are explained."""

    source: int
    kind: CaptureKind = CaptureKind.WORD
    second: int = 0
    offset: int = 0
    other: int = 0
    text_words: int = 0

    @property
    def is_text(self) -> bool:
        """Whether what is recorded is characters."""
        return self.kind in (CaptureKind.CHARS, CaptureKind.PAIR, CaptureKind.STRING, CaptureKind.LIBCXX)

    @property
    def character_bytes(self) -> int:
        """Of text: 1, 2 or 4; sessions of older versions have 0 for 1."""
        return (self.offset if self.kind is CaptureKind.PAIR else self.second) or 1


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a parameter or return value: `size` in bytes, `name` as written in the source.

    `members`: (name, offset in bytes, type) of a small struct; of an array its first element alone; of an optional
    value that and the bool which says whether it is there. `is_flags`: enumerators are bits to be combined.
    `bits`: (first one from the member's offset on, count) of a bit-field. `is_unsigned`: an enum without signed values.
    """

    kind: ValueKind
    size: int
    name: str
    enumerators: tuple[tuple[int, str], ...] = ()
    members: tuple[tuple[str, int, ValueType], ...] = ()
    is_flags: bool = False
    bits: tuple[int, int] | None = None
    is_unsigned: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`register`: 0 to 5 for rdi, rsi, rdx, rcx, r8, r9; None where the value is not in an integer register.

    `captures`: what is recorded of it: the bytes of the value one after the other; or a pointer and the text that it
    leads to; none: nothing is.
    """

    name: str
    type: ValueType
    register: int | None
    captures: tuple[Capture, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionSymbol:
    """One concrete function of a module.

    `name` is demangled, qualified and without parameter list; `address` is the link-time virtual address.
    `parameters` and `returns` are None where they are not known (no debug information, or a clone whose
    signature the compiler changed). `is_go`: Go's compiler made it. `is_probe`: it is no function but an instruction
    that is probed; `name` is the probe's label then, and `raw_name` what the function around it is called; `message`:
    what its events say, with expressions in braces. `inlines_unseen`: its compiler may have inlined it without a sign;
    known with the parameters.
    """

    name: str
    raw_name: str
    module: str
    address: int
    size: int
    source_file: str | None = None
    line: int | None = None
    parameters: tuple[Parameter, ...] | None = None
    returns: ValueType | None = None
    exported: bool = False
    is_go: bool = False
    return_captures: tuple[Capture, ...] = ()
    is_probe: bool = False
    message: str = ""
    inlines_unseen: bool = False

    @property
    def function(self) -> str:
        """The name of the function, around the instruction if it is one."""
        return self.raw_name if self.is_probe else self.name


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module of the running target: real path on disk, load address and size in bytes.

    `file`: device and inode of what is mapped, where that was looked at: the path may name another file by now.
    """

    name: str
    path: str
    base: int
    size: int
    file: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """A library that was unloaded: when, in ticks, and the number of this removal in the process, from 1."""

    module: LoadedModule
    ticks: int
    number: int


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """What to start. `env` adds to the environment of the daemon or caller; "inherit" passes its streams on."""

    command: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    base_env: dict[str, str] | None = None
    project_root: str | None = None
    pid: int | None = None
    stdin: str | None = None
    stdio: Literal["capture", "inherit"] = "capture"


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the program ended: `code` by exit, `signal` by a signal; both None where it is not known."""

    code: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """What is read whenever a traced function begins and returns: a `variable`, an `address` as `type` (i8 … pointer),
    or `expr`, an expression in JavaScript. `on`: patterns of functions; none: all that are traced."""

    variable: str | None = None
    address: int | None = None
    type: str | None = None
    expr: str | None = None
    label: str | None = None
    on: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The label, or what is watched."""
        if self.label is not None:
            return self.label
        return self.variable or self.expr or f"{self.address or 0:#x}"


@dataclass(frozen=True, slots=True)
class TraceAnswer:
    """What a change of traces answers. "pending": staged for a launch; "runtime": made in a running session.

    `hooked_functions` of the `matched_functions` are recorded; `event_limit` events are kept; `status` says it in
    words.
    """

    mode: Literal["pending", "runtime"]
    active_patterns: list[str]
    matched_functions: int
    hooked_functions: int
    warnings: list[str]
    event_limit: int
    status: str
    active_watches: list[str] = field(default_factory=list)
    unmatched: dict[str, str] = field(default_factory=dict)  # patterns of which nothing is recorded, and why
    probes: list[ProbeAnswer] = field(default_factory=list)  # all that are active
    is_matched: bool = True  # else it is not known yet what patterns and probes match


@dataclass(frozen=True, slots=True)
class Probe:
    """What is recorded where: `at` (`pool.cpp:42`, `pool.cpp:42-57`, `ns::f`, `0x…`), when a thread reaches it and
    `where` holds, if there is one. `show`: expressions whose values are recorded. `label`: by default `at`. Of the
    times that the condition holds the first `after` are only counted, then `limit` of them recorded, and `rate` of them
    in a second; None: all. `stack`: up to so many callers are recorded with it, 0 to 32. `log`: what each event says,
    with expressions in braces: `booked {cents} of {owner}`. `once`: after the last one that `limit` records, 1 where
    that is None, `where` is not looked at any more: whether it would hold is undecided."""

    at: str
    where: str | None = None
    show: tuple[str, ...] = ()
    label: str = ""
    after: int = 0
    limit: int | None = None
    rate: int | None = None
    stack: int = 0
    log: str = ""
    once: bool = False

    @property
    def name(self) -> str:
        """What its events are called."""
        return self.label or self.at


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What of a session's recording is to change, from a tool or command down to its hooks; by default nothing does.

    `add`, `remove`: patterns of functions whose calls are recorded; of those in `add`, only calls for which `where`
    holds, each with up to `stack` callers, 32 at most.
    `sampling`: None: as it was.
    `watch`: what is read at each recorded call; `unwatch`: names of watches.
    `depth`: how many structs within each other are recorded of what arguments and results lead to, 0 for none; None: as
    it was. `adapts`: less of it at later calls, as Extras.follow has it.
    `probe`: what is recorded at instructions; `unprobe`: labels of probes. `probes_ok`: a probe may have no place yet,
    as one in a library that is loaded later.
    """

    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    sampling: Sampling | None = None
    watch: Sequence[Watch] = ()
    unwatch: Sequence[str] = ()
    depth: int | None = None
    adapts: bool = False
    where: str | None = None
    stack: int = 0
    probe: Sequence[Probe] = ()
    unprobe: Sequence[str] = ()
    probes_ok: bool = False

    @property
    def changes_no_other_watch(self) -> bool:
        """Whether it adds watches at most, so that there is nothing else whose answer could say what is wrong with
        them."""
        return not (self.add or self.remove or self.unwatch)

    def stacks(self) -> list[int]:
        """How many callers are recorded, of each thing that is asked for; 1 where a probe asks for its `$caller`."""
        of_callers = [1 for one in self.probe if "$caller" in " ".join((one.where or "", *one.show))]
        return [self.stack, *(one.stack for one in self.probe), *of_callers]


NO_CHANGE = TraceRequest()


@dataclass(frozen=True, slots=True)
class ProbeSite:
    """One of the instructions where a probe records, in one copy of its line. `inlined`: names of the inlined functions
    around it, the innermost first. `problem`: why nothing is recorded there; empty where it is."""

    function: str
    file: str | None
    line: int | None
    address: int
    inlined: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """A probe and the places that it has."""

    probe: Probe
    places: tuple[ProbeSite, ...]


@dataclass(frozen=True, slots=True)
class TextMatch:
    """Conditions on a text, all of which must hold; case counts."""

    equals: str | None = None
    contains: str | None = None
    matches: str | None = None  # a regular expression in RE2's syntax
    one_of: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ReturnMatch:
    """Conditions on a return value. `equals`: as events show it; `is_null`: whether a pointer is null."""

    equals: str | int | float | bool | None = None
    is_null: bool | None = None


@dataclass(frozen=True, slots=True)
class Inside:
    """Calls of functions, of those for which `where` holds where there is one: at the return if it names `$return` or
    `$duration`, else at the entry. `whole`: the entries and returns of these calls are meant, too."""

    function: TextMatch
    where: str | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What a query asks for.

    `time_from`, `time_to`: ns since session start, or "-5s", "-1m", "-500ms" before the newest event. `where`: an
    expression that holds for the events; `select`: expressions whose values are asked for; `depth` and `caller` (the
    traced function that called) are of calls. `address`: events that it is found in: as an argument or result, or in
    what was recorded of them.
    `from_event`, `to_event`: ids, ends included. `newest_first`: the order; `after_event_id` goes on in it.
    `with_probes`: beside entries of functions events of probes as well.
    """

    event_type: EventType | None = None
    function: TextMatch | None = None
    source_file: TextMatch | None = None
    return_value: ReturnMatch | None = None
    thread_name: TextMatch | None = None
    pid: int | None = None
    thread_id: int | None = None
    time_from: int | str | None = None
    time_to: int | str | None = None
    min_duration_ns: int | None = None
    after_event_id: str | None = None
    text: str | None = None  # lines of output that contain it; all of them that contain ""
    where: str | None = None
    select: tuple[str, ...] = ()
    depth: int | None = None
    caller: TextMatch | None = None
    from_event: str | None = None
    to_event: str | None = None
    other_than_thread: int | None = None
    function_ids: frozenset[int] | None = None
    with_probes: bool = False
    address: int | None = None
    inside: Inside | None = None  # only what the threads of such calls recorded between their entry and return
    newest_first: bool = False
    limit: int = 50
    offset: int = 0


class Text(str):
    """Characters of the program, in contrast to a word about them ("0x…", an enumerator's name)."""

    __slots__ = ()


class CodeAddress(str):
    """A pointer to a function as "0x…", until its name is looked up."""

    __slots__ = ()


class ByteCharacter(str):
    """How a char of C above 0x7f is shown, "'\\xff'": as a number it is negative."""

    __slots__ = ()


class Enumerator(str):
    """An enumerator's name, or several of them ("A|B") of an enum of flags; `number` is what they stand for."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, name: str, number: int) -> Enumerator:
        self = super().__new__(cls, name)
        self.number = number
        return self

    @property
    def shown(self) -> str:
        """ "MODE_LOOP(2)"."""
        return f"{self}({self.number})"


Value = int | bool | str | float | dict[str, Any] | list[Any] | None


@dataclass(frozen=True, slots=True)
class Argument:
    """`value`: a number, Text, an Enumerator, a dict of a small struct's members, a list of an array's elements, or a
    str ("0x…" for pointers, "'a'"); None where it was not recorded."""

    name: str
    value: Value


@dataclass(slots=True)
class Event:
    """One event of the timeline. Fields are None where its type has none. Nobody changes one; it is not frozen, as that
    takes more than twice as long to make.

    `timestamp_ns` and `duration_ns` are ns, the first since session start. `depth` counts from 0 in each thread.
    `function_raw`: the mangled name. `sampled`: kept while the function was sampled. `return_missed`: of an enter whose
    return could not be recorded, and of whose callees depths know nothing.
    """

    id: str
    timestamp_ns: int
    event_type: EventType
    thread_id: int
    thread_name: str
    pid: int
    function: str | None = None
    function_raw: str | None = None
    source_file: str | None = None
    line: int | None = None
    depth: int | None = None
    parent_event_id: str | None = None
    arguments: tuple[Argument, ...] | None = None
    return_value: Value = None
    return_type: str | None = None
    duration_ns: int | None = None
    sampled: bool = False
    return_missed: bool = False
    text: str | None = None
    # of a variable_snapshot, by target: plain values (values.text.plain), messages, and what Strobe has written over;
    # `values` of a crash by name
    values: dict[str, Any] | None = None
    errors: dict[str, str] | None = None
    previous: dict[str, Any] | None = None
    # of a call, by the watch's name, of a probe by the expression; `extras`: blocks of the record that they are decoded
    # from
    watch_values: dict[str, Any] | None = None
    # callers, the innermost first: "function file:line", "function library"; a last one in angle brackets says why the
    # stack ends there; None where none was asked for
    stack: tuple[str, ...] | None = None
    label: str | None = None  # of a probe, whose values are in `watch_values`, too
    extras: tuple[int, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Loss:
    """What is missing. All counts but `in_no_total` are of events (an enter and an exit are two)."""

    evicted: int = 0
    evicted_until_ns: int | None = None
    event_bytes: int = 0  # of those that are kept, on average, where some were evicted
    sampled_out: int = 0
    lost: int = 0  # found no room: too many threads at once, a full file system, handlers that interrupt one another
    uncounted: int = 0  # of those, calls that are in no total
    in_no_total: int = 0  # calls: those, and calls whose events are there, but no total, as there was no room for one
    unwritten: int = 0  # lines of output, and what else the host sees, that the database does not have, or not yet;
    unwritten_reason: str = ""  # and why

    @property
    def evicted_for(self) -> str:
        """Why events were evicted where they are large: an empty text where it is their number alone."""
        if self.event_bytes < LARGE_EVENT_BYTES:
            return ""
        return (
            f"an event takes {self.event_bytes:,} bytes here, a plain one {PLAIN_EVENT_BYTES}: so many times fewer fit"
        )

    @property
    def total(self) -> int:
        """Of all reasons together."""
        return self.evicted + self.sampled_out + self.lost + self.unwritten


@dataclass(frozen=True, slots=True)
class EventPage:
    """One page of a query, in the order of time.

    `total_count`: events that match, on all pages. `pids`: processes of the session. `absence`: of an empty page,
    whether it proves that nothing happened.
    With `where`: `checked` events, of which `total_count` held; `undecided` lacked what is asked for, the first one for
    the reason `undecided_why`. `callers_unrecorded`: calls of what `caller` names that have no event, so that what they
    called may be missing. `unchecked_after`: there was no time to look at those behind this event id, or with
    `unchecked_before`, newest first, at those older than that one. `values`: of
    each event those that were selected, as JSON, by expression; `errors`: why some are not there. `places`: where in
    each event the address is found. `not_returned`: calls that a question about results leaves out, as they have no
    return; `not_returned_why`: what became of them, and what is not known, empty where there are none.
    """

    events: list[Event]
    total_count: int
    has_more: bool
    loss: Loss
    pids: list[int]
    absence: str | None = None
    checked: int | None = None
    undecided: int = 0
    undecided_why: str = ""
    unchecked_after: str | None = None
    unchecked_before: str | None = None
    values: list[dict[str, Any]] | None = None
    errors: list[dict[str, str]] | None = None
    places: list[list[str]] | None = None
    callers_unrecorded: int = 0
    not_returned: int = 0
    not_returned_why: str = ""
    inside: dict[str, Any] | None = None  # of the calls that `inside` has found: how many, and what is not known

    def cursor(self, wanted: EventFilter, shown: int) -> str | None:
        """The event id to go on from, in the same order, behind the first `shown` events. None: there is none, as
        nothing is shown, or as what was not looked at is newer than what is shown newest first."""
        is_partial = self.unchecked_after is not None
        if is_partial and wanted.newest_first:
            return None
        is_all = shown == len(self.events) and wanted.offset + shown >= self.total_count
        if is_all and (is_partial or self.unchecked_before is not None):
            return self.unchecked_after or self.unchecked_before
        return self.events[shown - 1].id if shown else None

    def unchecked(self, wanted: EventFilter) -> str | None:
        """A sentence about events that there was no time to look at; None where there are none."""
        if self.unchecked_before is not None:
            return f"There was no time to look at the events before {self.unchecked_before}: narrow the filter."
        return None if self.unchecked_after is None else not_looked_at(self.unchecked_after, wanted.newest_first)


def not_looked_at(after: str, newest_first: bool = False) -> str:
    """What to say where there was no time to look at the events behind this event id."""
    said = f"There was no time to look at the events behind {after}"
    if newest_first:
        return f"{said}: there may be newer ones than these. Narrow the filter, or ask from that event on."
    return f"{said}: narrow the filter."


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in a list. Of `exit_code` and `signal` one at most is known, neither while the program runs."""

    session_id: str
    binary_path: str
    pid: int
    started_at: str  # ISO 8601, local time with offset
    ended_at: str | None
    status: SessionStatus
    exit_code: int | None
    signal: str | None
    project_root: str | None
    folder: Path
    children: tuple[int, ...] = ()  # that are still recorded, after the end of `pid`
