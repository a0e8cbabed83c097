"""From a function to the jump in its code: what is to be recorded of it (ProbeSpec), where its calls go then
(Trampoline), and what is written over its entry (CodePatch, in code_patches.py). Why there is none: Refusal."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strobe import _abi


@dataclass(frozen=True, slots=True)
class Plan:
    """What the recorder does for a function. `layout`: counts and captures as strobe_agent_set_plans takes them."""

    flags: int  # STROBE_PLAN_*
    layout: bytes = bytes(3)
    extras: int = 0  # the number of the set of what else is recorded, where the flags say that there is more

    @property
    def is_enabled(self) -> bool:
        return bool(self.flags & _abi.PLAN_ENABLED)

    def disabled(self) -> Plan:
        return replace(self, flags=self.flags & ~_abi.PLAN_ENABLED)


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """A function whose calls are to be recorded. `address`: where it lies in the process.

    `code`: the first bytes that must stand there, as many as are known; over other ones nothing is written.
    """

    function_id: int
    address: int
    size: int
    plan: Plan
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class Trampoline:
    """Made by the agent for the function at `entry`. `address`: where the jump leads. It lies `skip` bytes behind the
    entry; `displaced`: bytes of the instructions that it replaces; `copies`: where copies lie of those that begin one
    to four bytes behind its first, 0 where there is none. `mark`: an address, and the number that is there for as long
    as the trampoline is."""

    entry: int
    address: int
    skip: int
    displaced: int
    copies: tuple[int, int, int, int]
    mark: tuple[int, int]
