"""What the capture layer reports to the session that it observes a program for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from strobe.model import ExitStatus, LoadedModule, Removal


class TargetEvents(Protocol):
    """What a target reports. Called on threads of the capture layer; must not call the target back.

    A thread of the target is inside dlopen until `ready` is called, which any thread may do.
    """

    def on_output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        """Bytes as the program has written them; b"" at a stream's end."""

    def on_exit(self, status: ExitStatus) -> None:
        """The process has ended. What its children write to its streams is reported until this returns."""

    def on_module_added(self, module: LoadedModule | None, ready: Callable[[], None]) -> None:
        """A library was loaded; `module` None: one of another namespace, which the host has to find."""

    def on_module_removed(self, removal: Removal) -> None:
        """A library was unloaded: its hooks and addresses are gone."""

    def on_lone_call(self, why: str, keeps_recording: bool, leave: Callable[[], None]) -> None:
        """The program waits in a call that the agent's threads do not bear; `why`: a clause. `leave` has the agent
        leave for good, and must be called before this returns, or not at all: what is recorded then goes on being
        recorded with `keeps_recording`, else it ends."""

    def on_failure(self, what: str, error: BaseException) -> None:
        """`what` of the observation has failed, for good: the program goes on, and less of it is seen."""
