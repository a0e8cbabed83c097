"""What the recorder in a process is about, as its own memory says: read from outside, nothing runs in the process."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

_ALIVE_OFFSET = 8  # struct strobe_control, csrc/recorder/recorder.h
_START_TICKS_OFFSET = 24  # struct strobe_header
_STATES_OFFSET = 48  # struct strobe_recorder: states, states_used, state_bytes
_STATE = struct.Struct("<II16xQQ40xQ40xI")  # struct strobe_thread_state, to runs_script
_STATES_MOST = 4096  # as many as there can be
_LOOK_S = 0.001
_LONGEST_S = 0.03  # that a thread is at work on one record, scripts left out: its own time, not waiting for a CPU
_NAME_END = ") "  # of /proc/PID/stat (proc(5)); then come its state, and the times at these places
_USER_FIELD, _SYSTEM_FIELD = 11, 12


@dataclass(frozen=True, slots=True)
class _Work:
    """A thread that works on a record of a call. `last_ticks`: when it began it, or the one before."""

    tid: int
    last_ticks: int
    runs_script: bool


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


def written_until(pid: int, memory: FileIO, recorder: int, moment: int, deadline: float) -> int:
    """Every record of this process that was begun up to then is in the segment: `moment`, or an earlier one where a
    thread in the middle of a record does not get on until the deadline (time.monotonic). In ticks. The caller has
    waited a little since `moment`: what the threads had written by then can be seen."""
    times: dict[int, float] = {}
    while found := [
        work for work in _works(memory, recorder) if work.last_ticks < moment and _is_at_work(pid, work, times)
    ]:
        if time.monotonic() > deadline:
            return min(work.last_ticks for work in found)
        time.sleep(_LOOK_S)
    return moment


def _works(memory: FileIO, recorder: int) -> Iterator[_Work]:
    try:
        states, used, size = struct.unpack("<QII", os.pread(memory.fileno(), 16, recorder + _STATES_OFFSET))
        for place in range(min(used, _STATES_MOST)):
            head = os.pread(memory.fileno(), _STATE.size, states + place * size)
            claimed, tid, busy, idle, last_ticks, runs_script = _STATE.unpack(head)
            if claimed and busy != idle:
                yield _Work(tid, last_ticks, runs_script != 0)
    except (OSError, struct.error, OverflowError):  # nothing is mapped there
        return


def _is_at_work(pid: int, work: _Work, times: dict[int, float]) -> bool:
    """False for one that was left by a jump out of a signal handler, whose thread waits or goes on elsewhere.
    `times`: of the threads when they were first looked at."""
    if work.runs_script:
        return True  # which may take long, and wait
    try:
        fields = Path(f"/proc/{pid}/task/{work.tid}/stat").read_text().rpartition(_NAME_END)[2].split()
    except OSError:  # it has ended
        return False
    if fields[0] in "SZX":  # asleep, or dead: the recorder waits for nothing
        return False
    used = (int(fields[_USER_FIELD]) + int(fields[_SYSTEM_FIELD])) / os.sysconf("SC_CLK_TCK")
    return used - times.setdefault(work.tid, used) < _LONGEST_S
