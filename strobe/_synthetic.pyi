"""Segments without a target, for tests and `strobe bench`."""

from __future__ import annotations

def write_calls(path: str, calls: int, threads: int = 1, functions: int = 10) -> None:
    """A new segment with `calls` calls (an enter and an exit each), spread evenly over threads 0 … and functions 1 …,
    nested up to 8 deep, two arguments, a return value, and totals that agree. FileExistsError where there is one."""
