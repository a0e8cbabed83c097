"""The memory of one process, as reads have it."""

from __future__ import annotations

from collections.abc import Sequence

from strobe.values.memory.recipes import Item, Recipe, run

Code = tuple[bytes, int, int]  # of Recipe.finished
_WORD = 8


class ProcessMemory:
    """Read from outside, by the kernel. Its methods raise OSError where the process is gone (ESRCH) or may not be read
    (EPERM)."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def run(self, recipes: Sequence[Code]) -> list[list[Item]]:
        """The items of each recipe, as near to one instant as it can be."""
        return run(self.pid, recipes) if recipes else []

    def peek(self, address: int, size: int) -> bytes | None:
        """None where not all of it can be read."""
        recipe = Recipe()
        recipe.base(address)
        recipe.read(size)
        ((item,),) = self.run([recipe.finished()])
        return item.data if item.is_there else None

    def word(self, address: int, size: int = _WORD) -> int | None:
        """The unsigned number of `size` bytes at an address; None where it cannot be read."""
        data = self.peek(address, size)
        return None if data is None else int.from_bytes(data, "little")
