"""Whether what is said to be recorded still is: looked at again and again while a program runs, and when it is asked.

The sentence "it was not called" rests on it. Seen from outside: the jump of each hook stands in the code, and the
recorder is on and writes into this session's segment. The moment up to which that was seen is kept in the segment.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from strobe import _core
from strobe.capture.target import Target
from strobe.capture.task_status import is_ending, main_thread_filters
from strobe.errors import enumerated
from strobe.session.hooks import Hooks
from strobe.timeline.store import Store

log = logging.getLogger(__name__)

_INTERVAL_S = 1.0
_SHARE = 200  # no more than this part of one core's time goes into looking
_LOCK_S = 1.0
_SECOND_LOOK_S = 0.1  # a library that is being unloaded, or a program that is ending, looks the same at first
_CUT_OFF_FOR_S = 0.9  # less than two looks are apart
_CHILDREN_AT_ONCE = 8  # looked at each time, all of them in turn
_SHOWN = 5
_CUT_OFF = (
    "The program has closed the descriptors of Strobe's agent, or its main thread has ended. It is still recorded, "
    "with the hooks that it has, which can no longer be changed; libraries that it loads later are not traced."
)
_OFF = "{subject}: calls are no longer recorded. Start a new session to continue."
_LEFT = "Strobe has left the program, and calls are no longer recorded: {why}."
_UNSEEN_FILTER = (
    "The program filters its system calls (seccomp), and has not set that filter by the C library's functions, where "
    "Strobe would have seen it: it may be ended by SIGSYS for a system call that Strobe makes in it."
)
_NO_CHANGES = (
    "What is traced goes on being recorded, and can no longer be changed; "
    "libraries that are loaded from now on are not traced."
)
_GOES_ON = f"Strobe's agent has left the program: {{why}}. {_NO_CHANGES}"
_STAYS = f"Strobe's agent could not leave the program: {{why}}. {_NO_CHANGES}"
_STAYS_OFF = "Strobe could not leave the program, and calls are no longer recorded: {why}."


class Confirmation:
    """Of one session. `lock`: the session's own, under which hooks change."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        target: Target,
        hooks: Hooks,
        lock: threading.RLock,
        start_ticks: int,
        segment_path: str,
        is_over: Callable[[], bool],
        children: Callable[[], Sequence[int]],
    ) -> None:
        """`is_over`: whether the program has ended or is let go; asked under the lock. `children`: process ids of its
        forked children that are recorded."""
        self._store = store
        self._session_id = session_id
        self._target = target
        self._hooks = hooks
        self._lock = lock
        self._start_ticks = start_ticks
        self._segment_path = segment_path
        self._is_over = is_over
        self._children = children
        self.last_ticks = 0  # when all was seen to be well
        self._is_off = False
        self._is_cut_off = False
        self._has_unseen_filter = False
        self._cut_off_at = math.inf  # when that was seen first, by the monotonic clock
        self._next_child = 0
        self._overwritten_by: set[tuple[int, str]] = set()  # by forked children: process id, function

    def follow(self, ended: threading.Event) -> None:
        """Looks until the event is set."""
        pause = _INTERVAL_S
        while not ended.wait(pause):
            begun = time.thread_time()  # waiting takes none of it
            self.look()
            pause = max(_INTERVAL_S, _SHARE * (time.thread_time() - begun))

    def look(self) -> None:
        """Notes that all is well at this moment, or what is not. Nothing where it cannot be seen, or has ended."""
        moment = self._locked(self._look)
        if moment is None or self._target.written_until(moment) < moment:  # may take a while: not under the lock
            return
        self._locked(lambda: self._note_well(moment))

    def _locked(self, do: Callable[[], int | None]) -> int | None:
        """None where it cannot be done now."""
        if not self._lock.acquire(timeout=_LOCK_S):
            return None
        try:
            return None if self._is_over() else do()
        except ProcessLookupError:
            return None
        except Exception as error:  # what was not seen is not claimed; the next look may see it
            log.warning("session %s: its hooks cannot be looked at: %s", self._session_id, error)
            return None
        finally:
            self._lock.release()

    def note_unreported(self) -> None:
        """Libraries that were loaded when the agent could not report them."""
        if _core.Segment(self._segment_path).unreported_libraries:
            self._note_cut_off()

    def _look_at_connection(self) -> None:
        """A program that is ending has lost its main thread and its descriptors, too, for as long as that takes it on a
        busy machine: only what is so for a while is reported."""
        if not self._target.is_cut_off():
            self._cut_off_at = math.inf
        elif math.isinf(self._cut_off_at):
            self._cut_off_at = time.monotonic()
        elif time.monotonic() - self._cut_off_at >= _CUT_OFF_FOR_S and not is_ending(self._target.pid):
            self._note_cut_off()

    def _look_at_filters(self) -> None:
        if self._has_unseen_filter or not main_thread_filters(self._target.pid):
            return
        if not _core.Segment(self._segment_path).filtered_ticks:
            self._has_unseen_filter = True
            self._store.add_warnings(self._session_id, [_UNSEEN_FILTER])

    def _note_cut_off(self) -> None:
        if not self._is_cut_off:
            self._is_cut_off = True
            self._store.add_warnings(self._session_id, [_CUT_OFF])

    def _look(self) -> int | None:
        """When all was well, in ticks."""
        now_ticks = _core.ticks() - self._start_ticks
        missing = self._target.look(self._start_ticks)
        if missing is None or missing:
            time.sleep(_SECOND_LOOK_S)
            again = self._target.look(self._start_ticks)
            missing = again if again is None or missing is None else missing & again
        if missing is None:
            self._note_off(now_ticks)
            return None
        self._look_at_connection()
        self._look_at_filters()
        self._note_overwritten(missing, now_ticks)
        self._look_at_children(now_ticks)
        return None if self._is_off else now_ticks

    def _note_well(self, moment: int) -> None:
        if not self._is_off and moment > self.last_ticks:
            self.last_ticks = moment
            _core.note_checked(self._segment_path, moment)

    def note_left(self, why: str, is_recorded: bool, is_gone: bool) -> None:
        """The agent has left the program, or was to, and is asked for nothing any more; `why`: a clause. `is_recorded`:
        the recorder goes on."""
        now_ticks = _core.ticks() - self._start_ticks
        if not is_recorded:
            self._note_off(now_ticks, (_LEFT if is_gone else _STAYS_OFF).format(why=why))
            return
        self._store.add_notes(self._session_id, {"agent_left": now_ticks})
        self._store.add_warnings(self._session_id, [(_GOES_ON if is_gone else _STAYS).format(why=why)])

    def _note_off(self, now_ticks: int, why: str = "") -> None:
        self._store.close_spans(self._session_id, None, self.last_ticks)
        if self._is_off:
            return
        self._is_off = True
        self._store.add_notes(self._session_id, {"recorder_off": [self.last_ticks, now_ticks]})
        is_another = not why and self._target.has_become_another()
        subject = "The program has become another one by exec" if is_another else "The recorder in the program is off"
        self._store.add_warnings(self._session_id, [why or _OFF.format(subject=subject)])

    def _note_overwritten(self, missing: set[int], now_ticks: int) -> None:
        fresh = self._hooks.note_overwritten(missing, self.last_ticks)
        if not fresh:
            return
        names = list(dict.fromkeys(item.name for item in fresh))
        self._store.change_notes(
            self._session_id, lambda notes: _with_overwritten(notes, names, self.last_ticks, now_ticks)
        )
        shown = enumerated(names, _SHOWN)
        text = f"Something has written over the entry of {shown}: calls of it are no longer recorded."
        self._store.add_warnings(self._session_id, [text])

    def _look_at_children(self, now_ticks: int) -> None:
        children = self._children()
        first = self._next_child % max(len(children), 1)
        self._next_child = first + _CHILDREN_AT_ONCE
        for pid in [*children[first:], *children[:first]][:_CHILDREN_AT_ONCE]:
            names = self._hooks.names_of(self._target.look_at_child(pid, self._start_ticks))
            fresh = [name for name in names if (pid, name) not in self._overwritten_by]
            self._overwritten_by.update((pid, name) for name in fresh)
            if not fresh:
                continue
            self._store.change_notes(self._session_id, partial(_with_children, names=fresh, pid=pid, ticks=now_ticks))
            shown = enumerated(fresh, _SHOWN)
            text = f"Process {pid}, a forked child, has written over the entry of {shown}: its calls are not recorded."
            self._store.add_warnings(self._session_id, [text])


def _with_children(notes: dict[str, object], names: Sequence[str], pid: int, ticks: int) -> dict[str, object]:
    known = notes.get("overwritten_by")
    found = dict(known) if isinstance(known, dict) else {}
    return notes | {"overwritten_by": found | {name: [*found.get(name, []), [pid, ticks]] for name in names}}


def _with_overwritten(notes: dict[str, object], names: list[str], seen: int, found: int) -> dict[str, object]:
    known = notes.get("overwritten")
    return notes | {"overwritten": (known if isinstance(known, dict) else {}) | {name: [seen, found] for name in names}}
