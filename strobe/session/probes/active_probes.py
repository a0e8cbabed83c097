"""What hooks and answers need to know of a session's probes. SessionProbes knows the hooks, so these do not know it."""

from __future__ import annotations

from typing import Protocol

from strobe.model import FunctionSymbol, LoadedModule, ProbeAnswer


class ActiveProbes(Protocol):
    """SessionProbes, once there is a probe."""

    @property
    def answers(self) -> list[ProbeAnswer]:
        """Of all that are active, in the order in which they were added."""

    @property
    def recording(self) -> int:
        """How many sites record."""

    def forget(self, module: LoadedModule, gone_ticks: int) -> None:
        """A library was unloaded; where it is loaded again its instructions are probed anew."""

    def recorded(self) -> dict[int, FunctionSymbol]:
        """What stands for the functions of those that are installed, by their numbers."""

    def warnings(self) -> list[str]:
        """Sites where nothing is recorded, and why."""
