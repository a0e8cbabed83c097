"""What the kernel says of a process or a thread of it (proc(5), status)."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_STRICT = "1"
_PF_EXITING = 4  # of the kernel's flags of a task


def blocked_signals(pid: int, thread: int) -> int:
    """Of a thread: bit n - 1 for signal n. Raises OSError when it is gone."""
    return int(_fields(Path(f"/proc/{pid}/task/{thread}/status"))["SigBlk"], 16)


def ends_by(pid: int, number: int) -> bool:
    """Whether a signal ends the process, which neither handles nor ignores it; True when that is gone."""
    try:
        fields = _fields(Path(f"/proc/{pid}/status"))
    except OSError:
        return True
    return not (int(fields["SigCgt"], 16) | int(fields["SigIgn"], 16)) >> (number - 1) & 1


def filters_calls(pid: int) -> bool:
    """Whether a filter that Strobe itself is not under decides which calls of the kernel a thread of the process may
    make (seccomp). False when the process is gone."""
    try:
        own = _filters(_fields(Path("/proc/self/status")))
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False
    for task in tasks:
        with suppress(OSError):  # this thread has ended
            theirs = _fields(task / "status")
            # Linux before 5.9 does not count the filters
            if theirs.get("Seccomp", "0") == _STRICT or _filters(theirs) > own:
                return True
    return False


def main_thread_filters(pid: int) -> bool:
    """As filters_calls, of the main thread alone."""
    try:
        return _filters(fields(pid)) > _filters(_fields(Path("/proc/self/status")))
    except OSError:
        return False


def waited_for_cpu(pid: int) -> float:
    """How many seconds the main thread, ready to run, has waited for a processor; 0 where the kernel does not say."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def is_ending(pid: int) -> bool:
    """Whether every thread of the process is at its end, or is to be by a signal that the kernel has sent it: so it is
    from exit_group on until the process is gone, and where that is gone."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return True
    return all(_is_task_ending(task) for task in tasks)


def _is_task_ending(task: Path) -> bool:
    try:
        words = (task / "stat").read_text().rpartition(")")[2].split()
        fields = _fields(task / "status")
    except OSError:
        return True
    pending = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
    return words[0] in "ZX" or bool(int(words[6]) & _PF_EXITING) or bool(pending & 1 << (signal.SIGKILL - 1))


def has_living_threads(pid: int) -> bool:
    """False also when the process is gone. The main thread may end before others."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                if _fields(task / "status")["State"][0] not in "ZX":
                    return True
    return False


def is_traced(pid: int, threads: Iterable[int] | None = None) -> bool | None:
    """Whether any thread of it is, or any of these, by ptrace; None when there is no such process, it has ended and
    its parent has not asked yet, or it may not be read."""
    folder = Path(f"/proc/{pid}/task")
    try:
        tasks = list(folder.iterdir()) if threads is None else [folder / str(thread) for thread in threads]
    except OSError:
        return None
    found = []
    for task in tasks:
        with suppress(
            FileNotFoundError, ProcessLookupError
        ):  # this thread has ended, before or after the file's opening
            found.append(_fields(task / "status"))
    if threads is None and all(fields["State"][0] in "ZX" for fields in found):
        return None
    return any(fields["TracerPid"] != "0" for fields in found)


def tracer(pid: int) -> int:
    """The process that traces a thread of it by ptrace, other than this one; 0 where none does, or it is gone."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                found = int(_fields(task / "status")["TracerPid"])
                if found and not Path(f"/proc/self/task/{found}").exists():
                    return found
    return 0


def task_ids(pid: int) -> set[int]:
    """Its threads. Raises OSError when the process is gone."""
    return {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()}


def is_traced_here(pid: int) -> bool:
    """Whether this process traces its main thread."""
    return bool(is_traced(pid, [pid])) and not tracer(pid)


def is_stopped(pid: int) -> bool:
    """Whether every thread of it is, by a signal or by a debugger. False when the process is gone."""
    states = set()
    with suppress(OSError):
        if _fields(Path(f"/proc/{pid}/status"))["State"][0] not in "TtZX":  # the main thread's
            return False
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                states.add(_fields(task / "status")["State"][0])
    return bool(states - {"Z", "X"}) and states <= {"T", "t", "Z", "X"}


def fields(pid: int) -> dict[str, str]:
    """All that it says of the process, by name. Raises OSError when it is gone."""
    return _fields(Path(f"/proc/{pid}/status"))


def _filters(fields: dict[str, str]) -> int:
    return int(fields.get("Seccomp_filters", fields.get("Seccomp", "0")))


def _fields(path: Path) -> dict[str, str]:
    lines = path.read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
