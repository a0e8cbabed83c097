"""What a program inherits by way of Strobe is what it inherits from the shell; what cannot be passed on is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import processes
from support.mcp_wire import Wire
from support.sessions import Build
from support.wait import wait_until

from strobe.mcp import daemon

STROBE = [sys.executable, "-m", "strobe"]
SECONDS = 60


@pytest.fixture
def home(strobe_home: Path) -> Iterator[Path]:
    """Whose daemon is ended afterwards."""
    yield strobe_home
    daemon.stop(strobe_home)


def run(*words: object, blocked: Sequence[signal.Signals] = (), **more: object) -> subprocess.CompletedProcess[bytes]:
    """By the side of a shell, without Python's own signals."""
    command = [item if isinstance(item, bytes) else str(item) for item in words]
    options: dict[str, object] = {"capture_output": True, "timeout": SECONDS, "stdin": subprocess.DEVNULL, **more}
    if blocked:
        options["preexec_fn"] = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    return subprocess.run(command, **options)  # type: ignore[call-overload]


def quietly(words: list[str], **more: Any) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=null, stdout=subprocess.PIPE, stderr=null, **more)


def traced(program: Path, *words: object, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return run(*STROBE, "run", "--summary", "-t", "is_ignored", "--", program, *words, **more)


def test_signals_and_descriptors(build_program: Build) -> None:
    program = build_program("inherits", "-O0")
    alone = run(program)
    assert b"ignored" not in alone.stdout and b"descriptors 3 4" in alone.stdout
    under = traced(program)
    assert (under.returncode, under.stdout) == (alone.returncode, alone.stdout)


def test_a_file_that_grows_beyond_its_limit(build_program: Build) -> None:
    program = build_program("inherits", "-O0")
    assert run(program, "size").returncode == -signal.SIGXFSZ
    assert traced(program, "size").returncode == 128 + signal.SIGXFSZ


def test_a_blocked_trap_does_not_let_it_run_unobserved(build_program: Build) -> None:
    result = traced(build_program("inherits", "-O0"), blocked=[signal.SIGTRAP])
    assert result.returncode == 0
    assert b"is_ignored" in result.stderr


def test_descriptors_of_what_the_daemon_starts(build_program: Build, home: Path) -> None:
    program = build_program("inherits", "-O0")
    with Wire.to(home) as wire:
        for _ in range(2):  # the daemon has a session more the second time
            session = wire.good("debug_launch", command=str(program), projectRoot=str(program.parent))["sessionId"]

            def printed(session: str = session) -> str:
                found = wire.good("debug_query", sessionId=session, eventType="stdout")["events"]
                return "".join(event["text"] for event in found)

            wait_until(lambda: "descriptors" in printed(), "its output", SECONDS)
            assert printed() == "descriptors 3 4\n"


@pytest.mark.parametrize(
    ("words", "environment", "reason"),
    [
        ([b"caf\xe9"], {}, "it is not UTF-8"),
        ([], {b"BAD": b"\xe9"}, "'the environment' is 'BAD="),
    ],
    ids=["an argument", "the environment"],
)
def test_what_cannot_be_passed_on_is_said(
    build_program: Build, words: Sequence[object], environment: dict[bytes, bytes], reason: str
) -> None:
    result = traced(build_program("inherits", "-O0"), *words, env={**os.environb, **environment})
    assert result.returncode != 0 and result.stdout == b""
    (line,) = result.stderr.decode().splitlines()
    assert reason in line and "INTERNAL" not in line


@pytest.mark.parametrize("word", ["a\0b", "x" * 140_000], ids=["zero", "long"])
def test_what_a_client_cannot_pass_on_is_said(build_program: Build, home: Path, word: str) -> None:
    program = build_program("inherits", "-O0")
    with Wire.to(home) as wire:
        answer = wire.bad("debug_launch", command=str(program), args=[word], projectRoot=str(program.parent))
        assert answer.startswith("VALIDATION_ERROR: 'args'")


def test_ctrl_z_stops_the_program_as_well(build_program: Build) -> None:
    words = [*STROBE, "run", "-t", "stay", "--", str(build_program("stays"))]
    process = quietly(words, process_group=0)  # as a shell does
    try:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        program = processes.child_of(process, "stays")
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: (state(process.pid), state(program)) == ("T", "T"), "both to stop", SECONDS)
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: {state(process.pid), state(program)}.isdisjoint("Tt"), "both to go on", SECONDS)
        os.kill(program, signal.SIGKILL)
        assert process.wait(SECONDS) == 128 + signal.SIGKILL
    finally:
        processes.end(process)


def test_ctrl_z_stops_nobody_where_no_shell_would_let_it_go_on(build_program: Build) -> None:
    words = [*STROBE, "run", "-t", "stay", "--", str(build_program("stays"))]
    process = quietly(words, start_new_session=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        program = processes.child_of(process, "stays")
        for _ in range(20):
            process.send_signal(signal.SIGTSTP)
            time.sleep(0.02)
            assert {state(process.pid), state(program)}.isdisjoint("Tt")
        os.kill(program, signal.SIGKILL)
        assert process.wait(SECONDS) == 128 + signal.SIGKILL
    finally:
        processes.end(process)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
