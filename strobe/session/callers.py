"""Which callers' return addresses may be replaced: those that unwinders can go through.

Engines that run code of their own making, as node does, walk it by return addresses, and know none but their own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from strobe.capture.probes import Returns
from strobe.capture.target import Target
from strobe.model import FunctionSymbol, LoadedModule
from strobe.session.modules import TracedModule
from strobe.symbols import ModuleSymbols, SymbolResolver
from strobe.symbols.frames.unwinding import UnwindTables


class Callers:
    """Of one session."""

    def __init__(self, target: Target, resolver: SymbolResolver) -> None:
        self._target = target
        self._resolver = resolver
        self._sent: bytes = b""
        self._mixed: set[str] = set()  # paths of modules with code that has no unwind information beside such as has
        self._tables: dict[int, tuple[ModuleSymbols, UnwindTables | None]] = {}  # by id of the former, which is kept

    def update(self, modules: Sequence[LoadedModule], traced: Sequence[TracedModule]) -> None:
        """To be called whenever modules have come or gone, before hooks are installed in them."""
        present = {id(item.symbols) for item in traced}
        self._tables = {key: known for key, known in self._tables.items() if key in present}
        for item in traced:
            tables = self._tables_of(item)
            if tables is not None and tables.has_other_code:
                self._mixed.add(item.symbols.path)
        if not self._mixed:
            return
        found = {item.module.base: self._covered(item) for item in traced if item.symbols.path in self._mixed}
        ranges = sorted(
            one for module in modules for one in found.get(module.base, [(module.base, module.base + module.size)])
        )
        content = struct.pack(f"<{2 * len(ranges) + 1}Q", len(ranges), *(word for one in ranges for word in one))
        if content != self._sent:
            self._target.set_callers(content)
            self._sent = content

    def returns(self, module: TracedModule, functions: Sequence[FunctionSymbol]) -> list[Returns]:
        """Whose return addresses may be replaced, of functions of one module that `update` has seen; in their order."""
        tables = self._tables_of(module)
        if tables is None:
            return [Returns.NEVER] * len(functions)
        covered = tables.cover([item.address for item in functions])
        others = Returns.TO_KNOWN_CODE if module.symbols.path in self._mixed else Returns.ALWAYS
        return [others if is_covered else Returns.NEVER for is_covered in covered]

    def warnings(self) -> list[str]:
        """Which modules have such code."""
        return [
            f"{Path(path).name} has code without unwind information (.eh_frame), which may look for return addresses "
            "by itself: of functions that are called from such code, or from code made at run time, only the entry is "
            "recorded."
            for path in sorted(self._mixed)
        ]

    def _covered(self, item: TracedModule) -> list[tuple[int, int]]:
        tables = self._tables_of(item)
        return [] if tables is None else [(item.address(start), item.address(end)) for start, end in tables.ranges]

    def _tables_of(self, item: TracedModule) -> UnwindTables | None:
        """Read once, of the very file that is mapped; None where that had gone before they could be read."""
        if id(item.symbols) not in self._tables:
            tables = item.current(lambda: self._resolver.unwind_tables(item.symbols.path))
            self._tables[id(item.symbols)] = item.symbols, tables
        return self._tables[id(item.symbols)][1]
