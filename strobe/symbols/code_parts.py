"""Which function an address belongs to, whatever part of it that is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property

from strobe.symbols import columns
from strobe.symbols.columns import Columns

_TRIED = 16  # parts that begin before an address; functions hardly ever lie in each other


class CodeParts:
    """All ranges of all functions (one may have a hot and a cold part), by address; put in order when first asked."""

    def __init__(self, make: Callable[[], Columns]) -> None:
        """`make` gives columns start, end, entry (u64), by start."""
        self._make = make

    @staticmethod
    def of_ranges(ranges: Callable[[], Iterable[tuple[int, int, int]]]) -> CodeParts:
        """Of (start, end, address of the function's called part), the preferred of equal ones first."""
        return CodeParts(lambda: _in_order(ranges()))

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


def _in_order(ranges: Iterable[tuple[int, int, int]]) -> Columns:
    unique: dict[int, tuple[int, int, int]] = {}
    for part in ranges:
        unique.setdefault(part[0], part)
    ordered = [unique[start] for start in sorted(unique)]
    starts, ends, entries = zip(*ordered, strict=True) if ordered else ((), (), ())
    return {name: columns.of_words(part) for name, part in (("start", starts), ("end", ends), ("entry", entries))}
