"""Where a user may not have as many processes and threads as Strobe needs (RLIMIT_NPROC): one clear error, at once, and
nothing left behind. Root is not limited, so these run as another user, of whom there is nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import namespaces, programs
from support.wait import wait_until

from strobe.errors import Code, StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

Build = Callable[..., Path]
SECONDS = 60
ROOM = 80  # for `strobe run`, with some to spare


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Callable[[int], list[str]]]:
    """What begins a command of that user, who may have so many processes and threads."""
    home = namespaces.home_of_user(tmp_path)
    yield lambda limit: [*namespaces.as_user(home), "prlimit", f"--nproc={limit}"]
    wait_until(lambda: not namespaces.processes_of_user(), "the end of all that was started", SECONDS)


@pytest.mark.parametrize("limit", [1, 2, 5, 8, 12, 16, 24, 32, 38])
def test_a_run_under_too_low_a_limit(limited: Callable[[int], list[str]], build_program: Build, limit: int) -> None:
    result = run(limited(limit), build_program)
    assert result.returncode == 1
    expected = r"strobe: LIMIT_REACHED: The system does not allow .* here, which Strobe needs\. Raise the limit of .*\n"
    assert re.fullmatch(expected, result.stderr), result.stderr
    assert result.stdout == ""


def test_a_run_under_a_limit_that_has_room(limited: Callable[[int], list[str]], build_program: Build) -> None:
    result = run(limited(ROOM), build_program)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("limit", [1, 2, 3, 8, 24])
def test_a_daemon_under_too_low_a_limit(limited: Callable[[int], list[str]], limit: int) -> None:
    """It was waited for 15 s, and then said that nothing answers."""
    begun = time.monotonic()
    command = [*limited(limit), sys.executable, "-m", "strobe", "mcp"]
    result = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 1
    assert re.search("LIMIT_REACHED: [Tt]he system (allows no more processes|does not allow 40 more)", result.stderr)
    assert len(result.stderr.splitlines()) == 1
    assert time.monotonic() - begun < 12


def run(begin: list[str], build_program: Build) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "strobe", "run", "-t", "ended", "--", str(build_program("exits")), "return", "0"]
    return subprocess.run([*begin, *command], capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.timeout(15)
def test_a_program_whose_user_may_have_no_more_threads(
    limited: Callable[[int], list[str]], build_program: Build, manager: SessionManager
) -> None:
    """Frida's agent would not begin, and after 20 s the machine would be said to be too busy."""
    command = [*limited(5), str(build_program("attached"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None and program.stdout is not None
        try:
            assert program.stdout.readline() == "ready\n"
            with pytest.raises(StrobeError) as caught:
                manager.launch(
                    LaunchSpec("", pid=program.pid, project_root=str(programs.PROGRAMS)), TraceRequest(["*"])
                )
            assert caught.value.code is Code.ATTACH_FAILED
            assert re.search(r"its user may have 5 processes and threads, has [2-5], and 12 more", str(caught.value))
            assert program.poll() is None
        finally:
            program.kill()
