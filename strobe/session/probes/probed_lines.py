"""What hooks need to know of probes at single instructions (line_probes.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from strobe.model import FunctionSymbol, LoadedModule, Probe, ProbeAnswer

if TYPE_CHECKING:
    from strobe.values.lookup.scope import Scope


class ProbedLines(Protocol):
    """What else is recorded, at single instructions: probes/line_probes.py."""

    @property
    def answers(self) -> list[ProbeAnswer]:
        """Of all probes."""

    @property
    def recording(self) -> int:
        """How many sites record."""

    def add(
        self,
        probe: Probe,
        modules: Sequence[LoadedModule],
        scope: Callable[[], AbstractContextManager[Scope]],
        project_root: str | None,
        *,
        anyway: bool,
    ) -> list[str]:
        """Installs one; gives what else is to be said."""

    def inexact(self, labels: Sequence[str]) -> str:
        """What is to be said of those that are lines of optimized code."""

    def remove(self, label: str) -> bool:
        """Whether there was one."""

    def apply(
        self,
        modules: Sequence[LoadedModule],
        scope: Callable[[], AbstractContextManager[Scope]],
        project_root: str | None,
    ) -> None:
        """Libraries have come."""

    def forget(self, module: LoadedModule, gone_ticks: int) -> None:
        """A library was unloaded."""

    def recorded(self) -> dict[int, FunctionSymbol]:
        """What stands for the functions of installed ones, by their numbers."""

    def warnings(self) -> list[str]:
        """Where nothing is recorded, and why."""
