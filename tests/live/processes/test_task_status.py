"""Whether a process is at its end, of real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import processes
from support.wait import wait_until

from strobe.capture.task_status import is_ending

# the main thread ends, and another one goes on
WITHOUT_MAIN_THREAD = """
import ctypes, sys, threading
def go_on():
    print("ready", flush=True)
    sys.stdin.read()
threading.Thread(target=go_on).start()
ctypes.CDLL(None).syscall(60, 0)
"""


def test_one_that_lives_is_not_ending_even_without_its_main_thread() -> None:
    assert not is_ending(os.getpid())
    process = subprocess.Popen(
        [sys.executable, "-c", WITHOUT_MAIN_THREAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        wait_until(lambda: state(process.pid) == "Z", "the main thread's end")
        assert not is_ending(process.pid)
        process.kill()
        wait_until(lambda: is_ending(process.pid), "the end")
    finally:
        processes.end(process)
    assert is_ending(process.pid)


def test_one_that_was_killed_is_ending_before_anybody_asks_how() -> None:
    process = subprocess.Popen(["sleep", "1000"])
    try:
        assert not is_ending(process.pid)
        process.kill()
        wait_until(lambda: is_ending(process.pid), "the end")
    finally:
        processes.end(process)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
