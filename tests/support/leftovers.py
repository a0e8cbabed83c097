"""What a test left behind: processes it started, directly or through a daemon, and segments in /dev/shm."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
# Frida's own background process: shared by all its users, started by the first, it ends some time after the last.
FRIDA_HELPER = re.compile(rb"/frida-[0-9a-f]{16,}/")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of the machine before a test: all processes, by id and start, and segments that are not the test's own."""

    processes: frozenset[tuple[int, str]]
    segments: frozenset[str]


def observe(home: Path) -> Snapshot:
    """What is there now."""
    present = frozenset((pid, stat.start) for pid, stat in _stats().items())
    return Snapshot(present, frozenset(path.name for path in segments(home)))


def segments(home: Path) -> list[Path]:
    """Live segments of the sessions of `home`: other test runs on this machine have theirs beside them."""
    mark = hashlib.sha256(os.fsencode(home / "sessions")).hexdigest()[:8]
    return list(SHARED_MEMORY.glob(f"strobe-{os.getuid()}-*-{mark}"))


def leftovers(before: Snapshot, home: Path) -> list[str]:
    """Processes and segments that came since `before` and are still there, one line each."""
    found = [f"process {pid}: {_command_line(pid)}" for pid in _new_processes(before, home)]
    return found + [str(SHARED_MEMORY / name) for name in _new_segments(before, home)]


def daemons(home: Path) -> list[int]:
    """Those of `home`, also such as have just been started and do not serve it yet."""
    mark = f"STROBE_HOME={home}".encode()
    found = [pid for pid in _all_pids() if mark in _read(f"/proc/{pid}/environ").split(b"\0")]
    return [pid for pid in found if b"strobe.mcp.daemon" in _read(f"/proc/{pid}/cmdline")]


def _new_processes(before: Snapshot, home: Path) -> list[int]:
    """The descendants of this process and everything whose STROBE_HOME is `home`, that came since `before`: of what
    was there then only the start is read, as a test would wait for hundreds of files of /proc else."""
    stats = _stats()
    mark = f"STROBE_HOME={home}".encode()
    found = []
    for pid, stat in stats.items():
        if (pid, stat.start) in before.processes or stat.state in "ZX":
            continue
        if FRIDA_HELPER.search(_read(f"/proc/{pid}/cmdline")):
            continue
        if _descends(pid, stats) or mark in _read(f"/proc/{pid}/environ").split(b"\0"):
            found.append(pid)
    return found


def _new_segments(before: Snapshot, home: Path) -> list[str]:
    return [path.name for path in segments(home) if path.name not in before.segments]


def _stats() -> dict[int, _Stat]:
    """Of all processes but this one."""
    found = {pid: _stat(pid) for pid in _all_pids() - {os.getpid()}}
    return {pid: stat for pid, stat in found.items() if stat is not None}


def _all_pids() -> set[int]:
    return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    parent: int
    start: str


def _stat(pid: int) -> _Stat | None:
    """The fields of /proc/PID/stat that matter here (proc(5)); the name may contain blanks and brackets."""
    fields = _read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()
    return _Stat(fields[0], int(fields[1]), fields[19]) if fields else None


def _descends(pid: int, stats: dict[int, _Stat]) -> bool:
    """Whether `pid` is below this process."""
    for _ in range(len(stats)):
        stat = stats.get(pid)
        if stat is None:
            return False
        if stat.parent == os.getpid():
            return True
        pid = stat.parent
    return False


def _command_line(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def _read(path: str) -> bytes:
    """A file of /proc, empty where its process is gone or not ours."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def clear(before: Snapshot, home: Path) -> None:
    """Remove what a failed test left, so that the next test starts clean."""
    for pid in _new_processes(before, home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for name in _new_segments(before, home):
        (SHARED_MEMORY / name).unlink(missing_ok=True)
