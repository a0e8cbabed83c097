"""What stands between Frida and ptrace, with a library in Frida's place."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator

import pytest
from support import processes
from support.sessions import Build
from support.wait import wait_until

from strobe import _core
from strobe.capture.task_status import fields

SEIZE, INTERRUPT, CONT, DETACH = 0x4206, 0x4207, 7, 17
TRACE_VFORK_DONE = 1 << 5
EVENT_VFORK_DONE, EVENT_STOP = 5, 128
ALL = 0x40000000  # __WALL


class Library:
    def __init__(self, path: str) -> None:
        self.path = path
        self._functions = ctypes.CDLL(path, use_errno=True)

    def ptrace(self, request: int, pid: int, data: int = 0) -> None:
        words = (ctypes.c_int(request), ctypes.c_int(pid), ctypes.c_void_p(0), ctypes.c_void_p(data))
        if self._functions.library_ptrace(*words) != 0:
            raise OSError(ctypes.get_errno(), f"request {request}")

    def event(self, pid: int) -> int:
        """Of the next stop that is not for a signal, which is waited for; signals are passed on, as Frida does."""
        while True:
            status = self._status(pid)
            if event := status >> 16:
                return event
            self.ptrace(CONT, pid, os.WSTOPSIG(status))

    def _status(self, pid: int) -> int:
        status = ctypes.c_int()

        def is_stopped() -> bool:
            return self._functions.library_waitpid(pid, ctypes.byref(status), ALL | os.WNOHANG) == pid

        wait_until(is_stopped, "a stop", 20)
        assert os.WIFSTOPPED(status.value), status.value
        return status.value


@pytest.fixture
def target(build_program: Build) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([build_program("vforks_when_told")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    yield process
    processes.end(process)


@pytest.mark.parametrize("is_attaching", [True, False], ids=["attaching", "later"])
def test_a_request_to_stop_that_another_stop_clears_is_made_again(
    build_program: Build, target: subprocess.Popen[bytes], is_attaching: bool
) -> None:
    """As one for a signal does, at the right moment. The end of vfork's wait does each time: the kernel keeps one
    request, which any stop answers (ptrace_stop), and Frida would wait for another one for ever."""
    library = Library(str(build_program("calls_ptrace", "-shared", "-fPIC")))
    guard = _core.InjectionGuard(target.pid, library.path, 0, False, False)
    try:
        if not is_attaching:
            guard.end()
        wait_until(lambda: fields(target.pid)["State"].startswith("D"), "vfork")
        library.ptrace(SEIZE, target.pid, TRACE_VFORK_DONE)
        library.ptrace(INTERRUPT, target.pid)
        assert target.stdin is not None
        target.stdin.write(b"\n")
        target.stdin.flush()
        assert library.event(target.pid) == EVENT_VFORK_DONE
        library.ptrace(CONT, target.pid)
        assert library.event(target.pid) == EVENT_STOP
        library.ptrace(DETACH, target.pid)
    finally:
        guard.end()
