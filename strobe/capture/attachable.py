"""Whether a running process can take an agent now: Frida's way in waits for ever where its main thread cannot run."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from strobe import _abi
from strobe.capture import task_status
from strobe.capture.mapped_elf import mappings
from strobe.errors import StrobeError, failure
from strobe.process_maps import MapsLine, maps_lines

ATTACH_S = 20.0  # for what is over soon, such as a slow disk; then again for the way in
_POLL_S = 0.01
_BECOMING_S = 0.1
_DAC_OVERRIDE = 1 << 1  # opens files whoever they belong to: capabilities(7)
_WRITES = "rw-s"
_AGENT = "frida-agent"
_EMPTIED = "'{path}' is empty although it is mapped: reading the mapping would kill the process"
_EMPTIED_HINT = "It was truncated while the process uses it. Start the program again."
_MAGIC = _abi.MAGIC.to_bytes(8, "little")


def wait_until_attachable(pid: int) -> None:
    """Raises process_stopped, process_blocked when it stays so for ATTACH_S, no_such_process."""
    deadline = time.monotonic() + ATTACH_S
    while is_blocked(pid):
        if time.monotonic() > deadline:
            raise failure("process_blocked", pid=pid, seconds=f"{ATTACH_S:g}")
        time.sleep(_POLL_S)
    if task_status.tracer(pid):
        raise refused(pid, "", is_permission=False)
    if _state(pid) == "T":
        raise failure("process_stopped", pid=pid)
    if path := _emptied(pid):
        raise failure("attach_refused", pid=pid, reason=_EMPTIED.format(path=path), hint=_EMPTIED_HINT)


def check_owner(pid: int) -> None:
    """Raises attach_refused where the process may not open the recording, which is a file of this user alone."""
    try:
        fields = task_status.fields(pid)
        theirs = int(fields["Uid"].split()[3])  # as whom it opens files
        may_open_all = bool(int(fields["CapEff"], 16) & _DAC_OVERRIDE)
    except (OSError, ValueError, LookupError):
        return
    if theirs != os.geteuid() and not may_open_all:
        reason = f"it runs as user {theirs}, Strobe as {os.geteuid()}, and a recording belongs to one user"
        hint = f"Run Strobe as that user: sudo -u '#{theirs}' …"
        raise failure("attach_refused", pid=pid, reason=reason, hint=hint)


def _emptied(pid: int) -> str | None:
    """A file that is mapped from its first byte on and has none any more. To touch that is SIGBUS: Frida, which looks
    through all modules, would end the process."""
    with suppress(ProcessLookupError, PermissionError):
        for item in mappings(pid):
            with suppress(OSError):
                status = Path(item.path).stat()
                is_it = (status.st_dev, status.st_ino) == (item.device, item.inode) and S_ISREG(status.st_mode)
                if is_it and item.offset == 0 and status.st_size == 0:
                    return item.path
    return None


def refused(pid: int, reason: object, is_permission: bool) -> StrobeError:
    """Why a process cannot be observed, and what is to be done. `is_permission`: the system did not permit it."""
    if _is_hidden(pid) or _has_ended(pid):
        return missing(pid)
    if other := task_status.tracer(pid):
        reason = f"process {other} traces it already"
        hint = "A process has one tracer at a time (gdb, strace, rr): end that one first."
    elif is_permission:
        hint = (
            "The process must belong to the same user, and /proc/sys/kernel/yama/ptrace_scope must be 0 to attach to a"
            " process Strobe did not start."
        )
    else:
        hint = "Try again; if it fails again, start the program under Strobe."
    return failure("attach_refused", pid=pid, reason=reason, hint=hint)


def missing(pid: int) -> StrobeError:
    """Why /proc does not have a process."""
    if not _is_hidden(pid):
        return failure("no_such_process", pid=pid)
    hint = "Run Strobe as root or as the user of the process, or mount /proc without hidepid."
    return failure("attach_refused", pid=pid, reason="/proc hides processes of others (hidepid)", hint=hint)


def _is_hidden(pid: int) -> bool:
    """It is another user's, and /proc does not show it to this one."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not Path(f"/proc/{pid}").exists()
    except OSError:
        return False
    return False


def _has_ended(pid: int) -> bool:
    """Also where its parent has not asked yet how. A process of which another thread than the main one calls exec may
    look so for a moment."""
    until = time.monotonic() + _BECOMING_S
    while not task_status.has_living_threads(pid):
        if time.monotonic() > until:
            return True
        time.sleep(_POLL_S)
    return False


def program_of(pid: int) -> Path:
    """What the process runs, to be opened. Raises no_such_process, and attach_refused where the main thread has ended
    before the others; OSError."""
    link = Path(f"/proc/{pid}/exe")
    until = time.monotonic() + _BECOMING_S
    while True:
        try:
            link.readlink()
            return link
        except (FileNotFoundError, ProcessLookupError) as error:  # the main thread has ended, or another one calls exec
            if time.monotonic() > until:
                raise refused(pid, "its main thread has ended", is_permission=False) from error
        time.sleep(_POLL_S)


def is_blocked(pid: int) -> bool:
    """Its main thread is in an uninterruptible wait: vfork's child has not gone its way, or a disk is slow."""
    return _state(pid) == "D"


def _state(pid: int) -> str:
    """As proc(5) has it for /proc/PID/stat: R, S, D, T (stopped by a signal), t (by a tracer), Z."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError as error:
        raise missing(pid) from error


def live_segments(pid: int) -> list[Path]:
    """The files that a recorder in the process writes to at this moment: none, or that of a session."""
    written = [line for line in _maps(pid) if line.permissions == _WRITES and line.name.startswith("/")]
    return [path for path in dict.fromkeys(Path(line.path) for line in written) if _is_segment(path)]


def has_agent(pid: int) -> bool:
    """Whether an agent of Frida's is in it, whoever has put it there."""
    return agent_count(pid) > 0


def agent_count(pid: int) -> int:
    """How many of Frida's agents are in it: each is a file of its own in memory."""
    return len({(line.device, line.inode) for line in _maps(pid) if _AGENT in line.name})


def _maps(pid: int) -> list[MapsLine]:
    """Of /proc/PID/maps; none where the process is gone, or another user's."""
    try:
        return list(maps_lines(Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")))
    except OSError:
        return []


def _is_segment(path: Path) -> bool:
    """False for one that was removed: its session has ended. A device is not opened: to read one may wait for ever."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
