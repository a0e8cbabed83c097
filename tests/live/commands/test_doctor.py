"""`strobe doctor` where something does not work: it says so, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

STROBE = str(Path(sys.executable).with_name("strobe"))


def told(*command: str, home: Path) -> tuple[dict[str, dict[str, str]], int]:
    own = {**os.environ, "HOME": str(home), "STROBE_HOME": str(home / "strobe")}
    done = subprocess.run([*command, STROBE, "doctor", "--json"], env=own, capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    return {one["what"]: one for one in json.loads(done.stdout)["findings"]}, done.returncode


def test_where_nothing_may_be_traced(tmp_path: Path, build_program: Callable[..., Path]) -> None:
    found, status = told(str(build_program("without_ptrace", "-O1")), home=tmp_path)
    assert (found["attach"]["state"], found["record a program"]["state"], status) == ("no", "no", 1)
    assert "ptrace: Operation not permitted" in found["attach"]["said"] and "container" in found["attach"]["hint"]
    assert "StrobeError" not in found["record a program"]["said"]


def test_where_shared_memory_cannot_be_written_to(tmp_path: Path) -> None:
    """Sessions lie on the disk then."""
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$0" "$@"']
    tried = subprocess.run([*inside, "true"], capture_output=True, timeout=20)
    if tried.returncode != 0:
        pytest.skip(f"nothing may be mounted here: {tried.stderr.decode().strip()}")
    found, status = told(*inside, home=tmp_path)
    assert (found["shared memory"]["state"], found["record a program"]["state"], status) == ("limited", "ok", 0)
    assert "Read-only file system" in found["shared memory"]["said"]


def test_a_limit_is_told_with_what_to_do(tmp_path: Path) -> None:
    found, status = told("prlimit", "--nofile=20", home=tmp_path)
    recording = found["record a program"]
    assert (recording["state"], status) == ("no", 1)
    assert recording["said"].startswith("The limit of open files") and "ulimit -n" in recording["hint"]


def test_where_nothing_may_be_written_to_files(tmp_path: Path) -> None:
    """Files can be made there: the home was said to be well, and the rest "No usable temporary directory"."""
    found, status = told("prlimit", "--fsize=0", home=tmp_path)
    states = {name: found[name]["state"] for name in ("home", "shared memory", "record a program")}
    assert (states, status) == ({"home": "no", "shared memory": "limited", "record a program": "no"}, 1)
    assert found["home"]["said"].endswith("cannot be written to: File too large")
    assert found["record a program"]["said"].startswith("no temporary file can be written")
    assert all("ulimit -f" in found[name]["hint"] for name in ("home", "record a program"))


def test_a_home_that_cannot_be_looked_at(tmp_path: Path) -> None:
    """Agents that have their settings there are not found, and the rest is tried."""
    found, status = told(home=tmp_path / ("long" * 100))
    assert (found["home"]["state"], status) == ("no", 1)
    assert "File name too long" in found["home"]["said"]
