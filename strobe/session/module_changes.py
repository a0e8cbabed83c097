"""Libraries that come and go while a program runs, in the order in which its agent reports them."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from strobe.dataclass import dataclass
from strobe.model import LoadedModule, Removal


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """A library came, and a thread waits for `ready`, or went by `removal`. `module`: None where those in namespaces of
    their own (dlmopen) have changed, which are to be looked for."""

    module: LoadedModule | None
    ready: Callable[[], None] | None = None
    removal: Removal | None = None

    @property
    def what(self) -> str:
        """What has come or gone, for a sentence."""
        return "libraries in namespaces of their own" if self.module is None else self.module.path


class ModuleChanges:
    """A queue of them, for several threads that put and one that takes."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[ModuleChange | None] = queue.SimpleQueue()
        self._removals: Counter[int] = Counter()  # those that were not taken so far, by base
        self._lock = threading.Lock()

    def put(self, change: ModuleChange) -> None:
        """Without waiting."""
        if change.removal is not None:
            with self._lock:
                self._removals[change.removal.module.base] += 1
        self._queue.put(change)

    def end(self) -> None:
        """There is nothing to iterate over behind what is there now."""
        self._queue.put(None)

    def __iter__(self) -> Iterator[ModuleChange]:
        """Waits for each. Who takes a removal calls `begin` when it has the lock under which it deals with it."""
        while (change := self._queue.get()) is not None:
            yield change

    def begin(self, change: ModuleChange) -> None:
        """It is dealt with now."""
        if change.removal is not None:
            with self._lock:
                self._removals[change.removal.module.base] -= 1
                self._removals += Counter()  # keeps what is left of them

    def is_going(self, base: int) -> bool:
        """Whether the removal of a library that was there waits to be dealt with."""
        with self._lock:
            return self._removals[base] > 0
