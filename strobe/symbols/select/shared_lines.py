"""Lines whose code is that of others, too: of what two paths do alike a compiler keeps one copy, under the lines of one
of them, and the other path jumps into it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

from strobe._core import instruction_length
from strobe.dataclass import dataclass
from strobe.symbols.dwarf.lines import SourceLines
from strobe.symbols.objects.code_bytes import code_at
from strobe.symbols.objects.instructions import LONGEST
from strobe.symbols.select.line_sites import LineSite

_MOST_BYTES = 1 << 16  # of a function that is gone through
_HINTS = b"\x2e\x3e\xf2"  # prefixes that a jump may have
_SHORT, _NEAR = struct.Struct("<b"), struct.Struct("<i")
_RETURNS = (b"\xc3", b"\xc2", b"\x0f\x0b", b"\xf4")


@dataclass(frozen=True, slots=True)
class _Instruction:
    """`target`: where a direct jump leads; `goes_on`: whether the next one may follow it."""

    address: int
    target: int | None
    goes_on: bool


def sharing_lines(site: LineSite, path: str, lines: SourceLines) -> list[int]:
    """Lines further down in the same file from which a jump leads forward to the code that runs up to the site. None
    where the function is too long or not understood. Raises OSError, or ValueError where `path` is no ELF file."""
    start, size = site.function.address, site.function.size
    if not 0 <= site.address - start < size <= _MOST_BYTES:
        return []
    instructions = list(_instructions(code_at(path, start, size), start))
    begin = start
    for one, following in pairwise(instructions):
        if following.address > site.address:
            break
        if not one.goes_on:
            begin = following.address
    found = set()
    for one in instructions:
        if one.target is not None and begin <= one.target <= site.address and one.address < begin:
            row = lines.at(one.address)
            if row is not None and row.file == site.file and row.line > site.line:
                found.add(row.line)
    return sorted(found)


def _instructions(code: bytes, start: int) -> Iterator[_Instruction]:
    at = 0
    while at < len(code):
        length = instruction_length(code[at : at + LONGEST])
        if not length:
            return
        whole = code[at : at + length].lstrip(_HINTS)
        target, is_jump = _target(whole)
        to = None if target is None else start + at + length + target
        yield _Instruction(start + at, to, not is_jump and not whole.startswith(_RETURNS))
        at += length


def _target(whole: bytes) -> tuple[int | None, bool]:
    """How far behind it a direct jump leads, and whether it always does."""
    if len(whole) == 2 and (0x70 <= whole[0] <= 0x7F or whole[0] == 0xEB):
        return _SHORT.unpack(whole[1:])[0], whole[0] == 0xEB
    if len(whole) == 5 and whole[0] == 0xE9:
        return _NEAR.unpack(whole[1:])[0], True
    if len(whole) == 6 and whole[0] == 0x0F and 0x80 <= whole[1] <= 0x8F:
        return _NEAR.unpack(whole[2:])[0], False
    return None, whole[:1] == b"\xff" and len(whole) > 1 and whole[1] >> 3 & 7 in (4, 5)  # through a pointer
