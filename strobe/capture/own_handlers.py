"""Programs that set signal handlers by system calls of their own: the runtimes of Go and of sanitizers do."""

from __future__ import annotations

import re
from pathlib import Path

_SYSTEM_CALL = b"\x0f\x05"
_NUMBERS = (b"\xb8\x0d\0\0\0", b"\xc7\xc0\x0d\0\0\0")  # mov eax or rax, rt_sigaction
_FURTHEST = 64  # bytes from the number to the system call
_PIECE = 4 << 20
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ \d+ +(/.*)")
_C_LIBRARY = re.compile(r"/(ld|libc|libpthread)[-.][^/]*$")
_OURS = re.compile(r"/memfd:|/frida-agent[^/]*$|/strobe/_recorder[.]so$")


def sets_handlers_itself(pid: int) -> bool:
    """Whether the code that is in the process now, past the C library's, has an rt_sigaction of its own (x86-64). One
    whose number comes from elsewhere is not seen; code that cannot be read has none."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    found = [match for match in map(_MAPPING.fullmatch, lines) if match and not _is_known(match[4])]
    return any(_has_call(match[4], int(match[3], 16), int(match[2], 16) - int(match[1], 16)) for match in found)


def _is_known(path: str) -> bool:
    return bool(_C_LIBRARY.search(path) or _OURS.search(path))


def _has_call(path: str, offset: int, size: int) -> bool:
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            before = b""
            while piece := file.read(min(_PIECE, size)):
                size -= len(piece)
                if holds_call(before + piece):
                    return True
                before = piece[-_FURTHEST:]
    except (OSError, ValueError):
        return False
    return False


def holds_call(code: bytes) -> bool:
    """Whether a system call follows the number of rt_sigaction, with no other one in between."""
    end = code.find(_SYSTEM_CALL)
    start = 0
    while end >= 0:
        near = code[max(start, end - _FURTHEST) : end]
        if any(number in near for number in _NUMBERS):
            return True
        start = end + len(_SYSTEM_CALL)
        end = code.find(_SYSTEM_CALL, start)
    return False
