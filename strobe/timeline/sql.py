"""Plain SQL over one session: a read-only connection with the view `events`.

Columns: id, session_id, timestamp_ns, thread_id, thread_name, pid, event_type, function, function_raw, source_file,
line, depth, parent_event_id, arguments (JSON object), return_value, watch_values (JSON object, of watches and probes),
stack (JSON list), duration_ns, sampled, text, label, number, by which events are in the order of time, and
all_arguments: arguments with what they lead to, as it was recorded. See sql_values for `arg` and `probe`.
"""

from __future__ import annotations

import itertools
import json
import queue
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import apsw

from strobe import _abi, _core, threads
from strobe.dataclass import replace
from strobe.errors import failure
from strobe.limits import SQL_ROWS
from strobe.model import Event, EventType, FunctionSymbol, Value
from strobe.timeline.decode.captured import decode_arguments, decode_return, named, plain, words_of
from strobe.timeline.decode.sql_values import create_functions, with_columns
from strobe.timeline.events import decode_text
from strobe.timeline.reader import SessionReader, open_reader

_STEPS = 20_000  # of SQLite's machine between two looks at the clock: about a millisecond
_LATE_S = 1.0  # after its time a statement that looks at the clock has ended
# quoted text, comments, the end of a statement, and the rest
_TOKENS = re.compile(
    r"""'[^']*'?|"[^"]*"?|`[^`]*`?|\[[^\]]*\]?|--[^\n]*|/\*.*?(?:\*/|\Z)|;|\s+|[^'"`\[;\s/-]+|.""", re.DOTALL
)
_Found = tuple[list[str], list[tuple[object, ...]]]
More = Callable[[Event], tuple[str | None, str | None, str | None]]
_ALLOWED = {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE}

# `+` keeps the scan of the calls outermost: the small tables are looked up for each row, never the other way round.
# Both halves give each column the same affinity, else SQLite (3.41 and later) runs the view to its end before it orders
# or limits anything: hence the casts of null, and coalesce, which has no affinity.
_HAS_MORE = _abi.FLAG_HAS_RETURN | _abi.FLAG_HAS_EXTRAS  # one bit
_VIEW = """
create temp view events as
select {id} || c.number as id, {session} as session_id, c.timestamp_ns as timestamp_ns, c.tid as thread_id,
    coalesce(t.name, '') as thread_name, coalesce(t.pid, {pid}) as pid,
    iif(f.is_probe, 'probe', iif(c.kind = 1, 'function_enter', 'function_exit')) as event_type,
    iif(f.is_probe, f.raw_name, f.name) as function, iif(f.is_probe, null, f.raw_name) as function_raw,
    f.source_file as source_file, f.line as line, c.depth as depth,
    {id} || c.parent_number as parent_event_id,
    strobe_arguments(c.function_id, c.kind, c.arguments, c.flags, c.number) as arguments,
    strobe_return(c.function_id, c.kind, c.arguments, c.flags, c.number) as return_value,
    strobe_more(c.function_id, c.kind, c.arguments, c.flags, c.number, 0) as watch_values,
    strobe_more(c.function_id, c.kind, c.arguments, c.flags, c.number, 1) as stack,
    c.duration_ns as duration_ns,
    c.flags & 1 as sampled, null as text, iif(f.is_probe, f.name, null) as label, c.number as number,
    coalesce(strobe_more(c.function_id, c.kind, c.arguments, c.flags, c.number, 2),
        strobe_arguments(c.function_id, c.kind, c.arguments, c.flags, c.number)) as all_arguments
from strobe_calls({path}) c
    left join temp.function f on f.function_id = +c.function_id
    left join temp.thread t on t.thread_index = +c.thread_index
union all
select {id} || number, {session}, cast(strobe_time(number) as integer), thread_id, coalesce(thread_name, ''),
    coalesce(pid, 0), coalesce(event_type, ''), coalesce(null, null), coalesce(null, null), cast(null as blob),
    cast(null as blob), cast(null as integer), null, null, null, null, null, cast(null as integer), 0,
    strobe_text(text),
    coalesce(null, null), number, coalesce(null, null)
from main.host_events where session = {key}
"""


def run(
    reader: SessionReader, statement: str, timeout_s: float, more: More | None = None
) -> tuple[list[str], list[tuple[object, ...]]]:
    """Column names and rows of one statement, of at most SQL_ROWS. `more`: what an event's extras are, as JSON: values
    of watches, and the stack.

    Raises `bad_sql`, also for anything that would change something; `sql_too_long`, `sql_too_much`. Ctrl-C ends it.
    """
    if _are_several(statement):
        raise failure("several_statements")
    # On a thread of its own: within one function of SQLite's (instr of long texts takes hours) nobody looks at the
    # clock, and Python handles no signal. Who asks does not wait for that; the thread ends with the function.
    deadline = time.monotonic() + timeout_s
    given_up = threading.Event()
    found: queue.SimpleQueue[_Found | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            found.put(_rows(reader, statement, more, lambda: given_up.is_set() or time.monotonic() > deadline))
        except BaseException as error:
            found.put(error)

    threads.start("a statement", work, threads.logged_only)
    try:
        outcome = found.get(timeout=timeout_s + _LATE_S)
    except queue.Empty:
        outcome = apsw.InterruptError()
    finally:
        given_up.set()
    match outcome:
        case apsw.InterruptError():
            raise failure("sql_too_long", seconds=f"{timeout_s:g}") from outcome
        case apsw.NoMemError():
            raise MemoryError from outcome
        case apsw.Error() | ValueError() | TypeError():
            raise failure("bad_sql", reason=outcome) from outcome
        case BaseException():
            raise outcome
    columns, rows = outcome
    if len(rows) > SQL_ROWS:
        raise failure("sql_too_much", rows=f"{SQL_ROWS:,}")
    return columns, rows


def _rows(reader: SessionReader, statement: str, more: More | None, is_over: Callable[[], bool]) -> _Found:
    """Column names and up to SQL_ROWS + 1 rows. Raises what SQLite and the functions of the view do."""
    connection = open_reader(reader.store.home)
    columns: list[str] = []

    def note_columns(cursor: apsw.Cursor, text: str, bindings: object) -> bool:
        columns[:] = [str(column[0]) for column in cursor.get_description()]
        return True

    try:
        _create_view(connection, reader, more)
        connection.authorizer = _authorize
        cursor = connection.cursor()
        cursor.exec_trace = note_columns
        connection.set_progress_handler(is_over, _STEPS)
        return columns, list(itertools.islice(cursor.execute(with_columns(statement)), SQL_ROWS + 1))
    finally:
        connection.close()


def _are_several(text: str) -> bool:
    """Whether something but comments stands behind the end of a statement: SQLite would run that, too."""
    has_begun = has_ended = False
    for token in _TOKENS.findall(text):
        if token == ";":
            has_ended = has_begun
        elif not token.isspace() and not token.startswith(("--", "/*")):
            if has_ended:
                return True
            has_begun = True
    return False


def _authorize(action: int, first: str | None, second: str | None, *where: object) -> int:
    loads_code = action == apsw.SQLITE_FUNCTION and second == "load_extension"
    return apsw.SQLITE_OK if action in _ALLOWED and not loads_code else apsw.SQLITE_DENY


def _create_view(connection: apsw.Connection, reader: SessionReader, more: More | None) -> None:
    functions = reader.functions()
    connection.execute(
        "create temp table function(function_id integer primary key, name, raw_name, source_file, line, is_probe);"
        "create temp table thread(thread_index integer primary key, name, pid)"
    )
    rows = [
        (key, item.name, item.raw_name, item.source_file, item.line, int(item.is_probe))
        for key, item in functions.items()
    ]
    with connection:
        connection.executemany("insert into temp.function values (?,?,?,?,?,?)", rows)
        threads = [(item.index, item.name, item.pid) for item in reader.threads().values()]
        connection.executemany("insert into temp.thread values (?,?,?)", threads)

    _create_functions(connection, functions, reader)
    create_functions(connection)
    _create_more(connection, functions, reader, more)
    _create_time(connection, reader.segment)
    connection.execute(_view_statement(reader))


def _create_functions(connection: apsw.Connection, functions: dict[int, FunctionSymbol], reader: SessionReader) -> None:
    names, segment = reader.code_names(), reader.segment

    def arguments_json(*values: Any) -> str | None:
        function_id, kind, blob, flags, number = values
        if blob is None or kind != _abi.RECORD_ENTER:
            return None
        arguments = decode_arguments(functions.get(function_id), words_of(blob), bool(flags & _HAS_MORE))[0]
        if arguments is None:
            return None
        name_at = names.at(segment.ticks_of(number))
        shown = {item.name: plain(named(item.value, name_at)) for item in arguments}
        return json.dumps(shown, ensure_ascii=False)

    def return_value(*values: Any) -> Value:
        function_id, kind, blob, flags, number = values
        if blob is None or kind == _abi.RECORD_ENTER:
            return None
        found = decode_return(functions.get(function_id), words_of(blob), bool(flags & _HAS_MORE))[0]
        value = plain(named(found, names.at(segment.ticks_of(number))))
        if isinstance(value, (dict, list)):
            return json.dumps(value, ensure_ascii=False)
        # SQLite's integers end at 2^63 - 1
        return str(value) if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else value

    def text(*values: Any) -> str:
        return decode_text(values[0])

    connection.create_scalar_function("strobe_arguments", arguments_json, 5, deterministic=True)
    connection.create_scalar_function("strobe_return", return_value, 5, deterministic=True)
    connection.create_scalar_function("strobe_text", text, 1, deterministic=True)


def _create_more(
    connection: apsw.Connection, functions: dict[int, FunctionSymbol], reader: SessionReader, more: More | None
) -> None:
    segment = reader.segment

    def found(*values: Any) -> str | None:
        function_id, kind, blob, flags, number, column = values
        if blob is None or more is None or not flags & _abi.FLAG_HAS_EXTRAS:
            return None
        symbol, is_enter = functions.get(function_id), kind == _abi.RECORD_ENTER
        words = words_of(blob)
        arguments, extras = (
            decode_arguments(symbol, words, True) if is_enter else (None, decode_return(symbol, words, True)[1])
        )
        wants_arguments = column == 2
        if wants_arguments and arguments is None:
            return None
        name = "" if symbol is None else symbol.function
        event_type: EventType = "function_enter" if is_enter else "function_exit"
        time_ns = segment.to_ns(segment.ticks_of(number))
        event = Event("", time_ns, event_type, 0, "", 0, name, extras=extras)
        return more(replace(event, arguments=arguments) if wants_arguments else event)[column]

    connection.create_scalar_function("strobe_more", found, 6, deterministic=True)


def _create_time(connection: apsw.Connection, segment: _core.Segment) -> None:
    def time(*values: Any) -> int:
        return segment.to_ns(segment.ticks_of(values[0]))

    connection.create_scalar_function("strobe_time", time, 1, deterministic=True)


def _view_statement(reader: SessionReader) -> str:
    return _VIEW.format(
        id=_quoted(f"{reader.session_id}-"),
        session=_quoted(reader.session_id),
        pid=reader.record().pid,
        path=_quoted(reader.path()),
        key=reader.key,
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
