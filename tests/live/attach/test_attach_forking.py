"""Children that are forked while the agent comes or goes do as they do alone: its threads and locks are not theirs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from support.programs import PROGRAMS
from support.rounds import rounds, scenario
from support.sessions import Build
from support.wait import wait_until

from strobe import _core
from strobe.capture.task_status import task_ids
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager

ITS_THREADS = 51
UNDEFINED = b"\x0f\x0b"  # ud2
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
                for _ in range(6):
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


def test_a_child_has_none_of_what_the_agent_has_changed_so_far(build_program: Build, build_plugin: Build) -> None:
    """Its threads run now and then while the agent comes, however long that takes, and fork then."""
    command = [str(build_program("forks_always")), str(build_plugin())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            wait_until(lambda: len(task_ids(process.pid)) == ITS_THREADS, "its threads")
            holding = _core.HeldThreads(sorted(task_ids(process.pid)), 20_000)
            with Path(f"/proc/{process.pid}/mem").open("r+b", buffering=0) as memory:
                at = _notifier(process.pid)
                memory.seek(at)
                before = memory.read(2)
                _write(memory, at, UNDEFINED)
                time.sleep(3)
                _write(memory, at, before)
            assert holding.release()
            process.send_signal(signal.SIGUSR1)
            assert process.communicate(timeout=60)[0] == "0 wrong\n"
        finally:
            process.kill()


def _write(memory: IO[bytes], at: int, code: bytes) -> None:
    memory.seek(at)
    memory.write(code)


def _notifier(pid: int) -> int:
    """What the dynamic linker calls when libraries come and go, which only children do here."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    base, path = next((int(line[0].split("-")[0], 16), line[-1]) for line in lines if "/ld-linux" in line[-1])
    with Path(path).open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        (symbol,) = table.get_symbol_by_name("_dl_debug_state") or ()
        return base + int(symbol["st_value"])
