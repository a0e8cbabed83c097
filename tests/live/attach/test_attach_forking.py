"""Children that are forked while the agent comes or goes do as they do alone: its threads and locks are not theirs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build
from support.short_form import short
from support.wait import wait_until

from strobe import _core
from strobe.capture.task_status import task_ids
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

ITS_THREADS = 51
UNDEFINED = b"\x0f\x0b"  # ud2
RETURN = b"\xc3"
JUMP = b"\xe9\0\0\0\0"  # jmp rel32
# Not our own child: who waits for it here would be told of its stops.
STARTS = '"$@" & echo $!; wait $!; echo $?'


@scenario
def test_threads_fork_all_the_time(
    manager: SessionManager, build_program: Build, build_plugin: Callable[..., Path]
) -> None:
    command: list[str | Path] = ["sh", "-c", STARTS, "sh", build_program("forks_always"), build_plugin()]
    for _ in rounds(1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
            try:
                assert shell.stdout is not None
                pid, ready = sorted([shell.stdout.readline(), shell.stdout.readline()])  # the two say it at once
                assert ready == "ready\n"
                for _ in range(short(6, 3)):
                    manager.launch(
                        LaunchSpec("", pid=int(pid), project_root=str(PROGRAMS)), TraceRequest(["end_child"])
                    ).stop()
                os.kill(int(pid), signal.SIGUSR1)
                output, _ = shell.communicate(timeout=60)
                assert output == "0 wrong\n0\n"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)


@pytest.mark.parametrize("form", ["native", "portable"])
def test_no_child_comes_while_the_agent_loads_libraries(
    manager: SessionManager, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """It would have the lists of the dynamic linker as they were, and what that had mapped for the moment."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    for _ in range(3):  # the library stays
        with subprocess.Popen([build_program("forks_and_looks")], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            session = manager.launch(
                LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS)), TraceRequest(["look"])
            )
            time.sleep(0.1)
            session.stop()
            process.send_signal(signal.SIGUSR1)
            assert process.communicate(timeout=60)[0] == "0 between, 0 wrong\n"


@contextlib.contextmanager
def forks_always(
    build_program: Build, build_plugin: Callable[..., Path]
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Its process id, and the shell that says at the end how it ended."""
    command = ["sh", "-c", STARTS, "sh", str(build_program("forks_always")), str(build_plugin())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        try:
            assert shell.stdout is not None
            pid, ready = sorted([shell.stdout.readline(), shell.stdout.readline()])  # the two say it at once
            assert ready == "ready\n"
            wait_until(lambda: len(task_ids(int(pid))) == ITS_THREADS, "its threads")
            yield int(pid), shell
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)


@pytest.mark.parametrize("goes", [False, True], ids=["comes", "goes"])
def test_a_child_has_none_of_what_the_agent_has_changed_so_far(
    build_program: Build, build_plugin: Callable[..., Path], goes: bool
) -> None:
    """Its threads run now and then while the agent comes or goes, however long that takes, and fork then."""
    with forks_always(build_program, build_plugin) as (pid, shell):
        with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
            at, spare = _notifier(pid)
            before = _read(memory, at, len(JUMP))
            if goes:  # before the threads are held its hook is there, and what that leads to
                _write(memory, spare, RETURN)
                _write(memory, at, JUMP[:1] + (spare - at - len(JUMP)).to_bytes(4, "little", signed=True))
            holding = _core.HeldThreads(sorted(task_ids(pid)), 20_000)
            if goes:
                _write(memory, at, before)
                _write(memory, spare, UNDEFINED)
            else:
                _write(memory, at, UNDEFINED)
            time.sleep(3)
            _write(memory, at, before)
            assert holding.release()
        os.kill(pid, signal.SIGUSR1)
        assert shell.communicate(timeout=60)[0] == "0 wrong\n0\n"


def test_no_child_stands_still_where_the_first_thread_has_ended(
    build_program: Build, build_plugin: Callable[..., Path]
) -> None:
    """As one may that is listed just before."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    with forks_always(build_program, build_plugin) as (pid, shell):
        holding = _core.HeldThreads([ended.pid, *sorted(task_ids(pid))], 20_000)
        until = time.monotonic() + 4
        standing: dict[int, float] = {}
        longest = 0.0
        while time.monotonic() < until:
            now = time.monotonic()
            standing = {child: standing.get(child, now) for child in _standing_children(pid)}
            longest = max([longest, *(now - since for since in standing.values())])
            time.sleep(0.01)
        assert holding.release()
        os.kill(pid, signal.SIGUSR1)
        assert shell.communicate(timeout=60)[0] == "0 wrong\n0\n"
        assert longest < 2


def test_who_started_it_learns_at_once_that_it_was_killed(
    build_program: Build, build_plugin: Callable[..., Path]
) -> None:
    with forks_always(build_program, build_plugin) as (pid, shell):
        holding = _core.HeldThreads(sorted(task_ids(pid)), 20_000)
        os.kill(pid, signal.SIGKILL)
        assert shell.stdout is not None
        killed = time.monotonic()
        assert shell.stdout.readline() == f"{128 + signal.SIGKILL}\n"
        assert time.monotonic() - killed < 10
        holding.release()


def _standing_children(pid: int) -> list[int]:
    """Those that stand in a tracer's stop."""
    standing = []
    for task in task_ids(pid):
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "t":
                    standing.append(int(child))
    return standing


def _read(memory: IO[bytes], at: int, count: int) -> bytes:
    memory.seek(at)
    return memory.read(count)


def _write(memory: IO[bytes], at: int, code: bytes) -> None:
    memory.seek(at)
    memory.write(code)


def _notifier(pid: int) -> tuple[int, int]:
    """What the dynamic linker calls when libraries come and go, which only children do here; and the end of its code,
    where there is none any more."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "/ld-linux" in line]
    base, path = int(lines[0][0].split("-")[0], 16), lines[0][-1]
    end = next(int(line[0].split("-")[1], 16) for line in lines if "x" in line[1])
    with Path(path).open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        (symbol,) = table.get_symbol_by_name("_dl_debug_state") or ()
        return base + int(symbol["st_value"]), end - 16
