"""strobe.db: tables, and how an older database becomes this one.

`user_version` is the number of migrations that were applied. Several processes open the database at once, so every
step takes the write lock first and looks again at what is left to do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from strobe.errors import failure
from strobe.low_descriptors import none_left

DATABASE_FILE = "strobe.db"
BUSY_TIMEOUT_MS = 10_000

_FIRST = """
create table sessions(
    key integer primary key,            -- short form of the id, in the tables with many rows
    id text not null unique,
    binary_path text not null,
    project_root text,
    pid integer not null,               -- 0 until the program was started
    started_at text not null,           -- ISO 8601 with offset
    ended_at text,
    status text not null check (status in ('running', 'exited', 'stopped')),
    exit_code integer,
    signal text,
    folder text not null,
    segment_path text not null,
    owner_pid integer not null,         -- the Strobe process that runs the session;
    owner_start_time integer not null,  -- with its start time, as process ids come around again
    retained integer not null,
    event_limit integer not null,
    warnings text not null,             -- JSON list
    notes text not null                 -- JSON object, see Store.add_notes
) strict;
create table functions(
    session integer not null,
    function_id integer not null,
    name text not null,
    raw_name text not null,
    source_file text,
    line integer,
    module text not null,
    address integer not null,
    size integer not null,
    exported integer not null,
    parameters text,                    -- JSON, see symbol_json.py
    returns text,
    primary key (session, function_id)
) strict, without rowid;
create table hook_spans(                -- when a function's calls were being recorded
    session integer not null,
    function_id integer not null,
    from_ticks integer not null,
    to_ticks integer,
    primary key (session, function_id, from_ticks)
) strict, without rowid;
create table host_events(               -- events that the host saw: output lines, snapshots of variables
    session integer not null,
    number integer not null,            -- as in the segment: moment << 10 | 1023
    event_type text not null,
    text blob not null,                 -- bytes as received
    pid integer not null,
    thread_id integer not null,
    thread_name text not null,
    primary key (session, number)
) strict, without rowid;
create table staged_traces(
    project_root text primary key,
    patterns text not null,             -- JSON list
    sampling text not null
) strict, without rowid;
"""

_EXTRAS = """
create table extras(                    -- what blocks beyond arguments and results are, by their id
    session integer not null,
    id integer not null,
    description text not null,          -- JSON, see values/decode/recorded.py
    primary key (session, id)
) strict, without rowid;
alter table staged_traces add column watches text not null default '[]';  -- JSON list
alter table staged_traces add column depth integer;
"""
_LOADS = """
create table loads(                     -- when a module was in the process
    session integer not null,
    module text not null,               -- its path
    base integer not null,
    from_ticks integer not null,
    to_ticks integer,
    primary key (session, module, base, from_ticks)
) strict, without rowid;
"""
_CLAIMED = """
create table claimed(                   -- ids and keys that were given to sessions, deleted ones included
    stem text primary key,              -- what ids begin with; '' for the keys
    last integer not null               -- the greatest number behind it
) strict, without rowid;
insert into claimed select '', coalesce(max(key), 0) from sessions;
"""
# inode of the PID namespace in which owner_pid is the owner's; 0: not known
_NAMESPACES = "alter table sessions add column owner_namespace integer not null default 0"
# JSON object: patterns that have a condition, with it
_CONDITIONS = "alter table staged_traces add column conditions text not null default '{}'"
# functions: of a probed instruction, see FunctionSymbol; what is staged: JSON list
_PROBES = """
alter table functions add column is_probe integer not null default 0;
alter table staged_traces add column probes text not null default '[]';
"""
# JSON object: patterns whose calls' stacks are recorded, with how many callers
_STACKS = "alter table staged_traces add column stacks text not null default '{}'"
# of a probe: see FunctionSymbol
_MESSAGES = "alter table functions add column message text not null default ''"
_MIGRATIONS: tuple[str, ...] = (
    _FIRST,
    _EXTRAS,
    _LOADS,
    _CLAIMED,
    _NAMESPACES,
    _CONDITIONS,
    _PROBES,
    _STACKS,
    _MESSAGES,
)


_DATABASE_FILES = 4  # the database, its log, the log's index, and the folder while one of them is made
_OTHER_FOLDER = "or set STROBE_HOME to another folder."
_HINTS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, f"Free space on its file system, {_OTHER_FOLDER}"),
    (apsw.IOError, f"Its file system may be full, or refuse files of that size: see to that, {_OTHER_FOLDER}"),
    (apsw.BusyError, "Another process has been writing it for too long: end that one, and try again."),
    (apsw.ReadOnlyError, "Set STROBE_HOME to a folder that this user can write."),
    (apsw.CantOpenError, "Set STROBE_HOME to a folder that this user can write."),
    (apsw.PermissionsError, "Set STROBE_HOME to a folder that this user can write."),
    (apsw.NotADBError, f"It is damaged, or of something else: move it away, {_OTHER_FOLDER}"),
    (apsw.CorruptError, f"It is damaged: move it away, {_OTHER_FOLDER}"),
)


@contextlib.contextmanager
def database_errors(home: Path, used: str = "used") -> Iterator[None]:
    """What SQLite raises, as `database_failed`, but for a row that is there already. `used`: what is done in the block,
    as a participle."""
    try:
        yield
    except apsw.ConstraintError:
        raise
    except apsw.Error as error:
        hint = next((text for kind, text in _HINTS if isinstance(error, kind)), "")
        path = home / DATABASE_FILE
        if _are_descriptors_used_up(error):
            raise none_left(path) from error
        raise failure("database_failed", path=path, used=used, reason=database_reason(error), hint=hint) from error


def _are_descriptors_used_up(error: apsw.Error) -> bool:
    """Of its own files SQLite says only that one cannot be opened. What it had opened before is closed again by now, so
    there has to be room for all of them."""
    if os.strerror(errno.EMFILE) in str(error):  # of an extension
        return True
    if not isinstance(error, apsw.CantOpenError | apsw.IOError):
        return False
    opened: list[int] = []
    try:
        while len(opened) < _DATABASE_FILES:
            opened.append(os.open("/", os.O_PATH | os.O_CLOEXEC))
    except OSError as refused:
        return refused.errno == errno.EMFILE
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


def database_reason(error: BaseException) -> str:
    """SQLite's words, without the name that apsw puts before them."""
    text = str(error) or type(error).__name__
    return text.removeprefix(f"{type(error).__name__}: ").rstrip(".")


def open_database(home: Path) -> apsw.Connection:
    """A connection to the home's strobe.db, created or brought up to date. Raises newer_database, database_failed."""
    with database_errors(home, "opened"):
        return _open(home)


def _open(home: Path) -> apsw.Connection:
    path = home / DATABASE_FILE
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # before the first table; gives the pages of deleted sessions back to the file system
    connection.pragma("auto_vacuum", "incremental")
    _enter_wal(connection)
    # NORMAL loses nothing when a process dies; only a power cut may take the last transactions
    connection.execute("pragma synchronous = normal; pragma wal_autocheckpoint = 4000")
    _migrate(connection, path)
    return connection


def _enter_wal(connection: apsw.Connection) -> None:
    """The switch to WAL needs the database alone and does not call the busy handler, so it is tried again."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _migrate(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("user_version") == len(_MIGRATIONS):
        return
    with write_transaction(connection):
        version = connection.pragma("user_version")
        if version > len(_MIGRATIONS):
            raise failure("newer_database", path=path, version=version, known=len(_MIGRATIONS))
        for statements in _MIGRATIONS[version:]:
            connection.execute(statements)
        connection.pragma("user_version", len(_MIGRATIONS))


def claim_key(connection: apsw.Connection) -> int:
    """A key that no session of this database has, or had. Within a transaction."""
    return _claim(connection, "")


def claim_folder(connection: apsw.Connection, sessions: Path, stem: str) -> Path:
    """A path in `sessions` whose name is an id that no session of this database has, or had. Within a transaction.

    Nothing lies there: folders outlive a database that somebody has removed.
    """
    while True:
        number = _claim(connection, stem)
        folder = sessions / (stem if number == 1 else f"{stem}-{number}")
        taken = connection.execute("select 1 from sessions where id = ?", (folder.name,)).fetchall()
        if not taken and not folder.exists():
            return folder


def _claim(connection: apsw.Connection, stem: str) -> int:
    statement = "insert into claimed values (?, 1) on conflict do update set last = last + 1 returning last"
    return int(str(connection.execute(statement, (stem,)).fetchall()[0][0]))


class write_transaction:
    """`with write_transaction(connection):` takes the write lock at once: no later statement meets a stale read."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("begin immediate")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._connection.execute("commit")
        finally:
            # a commit may fail too, and SQLite has taken some failed transactions back by itself
            if self._connection.in_transaction:
                self._connection.execute("rollback")
