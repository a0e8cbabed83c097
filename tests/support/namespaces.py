"""Commands elsewhere: in PID and time namespaces, with another /proc, as a user of whom nothing else runs: its limits
count for these alone, and processes of others are not its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import programs

USER = 54_321
_READS_ALL = "-all,+dac_override,+dac_read_search"  # what is installed and built here may lie in root's own folders
_INSIDE = ["--pid", "--fork", "--kill-child", "--mount-proc"]
_WITHOUT_PROC = ["--pid", "--fork", "--kill-child"]
_WITH_OWN_MOUNTS = ["--mount"]
_IN_ANOTHER_TIME = ["--time", "--fork", "--kill-child", "--boottime", "100000", "--monotonic", "100000"]
_AS_ROOT = ["--user", "--map-root-user"]  # who is not may have one of their own


def inside(command: Sequence[str | Path]) -> list[str | Path]:
    """The command in a PID namespace of its own; skips the test where this user may have none."""
    return _unshared(_INSIDE, command)


def inside_with_old_proc(command: Sequence[str | Path]) -> list[str | Path]:
    """As `inside`, with the /proc of the namespace around it."""
    return _unshared(_WITHOUT_PROC, command)


def without_proc(command: Sequence[str | Path]) -> list[str | Path]:
    """The command where no /proc is mounted; skips the test as `inside`."""
    return _unshared(_WITH_OWN_MOUNTS, ["sh", "-c", 'umount -l /proc && exec "$@"', "sh", *command])


def with_read_only_proc(command: Sequence[str | Path]) -> list[str | Path]:
    """The command where nothing may be written to /proc; skips the test as `inside`."""
    # not the /proc of all, which `remount,ro` without `bind` makes read-only
    mount = "mount --make-rprivate / && mount --bind /proc /proc && mount -o remount,bind,ro /proc"
    return _unshared(_WITH_OWN_MOUNTS, ["sh", "-c", f'{mount} && exec "$@"', "sh", *command])


def with_hidden_processes(command: Sequence[str | Path]) -> list[str | Path]:
    """The command where /proc shows no processes of others; skips the test as `inside`."""
    mount = "mount -t proc -o hidepid=2 proc /proc"
    return _unshared(_WITH_OWN_MOUNTS, ["sh", "-c", f'{mount} && exec "$@"', "sh", *command])


def in_another_time(command: Sequence[str | Path]) -> list[str | Path]:
    """The command in a time namespace whose clocks are 100,000 s ahead; skips the test as `inside`."""
    return _unshared(_IN_ANOTHER_TIME, command)


def _unshared(what: Sequence[str], command: Sequence[str | Path]) -> list[str | Path]:
    for more in ([], _AS_ROOT):
        begin = ["unshare", *more, *what]
        tried = subprocess.run([*begin, "true"], capture_output=True, timeout=20)
        if tried.returncode == 0:
            return [*begin, *command]
    pytest.skip(f"no such namespace may be made here: {tried.stderr.decode().strip()}")


@contextmanager
def entrance() -> Iterator[Path]:
    """A namespace's file, as setns(2) takes it; skips the test where that is not permitted."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "echo ready; exec sleep 120"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            if process.stdout.readline() != b"ready\n":
                pytest.skip(f"no PID namespace may be made here: {process.stderr.read().decode().strip()}")
            yield Path(f"/proc/{process.pid}/ns/pid_for_children")
        finally:
            process.kill()


def home_of_user(folder: Path) -> Path:
    """A folder of that user; skips the test where there can be none."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        programs.lack("only root can act as a user of whom nothing else runs, by setpriv")
    made = folder / "home of the other user"
    made.mkdir(mode=0o700)
    os.chown(made, USER, USER)
    return made


def as_user(home: Path) -> list[str]:
    """What begins a command of that user, with this STROBE_HOME. It may not do what root may, but read all files."""
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    user += ["--bounding-set=-sys_resource,-sys_admin"]
    user += [f"--{kind}-caps={_READS_ALL}" for kind in ("inh", "ambient")]
    return [*user, "env", f"STROBE_HOME={home}", f"TMPDIR={home}"]


def processes_of_user() -> list[str]:
    """Names of its processes that have not ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            status = (entry / "status").read_text()
        except OSError:
            continue
        if re.search(rf"^Uid:\t{USER}\t", status, re.M) and not re.search(r"^State:\t[ZX]", status, re.M):
            found.append(status.splitlines()[0])
    return found
