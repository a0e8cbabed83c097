"""The native core. Ticks are of the segment's clock; `*_ns` are nanoseconds since session start.

A file that cannot be opened is an OSError; a file that is no segment, or a damaged one, is a ValueError.
"""

from __future__ import annotations

class Segment:
    """Read-only map of one segment; safe while the target writes or dies. May be shared by threads."""

    def __init__(self, path: str) -> None: ...
    @property
    def clock_kind(self) -> int:
        """STROBE_CLOCK_*."""
    @property
    def start_ticks(self) -> int: ...
    @property
    def start_monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC at session start."""
    @property
    def ns_per_tick(self) -> float: ...
    @property
    def chunk_count(self) -> int: ...
    @property
    def function_capacity(self) -> int:
        """Function ids are 1 to function_capacity - 1."""
    @property
    def used_chunks(self) -> int:
        """Chunks that were ever claimed."""
    def to_ns(self, ticks: int) -> int:
        """Nanoseconds that so many ticks take, rounded down."""
    def ticks_from_ns(self, ns: int) -> int:
        """The least ticks whose to_ns is at least `ns`."""
    def ticks_until_ns(self, ns: int) -> int:
        """The most ticks whose to_ns is at most `ns`; 0 for a negative one."""
    def now_ticks(self) -> int:
        """Ticks since session start, for events that the host makes."""
    def threads(self) -> list[tuple[int, int, int, str]]:
        """(thread index, pid, tid, name) of each thread that recorded something."""
    def exit_state(self) -> tuple[int, int]:
        """(STROBE_EXIT_*, exit code)."""
    def loss(self) -> dict[str, int]:
        """Events that are missing: evicted, sampled_out, lost_no_thread, lost_reentrant, lost_no_chunk; calls that
        the totals miss: lost_no_totals; evicted_until_ns: what was evicted ended then (-1 where nothing was)."""
    def tail(
        self, after: int, limit: int, settle_ns: int = 0
    ) -> list[tuple[int, int, int, int, int, int, int, int | None, int | None, tuple[int, ...], int]]:
        """Up to `limit` events with a number above `after`, by time.

        Each is (number, kind, function, depth, thread index, tid, timestamp_ns, duration_ns, return word,
        argument words, flags). A thread may be interrupted between reading the clock and publishing its record, so that
        the record appears after others' later ones: who asks again and again with the last number as `after` passes a
        `settle_ns` of some milliseconds, which leaves out what is younger, and asks without it at the end.
        """

def demangle(names: list[str]) -> list[str | None]:
    """abi::__cxa_demangle; None where it is not a mangled name."""

def clock_kind() -> int:
    """STROBE_CLOCK_* that new segments get on this machine."""

def ticks() -> int:
    """That clock now."""

def calibrate() -> float:
    """Nanoseconds per tick, measured since the module was imported; waits until that is 20 ms ago."""

def create_segment(path: str, max_events: int) -> None:
    """A new sparse file, mode 0600, with its header filled in: the session starts now.

    FileExistsError where there is one.
    """

def write_code(pid: int, changes: list[tuple[int, bytes, int]], stop: bool) -> int:
    """Writes into the code of a process, whole or not at all: (address, bytes, bytes of the instructions they replace).

    With `stop` all its threads are held meanwhile, and none of them stands in the middle of what is replaced. Returns for
    how many ns they were held. OSError: PermissionError where another debugger holds the process, ProcessLookupError
    where it is gone, TimeoutError where a thread does not stop.
    """
