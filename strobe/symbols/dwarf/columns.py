"""Columns of rows as bytes: numbers as the machine has them, strings as UTF-8, each ended by a zero byte.

The native core gives them, and the cache keeps them: a row of a large module becomes an object only when it is asked
for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

Columns = Mapping[str, bytes]
NO_FILE = 2**32 - 1


class Deferred(Mapping[str, bytes]):
    """Columns that are made when first asked for."""

    def __init__(self, make: Callable[[], Columns]) -> None:
        self._make = make

    def __getitem__(self, name: str) -> bytes:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    @cached_property
    def _made(self) -> Columns:
        made = self._make()
        self._make = lambda: made  # what it was made from takes memory
        return made


def strings(column: bytes) -> list[str]:
    """The texts of a column, each ended by a zero byte."""
    return column.decode("utf-8", "replace").split("\0")[:-1]


def of_strings(texts: Iterable[str]) -> bytes:
    """A column of texts, which have no zero byte in them."""
    return "".join(f"{text}\0" for text in texts).encode("utf-8", "replace")


def words(column: bytes) -> memoryview[int]:
    """u64 numbers."""
    return memoryview(column).cast("Q")


def of_words(numbers: Iterable[int]) -> bytes:
    """A column of unsigned numbers of 64 bits, in the machine's order of bytes."""
    return array("Q", numbers).tobytes()


def halves(column: bytes) -> memoryview[int]:
    """u32 numbers."""
    return memoryview(column).cast("I")


def of_halves(numbers: Iterable[int]) -> bytes:
    """A column of unsigned numbers of 32 bits, in the machine's order of bytes."""
    return array("I", numbers).tobytes()


def prefixed(name: str, columns: Columns) -> dict[str, bytes]:
    """The same under `name.column`, so that the columns of several tables can be kept together."""
    return {f"{name}.{column}": content for column, content in columns.items()}


def unprefixed(name: str, columns: Columns) -> dict[str, bytes]:
    """Those of one table again; none where it was not kept."""
    return {column[len(name) + 1 :]: content for column, content in columns.items() if column.startswith(f"{name}.")}


class Names:
    """A column of qualified names."""

    def __init__(self, column: bytes) -> None:
        self._column = column
        self._ends: list[int] | None = None

    def find(self, name: str) -> list[int]:
        """Numbers of the rows with that qualified name, or of which it is the last part or parts."""
        wanted = name.encode()
        found: list[int] = []
        position = self._column.find(wanted + b"\0")
        number = counted = 0
        while position >= 0:
            number += self._column.count(b"\0", counted, position)
            counted = position
            before = self._column[max(0, position - 2) : position]
            if before in (b"", b"::") or before.endswith(b"\0"):
                found.append(number)
            position = self._column.find(wanted + b"\0", position + 1)
        return found

    def all(self) -> list[str]:
        """All names, in the order of the rows."""
        return strings(self._column)

    def text(self, number: int) -> str:
        """The name of one row."""
        if self._ends is None:
            self._ends = [-1, *_positions(self._column)]
        return self._column[self._ends[number] + 1 : self._ends[number + 1]].decode("utf-8", "replace")


def _positions(column: bytes) -> Iterator[int]:
    position = column.find(b"\0")
    while position >= 0:
        yield position
        position = column.find(b"\0", position + 1)
