"""Programs that set signal handlers by system calls of their own: the runtimes of Go and of sanitizers do."""

from __future__ import annotations

import re
from pathlib import Path

from strobe.process_maps import maps_lines

_SYSTEM_CALL = b"\x0f\x05"
_NUMBERS = (b"\xb8\x0d\0\0\0", b"\xc7\xc0\x0d\0\0\0")  # mov eax or rax, rt_sigaction
_FURTHEST = 64  # bytes from the number to the system call
_PIECE = 4 << 20
_C_LIBRARY = re.compile(r"/(ld|libc|libpthread)[-.][^/]*$")
_OURS = re.compile(r"/memfd:|/frida-agent[^/]*$|/strobe/_recorder[.]so$")


def sets_handlers_itself(pid: int) -> bool:
    """Whether the code that is in the process now, past the C library's, has an rt_sigaction of its own (x86-64). One
    whose number comes from elsewhere is not seen; code that cannot be read has none."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
    except OSError:
        return False
    code = (line for line in maps_lines(maps) if line.permissions == "r-xp" and line.name.startswith("/"))
    found = [line for line in code if not _is_known(line.name)]
    return any(_has_call(line.path, line.offset, line.end - line.start) for line in found)


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
