"""Segments without a target, for tests and `strobe bench`."""

from __future__ import annotations

from collections.abc import Sequence

def write_calls(path: str, calls: int, threads: int = 1, functions: int = 10) -> None:
    """A new segment with `calls` calls (an enter and an exit each), spread evenly over threads 0 … and functions 1 …,
    nested up to 8 deep, two arguments, a return value, and totals that agree. FileExistsError where there is one."""

class Writer:
    """Writes a segment that create_segment made, event by event. Ticks of a thread grow; `flags` are STROBE_FLAG_*.

    `enter` and `exit` are False where no chunk was free (counted as lost).
    """

    def __init__(self, path: str) -> None: ...
    def thread(self, pid: int, tid: int, name: str, start_ticks: int = 1) -> int:
        """A new thread; returns its index."""
    def enter(
        self, thread: int, ticks: int, function: int, depth: int, arguments: Sequence[int] = (), flags: int = 0
    ) -> bool: ...
    def exit(
        self,
        thread: int,
        ticks: int,
        function: int,
        depth: int,
        duration_ticks: int,
        returned: int | None = None,
        flags: int = 0,
    ) -> bool: ...
    def release(self, thread: int) -> None:
        """Gives the thread's chunk back, as at its end."""
    def totals(
        self,
        function: int,
        thread: int,
        calls: int,
        durations: Sequence[int],
        sampled_out_enters: int = 0,
        sampled_out_exits: int = 0,
    ) -> None:
        """The totals of a function in a thread, with the durations in ticks of the calls that have returned."""
