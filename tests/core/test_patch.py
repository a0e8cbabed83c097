"""Code of a process, written from outside: whole or not at all, and its threads go on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import processes
from support.programs import require

from strobe import _core


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
    held_ns = _core.write_code(cat.pid, [(address, b"\xcc\xcd\xce", 3)], True)
    assert read(cat.pid, address, 3) == b"\xcc\xcd\xce"
    assert held_ns > 0
    echo(cat, b"still there\n")


def test_a_change_that_fails_takes_the_others_back(cat: subprocess.Popen[bytes]) -> None:
    address = unused_code(cat.pid)
    before = read(cat.pid, address, 3)
    with pytest.raises(OSError, match="code"):
        _core.write_code(cat.pid, [(address, b"\xcc\xcd\xce", 3), (1 << 46, b"\xcc", 1)], True)
    assert read(cat.pid, address, 3) == before
    echo(cat, b"still there\n")


def test_a_process_that_is_gone_is_told() -> None:
    process = subprocess.Popen(["true"])
    process.wait(timeout=60)
    with pytest.raises((ProcessLookupError, FileNotFoundError)):
        _core.write_code(process.pid, [(4096, b"\xcc", 1)], True)


def test_a_process_under_another_debugger_is_left_alone(cat: subprocess.Popen[bytes]) -> None:
    script = ["-ex", "python print('held', flush=True)", "-ex", "shell cat"]
    command = [require("gdb"), "-nx", "-batch", "-p", str(cat.pid), *script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gdb:
        assert gdb.stdin is not None and gdb.stdout is not None
        while gdb.stdout.readline() != b"held\n":
            assert gdb.poll() is None
        with pytest.raises(PermissionError):
            _core.write_code(cat.pid, [(unused_code(cat.pid), b"\xcc", 1)], True)
        gdb.stdin.close()
        gdb.wait(timeout=20)
    echo(cat, b"let go\n")
