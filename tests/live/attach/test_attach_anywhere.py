"""Attaching takes the main thread where it stands, has it call functions of the C library, and puts it back there."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build, totals
from support.tracers import traced
from support.wait import wait_until

from strobe.capture.agent import frida_session
from strobe.errors import Code, StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager


@contextlib.contextmanager
def running(*command: object, **options: object) -> Iterator[subprocess.Popen[str]]:
    """It is past its "ready"."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        processes.end(process)


def says(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGUSR1)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, (process.returncode, output)
    return str(output)


def attach_once(manager: SessionManager, pid: int) -> None:
    session = manager.launch(LaunchSpec("", pid=pid, project_root=str(PROGRAMS)), TraceRequest(["step"]))
    wait_until(lambda: "step" in totals(session), "a call")
    session.stop()


@scenario
def test_vector_registers_are_put_back(manager: SessionManager, build_program: Build) -> None:
    for _ in rounds(1):
        with running(build_program("computes", "-O2")) as process:
            for _ in range(3):
                attach_once(manager, process.pid)
            assert says(process) == "0 wrong\n"


@scenario
def test_no_signal_is_lost(manager: SessionManager, build_program: Build) -> None:
    """Frida, after a failure, would let go of the thread without the signal in whose delivery it stands."""
    for _ in rounds(1):
        with running(build_program("raises", "-O2")) as process:
            for _ in range(8):
                session = manager.launch(
                    LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["turn"])
                )
                session.trace(TraceRequest(remove=["turn"]))
                session.trace(TraceRequest(add=["turn"]))
                session.stop()
            assert says(process) == "right\n"


@scenario
@pytest.mark.parametrize("arguments", [(), ("interrupted",)], ids=["plain", "interrupted"])
def test_the_allocator_is_not_entered_twice(
    manager: SessionManager, build_program: Build, arguments: tuple[str, ...]
) -> None:
    """Where its handlers interrupt it, these are no place to begin either."""
    allocator = build_program("allocates", "-DLIBRARY", "-shared", "-fPIC", "-fno-builtin")
    environment = {"LD_PRELOAD": str(allocator)}
    for _ in rounds(1):
        with running(build_program("allocates", "-fno-builtin"), *arguments, env=environment) as process:
            for _ in range(3):
                attach_once(manager, process.pid)
            assert says(process) == "right\n"


def test_what_the_main_thread_takes_in_the_allocator_is_waited_for(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than an agent has to start, as all of the looks together may take on a busy machine."""
    monkeypatch.setattr(frida_session, "ATTACH_S", 1.0)
    allocator = build_program("allocates", "-DLIBRARY", "-shared", "-fPIC", "-fno-builtin")
    environment = {"LD_PRELOAD": str(allocator)}
    with running(build_program("allocates", "-fno-builtin"), "slow", env=environment) as process:
        attach_once(manager, process.pid)
        assert says(process) == "right\n"


@pytest.mark.parametrize(
    "how", ["nanosleep", "poll", "select", "epoll", "read", "join", "semaphore", "timed wait", "spin", "clock"]
)
def test_the_main_thread_waits(manager: SessionManager, build_program: Build, how: str) -> None:
    """The second time in a call that was interrupted once, and waits on."""
    with running(build_program("waits"), how) as process:
        for _ in range(2):
            attach_once(manager, process.pid)
        assert says(process) == "right\n"


@scenario
def test_no_handler_leaves_what_frida_calls(manager: SessionManager, build_program: Build) -> None:
    for _ in rounds(1):
        with running(build_program("leaves_handlers", "-O1")) as process:
            for _ in range(3):
                attach_once(manager, process.pid)
            assert says(process) == "right\n"


def test_a_program_that_another_traces_is_left_alone(manager: SessionManager, build_program: Build) -> None:
    """Frida would go another way in: a jump over code of the C library, for which threads wait in a loop."""
    with running(build_program("allocates", "-fno-builtin")) as process:
        with traced(process.pid), maps_watched(process.pid) as seen, pytest.raises(StrobeError) as caught:
            manager.launch(LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["*"]))
        assert caught.value.code == Code.ATTACH_FAILED
        assert "traces it already" in str(caught.value)
        assert seen == {False}
        assert says(process) == "right\n"


@contextlib.contextmanager
def maps_watched(pid: int) -> Iterator[set[bool]]:
    """Whether something of Frida's was mapped, each time that was looked at."""
    ended = threading.Event()
    seen: set[bool] = set()

    def look() -> None:
        while not ended.wait(0.001):
            seen.add("frida" in Path(f"/proc/{pid}/maps").read_text())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        ended.set()
        looking.join()
