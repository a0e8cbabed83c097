"""Whether the recorder in a process is on, as its own memory says: read from outside, nothing runs in the process."""

from __future__ import annotations

import os
import struct
from io import FileIO

_ALIVE_OFFSET = 8  # struct strobe_control, csrc/recorder/recorder.h
_START_TICKS_OFFSET = 24  # struct strobe_header


def is_recording(memory: FileIO, recorder: int, start_ticks: int) -> bool:
    """Whether the recorder (the address of struct strobe_recorder) is on and writes to the segment that began at
    `start_ticks`. `memory`: /proc/PID/mem. False, too, where the process has become another program."""
    try:
        control, header = struct.unpack("<QQ", os.pread(memory.fileno(), 16, recorder))
        (alive,) = struct.unpack("<I", os.pread(memory.fileno(), 4, control + _ALIVE_OFFSET))
        (start,) = struct.unpack("<Q", os.pread(memory.fileno(), 8, header + _START_TICKS_OFFSET))
    except (OSError, struct.error, OverflowError):  # nothing is mapped there
        return False
    return (alive, start) == (1, start_ticks)
