"""The functions of a module as a sequence that makes its objects when they are touched."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, overload

from strobe._core import DwarfIndex, SymbolTable, merged_functions
from strobe.model import FunctionSymbol
from strobe.symbols import names
from strobe.symbols.dwarf import columns
from strobe.symbols.dwarf.columns import NO_FILE, Columns

_EXPORTED, _OPEN, _GO = 1, 2, 4
_NO_DIE = 2**64 - 1
_NO_LINE = 2**32 - 1


class SourceRow(NamedTuple):
    """A function of a table that has sources, and is no debug information. `size` in bytes."""

    name: str
    address: int
    size: int
    source_file: str | None
    line: int | None


class FunctionTable(Sequence[FunctionSymbol]):
    """Functions by address, one for each. `columns` are what the cache keeps; equal ones are the same table."""

    def __init__(self, path: str, content: Columns) -> None:
        """ValueError where the columns do not fit each other."""
        self.path = path
        self.columns = content
        self._addresses = columns.words(content["address"])
        self._sizes, self._dies = columns.words(content["size"]), columns.words(content["die"])
        self._files, self._lines = columns.halves(content["file"]), columns.halves(content["line"])
        self._flags = content["flags"]
        if {len(self._sizes), len(self._dies), len(self._files), len(self._lines), len(self._flags)} != {len(self)}:
            raise ValueError("columns of different length")

    @staticmethod
    def merged(
        path: str,
        table: SymbolTable,
        index: DwarfIndex | None,
        others: Sequence[SourceRow] = (),
        go_code: tuple[int, int] = (0, 0),
    ) -> FunctionTable:
        """Symbol tables and debug information put together; `others` where there is none of that.

        Identical functions that were folded into one keep the first name of debug information. `go_code`: [start, end)
        of what Go's compiler made.
        """
        return FunctionTable(path, merged_functions(table, index, others, go_code))

    @cached_property
    def names(self) -> list[str]:
        """Demangled names, in the table's order: without making FunctionSymbols."""
        return columns.strings(self.columns["name"])

    @cached_property
    def scoped_names(self) -> list[str]:
        """Names as patterns see them."""
        kept = self.columns.get("scoped")
        return names.scoped_all(self.names) if kept is None else columns.strings(kept)

    @cached_property
    def shared(self) -> list[tuple[str, int]]:
        """Other names of functions whose code is that of one in the table, each with the number of that one: the
        compiler or the linker folded identical functions, or they are aliases."""
        if "sharing" not in self.columns:
            return []
        names_ = columns.strings(self.columns["shared_name"])
        return list(zip(names_, columns.words(self.columns["sharing"]), strict=True))

    @cached_property
    def thunks(self) -> list[tuple[str, int, int]]:
        """Thunks of C++, which are not in the table: the name of the function each is for, its own address and size."""
        if "thunk" not in self.columns:
            return []
        names_ = columns.strings(self.columns["thunk_name"])
        places = columns.words(self.columns["thunk"]), columns.words(self.columns["thunk_size"])
        return list(zip(names_, *places, strict=True))

    @cached_property
    def source_paths(self) -> list[str]:
        """All source files, each once."""
        return columns.strings(self.columns["path"])

    def in_files(self, accepts: Callable[[str], bool]) -> list[int]:
        """Numbers of the functions whose source file is accepted; each file is asked for once."""
        wanted = {number for number, path in enumerate(self.source_paths) if accepts(path)}
        return [number for number, file in enumerate(self._files) if file in wanted] if wanted else []

    def without_source(self, sizes: Collection[int]) -> list[int]:
        """Numbers of the functions of these sizes, in bytes, that nothing says the source file of."""
        return [number for number, size in enumerate(self._sizes) if size in sizes and self._files[number] == NO_FILE]

    def at(self, address: int) -> int | None:
        """Number of the function that begins at an address."""
        number = self._before(address)
        return number if number >= 0 and self._addresses[number] == address else None

    def around(self, address: int) -> int | None:
        """Number of the function whose called part holds an address."""
        number = self._before(address)
        return number if number >= 0 and address < self._addresses[number] + self._sizes[number] else None

    def next_entry(self, address: int) -> int | None:
        """Where the next function behind an address begins; None where there is none."""
        number = bisect_right(self._addresses, address)
        return self._addresses[number] if number < len(self) else None

    def die_at(self, address: int) -> int | None:
        """DIE of the function that begins at an address."""
        number = self.at(address)
        return None if number is None or self._dies[number] == _NO_DIE else self._dies[number]

    def around_entry(self, address: int, count: int) -> range:
        """Numbers of the function that begins at an address, and of `count` before and behind it."""
        number = self.at(address)
        if number is None:
            return range(0)
        return range(max(0, number - count), min(len(self), number + count + 1))

    def dies(self, numbers: Iterable[int]) -> list[int]:
        """DIEs of those functions that have one."""
        return [die for number in numbers if (die := self._dies[number]) != _NO_DIE]

    @property
    def addresses(self) -> Sequence[int]:
        """Where the functions begin, ascending."""
        return self._addresses

    @property
    def sizes(self) -> Sequence[int]:
        """Bytes of their called parts, in the same order."""
        return self._sizes

    def is_open(self, address: int) -> bool:
        """Whether other modules or files could call what begins at an address."""
        number = self.at(address)
        return number is not None and bool(self._flags[number] & _OPEN)

    def kept_columns(self) -> dict[str, bytes]:
        """The columns with those that save time."""
        return {**self.columns, "scoped": columns.of_strings(self.scoped_names)}

    def __len__(self) -> int:
        return len(self._addresses)

    @overload
    def __getitem__(self, index: int) -> FunctionSymbol: ...

    @overload
    def __getitem__(self, index: slice) -> list[FunctionSymbol]: ...

    def __getitem__(self, index: int | slice) -> FunctionSymbol | list[FunctionSymbol]:
        if isinstance(index, slice):
            return self._all[index]
        number = range(len(self))[index]
        made = self._made.get(number)
        return self._make(number) if made is None else made

    def __iter__(self) -> Iterator[FunctionSymbol]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionTable):
            return NotImplemented
        return self.path == other.path and self._essence() == other._essence()

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _all(self) -> list[FunctionSymbol]:
        """Who goes through them once does so again; until then, there are none."""
        return [self[number] for number in range(len(self))]

    @cached_property
    def _made(self) -> dict[int, FunctionSymbol]:
        return {}

    @cached_property
    def _raw_names(self) -> list[str]:
        return columns.strings(self.columns["raw_name"])

    def _make(self, number: int) -> FunctionSymbol:
        file, line = self._files[number], self._lines[number]
        made = self._made[number] = FunctionSymbol(
            self.names[number],
            self._raw_names[number],
            self.path,
            self._addresses[number],
            self._sizes[number],
            None if file == NO_FILE else self.source_paths[file],
            None if line == _NO_LINE else line,
            exported=bool(self._flags[number] & _EXPORTED),
            is_go=bool(self._flags[number] & _GO),
        )
        return made

    def _before(self, address: int) -> int:
        return bisect_right(self._addresses, address) - 1

    def _essence(self) -> dict[str, bytes]:
        return {name: content for name, content in self.columns.items() if name != "scoped"}
