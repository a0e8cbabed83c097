"""One recorded event as expressions see it: what they ask for is decoded, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from strobe import _abi
from strobe.expressions.names import PLAIN, Known
from strobe.expressions.normal import Absent, Elements, NamedNumber, Normal, Pointer, Undecided
from strobe.expressions.parser import without_blanks
from strobe.model import CodeAddress, Enumerator, Event, FunctionSymbol, ValueType
from strobe.timeline.decode.captured import argument_of, decode_return, words_of
from strobe.timeline.events import HAS_MORE, EventDecoder, decode_text
from strobe.timeline.moments import event_id
from strobe.timeline.reader import SessionReader, Thread
from strobe.timeline.scan import Row, Seen
from strobe.values.decode.normal_form import normal, plain
from strobe.values.model import PointerTo, Record

_UNNAMED_ARGUMENTS = 16  # of functions without debug information: arg0 …
_KEPT = 4  # events that were decoded as a whole


class _Followed:
    """What a pointer leads to, decoded when it is asked for. `name`: of an argument; None: the result."""

    __slots__ = ("name", "row")

    def __init__(self, row: Row, name: str | None) -> None:
        self.row, self.name = row, name


def known_names(reader: SessionReader, ids: list[int] | None, labels: frozenset[str]) -> Known:
    """What the functions with these ids (None: all that were traced) have to be named."""
    functions = reader.functions()
    found = [functions[key] for key in (functions if ids is None else ids) if key in functions]
    arguments: set[str] = set()
    enumerators: dict[str, int] = {}
    for function in found:
        arguments.update(item.name for item in function.parameters or ())
        for of in (*(item.type for item in function.parameters or ()), function.returns):
            _add_enumerators(of, enumerators)
        if function.parameters is None:
            arguments.update(f"arg{index}" for index in range(_UNNAMED_ARGUMENTS))
    return Known(frozenset(arguments), labels, enumerators, "this" in arguments)


def _add_enumerators(of: ValueType | None, found: dict[str, int]) -> None:
    if of is None:
        return
    for number, name in of.enumerators:
        found.setdefault(name, number)
    for _, _, member in of.members:
        _add_enumerators(member, found)


class EventContext:
    """`see` puts it on an event; expressions ask it then. Not for several threads."""

    def __init__(
        self, reader: SessionReader, filled: Callable[[Event], Event], labels: frozenset[str], known: Known
    ) -> None:
        self._reader = reader
        self._decoder = EventDecoder(reader)
        self._functions = reader.functions()
        self._threads = reader.threads()
        self._pid = reader.record().pid
        self._code_names = reader.code_names()
        self._filled = filled
        self._labels = {without_blanks(label): label for label in labels}
        self._enumerators = known.enumerators
        self._indexes: dict[int, dict[str, int]] = {}
        self._whole: dict[int, Event] = {}
        self._roots: Mapping[str, Callable[[], Normal]] = {
            "$return": self._returned,
            "$duration": self._duration,
            "$thread": self._thread,
            "$threadName": lambda: self._thread().name,
            "$pid": lambda: int(self._seen.row[3]) if self._seen.is_host else self._thread_of().pid,
            "$time": self._time,
            "$depth": lambda: int(self._call()[6]),
            "$function": lambda: self._symbol_name(self._call()[3]),
            "$line": lambda: _there(self._symbol().line, "line"),
            "$file": lambda: _there(self._symbol().source_file, "file"),
            "$label": self._label,
            "$stack": self._stack,
            "$caller": self._caller,
            "$type": self._type,
            "$text": self._text,
        }
        self._seen: Seen

    def see(self, seen: Seen) -> EventContext:
        """Puts it on this event."""
        self._seen = seen
        return self

    def event(self) -> Event:
        """The whole event."""
        return self._decoder.host(self._seen.row) if self._seen.is_host else self._decoded(self._seen.row)

    def one_thread(self) -> tuple[int, int]:
        """Of which thread it is, so that those that had the same id one after the other are distinguished. Raises
        Undecided."""
        row = self._seen.row
        if not self._seen.is_host:
            return int(row[4]), int(row[5])
        if not row[4]:
            raise Undecided(f"{row[1]} is of the program, not of a thread: ask for anyThread")
        tid = int(row[4])
        indexes = [one.index for one in self._threads.values() if (one.pid, one.tid) == (row[3], tid)]
        if len(indexes) > 1:
            raise Undecided(f"{len(indexes)} threads had the id {tid}, one after the other")
        return (indexes or [_abi.THREAD_INDEX_SHARED])[0], tid

    # --- Context

    def root(self, name: str) -> Normal:
        special = self._roots.get(name)
        if special is not None:
            return special()
        row = self._entry()
        if row is not None:
            index = self._argument_index(row[3], name)
            if index is not None:
                return self._argument(row, index, name)
        if name in self._labels:
            return self.watch(name)
        if row is not None and self._argument_index(row[3], "this") is not None and "::" not in name:
            found = self._member_of_this(row, name)
            if found is not None:
                return found
        if name in PLAIN:
            return self._roots[PLAIN[name]]()
        last = name.rpartition("::")[2]
        if last in self._enumerators:
            return Enumerator(last, self._enumerators[last])
        raise Undecided(self._why_not(row, name))

    def has_watch(self, label: str) -> bool:
        """Whether a watch of the session is called so."""
        return label in self._labels

    def watch(self, label: str) -> Normal:
        event, name = self.event(), self._labels.get(without_blanks(label), label)
        if event.watch_values is not None and name in event.watch_values:
            return normal(event.watch_values[name])
        if event.values is not None and name in event.values:
            return plain(event.values[name])
        if event.event_type == "probe":  # it records the same values each time, and never others
            raise Absent(f"the probe '{event.label}' does not show '{name}'")
        raise Undecided(f"the event has no value called '{name}'")

    def normal(self, raw: Any) -> Normal:
        return normal(self.raw(raw))

    def raw(self, value: Any) -> Any:
        """What a pointer leads to, or the value itself."""
        if not isinstance(value, _Followed):
            return value
        found = self._whole_value(value.row, value.name)
        if isinstance(found, PointerTo):
            if found.to is None:
                raise Undecided("what the pointer leads to was not recorded: trace with a depth")
            return found.to
        if isinstance(found, str):
            raise Undecided("what the pointer leads to was not recorded: trace with a depth")
        return found

    # --- what an event has

    def _call(self) -> Row:
        if self._seen.is_host:
            raise Undecided("it is no call")
        return self._seen.row

    def _entry(self) -> Row | None:
        """The row that has the arguments; None where there is none."""
        if self._seen.is_host:
            return None
        return self._seen.row if self._seen.row[2] == _abi.RECORD_ENTER else self._seen.entry

    def _why_not(self, row: Row | None, name: str) -> str:
        if self._seen.is_host:
            return f"it is no call, and has no '{name}'"
        if row is None:
            return "the entry of the call, with its arguments, was not recorded"
        return f"{self._symbol_name(row[3])} has no argument '{name}'"

    def _argument_index(self, function_id: int, name: str) -> int | None:
        indexes = self._indexes.get(function_id)
        if indexes is None:
            symbol = self._functions.get(function_id)
            if symbol is None or symbol.parameters is None:
                indexes = {f"arg{index}": index for index in range(_UNNAMED_ARGUMENTS)}
            else:
                indexes = {item.name: index for index, item in enumerate(symbol.parameters)}
            self._indexes[function_id] = indexes
        return indexes.get(name)

    def _argument(self, row: Row, index: int, name: str) -> Normal:
        symbol, has_more = self._functions.get(row[3]), bool(row[10] & HAS_MORE)
        value = argument_of(symbol, words_of(row[9] or b""), index)
        return self._shallow(row, value, name, has_more)

    def _label(self) -> str:
        if self._seen.is_host or not self._symbol().is_probe:
            raise Absent("it is no probe's")
        return self._symbol().name

    def _stack(self) -> Normal:
        """The callers that were recorded with it, innermost first; of a return those of its entry."""
        row = self._entry()
        event = self.event() if row is None else self._decoded(row)
        stack = event.stack or (event.values or {}).get("stack")  # a crash has it among its values
        if not stack:
            raise Undecided("no stack was recorded with it: trace with `stack`")
        return Elements(list(stack), len(stack))

    def _returned(self) -> Normal:
        row = self._call()
        if self._symbol().is_probe:
            return self.watch("$return")
        if row[2] == _abi.RECORD_ENTER:
            raise Undecided("the call has not returned there")
        symbol, has_more = self._functions.get(row[3]), bool(row[10] & HAS_MORE)
        if symbol is not None and symbol.returns is not None and symbol.returns.kind == "void":
            raise Absent(f"{self._symbol_name(row[3])} returns nothing")
        value, extras = decode_return(symbol, words_of(row[9] or b""), has_more)
        return self._shallow(row, value, None, bool(extras))

    def _shallow(self, row: Row, value: Any, name: str | None, has_more: bool) -> Normal:
        """The value itself; what it leads to is decoded later."""
        if value is None:
            return normal(self._whole_value(row, name) if has_more else None)
        if isinstance(value, CodeAddress):
            address = int(value, 16)
            return Pointer(address, self._code_names.at(self._reader.segment.ticks_of(row[0]))(address))
        found = normal(value)
        if isinstance(found, Pointer) and has_more and found.address:
            return Pointer(found.address, found.name, _Followed(row, name))
        return found

    def _whole_value(self, row: Row, name: str | None) -> Any:
        event = self._decoded(row)
        if name is None:
            return event.return_value
        return next((item.value for item in event.arguments or () if item.name == name), None)

    def _decoded(self, row: Row) -> Event:
        number = int(row[0])
        found = self._whole.get(number)
        if found is None:
            if len(self._whole) >= _KEPT:
                self._whole.clear()
            found = self._whole[number] = self._filled(self._decoder.call(row))
        return found

    def _member_of_this(self, row: Row, name: str) -> Normal:
        this = self._whole_value(row, "this")
        of = this.to if isinstance(this, PointerTo) else this
        members = dict(iter(of)) if isinstance(of, Record) else {}
        return normal(members[name]) if name in members else None

    def _symbol(self) -> FunctionSymbol:
        symbol = self._functions.get(self._call()[3])
        if symbol is None:
            raise Undecided("the function is not known")
        return symbol

    def _symbol_name(self, function_id: int) -> str:
        symbol = self._functions.get(function_id)
        return f"function {function_id}" if symbol is None else symbol.function

    def _thread_of(self) -> Thread:
        row = self._call()
        return self._threads.get(row[4]) or Thread(row[4], self._pid, row[5], "")

    def _thread(self) -> NamedNumber:
        row = self._seen.row
        if not self._seen.is_host:
            return NamedNumber(int(row[5]), self._thread_of().name)
        if not row[4]:
            raise Undecided("output is of the program, not of a thread")
        return NamedNumber(int(row[4]), str(row[5]))

    def _time(self) -> int:
        if self._seen.is_host:
            return self._reader.segment.to_ns(self._reader.segment.ticks_of(self._seen.number))
        return int(self._seen.row[1])

    def _duration(self) -> int:
        duration = self._call()[7]
        if duration is None:
            raise Undecided("the call has not returned there")
        return int(duration)

    def _caller(self) -> Normal:
        if self._seen.caller is None:
            self._call()
            raise Undecided("no traced function has called it, as far as is recorded")
        return self._symbol_name(self._seen.caller)

    def _type(self) -> str:
        if self._seen.is_host:
            return str(self._seen.row[1])
        if self._seen.row[2] != _abi.RECORD_ENTER:
            return "function_exit"
        symbol = self._functions.get(self._seen.row[3])
        return "probe" if symbol is not None and symbol.is_probe else "function_enter"

    def _text(self) -> str:
        if not self._seen.is_host and self._symbol().message:
            return self._decoded(self._call()).text or ""
        if not self._seen.is_host or self._seen.row[1] not in ("stdout", "stderr"):
            raise Undecided("it is no line of output")
        return decode_text(self._seen.row[2]).rstrip("\r\n")

    @property
    def id(self) -> str:
        """Of the event."""
        return event_id(self._reader.session_id, self._seen.number)


def _there(value: Any, what: str) -> Any:
    if value is None:
        raise Undecided(f"the {what} is not known")
    return value
