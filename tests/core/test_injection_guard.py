"""What stands between Frida and ptrace, with a library in Frida's place."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, PROT_EXEC, PROT_READ, PROT_WRITE
from pathlib import Path

import pytest
from support import processes
from support.sessions import Build
from support.wait import wait_until

from strobe import _core
from strobe.capture.task_status import fields
from strobe.process_maps import maps_lines

SEIZE, INTERRUPT, CONT, DETACH, GETREGS, SETREGS = 0x4206, 0x4207, 7, 17, 12, 13
TRACE_SYSTEM_CALLS, TRACE_VFORK_DONE = 1, 1 << 5  # options
EVENT_VFORK_DONE, EVENT_STOP = 5, 128
ALL = 0x40000000  # __WALL
NOWHERE = 0x320  # where Frida's calls return to
ROOM = 4096  # on the stack
MAPPED_BYTES = 1 << 18
ALL_ACCESS = PROT_READ | PROT_WRITE | PROT_EXEC
ALL_ONES = (1 << 64) - 1
# pcmpeqd of each vector register with itself, and ret
OVERWRITES = b"".join(
    [bytes([0x66, 0x0F, 0x76, 0xC0 + 9 * number]) for number in range(8)]
    + [bytes([0x66, 0x45, 0x0F, 0x76, 0xC0 + 9 * number]) for number in range(8)]
) + bytes([0xC3])


class Registers(ctypes.Structure):
    """struct user_regs_struct of x86-64."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for names in (
            ("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi"),
            ("orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs"),
        )
        for name in names
    ]


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

    def registers(self, pid: int) -> Registers:
        found = Registers()
        self.ptrace(GETREGS, pid, ctypes.addressof(found))
        return found

    def call(self, pid: int, own: Registers, function: int, *arguments: int) -> int:
        """What a function of the process returns, which the thread calls as Frida has it."""
        registers = Registers.from_buffer_copy(own)
        registers.rsp = (own.rsp - ROOM & ~15) - 8
        registers.rip, registers.orig_rax, registers.rax = function, ALL_ONES, 0
        for name, value in zip(("rdi", "rsi", "rdx", "rcx", "r8", "r9"), arguments, strict=False):
            setattr(registers, name, value & ALL_ONES)
        with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
            os.pwrite(memory.fileno(), NOWHERE.to_bytes(8, "little"), registers.rsp)
        self.ptrace(SETREGS, pid, ctypes.addressof(registers))
        self.ptrace(CONT, pid)
        assert os.WSTOPSIG(self._status(pid)) == signal.SIGSEGV
        returned = self.registers(pid)
        assert returned.rip == NOWHERE
        return int(returned.rax)

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


@pytest.fixture
def library(build_program: Build) -> Library:
    return Library(str(build_program("calls_ptrace", "-shared", "-fPIC")))


@pytest.fixture
def computing(build_program: Build) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([build_program("computes", "-O2")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    yield process
    processes.end(process)


def test_a_failed_call_returns_what_the_c_library_does(library: Library, computing: subprocess.Popen[str]) -> None:
    guard = _core.InjectionGuard(computing.pid, library.path, 0, False, False)
    try:
        own = _taken(library, computing.pid)
        nothing = library.call(computing.pid, own, _mmap_of(computing.pid), 0, 0, ALL_ACCESS, 0, -1, 0)
        assert nothing == ALL_ONES  # MAP_FAILED
        _let_go(library, computing.pid, own)
    finally:
        guard.end()
    assert _said_when_told(computing) == "0 wrong\n"


def test_a_call_without_a_way_back_after_one_with_it_is_put_right_as_well(
    library: Library, computing: subprocess.Popen[str]
) -> None:
    """There is one from mmap, and from code in the memory that it gives, but not from other functions."""
    blocked = fields(computing.pid)["SigBlk"]
    guard = _core.InjectionGuard(computing.pid, library.path, 0, False, False)
    try:
        own = _taken(library, computing.pid)
        flags = MAP_PRIVATE | MAP_ANONYMOUS
        mmap = _mmap_of(computing.pid)
        memory = library.call(computing.pid, own, mmap, 0, MAPPED_BYTES, ALL_ACCESS, flags, -1, 0)
        with Path(f"/proc/{computing.pid}/mem").open("r+b", buffering=0) as file:
            os.pwrite(file.fileno(), OVERWRITES, memory)
        library.call(computing.pid, own, memory)
        assert library.call(computing.pid, own, _in_libc(computing.pid, "getpid")) == computing.pid
        _let_go(library, computing.pid, own)
    finally:
        guard.end()
    assert fields(computing.pid)["SigBlk"] == blocked
    assert _said_when_told(computing) == "0 wrong\n"


def test_a_thread_that_is_taken_twice_goes_on_where_it_was_the_second_time(
    library: Library, computing: subprocess.Popen[str]
) -> None:
    """As where the agent has gone before Frida has come, and the loader is removed."""
    blocked = fields(computing.pid)["SigBlk"]
    guard = _core.InjectionGuard(computing.pid, library.path, 0, False, False)
    try:
        for _ in range(2):
            own = _taken(library, computing.pid)
            assert library.call(computing.pid, own, _in_libc(computing.pid, "munmap"), 1, 0) == ALL_ONES
            _let_go(library, computing.pid, own)
            _await_run(computing.pid)
    finally:
        guard.end()
    assert fields(computing.pid)["SigBlk"] == blocked
    assert _said_when_told(computing) == "0 wrong\n"


def _taken(library: Library, pid: int) -> Registers:
    library.ptrace(SEIZE, pid, TRACE_SYSTEM_CALLS)
    library.ptrace(INTERRUPT, pid)
    assert library.event(pid) == EVENT_STOP
    return library.registers(pid)


def _let_go(library: Library, pid: int, own: Registers) -> None:
    library.ptrace(SETREGS, pid, ctypes.addressof(own))
    library.ptrace(DETACH, pid)


def _mmap_of(pid: int) -> int:
    return _in_libc(pid, "mmap")


def _in_libc(pid: int, name: str) -> int:
    """Where a function lies in the process, which has the C library that runs here."""
    here = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert here is not None
    return here - _libc("self") + _libc(str(pid))


def _libc(process: str) -> int:
    lines = maps_lines(Path(f"/proc/{process}/maps").read_text())
    return next(line.start for line in lines if "/libc.so" in line.name)


def _await_run(pid: int) -> None:
    until = _on_cpu_ns(pid) + 1_000_000
    wait_until(lambda: _on_cpu_ns(pid) > until, "the thread to run on")


def _on_cpu_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def _said_when_told(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGUSR1)
    return process.communicate(timeout=60)[0]
