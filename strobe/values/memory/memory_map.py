"""Which parts of a process's memory may be written: /proc/PID/maps, proc(5)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import PurePath

from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.process_maps import maps_lines

_OWN = "/strobe-"  # segments in shared memory


@dataclass(frozen=True, slots=True)
class Region:
    """`permissions`: "rw-p". `name`: of the file, "[heap]", or empty."""

    start: int
    end: int
    permissions: str
    name: str

    @property
    def is_writable(self) -> bool:
        return "w" in self.permissions

    def __str__(self) -> str:
        name = PurePath(self.name).name if self.name.startswith("/") else self.name
        return f"{self.permissions} {self.start:#x}-{self.end:#x} {name or '(no file)'}"


class MemoryMap:
    """As it was when the text was read."""

    def __init__(self, text: str) -> None:
        self._regions = list(_parsed(text))
        self._starts = [region.start for region in self._regions]

    def at(self, address: int) -> Region | None:
        """The mapping that contains an address; None for an unmapped address."""
        index = bisect_right(self._starts, address) - 1
        region = self._regions[index] if index >= 0 else None
        return region if region is not None and address < region.end else None

    def why_not_written(self, address: int, size: int, what: str) -> StrobeError | None:
        """None where all of it may be written."""
        end = address + max(size, 1)
        while address < end:
            region = self.at(address)
            if region is None:
                return failure("address_unwritable", address=f"{address:#x}", what=what)
            if not region.is_writable or _is_own(region):
                return failure("memory_read_only", what=what, address=f"{address:#x}", mapping=str(region))
            address = region.end
        return None


def _is_own(region: Region) -> bool:
    """What Strobe records into: a write there would damage the timeline."""
    return region.permissions.endswith("s") and (_OWN in region.name or region.name.endswith("/segment"))


def _parsed(text: str) -> Iterable[Region]:
    for line in maps_lines(text):
        yield Region(line.start, line.end, line.permissions, line.name)
