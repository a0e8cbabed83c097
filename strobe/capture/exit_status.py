"""How a process ended. Frida reaps the programs it starts and does not say, so three witnesses are heard:

the parent's waitid without reaping (races with Frida's), the recorder's note of the argument of _exit in the segment,
and the kernel's own record behind a pidfd (Linux 6.15). The note also says that the recorder was on to the end, which
no other witness does (timeline/coverage.py). Where the program filters its system calls a child of vfork, which may
have written it, looks like the program itself: the note is then right only if the program calls _exit as well.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct

from strobe import _abi, _core
from strobe.model import ExitStatus

_STOP_MS = 5  # to look again after a ptrace stop
# linux/pidfd.h: struct pidfd_info is 64 bytes in its first version, mask first, exit_code last
_PIDFD_INFO_BYTES = 64
_PIDFD_INFO_EXIT = 1 << 3
_PIDFD_GET_INFO = 0xC0000000 | _PIDFD_INFO_BYTES << 16 | 0xFF << 8 | 11


def wait_for_end(pid: int, pidfd: int, segment_path: str) -> ExitStatus:
    """Blocks until the process has ended. `ExitStatus()` where nobody can say how."""
    found = _by_waitid(pid, pidfd)
    if found is None:
        found = _by_kernel(pidfd) or by_recorder(segment_path) or _by_crash(segment_path, pid)
    return found or ExitStatus()


def wait_unless(pidfd: int, wake: int) -> bool:
    """Blocks until the process has ended; False where `wake`, an eventfd, was written to first."""
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    waiting.register(wake, select.POLLIN)
    return any(descriptor == pidfd for descriptor, _ in waiting.poll())


def _by_crash(segment_path: str, pid: int) -> ExitStatus | None:
    """A fault for which the program had no handler ends it."""
    try:
        note = _core.Segment(segment_path).crash(_abi.CRASH_ENDED)
    except (OSError, ValueError):  # as by_recorder
        return None
    return None if note is None or note["pid"] != pid or note["code"] <= 0 else ExitStatus(signal=note["signal"])


def _by_waitid(pid: int, pidfd: int) -> ExitStatus | None:
    while True:
        try:
            result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:  # not our child, or Frida was first
            return None
        if result is None:
            return None
        if result.si_code == os.CLD_EXITED:
            return ExitStatus(code=result.si_status)
        if result.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
            return ExitStatus(signal=result.si_status)
        # a ptrace stop, which a tracer sees whatever it asked for: Frida traces a program through its exec, and
        # threads are held while code is changed
        _has_ended(pidfd, _STOP_MS)


def _has_ended(pidfd: int, timeout_ms: int | None) -> bool:
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    return bool(waiting.poll(timeout_ms))


def _by_kernel(pidfd: int) -> ExitStatus | None:
    _has_ended(pidfd, None)
    info = bytearray(_PIDFD_INFO_BYTES)
    struct.pack_into("<Q", info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:  # an older kernel
        return None
    (mask,) = struct.unpack_from("<Q", info)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    (status,) = struct.unpack_from("<i", info, _PIDFD_INFO_BYTES - 4)
    code = os.waitstatus_to_exitcode(status)
    return ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)


def by_recorder(segment_path: str) -> ExitStatus | None:
    """What the recorder noted of the argument of _exit; None where the program did not call it."""
    try:
        state, code = _core.Segment(segment_path).exit_state()
    except (OSError, ValueError):  # removed, or damaged: the program has ended nevertheless
        return None
    return ExitStatus(code=code & 0xFF) if state == _abi.EXIT_CALLED else None
