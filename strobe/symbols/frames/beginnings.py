"""Which functions may not be hooked as something jumps between their first bytes: another part of a function (GCC's
`.cold`), assembly, a table of labels or of a `switch`. In a function's own code the agent sees direct jumps alone."""

from __future__ import annotations

import struct
from contextlib import closing
from pathlib import Path

from strobe._core import FrameRanges, beginnings
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.objects.elf_headers import (
    ET_EXEC,
    PF_X,
    PT_DYNAMIC,
    PT_LOAD,
    ElfHeaders,
    Segment,
    dynamic_entries,
    reader_of,
)

ENTERED, LOOPED = 1, 2  # as _core.beginnings has them

_RELA, _RELA_BYTES, _RELR_BYTES, _RELR = 7, 8, 35, 36  # DT_*


def find_beginnings(functions: FunctionTable, frames: FrameRanges) -> bytes:
    """For each function ENTERED, LOOPED, both, or neither; nothing of what is not x86-64. Some 10 ms for 3 MB of code.
    Raises OSError, ValueError where the file is damaged or gone."""
    with closing(Path(functions.path).open("rb")) as file:
        try:
            return _found(ElfHeaders(reader_of(file)), functions, frames)
        except struct.error as error:
            raise ValueError(str(error)) from error


def _found(headers: ElfHeaders, functions: FunctionTable, frames: FrameRanges) -> bytes:
    if headers.cpu != "x86-64":
        return bytes(len(functions))
    loads = [segment for segment in headers.segments if segment.kind == PT_LOAD]
    loaded = [
        (load.address, headers.read(load.offset, load.size, "a segment"), bool(load.flags & PF_X)) for load in loads
    ]
    dynamic = next((segment for segment in headers.segments if segment.kind == PT_DYNAMIC), None)
    entries = {} if dynamic is None else dict(dynamic_entries(headers.read(dynamic.offset, dynamic.size, "a segment")))
    return beginnings(
        loaded,
        _at(headers, loads, entries.get(_RELA, 0), entries.get(_RELA_BYTES, 0)),
        _at(headers, loads, entries.get(_RELR, 0), entries.get(_RELR_BYTES, 0)),
        headers.file_type == ET_EXEC,
        frames,
        list(zip(functions.addresses, functions.sizes, strict=True)),
    )


def _at(headers: ElfHeaders, loads: list[Segment], address: int, size: int) -> bytes:
    """What is loaded there; nothing where the size is 0."""
    for load in loads:
        if size and load.address <= address < load.address + load.size:
            return headers.read(load.offset + address - load.address, size, "the table of relocations")
    return b""
