"""strobe watch: a table on a terminal, lines elsewhere, until the program ends or Ctrl-C is pressed."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.reads import ready
from support.sessions import Launch

from strobe.model import EventFilter
from strobe.session import Session

SECONDS = 60
ESCAPE = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")


@pytest.fixture
def session(build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("polled", "-O1")))


def command(session: Session, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "strobe.cli.main", "watch", session.id, *arguments]


@contextmanager
def watching(session: Session, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command(session, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """The next line, without its time."""
    assert process.stdout is not None
    found = process.stdout.readline()
    if not found and process.stderr is not None and "did not permit" in process.stderr.read():
        pytest.skip("ptrace_scope forbids one process to read another")
    assert re.match(r"\+\d+\.\d{6} s  ", found), found
    return found.partition(" s  ")[2].rstrip("\n")


def said(error: str) -> list[str]:
    """What it wrote to standard error, without what it says of a busy machine."""
    return [text for text in error.splitlines() if text != "strobe: reading ..."]


def test_a_line_for_each_change(session: Session) -> None:
    with watching(session, "gTempo", "gVoice", "*gChosen", "--interval", "50ms") as process:
        first = [line(process) for _ in range(5)]
        assert first == [
            "gTempo = 120",
            "gVoice.freq = 440.5",
            "gVoice.note = -7",
            'gVoice.name = "abc"',
            "*gChosen = 7",
        ]
        os.kill(session.pid, signal.SIGUSR2)
        assert line(process) == "*gChosen = (Null pointer at gChosen.)  (was 7)"
        os.kill(session.pid, signal.SIGUSR2)
        assert line(process) == "*gChosen = 7  (was (Null pointer at gChosen.))"
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=SECONDS)
        assert (out, said(error), process.returncode) == ("", [], 0)
    assert session.query(EventFilter(event_type="variable_snapshot")).total_count == 0


def test_it_ends_with_the_program_and_says_so(session: Session) -> None:
    with watching(session, "gTempo", "gTemp") as process:
        assert line(process) == "gTempo = 120"
        os.kill(session.pid, signal.SIGUSR1)
        out, error = process.communicate(timeout=SECONDS)
        unknown, ending = said(error)
        assert unknown.startswith(
            "strobe: READ_FAILED: Variable 'gTemp' not found in debug symbols. Names like it: gTempo"
        )
        assert (out, ending) == ("", "strobe: the program has ended: exit status 3")
        assert process.returncode == 0


def on_terminal(session: Session, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """The command with a terminal of 30 rows and 100 columns, and the other end of that."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"LINES": "30", "COLUMNS": "100", "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        command(session, *arguments),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    return process, ours


def read_until(descriptor: int, wanted: str) -> str:
    """What comes, until it contains `wanted`."""
    text, deadline = "", time.monotonic() + SECONDS
    while wanted not in ESCAPE.sub("", text):
        assert select.select([descriptor], [], [], deadline - time.monotonic())[0], text
        text += os.read(descriptor, 65536).decode()
        if "did not permit" in text:
            pytest.skip("ptrace_scope forbids one process to read another")
    return text


def test_a_table_on_a_terminal(session: Session) -> None:
    process, terminal = on_terminal(session, "gTempo", "gCount", "gVoice", "--interval", "50ms")
    try:
        shown = read_until(terminal, "50 ms, Ctrl-C ends")
        shown += read_until(terminal, "0.0 s ago")
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
        shown += os.read(terminal, 65536).decode()
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert shown.startswith("\x1b[?25l")
    assert "\x1b[?25h" in shown  # the cursor is back
    table = [part.rstrip() for part in ESCAPE.sub("", shown).split("\r\n")]
    assert any(re.fullmatch(r" +variable +value +min +max +changes +last change", row) for row in table)
    assert any(re.fullmatch(r" +gTempo +120 +120 +120 +0", row) for row in table)
    assert any(re.fullmatch(r"\* +gCount +\d+ +\d+ +\d+ +[1-9]\d* +\d\.\d s ago", row) for row in table)
    assert any(re.fullmatch(r' +gVoice\.name +"abc" +0', row) for row in table)
    assert "\x1b[1;33m*" in shown  # what has changed is marked in colour, too


@pytest.mark.parametrize("interval", ["49ms", "5001ms", "nonsense", "-1s"])
def test_an_interval_out_of_range(session: Session, interval: str) -> None:
    told = subprocess.run(
        command(session, "gTempo", "--interval", interval), capture_output=True, text=True, timeout=SECONDS
    )
    assert told.returncode == 2
    assert "Invalid value for '--interval'" in told.stderr


def test_what_cannot_be_watched(session: Session) -> None:
    told = subprocess.run(command(session, "gTemp"), capture_output=True, text=True, timeout=SECONDS)
    assert told.returncode == 1
    assert said(told.stderr)[0].startswith("strobe: READ_FAILED: ")
    many = subprocess.run(command(session, *["gTempo"] * 17), capture_output=True, text=True, timeout=SECONDS)
    assert many.returncode == 2
    assert "16 are read at once" in many.stderr
