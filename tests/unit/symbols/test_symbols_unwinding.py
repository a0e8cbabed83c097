"""Which code tables of frames cover, as the native reader has it, compared with the one that reads single entries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from strobe import _core
from strobe.symbols import ElfResolver
from strobe.symbols.frames.sections import frame_sections
from strobe.symbols.frames.tables import FrameTable

Build = Callable[..., Path]


@pytest.mark.parametrize("content_of", ["program", "python"])
def test_what_is_covered_is_what_has_an_entry(build_program: Build, content_of: str) -> None:
    path = str(build_program("throws", "-O2")) if content_of == "program" else os.path.realpath(sys.executable)
    sections = frame_sections(path, None)
    section = sections[".eh_frame"]
    table = FrameTable(section, is_eh=True)
    addresses = [function.address for function in ElfResolver().module(path).functions][:5000]
    near = [address + distance for address in addresses for distance in (-1, 0, 3)]
    ranges = _core.FrameRanges()
    ranges.add(section.content, section.address, True)
    assert ranges.cover(near) == [table.find(address) is not None for address in near]
    assert any(ranges.cover(near))
    merged = ranges.merged(0)
    assert merged == sorted(merged)
    for address, is_covered in zip(near, ranges.cover(near), strict=True):
        assert is_covered == any(start <= address < end for start, end in merged)


def test_damaged_tables_cover_no_more(build_program: Build) -> None:
    path = str(build_program("throws", "-O2"))
    section = frame_sections(path, None)[".eh_frame"]
    whole = _core.FrameRanges()
    whole.add(section.content, section.address, True)
    for size in range(0, len(section.content), 7):
        cut = _core.FrameRanges()
        cut.add(section.content[:size], section.address, True)
        assert all(any(a <= start and end <= b for a, b in whole.merged(0)) for start, end in cut.merged(0))
    for position in range(len(section.content)):
        flipped = bytearray(section.content)
        flipped[position] ^= 0xFF
        _core.FrameRanges().add(bytes(flipped), section.address, True)
