"""Threads of another process that are held for a moment: still until they are let go of, and as they were after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import processes
from support.sessions import Build
from support.wait import wait_until

from strobe import _core

LONG_MS = 600_000
SIGNALS = 200
LOADS = 30
HOLDS = 40

# A thread of it is in vfork, whose child sleeps.
FORKER = """
import ctypes, threading, time
def fork():
    libc = ctypes.CDLL(None)
    if libc.vfork() == 0:
        libc.sleep(600)
threading.Thread(target=fork, daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""
HOLDER = """
import sys, time
from strobe import _core
held = _core.HeldThreads([int(item) for item in sys.argv[1:]], 600_000)
print("held", flush=True)
time.sleep(600)
"""


def start(*command: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() in ("ready\n", "held\n")
    return process


@pytest.fixture
def target(build_program: Build) -> Iterator[subprocess.Popen[str]]:
    process = start(str(build_program("counts_signals")))
    yield process
    processes.end(process)


def handled(process: subprocess.Popen[str]) -> int:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def tasks(pid: int) -> list[int]:
    return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]


def status(pid: int, field: str) -> set[str]:
    """What /proc has for its threads."""
    texts = [Path(f"/proc/{pid}/task/{task}/status").read_text() for task in tasks(pid)]
    return {text.partition(f"\n{field}:\t")[2].split()[0] for text in texts}


def is_let_go_of(pid: int) -> bool:
    return status(pid, "TracerPid") == {"0"}


def test_they_stand_still_until_they_are_released(target: subprocess.Popen[str]) -> None:
    held = _core.HeldThreads(tasks(target.pid), LONG_MS)
    wait_until(lambda: status(target.pid, "State") == {"t"}, "all threads to stand still")
    assert held.release()
    assert is_let_go_of(target.pid)
    assert handled(target) == 0


def test_they_are_held_no_longer_than_the_limit(target: subprocess.Popen[str]) -> None:
    held = _core.HeldThreads(tasks(target.pid), 50)
    wait_until(lambda: is_let_go_of(target.pid), "the limit")
    assert handled(target) == 0
    assert not held.release()


def test_each_signal_is_delivered_once(target: subprocess.Popen[str]) -> None:
    """Also one that is on its way when its thread is held."""
    for _ in range(SIGNALS // 4):
        for _ in range(2):
            os.kill(target.pid, signal.SIGRTMIN)
        held = _core.HeldThreads(tasks(target.pid), LONG_MS)
        for _ in range(2):
            os.kill(target.pid, signal.SIGRTMIN)
        assert held.release()
    assert wait_until(lambda: handled(target) == SIGNALS, "all signals")


def test_they_go_on_when_the_holder_is_killed(target: subprocess.Popen[str]) -> None:
    holder = start(sys.executable, "-c", HOLDER, *map(str, tasks(target.pid)))
    try:
        assert not is_let_go_of(target.pid)
        os.kill(target.pid, signal.SIGRTMIN)
    finally:
        processes.end(holder)
    wait_until(lambda: is_let_go_of(target.pid), "the kernel to let go of them")
    assert wait_until(lambda: handled(target) == 1, "the signal")


def test_a_program_that_is_stopped_meanwhile_stays_stopped(target: subprocess.Popen[str]) -> None:
    held = _core.HeldThreads(tasks(target.pid), 400)
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: is_let_go_of(target.pid), "the limit")
    wait_until(lambda: status(target.pid, "State") == {"T"}, "the stop")
    assert not held.release()
    os.kill(target.pid, signal.SIGCONT)
    assert handled(target) == 0


@pytest.mark.timeout(60)
def test_a_thread_in_vfork_is_not_waited_for() -> None:
    process = start(sys.executable, "-c", FORKER)
    try:
        wait_until(lambda: "D" in status(process.pid, "State"), "vfork")
        held = _core.HeldThreads(tasks(process.pid), LONG_MS)
        assert held.release()
        wait_until(lambda: is_let_go_of(process.pid), "the end of the tracing thread")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        processes.end(process)


def test_nobody_is_held_of_a_process_that_is_gone(target: subprocess.Popen[str]) -> None:
    before = tasks(target.pid)
    processes.end(target)
    assert _core.HeldThreads(before, LONG_MS).release()


def test_they_are_held_without_a_lock_of_the_loader(build_program: Build, build_plugin: Callable[[], Path]) -> None:
    """One that loads libraries has it nearly always. Who needs it goes on while that one stands still."""
    process = start(str(build_program("loads_beside")), str(build_plugin()))
    try:
        assert process.stdin is not None and process.stdout is not None
        (loading,) = set(tasks(process.pid)) - {process.pid}
        answers = []
        for _ in range(LOADS):
            held = _core.HeldThreads([loading], LONG_MS)
            process.stdin.write("\n")
            process.stdin.flush()
            answers.append(process.stdout.readline())
            assert held.release()
        assert answers.count("still\n") >= LOADS * 9 // 10, answers
    finally:
        processes.end(process)


def test_each_signal_is_delivered_once_where_one_loads_a_library(build_program: Build) -> None:
    """It is tried to lead it out of the loader, where it never goes."""
    library = build_program("counts_signals", "-DLIBRARY", "-shared", "-fPIC")
    process = start(str(build_program("counts_signals")), str(library))
    sent = 0
    is_over = threading.Event()

    def send() -> None:
        nonlocal sent
        while not is_over.wait(0.0005):
            os.kill(process.pid, signal.SIGRTMIN)
            sent += 1

    sender = threading.Thread(target=send)
    try:
        sender.start()
        for _ in range(HOLDS):
            assert _core.HeldThreads(tasks(process.pid), LONG_MS).release()
        is_over.set()
        sender.join()
        assert sent > HOLDS and wait_until(lambda: handled(process) == sent, "all signals")
    finally:
        is_over.set()
        sender.join()
        processes.end(process)
