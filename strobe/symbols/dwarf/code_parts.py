"""Which function an address belongs to, whatever part of it that is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property

from strobe.symbols.dwarf import columns
from strobe.symbols.dwarf.columns import Columns

_TRIED = 16  # parts that begin before an address; functions hardly ever lie in each other


class CodeParts:
    """All ranges of all functions (one may have a hot and a cold part), by address; put in order when first asked."""

    def __init__(self, make: Callable[[], Columns]) -> None:
        """`make` gives columns start, end, entry (u64), by start."""
        self._make = make

    @cached_property
    def columns(self) -> Columns:
        """What the cache keeps."""
        made = self._make()
        self._make = lambda: made  # what it was made from takes memory
        return made

    def entry(self, address: int) -> int | None:
        """Where the function begins that an address belongs to: the innermost, where functions lie in each other."""
        starts, ends, entries = self._bounds
        number = bisect_right(starts, address) - 1
        for candidate in range(number, max(number - _TRIED, -1), -1):
            if address < ends[candidate]:
                return entries[candidate]
        return None

    @cached_property
    def _bounds(self) -> tuple[memoryview[int], memoryview[int], memoryview[int]]:
        content = self.columns
        return columns.words(content["start"]), columns.words(content["end"]), columns.words(content["entry"])
