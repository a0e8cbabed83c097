"""Which callers' return addresses may be replaced: those that unwinders can go through.

Engines that run code of their own making, as node does, walk it by return addresses, and know none but their own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from strobe.capture.target import Target
from strobe.model import FunctionSymbol, LoadedModule
from strobe.session.modules import TracedModule
from strobe.session.plans import Returns
from strobe.symbols import SymbolResolver


class Callers:
    """Of one session."""

    def __init__(self, target: Target, resolver: SymbolResolver) -> None:
        self._target = target
        self._resolver = resolver
        self._sent: bytes = b""
        self._mixed: set[str] = set()  # paths of modules with code that has no unwind information beside such as has

    def update(self, modules: Sequence[LoadedModule], traced: Sequence[TracedModule]) -> None:
        """To be called whenever modules have come or gone, before hooks are placed in them."""
        paths = {item.symbols.path for item in traced}
        self._mixed |= {path for path in paths if self._resolver.unwind_tables(path).has_other_code}
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

    def returns(self, path: str, functions: Sequence[FunctionSymbol]) -> list[Returns]:
        """Whose return addresses may be replaced, of functions of one module that `update` has seen; in their order."""
        covered = self._resolver.unwind_tables(path).cover([item.address for item in functions])
        others = Returns.TO_KNOWN_CODE if path in self._mixed else Returns.ALWAYS
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
        ranges = self._resolver.unwind_tables(item.symbols.path).ranges
        return [(item.address(start), item.address(end)) for start, end in ranges]
