"""Which functions are not called as the ABI has it, as far as their parameters' sources show."""

from __future__ import annotations

from collections.abc import Sequence

from strobe.symbols.calls.entry_sources import Seen, seen_at_entry
from strobe.symbols.calls.prototypes import Prototypes
from strobe.symbols.calls.system_v import Sources, assign
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.signature_rows import SignatureRow
from strobe.symbols.function_table import FunctionTable

_NEIGHBOURS = 256  # functions looked at on either side
_JUDGED = b"\1"


def seen_in(row: SignatureRow) -> list[Seen]:
    """Where debug information itself has each parameter."""
    base = row.frame_base
    return [seen_at_entry(location, is_list, base) for _, _, location, is_list in row.parameters]


def contradicts(seen: Sequence[Seen], assigned: Sequence[Sources | None]) -> bool:
    """Whether one of the parameters is not where it should be."""
    return any(entry.contradicts(sources) for entry, sources in zip(seen, assigned, strict=True))


class Conventions:
    """Of the functions of one module, each judged once."""

    def __init__(self, debug_info: DebugInfo, functions: FunctionTable, prototypes: Prototypes) -> None:
        self._debug_info = debug_info
        self._functions = functions
        self._prototypes = prototypes
        self._judged = bytearray(len(functions))  # by their numbers in `functions`
        self._foreign: dict[int, int] = {}  # number of a function that is called in another way: its unit

    def is_foreign_around(self, unit: int, address: int) -> bool:
        """Whether one of the functions around the one that begins at an address, of its unit, is called in another
        way."""
        near = self._functions.around_entry(address, _NEIGHBOURS)
        if self._judged.find(0, near.start, near.stop) >= 0:
            self._judge([number for number in near if not self._judged[number]])
        return any(own == unit and number in near for number, own in self._foreign.items())

    def _judge(self, numbers: Sequence[int]) -> None:
        with_die = [number for number in numbers if self._functions.dies([number])]
        rows = self._debug_info.signatures(self._functions.dies(with_die))
        for number, row in zip(with_die, rows, strict=True):
            if row is not None and self._is_foreign(row):
                self._foreign[number] = row.unit
        for number in numbers:
            self._judged[number : number + 1] = _JUDGED

    def _is_foreign(self, row: SignatureRow) -> bool:
        shapes = self._prototypes.shapes(row, row.language or "c")
        return contradicts(seen_in(row), assign(self._prototypes.result(row, "c"), shapes))
