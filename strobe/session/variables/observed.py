"""A session, as those parts of it see it that read and write its program's variables."""

from __future__ import annotations

from typing import Protocol

from strobe.errors import StrobeError
from strobe.session.variables.session_memory import Inside
from strobe.symbols import SymbolResolver
from strobe.timeline.records import SessionRecord


class Observed(Protocol):
    """`inside`: the agent; None where it is another process's."""

    @property
    def id(self) -> str:
        """The session's id."""

    @property
    def resolver(self) -> SymbolResolver:
        """Where its symbols come from."""

    @property
    def inside(self) -> Inside | None:
        """None where the program's agent is another process's."""

    def record(self) -> SessionRecord:
        """See Session."""

    def add_event(self, event_type: str, text: str) -> int:
        """The number of a new event of the host; `text` is what the type has (JSON of a snapshot)."""

    def gone(self) -> StrobeError:
        """What to raise where its program has just ended."""

    def not_here(self) -> StrobeError:
        """What to raise where its program does not run, or is another process's."""
