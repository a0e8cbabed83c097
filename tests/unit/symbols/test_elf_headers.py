"""Headers of ELF files, wherever they lie: nothing is read by a number that cannot be true."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from strobe.symbols.objects.elf_headers import ElfHeaders, Read, reader_of

COUNT_AT, SECTIONS_AT = 56, 40  # of e_phnum and e_shoff in an Elf64_Ehdr


def test_this_programs_own() -> None:
    with Path(sys.executable).open("rb") as file:
        headers = ElfHeaders(reader_of(file))
        assert headers.cpu and headers.segments and {".text", ".dynsym"} <= {one.name for one in headers.sections}
        assert headers.link_base % 4096 == 0


@pytest.mark.parametrize("count", [0xFFFF, 300])
def test_a_number_of_segments_that_cannot_be_is_not_believed(count: int) -> None:
    """0xFFFF: the first section has the number. In memory there are none, and anything lies where they would be."""
    content = bytearray(Path(sys.executable).read_bytes()[:4096])
    struct.pack_into("<H", content, COUNT_AT, count)
    struct.pack_into("<Q", content, SECTIONS_AT, 1024)
    content[1024:1088] = b"\xff" * 64
    asked: list[int] = []

    def recorded(read: Read) -> Read:
        def reader(offset: int, size: int) -> bytes:
            asked.append(size)
            return read(offset, size)

        return reader

    with pytest.raises(ValueError, match="segments"):
        _ = ElfHeaders(recorded(lambda at, size: bytes(content[at : at + size])), most_segments=256).segments
    assert max(asked) <= 4096
