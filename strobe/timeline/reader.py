"""One session as it can be read now: its rows in strobe.db, its segment, and a connection that joins the two."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import apsw

from strobe import _core
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.model import FunctionSymbol
from strobe.resources import TIMELINE_EXTENSION
from strobe.timeline.code_names import CodeNames
from strobe.timeline.records import SessionRecord
from strobe.timeline.schema import BUSY_TIMEOUT_MS, DATABASE_FILE, database_errors
from strobe.timeline.store import Load, Store


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of the program that recorded calls."""

    index: int
    pid: int
    tid: int
    name: str


class SessionReader:
    """Reads of one session. May be shared by threads; a query holds `lock` from its first statement to its last."""

    def __init__(self, store: Store, session_id: str, segment_path: Path) -> None:
        self.store = store
        self.session_id = session_id
        self.segment_path = segment_path
        self.lock = threading.RLock()
        self.key = store.get_session(session_id).key
        self._connection = open_reader(store.home)
        self._is_closed = False
        self._segment: _core.Segment | None = None
        self._functions: dict[int, FunctionSymbol] = {}
        self._functions_state: tuple[object, ...] = ()
        self._code_names = CodeNames({}, (), {}, {})
        self._code_state: tuple[object, ...] = ()
        self._loads: Sequence[Load] = ()
        self._loads_state: tuple[object, ...] = ()

    def close(self) -> None:
        """Closes the database and lets go of the segment."""
        with self.lock:
            self._is_closed = True
            self._connection.close()
            self._segment = None  # its map would hold the memory of a segment that was dropped

    @property
    def connection(self) -> apsw.Connection:
        """Raises `session_stopped` where it was closed."""
        if self._is_closed:
            raise self._stopped()
        return self._connection

    @property
    def segment(self) -> _core.Segment:
        """The open segment. Raises `events_unreadable` where the file is gone or damaged; as `connection`."""
        if self._is_closed:  # what is still there is being dropped, or kept at another place
            raise self._stopped()
        if self._segment is None:
            try:
                self._segment = _core.Segment(str(self.segment_path))
            except (OSError, ValueError) as error:
                raise failure("events_unreadable", session_id=self.session_id, reason=error) from error
        return self._segment

    def check_whole(self) -> None:
        """Raises `events_unreadable` where the segment was truncated: what was read of it since may be zeros.

        To be called when something was read from the segment, before it is given to anybody.
        """
        with self.lock:
            damage = self.segment.damage()
            if damage:
                self._segment = None
                raise failure("events_unreadable", session_id=self.session_id, reason=damage)

    def path(self) -> str:
        """The segment's path for the segment functions. Raises as `segment`."""
        if not self.segment_path.exists():
            self.segment_path = self.record().segment_path  # the session was kept meanwhile, or deleted
            self._segment = None
        self.check_whole()
        return str(self.segment_path)

    def record(self) -> SessionRecord:
        """The session as the store has it now."""
        return self.store.get_session(self.session_id)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Raises as `connection`, `database_failed`, and `events_unreadable` where the segment cannot be read."""
        with self.lock, database_errors(self.store.home, "read"):
            try:
                return list(self.connection.execute(statement, tuple(values)))
            except apsw.SQLError as error:  # the statements are ours
                raise failure("events_unreadable", session_id=self.session_id, reason=error) from error

    def _stopped(self) -> StrobeError:
        """Another client has stopped the session meanwhile. Raises session_not_found where it is gone."""
        self.record()
        return failure("session_stopped", session_id=self.session_id)

    def scalar(self, statement: str, values: Sequence[object] = ()) -> int:
        """The single value of a statement as an integer; 0 for null and for no row."""
        found = self.rows(statement, values)
        return int(str(found[0][0])) if found and found[0][0] is not None else 0

    def functions(self) -> dict[int, FunctionSymbol]:
        """Functions by id; read again only when some were added, or got the details of their parameters."""
        statement = (
            "select count(*), total(length(parameters)), total(length(returns)), total(length(name))"
            " from functions where session = ?"
        )
        with self.lock:
            state = self.rows(statement, (self.key,))[0]
            if state != self._functions_state:
                self._functions = self.store.functions(self.session_id)
                self._functions_state = state
            return self._functions

    def code_names(self) -> CodeNames:
        """Names of traced functions by their places in the process; read again where modules came or went."""
        functions = self.functions()
        with self.lock:
            loads = self.rows("select count(*), count(to_ticks) from loads where session = ?", (self.key,))[0]
            state = (*self._functions_state, *loads)
            if state != self._code_state:
                noted = self.record().notes.get("link_bases")
                link_bases = noted if isinstance(noted, dict) else {}
                spans = self.store.hook_spans(self.session_id)
                self._code_names = CodeNames(functions, self.store.loads(self.session_id), link_bases, spans)
                self._code_state = state
            return self._code_names

    def loads(self) -> Sequence[Load]:
        """When modules were in the process; read again where some came or went."""
        with self.lock:
            state = self.rows("select count(*), count(to_ticks) from loads where session = ?", (self.key,))[0]
            if state != self._loads_state:
                self._loads = self.store.loads(self.session_id)
                self._loads_state = state
            return self._loads

    def threads(self) -> dict[int, Thread]:
        """Threads by index, as the segment has them now."""
        return {row[0]: Thread(*row) for row in self.segment.threads()}

    def newest_number(self) -> int:
        """Number of the newest event of all, 0 where there is none."""
        statement = (
            "select max(coalesce(strobe_newest(?, 0), 0), coalesce(max(number), 0)) from host_events where session = ?"
        )
        return self.scalar(statement, (self.path(), self.key))

    def newest_call_number(self) -> int:
        """Number of the newest call of the program itself, no forked child's, 0 where there is none."""
        return self.scalar("select strobe_newest(?, ?)", (self.path(), self.record().pid))


def open_reader(home: Path) -> apsw.Connection:
    """A connection to strobe.db that can only read, with the segment functions loaded. Raises `database_failed`."""
    with database_errors(home, "opened"):
        return _open_reader(home)


def _open_reader(home: Path) -> apsw.Connection:
    connection = apsw.Connection(str(home / DATABASE_FILE), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.enable_load_extension(True)
    connection.load_extension(str(TIMELINE_EXTENSION))
    connection.enable_load_extension(False)
    return connection
