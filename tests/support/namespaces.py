"""PID and time namespaces, for tests of what processes of several of them do with each other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

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
