"""Processes that an agent would harm, or in which it has no room, are refused before anything is done to them."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS, require
from support.sessions import Build, totals
from support.wait import wait_until

from strobe.capture import task_status
from strobe.capture.attachable import has_agent
from strobe.errors import Code, StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

NOBODY = 65534


@contextmanager
def reachable(program: Path) -> Iterator[Path]:
    """A copy that every user may run: the clone may lie in a home of mode 0700."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copy(program, folder))


@contextmanager
def running(*words: object, before: Callable[[], None] | None = None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True, preexec_fn=before)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        processes.end(process)


def descriptors(pid: int) -> list[str]:
    return sorted(entry.name for entry in Path(f"/proc/{pid}/fd").iterdir())


def refusal(manager: SessionManager, process: subprocess.Popen[str]) -> str:
    """Why it is not attached to. Nothing was changed in it."""
    before = descriptors(process.pid)
    with pytest.raises(StrobeError) as caught:
        manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
    assert caught.value.code is Code.ATTACH_FAILED
    assert not has_agent(process.pid)
    assert descriptors(process.pid) == before
    assert process.poll() is None
    return str(caught.value)


def test_one_thread_of_many_filters_its_system_calls(manager: SessionManager, build_program: Build) -> None:
    with running(build_program("filters_a_thread", "-pthread")) as process:
        assert "filters its system calls" in refusal(manager, process)


@pytest.mark.parametrize(
    ("kind", "limit", "reason"),
    [(resource.RLIMIT_NOFILE, 12, "12 open files"), (resource.RLIMIT_AS, 700 << 20, "address space is limited")],
)
def test_its_limits_leave_no_room_for_the_agent(
    manager: SessionManager, build_program: Build, kind: int, limit: int, reason: str
) -> None:
    with running(build_program("stays"), before=lambda: resource.setrlimit(kind, (limit, limit))) as process:
        assert reason in refusal(manager, process)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_another_users_that_may_open_all_files(manager: SessionManager, build_program: Build) -> None:
    rights = ["--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"]
    user = [require("setpriv"), "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    with running(*user, *rights, build_program("stays")) as process:
        session = manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["stay"]))
        wait_until(lambda: "stay" in totals(session), "a call")
        session.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_it_is_another_users(manager: SessionManager, build_program: Build) -> None:
    with (
        reachable(build_program("stays")) as program,
        running(program, before=lambda: os.setresuid(NOBODY, NOBODY, NOBODY)) as process,
    ):
        assert f"it runs as user {NOBODY}" in refusal(manager, process)


def test_a_process_whose_main_thread_has_ended_is_not_said_to_be_none(
    manager: SessionManager, build_program: Build
) -> None:
    with running(build_program("without_main_thread")) as process:
        wait_until(lambda: task_status.fields(process.pid)["State"].startswith("Z"), "the end of the main thread")
        with pytest.raises(StrobeError, match="its main thread has ended") as caught:
            manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
        assert caught.value.code is Code.ATTACH_FAILED
