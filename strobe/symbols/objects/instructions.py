"""Where x86-64 instructions begin, in code of a file."""

from __future__ import annotations

from strobe._core import instruction_length
from strobe.symbols.objects.code_bytes import code_at

LONGEST = 15
_MOST_BYTES = 1 << 20  # of one function that are gone through


def around(path: str, start: int, address: int) -> tuple[int, int] | None:
    """The instruction that holds a link-time address, as [start, end), gone forward to from `start`, where one begins;
    None where the code between is not understood. Raises OSError, or ValueError where it is no ELF file."""
    if not 0 <= address - start < _MOST_BYTES:
        return None
    code = b""
    for more in range(LONGEST, 0, -1):  # the last function of a file may end with it
        code = code_at(path, start, address - start + more)
        if code:
            break
    at = 0
    while at < len(code):
        length = instruction_length(code[at : at + LONGEST])
        if not length:
            return None
        if start + at + length > address:
            return start + at, start + at + length
        at += length
    return None
