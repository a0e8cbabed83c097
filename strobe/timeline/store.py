"""strobe.db: sessions, their functions, hook spans, host events and staged traces. Safe for several processes."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from strobe import config
from strobe.errors import StrobeError, command_names, failure
from strobe.model import FunctionSymbol, LoadedModule, Probe, Watch
from strobe.timeline.decode import symbol_json
from strobe.timeline.host_events import HostEvent, HostEventQueue, insert_event
from strobe.timeline.owners import Owner, OwnerLock, this_process
from strobe.timeline.records import SessionRecord, StagedTraces, session_record
from strobe.timeline.schema import (
    DATABASE_FILE,
    claim_folder,
    claim_key,
    database_errors,
    open_database,
    write_transaction,
)

log = logging.getLogger(__name__)

_UPDATABLE = frozenset(
    {"binary_path", "pid", "ended_at", "status", "exit_code", "signal", "segment_path", "retained", "event_limit"}
    | {"owner_pid", "owner_start_time"}
)
_END_SPANS = "update hook_spans set to_ticks = max(from_ticks, ?) where session = ? and to_ticks is null"
_PER_SESSION_TABLES = ("functions", "hook_spans", "host_events", "extras", "loads")


class Load(NamedTuple):
    """When a module was in the process, in ticks; from 0: since before the session began, to None: still."""

    module: str
    base: int
    from_ticks: int
    to_ticks: int | None


class Store:
    """The database of one home. One object per process is enough; its methods may be called from any thread."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = config.create_home(home) if home else config.home()
        self._connection = open_database(self.home)  # raises newer_database, database_failed
        self._lock = threading.RLock()
        self._owner_lock: OwnerLock | None = None
        self._is_unlockable = False  # the home is on a file system without locks, or read-only
        self.host_events = HostEventQueue(self._connection, self._lock)

    def close(self) -> None:
        """Writes what is still in the queue and closes the database. May be called twice."""
        self.host_events.close()
        with self._lock, database_errors(self.home, "closed"):
            if self._owner_lock is not None:
                self._owner_lock.release()
            self._owner_lock = None
            self._connection.close()

    def flush(self) -> None:
        """Returns when every host event that was handed in before the call is in the database, or cannot be written:
        see `unwritten`."""
        self.host_events.flush()

    def unwritten(self, session_key: int) -> tuple[int, str]:
        """How many host events of a session are missing from the database, and why; (0, "") where none is."""
        return self.host_events.unwritten(session_key)

    def unmade_changes(self, session_key: int) -> str:
        """Why what is known of a session's hooks and libraries is not all in the database; "" where it is."""
        return self.host_events.unmade_changes(session_key)

    # --- sessions

    def add_session(self, binary_path: str, project_root: str | None, event_limit: int, pid: int = 0) -> SessionRecord:
        """Claims an id for a session that starts now: "<program>-YYYY-MM-DD-HHhMM", with -2, -3 … where taken.

        An id is given once, and so is the key: whoever still has one of a deleted session gets nobody else's. The
        session's folder is not created; `segment_path` begins as the path of a kept segment.
        """
        now = datetime.now().astimezone()
        stem = f"{_program_name(binary_path)}-{now:%Y-%m-%d-%Hh%M}"
        fixed = (binary_path, project_root, pid, now.isoformat(timespec="seconds"))
        with self._writing():
            owner = self._signed()
            folder = claim_folder(self._connection, self.home / "sessions", stem)
            self._connection.execute(
                "insert into sessions(key, id, binary_path, project_root, pid, started_at, status, folder,"
                " segment_path, owner_pid, owner_start_time, owner_namespace, retained, event_limit, warnings, notes)"
                " values (?,?,?,?,?,?,'running',?,?,?,?,?,0,?,'[]','{}')",
                (
                    claim_key(self._connection),
                    folder.name,
                    *fixed,
                    str(folder),
                    f"{folder}/segment",
                    *owner,
                    event_limit,
                ),
            )
        return self.get_session(folder.name)

    def take_over(self, record: SessionRecord) -> bool:
        """Makes this process the owner of a session whose owner was killed; False where another one was first."""
        with self._using():
            return self._change_owner(record, self._signed())

    def hand_back(self, record: SessionRecord) -> None:
        """Takes `take_over` back: the next one that looks is to try."""
        with self._using():
            self._change_owner(self.get_session(record.id), record.owner)

    def _change_owner(self, record: SessionRecord, owner: Owner) -> bool:
        self._connection.execute(
            "update sessions set owner_pid = ?, owner_start_time = ?, owner_namespace = ?"
            " where key = ? and owner_pid = ? and owner_start_time = ? and owner_namespace = ?",
            (*owner, record.key, *record.owner),
        )
        return bool(self._connection.changes())

    def _signed(self) -> Owner:
        """This process, of which all who share the home can see that it lives; of which those of its PID namespace
        alone can, where no file can be made. Under the lock."""
        if self._owner_lock is None and not self._is_unlockable:
            try:
                self._owner_lock = OwnerLock(self.home)
            except OSError as error:
                self._is_unlockable = True
                log.warning("other PID namespaces will not see that this process lives: %s", error)
        if self._owner_lock is None:
            return this_process()._replace(namespace=0)
        return self._owner_lock.owner

    def update_session(self, session_id: str, **fields: str | int | None) -> SessionRecord:
        """Sets columns of a session: pid, status, ended_at, exit_code, signal, segment_path, retained, …"""
        self._write(*_update(session_id, fields))
        return self.get_session(session_id)

    def end_session(self, session_id: str, to_ticks: int, **fields: str | int | None) -> None:
        """Sets columns, and notes that no function is recorded any more.

        Raises database_failed; then it is done as soon as the database can be written, while this store is open.
        """
        key = self.get_session(session_id).key
        self._write_or_defer(key, [(_END_SPANS, (to_ticks, key)), _update(session_id, fields)])

    def add_warning_later(self, session_id: str, text: str) -> None:
        """Adds one as soon as the database can be written; the caller does not wait for that."""
        change = "update sessions set warnings = json_insert(warnings, '$[#]', ?) where id = ?"
        self.host_events.defer(self.get_session(session_id).key, change, (text, session_id))

    def add_warnings(self, session_id: str, warnings: Sequence[str]) -> None:
        """Adds to the session's warnings those that it does not have yet."""
        with self._writing():
            known = list(self.get_session(session_id).warnings)
            known += [text for text in dict.fromkeys(warnings) if text not in known]
            self._connection.execute("update sessions set warnings = ? where id = ?", (json.dumps(known), session_id))

    def add_notes(self, session_id: str, notes: Mapping[str, object]) -> None:
        """Merges facts about the session that answers are to mention, one JSON value per key.

        `inlined_only`: {function name: inlined sites} of functions that exist only as inlined copies;
        `partly_inlined`: the same of functions that are traced and have a copy of their own, `unseen`: {name: why calls
        of it may not be seen}, `folded`: {name: of which other one it is a jump to}; `refused`: {name: why it
        could not be hooked}, `namesakes`: {name: how many others have it and are not traced}, `same_code`: {name: the
        name under which its calls are recorded}; `left_out`: as records.py has the names that were too many for these;
        `children`: process ids that were last seen to be recorded after the
        end of the session's own process; `polls`: see polls.py;
        `attached`: true, else the session has started the program; `inherits_stdio`: true where output is not captured;
        `open_streams`: which streams another process could still write to when recording ended;
        `form`: of the recorder; in ticks `resumed_ticks`, `ended_ticks`: when a program that was launched began to run,
        when recording ended; `recorder_off`: [last seen on, seen off], `overwritten`: {name: the same of its hook};
        `early`: as session/early_calls.py finds it; `agent_left`: when the agent left, while calls went on being
        recorded.
        """
        self.change_notes(session_id, lambda known: known | dict(notes))

    def change_notes(self, session_id: str, change: Callable[[dict[str, object]], dict[str, object]]) -> None:
        """Replaces these facts by what `change` makes of them, which no other process changes meanwhile."""
        with self._writing():
            changed = json.dumps(change(self.get_session(session_id).notes))
            self._connection.execute("update sessions set notes = ? where id = ?", (changed, session_id))

    def get_session(self, session_id: str) -> SessionRecord:
        """Raises `session_not_found`."""
        rows = self._read("select * from sessions where id = ?", (session_id,))
        if rows:
            return session_record(rows[0])
        latest = [str(row[0]) for row in self._read("select id from sessions order by key desc limit 5")]
        hint = (
            f"Known: {', '.join(latest)}." if latest else f"There are none; start one with {command_names()['launch']}."
        )
        raise failure("session_not_found", session_id=session_id, hint=hint)

    def list_sessions(self) -> list[SessionRecord]:
        """All sessions, newest first."""
        return [session_record(row) for row in self._read("select * from sessions order by key desc")]

    def abandoned_sessions(self) -> list[SessionRecord]:
        """Sessions that are not kept and whose Strobe process is gone: it was killed before it could end them."""
        rows = self._read("select * from sessions where not retained order by key desc")
        return [item for item in map(session_record, rows) if not item.owner_alive(self.home)]

    def session_ids(self) -> set[str]:
        """Of all sessions in the home."""
        return {str(row[0]) for row in self._read("select id from sessions")}

    def segment_paths(self) -> set[str]:
        """Where the segments of all sessions lie, or will lie."""
        return {str(row[0]) for row in self._read("select segment_path from sessions")}

    def delete_session(self, session_id: str) -> None:
        """Drops the session's rows; its files are `retention.delete_session`'s business.

        Raises session_not_found, and database_failed as `end_session` does.
        """
        key = self.get_session(session_id).key
        with self._lock:
            self.host_events.discard(key)
        statements = [(f"delete from {table} where session = ?", (key,)) for table in _PER_SESSION_TABLES]
        self._write_or_defer(key, [*statements, ("delete from sessions where key = ?", (key,))])
        with self._using():
            self._connection.execute("pragma incremental_vacuum").fetchall()

    def output_bytes(self, session_id: str) -> int:
        """Bytes of the session's output and other host events."""
        statement = "select coalesce(sum(length(text)), 0) from host_events where session = ?"
        return int(str(self._read(statement, (self.get_session(session_id).key,))[0][0]))

    def add_host_event(self, session_id: str, event_type: str, text: str, number: Callable[[], int]) -> int | None:
        """Adds an event to a session that another process observes. `number` gives the number of this moment.

        The number that it got; None where the session has ended. Raises `session_not_found`. No other process can end
        or delete the session meanwhile, and whoever reads up to a later moment finds the event.
        """
        with self._writing():
            record = self.get_session(session_id)
            if record.status != "running":
                return None
            event = HostEvent(record.key, number(), event_type, text.encode(), record.pid)
            return insert_event(self._connection, event)

    # --- functions and when they were hooked

    def add_functions(self, session_id: str, functions: Mapping[int, FunctionSymbol]) -> None:
        """Adds or replaces functions by their id, in one transaction."""
        key = self.get_session(session_id).key
        rows = [_function_row(key, function_id, symbol) for function_id, symbol in functions.items()]
        self._write_many("insert or replace into functions values (?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows)

    def functions(self, session_id: str) -> dict[int, FunctionSymbol]:
        """By function id, all that were ever hooked in a session."""
        key = self.get_session(session_id).key
        return {
            int(str(row[1])): _symbol(row) for row in self._read("select * from functions where session = ?", (key,))
        }

    def open_spans(self, session_id: str, function_ids: Iterable[int], from_ticks: int) -> None:
        """Notes that the calls of these functions are recorded from now on (ticks since session start)."""
        key = self.get_session(session_id).key
        rows = [(key, function_id, from_ticks) for function_id in function_ids]
        self._write_or_later(key, "insert or ignore into hook_spans values (?,?,?,null)", rows)

    def close_spans(self, session_id: str, function_ids: Iterable[int] | None, to_ticks: int) -> None:
        """Notes that they are no longer recorded; None means every function of the session."""
        key = self.get_session(session_id).key
        if function_ids is None:
            self._write_or_later(key, _END_SPANS, [(to_ticks, key)])
        else:
            rows = [(to_ticks, key, function_id) for function_id in function_ids]
            self._write_or_later(key, f"{_END_SPANS} and function_id = ?", rows)

    def hook_spans(self, session_id: str) -> dict[int, list[tuple[int, int | None]]]:
        """For each function id its spans of recording, (from ticks, to ticks or None while it goes on), in order."""
        key = self.get_session(session_id).key
        spans: dict[int, list[tuple[int, int | None]]] = {}
        statement = "select function_id, from_ticks, to_ticks from hook_spans where session = ? order by 1, 2"
        for function_id, from_ticks, to_ticks in self._read(statement, (key,)):
            spans.setdefault(int(str(function_id)), []).append((int(str(from_ticks)), to_ticks))  # type: ignore[arg-type]
        return spans

    def open_loads(self, session_id: str, modules: Iterable[LoadedModule], from_ticks: int) -> None:
        """Notes that these modules are in the process from then on; 0: since before the session began."""
        key = self.get_session(session_id).key
        rows = [(key, module.path, module.base, from_ticks) for module in modules]
        self._write_or_later(key, "insert or ignore into loads values (?,?,?,?,null)", rows)

    def close_load(self, session_id: str, base: int, to_ticks: int) -> None:
        """Notes that the module at this base was unloaded."""
        key = self.get_session(session_id).key
        change = "update loads set to_ticks = max(from_ticks, ?) where session = ? and base = ? and to_ticks is null"
        self._write_or_later(key, change, [(to_ticks, key, base)])

    def loads(self, session_id: str) -> list[Load]:
        """When modules were in the process, by their paths, in order."""
        key = self.get_session(session_id).key
        statement = "select module, base, from_ticks, to_ticks from loads where session = ? order by 1, 3"
        return [Load(*row) for row in self._read(statement, (key,))]  # type: ignore[arg-type]

    def add_extras(self, session_id: str, descriptions: Mapping[int, str]) -> None:
        """Says what blocks of these ids are, before any is recorded."""
        key = self.get_session(session_id).key
        rows = [(key, number, text) for number, text in descriptions.items()]
        self._write_many("insert or replace into extras values (?,?,?)", rows)

    def extras(self, session_id: str) -> dict[int, str]:
        """By number, the JSON of watches and shapes that events of a session refer to."""
        key = self.get_session(session_id).key
        rows = self._read("select id, description from extras where session = ?", (key,))
        return {int(str(number)): str(description) for number, description in rows}

    # --- staged traces

    def stage(self, project_root: str, staged: StagedTraces) -> None:
        """Replaces what is staged for a project root; nothing is kept of an empty one."""
        if not staged.patterns and not staged.watches and not staged.probes:
            self._write("delete from staged_traces where project_root = ?", (project_root,))
            return
        watches = json.dumps([asdict(watch) for watch in staged.watches])
        conditions = json.dumps(staged.conditions)
        probes = json.dumps([asdict(probe) for probe in staged.probes])
        row = (project_root, json.dumps(staged.patterns), staged.sampling, watches, staged.depth, conditions, probes)
        stacks = json.dumps(staged.stacks)
        self._write("insert or replace into staged_traces values (?,?,?,?,?,?,?,?)", (*row, stacks))

    def staged(self, project_root: str) -> StagedTraces | None:
        """What is staged for the next launch of a project; None where nothing is."""
        columns = "patterns, sampling, watches, depth, conditions, probes, stacks"
        for row in self._read(f"select {columns} from staged_traces where project_root = ?", (project_root,)):
            watches = tuple(Watch(**(item | {"on": tuple(item["on"])})) for item in json.loads(str(row[2])))
            depth = None if row[3] is None else int(str(row[3]))
            patterns, conditions = tuple(json.loads(str(row[0]))), json.loads(str(row[4]))
            probes = tuple(Probe(**(item | {"show": tuple(item["show"])})) for item in json.loads(str(row[5])))
            return StagedTraces(patterns, str(row[1]), watches, depth, conditions, probes, json.loads(str(row[6])))
        return None

    # --- access

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        with self._using("read"):
            return list(self._connection.execute(statement, tuple(values)))

    def _write(self, statement: str, values: Sequence[object]) -> None:
        with self._using():
            self._connection.execute(statement, tuple(values))

    def _write_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._writing():
            self._connection.executemany(statement, rows)

    def _write_or_defer(self, key: int, statements: Sequence[tuple[str, tuple[object, ...]]]) -> None:
        if self.host_events.has_deferred:
            self.host_events.flush()
        try:
            if reason := self.host_events.unmade_changes(key):  # these come first
                hint = "The change is made as soon as that is possible."
                raise failure(
                    "database_failed", path=self.home / DATABASE_FILE, used="written", reason=reason, hint=hint
                )
            with self._writing():
                for statement, values in statements:
                    self._connection.execute(statement, values)
        except StrobeError:
            for statement, values in statements:
                self.host_events.defer(key, statement, values)
            raise

    def _write_or_later(self, key: int, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """What the target has done already, and nothing undoes: written as soon as the database can be. Until then
        `unwritten` counts it, and nothing is said to be absent."""
        if rows and not self.host_events.has_deferred:
            with contextlib.suppress(StrobeError), self._writing():
                self._connection.executemany(statement, rows)
                return
        for row in rows:
            self.host_events.defer(key, statement, row)

    @contextlib.contextmanager
    def _using(self, used: str = "written") -> Iterator[None]:
        """The connection for this thread alone; raises database_failed."""
        with self._lock, database_errors(self.home, used):
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._using(), write_transaction(self._connection):
            yield


def _update(session_id: str, fields: Mapping[str, str | int | None]) -> tuple[str, tuple[object, ...]]:
    unknown = fields.keys() - _UPDATABLE
    if unknown:
        raise ValueError(f"not columns to update: {', '.join(sorted(unknown))}")
    columns = ", ".join(f"{name} = ?" for name in fields)
    return f"update sessions set {columns} where id = ?", (*fields.values(), session_id)


def _program_name(binary_path: str) -> str:
    """The file name as it may stand in ids, folder names and shared-memory names."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", Path(binary_path).name).lstrip(".-")[:64] or "program"


def _function_row(key: int, function_id: int, symbol: FunctionSymbol) -> tuple[object, ...]:
    source = (symbol.source_file, symbol.line, symbol.module, symbol.address, symbol.size, int(symbol.exported))
    signature = (
        symbol_json.dump_parameters(symbol.parameters),
        symbol_json.dump_returns(symbol.returns, symbol.return_captures),
    )
    return (key, function_id, symbol.name, symbol.raw_name, *source, *signature, int(symbol.is_probe), symbol.message)


def _symbol(row: Sequence[object]) -> FunctionSymbol:
    name, raw_name, source_file, line, module, address, size, exported, parameters, result, is_probe, message = row[2:]
    returns, return_captures = symbol_json.load_returns(None if result is None else str(result))
    return FunctionSymbol(
        name=str(name),
        raw_name=str(raw_name),
        module=str(module),
        address=int(str(address)),
        size=int(str(size)),
        source_file=None if source_file is None else str(source_file),
        line=None if line is None else int(str(line)),
        parameters=symbol_json.load_parameters(None if parameters is None else str(parameters)),
        returns=returns,
        return_captures=return_captures,
        exported=bool(exported),
        is_probe=bool(is_probe),
        message=str(message),
    )
