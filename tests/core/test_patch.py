"""Code of a process, written from outside: whole or not at all, and its threads go on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import processes
from support.programs import require

from strobe import _core
from strobe.capture.code_patches import CodePatch, CodePatches
from strobe.symbols import ElfResolver

WRITTEN, OTHER_CODE = 0, 1
NOWHERE = (0, 0, 0, 0)


@pytest.fixture
def cat() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    echo(process, b"started\n")
    yield process
    processes.end(process)


def echo(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(text)
    assert process.stdout.readline() == text


def unused_code(pid: int) -> int:
    """An address at the end of the program's code, where the last page is filled up."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if " r-xp " in line and line.endswith("/cat"):
            return int(line.split("-")[1].split(" ")[0], 16) - 16
    raise AssertionError("no code of cat is mapped")


def read(pid: int, address: int, count: int) -> bytes:
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        memory.seek(address)
        return memory.read(count)


def test_code_is_written_while_the_threads_are_held(cat: subprocess.Popen[bytes]) -> None:
    address = unused_code(cat.pid)
    before = read(cat.pid, address, 3)
    held_ns, results = _core.write_code(cat.pid, [(address, b"\xcc\xcd\xce", before, NOWHERE)], True)
    assert results == [WRITTEN]
    assert read(cat.pid, address, 3) == b"\xcc\xcd\xce"
    assert held_ns > 0
    echo(cat, b"still there\n")


def test_a_change_that_fails_takes_the_others_back(cat: subprocess.Popen[bytes]) -> None:
    address = unused_code(cat.pid)
    before = read(cat.pid, address, 3)
    with pytest.raises(OSError, match="code"):
        _core.write_code(cat.pid, [(address, b"\xcc\xcd\xce", before, None), (1 << 46, b"\xcc", b"", None)], True)
    assert read(cat.pid, address, 3) == before
    echo(cat, b"still there\n")


TWO_PAGES = """
import ctypes, sys, tempfile
READ_WRITE, READ_EXECUTE, SHARED, PRIVATE, FIXED = 3, 5, 1, 2, 16
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
with tempfile.NamedTemporaryFile() as file:
    file.truncate(8192)
    start = libc.mmap(None, 8192, READ_EXECUTE, PRIVATE, file.fileno(), 0)
    with open(file.name, "rb") as readable:
        libc.mmap(start + 4096, 4096, READ_EXECUTE, SHARED | FIXED, readable.fileno(), 4096)
print(start + 4096 - 3, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("is_running", [True, False])
def test_a_change_that_fails_half_done_is_taken_back(is_running: bool) -> None:
    """The second page of it is of a file that the process may only read."""
    command = [sys.executable, "-c", TWO_PAGES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            assert process.stdout is not None
            address = int(process.stdout.readline())
            before = read(process.pid, address, 5)
            with pytest.raises(OSError, match="code"):
                _core.write_code(process.pid, [(address, b"\xcc" * 5, before, NOWHERE)], is_running)
            assert read(process.pid, address, 5) == before
        finally:
            processes.end(process)


def test_a_handler_that_cannot_be_sent_elsewhere_leaves_the_code_as_it_was(build_program: Callable[..., Path]) -> None:
    """What it will return to lies in memory that nobody may write."""
    program = build_program("stands_in_entries")
    with subprocess.Popen([program, "sealed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            assert process.stdout.read(1) == b"s"
            process.stdin.write(b".")
            assert process.stdout.read(1) == b"h"
            address = address_of(process.pid, program, "loads")
            before = read(process.pid, address, 5)
            copies = (address + 1, address + 1, address + 1, address + 1)
            with pytest.raises(OSError, match="code"):
                _core.write_code(process.pid, [(address, b"\xcc" * 5, before, copies)], True)
            assert read(process.pid, address, 5) == before
            process.stdin.write(b".")
            assert process.stdout.read(1) == b"r"
        finally:
            processes.end(process)


def address_of(pid: int, program: Path, name: str) -> int:
    """Of a function of a running program, which is position-independent."""
    symbols = ElfResolver().module(str(program))
    start = min(
        int(line.split("-")[0], 16)
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
        if line.endswith(str(program))
    )
    return start + next(function.address for function in symbols.functions if function.raw_name == name)


def test_a_process_that_is_gone_is_reported() -> None:
    process = subprocess.Popen(["true"])
    process.wait(timeout=60)
    with pytest.raises((ProcessLookupError, FileNotFoundError)):
        _core.write_code(process.pid, [(4096, b"\xcc", b"", None)], True)


def test_a_process_under_another_debugger_is_left_alone(cat: subprocess.Popen[bytes]) -> None:
    script = ["-ex", "python print('held', flush=True)", "-ex", "shell cat"]
    command = [require("gdb"), "-nx", "-batch", "-p", str(cat.pid), *script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gdb:
        assert gdb.stdin is not None and gdb.stdout is not None
        while gdb.stdout.readline() != b"held\n":
            assert gdb.poll() is None
        with pytest.raises(PermissionError):
            _core.write_code(cat.pid, [(unused_code(cat.pid), b"\xcc", b"", None)], True)
        # of a program that has not begun this is known, and only what else runs in it has to be held
        _, results = _core.write_code(cat.pid, [(unused_code(cat.pid), b"\xcc", b"", None)], False)
        assert results == [WRITTEN]
        gdb.stdin.close()
        gdb.wait(timeout=20)
    echo(cat, b"let go\n")


def test_code_that_is_not_what_was_seen_stays(cat: subprocess.Popen[bytes]) -> None:
    address = unused_code(cat.pid)
    before = read(cat.pid, address, 6)
    changes: list[Any] = [(address, b"\xcc\xcd", b"\xfe\xfe", NOWHERE), (address + 3, b"\xcc", before[3:4], NOWHERE)]
    _, results = _core.write_code(cat.pid, changes, True)
    assert results == [OTHER_CODE, WRITTEN]
    assert read(cat.pid, address, 4) == before[:3] + b"\xcc"
    echo(cat, b"still there\n")


SEIZE = """
import ctypes, sys
PTRACE_SEIZE = 0x4206
assert ctypes.CDLL(None, use_errno=True).ptrace(PTRACE_SEIZE, int(sys.argv[1]), None, None) == 0
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("is_running", [True, False])
def test_one_thread_under_another_debugger_leaves_all_running(
    build_program: Callable[..., Path], is_running: bool
) -> None:
    """Those that were seized before have not stopped yet when that one is found."""
    with subprocess.Popen(
        [build_program("stands_in_entries"), "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            assert process.stdout.read(1) == b"s"
            last = max(int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir())
            assert last != process.pid
            tracer = [sys.executable, "-c", SEIZE, str(last)]
            with subprocess.Popen(tracer, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
                assert other.stdin is not None and other.stdout is not None
                assert other.stdout.readline() == b"held\n"
                for _ in range(20):
                    with pytest.raises(PermissionError):
                        _core.write_code(process.pid, [(4096, b"\xcc", b"", None)], is_running)
                    process.stdin.write(b".")
                    assert process.stdout.read(1) == b"a"
                other.stdin.close()
                assert other.wait(timeout=20) == 0
            process.stdin.write(b"q")
            assert process.stdout.read(1) == b"r"
        finally:
            processes.end(process)


@pytest.mark.parametrize(
    ("stands", "is_out"),
    [(b"jump!", True), (b"\0\0\0\0\0", True), (b"", True), (b"\xccump!", False), (b"other", False)],
)
def test_a_jump_is_out_where_its_library_has_gone(cat: subprocess.Popen[bytes], stands: bytes, is_out: bool) -> None:
    """Nothing is mapped there, or the library that was loaded again: a stopped program reports neither. Where another
    debugger has a breakpoint in the jump the rest of it stays there."""
    address = unused_code(cat.pid) if stands else 4096
    if stands:
        _core.write_code(cat.pid, [(address, stands, b"\0\0\0\0\0", None)], True, [None], [])
    patches = CodePatches(cat.pid)
    patches.running = True
    patches._patches[1] = CodePatch(address, b"\0\0\0\0\0", b"jump!", 0, NOWHERE, (0, 0), True)
    assert patches.take_out() is is_out
    assert patches.take_out() is is_out
    if stands:
        assert patches.read(address, 5) == (b"\0\0\0\0\0" if is_out else stands)
    echo(cat, b"going on\n")
