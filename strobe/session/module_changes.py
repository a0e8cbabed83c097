"""What a program tells of its libraries, on the way to the thread that places hooks in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strobe.model import LoadedModule


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """A library came, and a thread waits for `ready`, or went."""

    module: LoadedModule
    ready: Callable[[], None] | None
