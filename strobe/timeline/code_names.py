"""Names of what recorded pointers lead to: traced functions, for as long as their module was in the process."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from strobe.model import FunctionSymbol
from strobe.timeline.store import Load

NameAt = Callable[[int], str | None]
Span = tuple[int, int | None]  # ticks from and to; None: it goes on


class CodeNames:
    """Of one session, by the addresses of their first bytes in the process."""

    def __init__(
        self,
        functions: Mapping[int, FunctionSymbol],
        loads: Iterable[Load],
        link_bases: Mapping[str, int],
        spans: Mapping[int, Sequence[Span]],
    ) -> None:
        """`spans`: when each function was hooked. One that was not while a module was loaded may be of another build of
        its file, with other addresses."""
        by_module: dict[str, list[tuple[int, FunctionSymbol]]] = {}
        for function_id, item in functions.items():
            by_module.setdefault(item.module, []).append((function_id, item))
        self._staying: dict[int, str] = {}
        self._passing: dict[int, list[tuple[Load, str]]] = {}
        for load in loads:
            offset = load.base - link_bases.get(load.module, 0)
            for function_id, item in by_module.get(load.module, ()) if load.module in link_bases else ():
                if load.from_ticks == 0 and load.to_ticks is None:
                    self._staying[item.address + offset] = item.name
                elif _overlaps(load, spans.get(function_id, ())):
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


def _overlaps(load: Load, spans: Sequence[Span]) -> bool:
    """`spans`: in order, none within another; there may be as many of them as loads."""
    until = inf if load.to_ticks is None else load.to_ticks
    last = bisect_left(spans, until, key=lambda span: span[0]) - 1  # of those that begin before the load's end
    if last < 0:
        return False
    end = spans[last][1]
    return end is None or end > load.from_ticks
