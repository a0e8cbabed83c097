"""Output of the program as events: one per line, so that a search finds lines and not chunks of a pipe.

An event keeps its bytes exactly, line feed included; joined by number they are the output. A line longer than 64 KiB is
cut there, never inside a UTF-8 sequence. What has no line feed yet (a prompt) becomes an event of its own after 100 ms
without more output of its stream, at the end, and where a question would else deny it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import Literal

from strobe import threads
from strobe.model import EventFilter
from strobe.timeline.host_events import HostEvent
from strobe.timeline.moments import host_number
from strobe.timeline.store import Store

LINE_BYTES = 64 << 10
IDLE_S = 0.1
_SETTLE_S = 0.3  # that a question waits for the end of a line

Stream = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, ...] = ("stdout", "stderr")
_TEXT = "$text"


class HostEventSource:
    """Makes the host's events of one session; `now` gives the present moment (Segment.moment). For any thread."""

    def __init__(self, store: Store, session_id: str, pid: int, now: Callable[[], int]) -> None:
        self._queue = store.host_events
        self._session = store.get_session(session_id).key
        self._pid = pid
        self._now = now
        self._last = -1
        self._changed = threading.Condition()
        self._partial: dict[Stream, bytes] = {"stdout": b"", "stderr": b""}
        self._partial_since: dict[Stream, float] = {"stdout": 0.0, "stderr": 0.0}
        self._ended_lines: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        self._closed = False
        self._thread: threading.Thread | None = None

    def output(self, stream: Stream, data: bytes) -> None:
        """Takes bytes as they were received, of any length; after `close` they are dropped."""
        with self._changed:
            if self._closed:
                return
            lines, rest = split_lines(self._partial[stream] + data)
            self._partial[stream] = rest
            self._partial_since[stream] = time.monotonic()
            self._put([(stream, line) for line in lines])
            self._ended_lines[stream] += len(lines)
            if rest or lines:
                self._watch_partial()

    def event(self, event_type: str, text: str, thread_id: int = 0, thread_name: str = "") -> int | None:
        """The event's number; None after `close`, when it is dropped."""
        with self._changed:
            if self._closed:
                return None
            self._put([(event_type, text.encode())], thread_id, thread_name)
            return host_number(self._last)

    def settle(self, wanted: EventFilter) -> None:
        """What was received before, of the streams that the filter asks for, is in events when this returns. A line
        that has no end yet gets some time for it: a program may write its progress for as long as it runs."""
        with self._changed:
            waits = {stream: self._ended_lines[stream] for stream in streams_of(wanted) if self._partial[stream]}

            def left() -> list[Stream]:
                return [stream for stream, ended in waits.items() if self._ended_lines[stream] == ended]

            self._changed.wait_for(lambda: not left(), timeout=_SETTLE_S)
            self._end_partial(left())

    def close(self) -> None:
        """Ends the last lines. Everything given before is in the store's queue afterwards. May be called twice."""
        with self._changed:
            self._closed = True
            self._end_partial(list(self._partial))

    def _put(self, events: list[tuple[str, bytes]], thread_id: int = 0, thread_name: str = "") -> None:
        """Numbers grow, also where many lines share a moment."""
        if not events:
            return
        self._queue.wait_for_room()
        first = max(self._now(), self._last + 1)
        self._last = first + len(events) - 1
        session, pid = self._session, self._pid
        rows = [
            HostEvent(session, host_number(moment), kind, text, pid, thread_id, thread_name)
            for moment, (kind, text) in enumerate(events, first)
        ]
        self._queue.put(rows)

    def _end_partial(self, streams: Collection[Stream]) -> None:
        ended = [stream for stream in streams if self._partial[stream]]
        self._put([(stream, self._partial[stream]) for stream in ended])
        for stream in ended:
            self._partial[stream] = b""
            self._ended_lines[stream] += 1
        self._changed.notify_all()

    def _watch_partial(self) -> None:
        if self._thread is None and any(self._partial.values()):
            self._thread = threads.start("strobe-output-idle", self._end_idle_lines, self._stopped)
        self._changed.notify_all()

    def _end_idle_lines(self) -> None:
        with self._changed:
            while not self._closed:
                self._changed.wait_for(lambda: self._closed or any(self._partial.values()))
                before = time.monotonic() - IDLE_S
                self._end_partial([stream for stream, since in self._partial_since.items() if since <= before])
                open_since = [self._partial_since[stream] for stream, text in self._partial.items() if text]
                if open_since:
                    self._changed.wait(max(0.0, min(open_since) - before))

    def _stopped(self, _: BaseException) -> None:
        """Lines without an end wait for more output, or the end of all; the next one starts another thread."""
        with self._changed:
            self._thread = None


def asks_for_text(wanted: EventFilter) -> bool:
    """Whether a filter asks for lines by what they say."""
    return bool(wanted.text) or _TEXT in (wanted.where or "")


def streams_of(wanted: EventFilter) -> list[Stream]:
    """Of which a filter asks for lines."""
    if wanted.event_type is None:
        return list(STREAMS) if asks_for_text(wanted) else []
    return [stream for stream in STREAMS if stream == wanted.event_type]


def split_lines(data: bytes) -> tuple[list[bytes], bytes]:
    """Complete lines with their line feed (and pieces of overlong ones), and what is not yet a line.

    >>> split_lines(b"one\\ntwo\\nthr")
    ([b'one\\n', b'two\\n'], b'thr')
    """
    *ended, rest = data.split(b"\n")
    if len(data) > LINE_BYTES:
        lines = [piece for line in ended for piece in _pieces(line + b"\n")]
    else:
        lines = [line + b"\n" for line in ended]
    *overlong, rest = _pieces(rest)
    return lines + overlong, rest


def _pieces(line: bytes) -> list[bytes]:
    pieces = []
    while len(line) > LINE_BYTES:
        cut = _character_boundary(line, LINE_BYTES)
        pieces.append(line[:cut])
        line = line[cut:]
    return [*pieces, line]


def _character_boundary(data: bytes, at: int) -> int:
    """The last index not after `at` that does not follow the first byte of an unfinished UTF-8 sequence."""
    for begin in range(at, at - 4, -1):
        if data[begin] & 0xC0 != 0x80:
            return begin
    return at  # no UTF-8
