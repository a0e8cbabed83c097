"""What the recorder in a process is about, as its own memory says: read from outside, nothing runs in the process."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from strobe import _abi, _core
from strobe.dataclass import dataclass

_LOOK_S = 0.001
_LONGEST_S = 0.03  # that a thread is at work on one record, scripts left out: its own time, not waiting for a CPU
_NAME_END = b") "  # of /proc/PID/stat (proc(5)); then come its state, and the times at these positions
_USER_FIELD, _SYSTEM_FIELD = 11, 12
_STACK_BYTES = 1 << 16  # of what lies above a sleeping thread, where a handler's frame is looked for
_PAGE = 4096
# What a handler returns to (sigreturn(2)), of glibc and musl: rt_sigreturn is called with this number.
_RETURNS_FROM_HANDLER = (bytes.fromhex("48c7c00f0000000f05"), bytes.fromhex("b80f0000000f05"))


@dataclass(frozen=True, slots=True)
class _Work:
    """A thread that works on a record of a call. `last_ticks`: when it began it, or the one before."""

    tid: int
    last_ticks: int
    runs_script: bool
    slot: int  # where on its stack the call's return address lies
    stack: tuple[int, int]  # of the thread's own, from where to where


def is_recording(memory: FileIO, recorder: int, start_ticks: int) -> bool:
    """Whether the recorder (the address of struct strobe_recorder) is on and writes to the segment that began at
    `start_ticks`. `memory`: /proc/PID/mem. False, too, where the process has become another program."""
    try:
        control, header, *_ = read_view(memory, _abi.RECORDER_VIEW, recorder)
        _, alive, *_ = read_view(memory, _abi.CONTROL_VIEW, control)
        (start,) = struct.unpack("<Q", os.pread(memory.fileno(), 8, header + _abi.HEADER_AT["start_ticks"]))
    except (OSError, struct.error, OverflowError):  # nothing is mapped there
        return False
    return (alive, start) == (1, start_ticks)


def place_of(memory: FileIO, recorder: int) -> tuple[int, int] | None:
    """Where a recorder, on or off, has its control page and its segment: the same as long as the process runs the same
    program, whatever that writes. None where nothing is mapped there."""
    try:
        control, header, *_ = read_view(memory, _abi.RECORDER_VIEW, recorder)
    except (OSError, struct.error, OverflowError):
        return None
    return control, header


def switch_off(pid: int, recorder: int) -> None:
    """Calls are recorded no more, and returns that are caught only return. Raises as read_view, and OSError."""
    with FileIO(f"/proc/{pid}/mem", "r+") as memory:
        control, *_ = read_view(memory, _abi.RECORDER_VIEW, recorder)
        for field, size in (("exit_handler", 8), ("alive", 4)):
            os.pwrite(memory.fileno(), bytes(size), control + _abi.CONTROL_VIEW_AT[field])


def written_until(pid: int, memory: FileIO, recorder: int, moment: int, deadline: float) -> int:
    """Every record of this process that was begun up to then is in the segment: `moment`, or an earlier one where a
    thread in the middle of a record is stopped, or does not get on until the deadline (time.monotonic). In ticks. The
    caller has waited a little since `moment`: what the threads had written by then can be seen."""
    times: dict[int, float] = {}
    while found := [
        work for work in _works(memory, recorder) if work.last_ticks < moment and _is_at_work(pid, memory, work)
    ]:
        if time.monotonic() > deadline or not any(_may_get_on(pid, work, times) for work in found):
            return min(work.last_ticks for work in found)
        time.sleep(_LOOK_S)
    return moment


def _works(memory: FileIO, recorder: int) -> Iterator[_Work]:
    try:
        control, _, states, used, size = read_view(memory, _abi.RECORDER_VIEW, recorder)
        _, alive, *_ = read_view(memory, _abi.CONTROL_VIEW, control)
        if not alive:  # a child that is not recorded has its parent's states
            return
        view = _abi.THREAD_STATE_VIEW
        heads = _core.read_apart(memory.fileno(), states, min(used, _abi.THREAD_STATES), size, view.size)
        for claimed, tid, busy, idle, low, high, last_ticks, runs_script in view.iter_unpack(heads):
            if claimed and busy != idle:
                yield _Work(tid, last_ticks, runs_script != 0, busy, (low, high))
    except (OSError, struct.error, OverflowError):  # nothing is mapped there
        return


def read_view(memory: FileIO, view: struct.Struct, address: int) -> tuple[int, ...]:
    """What lies at this address. Raises OSError, struct.error, OverflowError where nothing is mapped there."""
    return view.unpack(os.pread(memory.fileno(), view.size, address))


def _is_at_work(pid: int, memory: FileIO, work: _Work) -> bool:
    """False for one that was left by a jump out of a signal handler and whose thread waits now. Where it goes on
    elsewhere it looks like one that is at work."""
    fields = _stat(pid, work)
    if fields is None:  # it has ended, or a parent of this process has it
        return False
    if work.runs_script:
        return True  # which may wait
    if fields[0] == b"S":  # the recorder waits for nothing, but a handler may that has interrupted it
        return _is_in_handler(pid, memory, work)
    return fields[0] not in b"ZX"


def _may_get_on(pid: int, work: _Work, times: dict[int, float]) -> bool:
    """Soon: it is not stopped by a signal, and has not been given its time already. `times`: of the threads when they
    were first looked at."""
    fields = _stat(pid, work)
    if fields is None or fields[0] == b"T":
        return False
    used = (int(fields[_USER_FIELD]) + int(fields[_SYSTEM_FIELD])) / os.sysconf("SC_CLK_TCK")
    return work.runs_script or used - times.setdefault(work.tid, used) < _LONGEST_S


def _stat(pid: int, work: _Work) -> list[bytes] | None:
    try:
        return Path(f"/proc/{pid}/task/{work.tid}/stat").read_bytes().rpartition(_NAME_END)[2].split()
    except OSError:
        return None


def _is_in_handler(pid: int, memory: FileIO, work: _Work) -> bool:
    """Whether a handler has interrupted the sleeping thread: its frame lies between there and the record's."""
    try:
        pointer = int(Path(f"/proc/{pid}/task/{work.tid}/syscall").read_text().split()[-2], 16)
    except (OSError, ValueError, IndexError):  # it runs again
        return True
    low, high = work.stack
    is_own = low <= pointer < high
    if is_own and work.slot - pointer > _STACK_BYTES:
        return True  # too far to be looked through
    end = min(pointer + _STACK_BYTES, work.slot if is_own else (pointer + _STACK_BYTES) // _PAGE * _PAGE)
    stack = bytearray()
    while pointer + len(stack) < end:
        start = pointer + len(stack)
        try:
            piece = os.pread(memory.fileno(), min(end, start // _PAGE * _PAGE + _PAGE) - start, start)
        except OSError:  # the stack ends there
            break
        if not piece:  # the process ends
            break
        stack += piece
    if not is_own and pointer + len(stack) >= end:
        return True  # there is more than is looked through
    # the kernel puts a frame where a called function would have its return address
    first = (8 - pointer) % 16
    addresses = {struct.unpack_from("<Q", stack, offset)[0] for offset in range(first, len(stack) - 7, 16)}
    return any(_is_return_from_handler(memory, address) for address in addresses if address >= _PAGE)


def _is_return_from_handler(memory: FileIO, address: int) -> bool:
    try:
        return os.pread(memory.fileno(), 9, address).startswith(_RETURNS_FROM_HANDLER)
    except (OSError, OverflowError):
        return False
