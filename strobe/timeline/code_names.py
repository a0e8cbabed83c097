"""Names of what recorded pointers lead to: traced functions, for as long as their module was in the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from strobe.model import FunctionSymbol
from strobe.timeline.store import Load

NameAt = Callable[[int], str | None]


class CodeNames:
    """Of one session, by the addresses of their first bytes in the process."""

    def __init__(
        self, functions: Iterable[FunctionSymbol], loads: Iterable[Load], link_bases: Mapping[str, int]
    ) -> None:
        by_module: dict[str, list[FunctionSymbol]] = {}
        for item in functions:
            by_module.setdefault(item.module, []).append(item)
        self._staying: dict[int, str] = {}
        self._passing: dict[int, list[tuple[Load, str]]] = {}
        for load in loads:
            offset = load.base - link_bases.get(load.module, 0)
            for item in by_module.get(load.module, ()) if load.module in link_bases else ():
                if load.from_ticks == 0 and load.to_ticks is None:
                    self._staying[item.address + offset] = item.name
                else:
                    self._passing.setdefault(item.address + offset, []).append((load, item.name))

    def at(self, ticks: int) -> NameAt:
        """What addresses meant at that moment."""
        if not self._passing:
            return self._staying.get

        def name_at(address: int) -> str | None:
            for load, name in self._passing.get(address, ()):
                if load.from_ticks <= ticks and (load.to_ticks is None or ticks < load.to_ticks):
                    return name
            return self._staying.get(address)

        return name_at
