"""Which code unwinders can go through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from strobe._core import FrameRanges
from strobe.errors import StrobeError
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.frames.sections import frame_sections
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.formats import open_image

# Up to so many bytes in one piece without an entry are padding, linkage tables and the odd function in assembly; what
# an engine has generated is more.
_MOST_BETWEEN = 1 << 15

Range = tuple[int, int]


class UnwindTables:
    """.eh_frame and .debug_frame of one module. Nothing is covered by what cannot be read. Addresses are link-time.

    `frames`: their entries; `ranges`: [start, end) of the code that they cover. `has_other_code`: there is a large
    piece that they do not.
    """

    def __init__(self, path: str, debug_info: DebugInfo | None) -> None:
        """`path`: the file with the code."""
        self.frames = FrameRanges()
        self.ranges: list[Range] = []
        self.has_other_code = False
        try:
            sections = frame_sections(path, debug_info)
            with closing(open_image(path)) as image:
                executable = list(image.executable)
        except UNREADABLE:
            return
        except StrobeError:  # no file of a kind that is known, any more
            return
        for name, is_eh in ((".eh_frame", True), (".debug_frame", False)):
            if name in sections:
                self.frames.add(sections[name].content, sections[name].address, is_eh)
        self.ranges = self.frames.merged(_MOST_BETWEEN)
        self.has_other_code = any(size > _MOST_BETWEEN for size in _uncovered(executable, self.ranges))

    def cover(self, addresses: Sequence[int]) -> list[bool]:
        """Whether they say how to unwind from each of these."""
        return self.frames.cover(addresses)


def _uncovered(executable: Iterable[Range], ranges: Sequence[Range]) -> Iterator[int]:
    """Sizes of the pieces without an entry."""
    for start, end in executable:
        for first, last in ranges:
            if start < last and first < end:
                yield first - start
                start = last
        yield end - start
