"""Addresses that the variables of a crash have."""

from __future__ import annotations

from typing import Any

from strobe.dataclass import dataclass
from strobe.values.model import PointerTo, Record, TextAt


@dataclass(frozen=True, slots=True)
class Pointer:
    """What has an address. `frame`: its number in the stack; None of what is in none, or not yet known to be."""

    name: str
    address: int
    frame: int | None = None

    @property
    def text(self) -> str:
        """ "this (frame 0)"."""
        return self.name if self.frame is None else f"{self.name} (frame {self.frame})"


def pointers_of(name: str, value: Any) -> list[Pointer]:
    """Addresses that a decoded value of this name has, its own and those of members right within it, or within what it
    leads to; the own one first."""
    found = [Pointer(name, value.address)] if isinstance(value, PointerTo | TextAt) else []
    inner, joint = value, "."
    if isinstance(value, PointerTo):
        inner, joint = value.to, "->"
    if isinstance(inner, Record):
        for member, own in inner:
            if isinstance(own, PointerTo | TextAt):
                found.append(Pointer(f"{name}{joint}{member}", own.address))
    elif isinstance(inner, PointerTo | TextAt) and isinstance(value, PointerTo):
        found.append(Pointer(f"*{name}", inner.address))
    elif isinstance(inner, list):
        found += [
            Pointer(f"{name}[{index}]", own.address)
            for index, own in enumerate(inner)
            if isinstance(own, PointerTo | TextAt)
        ]
    return found
