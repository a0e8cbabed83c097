"""Stacks of traces: of which functions' calls how many callers are recorded."""

from __future__ import annotations

from collections.abc import Sequence

from strobe import _abi
from strobe.dataclass import dataclass, field
from strobe.errors import failure
from strobe.model import FunctionSymbol
from strobe.symbols import ModuleSymbols
from strobe.symbols.select.patterns import Pattern, matching

HEAP_STACK = 8  # callers of what gives and takes memory, where it is not said
FunctionKey = tuple[str, int]  # of a function: its module and its address there


@dataclass
class CallStacks:
    """Of the patterns of one session. `of_function`: the most that one of a function's patterns asks for; `of_heap`:
    those that give and take memory, of which no call is left out."""

    by_pattern: dict[str, int] = field(default_factory=dict)
    of_function: dict[FunctionKey, int] = field(default_factory=dict)
    of_heap: set[FunctionKey] = field(default_factory=set)

    def set(self, patterns: Sequence[str], count: int) -> None:
        """Of these patterns from now on; 0: none."""
        self.by_pattern = {text: own for text, own in self.by_pattern.items() if text not in patterns}
        if count:
            self.by_pattern |= dict.fromkeys(patterns, count)

    def find_functions(self, patterns: Sequence[Pattern], modules: Sequence[ModuleSymbols]) -> bool:
        """Which functions they are for, now that these modules are loaded; whether that has changed."""
        before, self.of_function, self.of_heap = self.of_function, {}, set()
        for pattern in patterns:
            count = self.by_pattern.get(pattern.text, 0)
            for item in matching(pattern, modules) if count else ():
                key = item.module, item.address
                self.of_function[key] = max(count, self.of_function.get(key, 0))
                if pattern.kind == "heap":
                    self.of_heap.add(key)
        return before != self.of_function

    def of(self, function: FunctionSymbol) -> int:
        """0: none."""
        return self.of_function.get((function.module, function.address), 0)


def check_count(count: int) -> None:
    """Raises bad_value for more than can be recorded."""
    if not 0 <= count <= _abi.STACK_MOST:
        valid = f"1 to {_abi.STACK_MOST}, 0 for none"
        raise failure("bad_value", field="stack", value=count, reason="it is out of range", valid=valid)


def stack_capture(count: int, *, is_probe: bool) -> bytes:
    """What records up to so many callers, at a function's entry or at a probed instruction."""
    return _abi.CAPTURE.pack(_abi.NEEDS_CONTEXT if is_probe else 0, _abi.CAPTURE_STACK, 0, 0, count, 0)


def captured_stack(count: int, *, is_probe: bool) -> tuple[bytes, int]:
    """What records so many callers, and the words that they take."""
    return (stack_capture(count, is_probe=is_probe), 1 + count) if count else (b"", 0)
