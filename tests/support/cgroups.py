"""Groups of processes that get little of the processors."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.wait import wait_until

_ROOTS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))


@contextlib.contextmanager
def starved(pid: int, quota_us: int, period_us: int) -> Iterator[None]:
    """The process runs for `quota_us` (1,000 at least) of each `period_us` (a million at most).

    Skips the test where no such group can be made.
    """
    group = _made()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        (group / "cgroup.procs").write_text(str(pid))
        yield
        with contextlib.suppress(ProcessLookupError):
            (group.parent / "cgroup.procs").write_text(str(pid))
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "the group to be empty")
        group.rmdir()


def _made() -> Path:
    for root in _ROOTS:
        group = root / f"strobe-test-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / "cpu.max").exists() or (group / "cpu.cfs_quota_us").exists():
            return group
        group.rmdir()
    pytest.skip("no group of processes with little processor time can be made here")
