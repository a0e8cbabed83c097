"""`strobe run` ends when it is told to, and when things break under it: in time, and saying so."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import filesystems, leftovers
from support.processes import child_of
from support.wait import wait_until

from strobe.cli.run import forwarding

STROBE = [sys.executable, "-m", "strobe"]
SECONDS = 60
PROMISED_SECONDS = 5
BUSY = 5  # so many times what an end takes that nothing is in the way of: the machine may be busier than then

Build = Callable[..., Path]

# as `strobe`, but blocked in a lock while it starts the program, or once that runs
BLOCKED = """
import sys, threading
from {module} import {owner} as owner
def block(*_, **__):
    lock = threading.Lock()
    lock.acquire()
    print("blocked", flush=True)
    while True:
        try:
            lock.acquire()
        except KeyboardInterrupt:
            pass
owner.{method} = block
from strobe.cli.main import main
main()
"""


def start(
    *arguments: object, command: list[str] | None = None, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Strobe as the leader of a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [*(command or STROBE), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
    )


def wait_for_line(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == line


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def send(process: subprocess.Popen[bytes], number: signal.Signals, kill: Callable[[int, int], None] = os.kill) -> None:
    """Returns when Strobe has taken the signal: one of a kind is pending at a time, and a second would be lost."""
    kill(process.pid, number)

    def is_taken() -> bool:
        status = Path(f"/proc/{process.pid}/status").read_text()
        pending = [int(mask, 16) for mask in re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", status, re.M)]
        return not any(mask & 1 << number - 1 for mask in pending)

    wait_until(is_taken, f"{number.name} to be taken")


def wait_for_report(process: subprocess.Popen[bytes]) -> None:
    """Until the first call is printed: from then on signals go to the program."""
    assert process.stderr is not None
    while b"stay()" not in (line := process.stderr.readline()):
        assert line, "the report has ended"


def wait_for_rounds(process: subprocess.Popen[bytes], rounds: int = 10) -> None:
    """Until Strobe's main thread has waited so many times for the program's end, and looked for events before each."""

    def waits() -> int:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])

    before = waits()
    wait_until(lambda: waits() >= before + rounds, "Strobe to follow the program")


@pytest.fixture(scope="module")
def in_time(build_program: Build, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds after which a Strobe that was told to end is late."""
    environment = os.environ | {"STROBE_HOME": str(tmp_path_factory.mktemp("home"))}
    process = start("run", "-t", "stay", "--", build_program("stays"), "term", environment=environment)
    wait_for_line(process, b"ready\n")
    wait_for_report(process)
    begin = time.monotonic()
    os.kill(process.pid, signal.SIGTERM)
    assert ends(process, SECONDS)[0] == 7
    return PROMISED_SECONDS + BUSY * (time.monotonic() - begin)


def test_the_last_resort_comes_within_what_is_promised() -> None:
    assert forwarding.FORCED_S + forwarding.GRACE_S <= PROMISED_SECONDS


def ends(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, str]:
    """Exit status and standard error of a Strobe that ends soon."""
    try:
        _, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=SECONDS)
        raise
    return process.returncode, error.decode()


@pytest.mark.parametrize(
    ("how", "number", "times"),
    [
        ("ignores", signal.SIGTERM, 2),
        ("blocks", signal.SIGTERM, 2),
        ("stopped", signal.SIGTERM, 2),
        ("children", signal.SIGTERM, 2),
        ("ignores", signal.SIGHUP, 2),
        ("blocks", signal.SIGINT, 3),
    ],
)
def test_who_insists_is_obeyed(
    build_program: Build, how: str, number: signal.Signals, times: int, in_time: float
) -> None:
    process = start("run", "-t", "stay", "--", build_program("stays"), how)
    wait_for_line(process, b"ready\n")
    wait_for_report(process)
    program = child_of(process, "stays")
    if how == "stopped":
        os.kill(program, signal.SIGSTOP)
        wait_until(lambda: ") T " in Path(f"/proc/{program}/stat").read_text(), "it to stop")
    for _ in range(times - 1):
        send(process, number)
    assert process.poll() is None and is_alive(program)
    os.kill(process.pid, number)
    status, error = ends(process, in_time)
    assert "strobe: the program is killed\n" in error
    # the children end when they see that their parent has
    assert re.search(
        r"strobe: the program was ended by SIGKILL\n(strobe: its child(ren)? .* go(es)? on, .*\n)?$", error
    )
    assert how == "children" or error.endswith("SIGKILL\n")
    assert re.search(r"^ *[\d,]+ .* stay$", error, re.M)  # the totals are there
    assert status == 128 + signal.SIGKILL
    assert not is_alive(program)


def test_strobe_blocked_by_a_lock_ends_as_well(build_program: Build, strobe_home: Path, in_time: float) -> None:
    script = BLOCKED.format(module="strobe.session", owner="Session", method="tail")
    command = [sys.executable, "-c", script]
    process = start("run", "-t", "stay", "--", build_program("stays"), "ignores", command=command)
    assert process.stdout is not None
    assert {process.stdout.readline() for _ in range(2)} == {b"ready\n", b"blocked\n"}
    program = child_of(process, "stays")
    for _ in range(2):
        send(process, signal.SIGTERM)
    status, error = ends(process, in_time)
    assert status == 128 + signal.SIGTERM
    assert error.endswith("strobe: the program is killed\nstrobe: gives up waiting for itself\n")
    assert not is_alive(program)
    assert leftovers.segments(strobe_home) == []


def test_strobe_blocked_after_the_program_has_ended(build_program: Build, strobe_home: Path, in_time: float) -> None:
    """Then there is nobody else whom a signal could be meant for."""
    script = BLOCKED.format(module="strobe.timeline.query", owner="Timeline", method="totals")
    command = [sys.executable, "-c", script]
    process = start("run", "-t", "end", "--", build_program("exits"), "return", 0, command=command)
    wait_for_line(process, b"here\n")
    wait_for_line(process, b"blocked\n")
    os.kill(process.pid, signal.SIGTERM)
    status, error = ends(process, in_time)
    assert status == 128 + signal.SIGTERM
    assert error.endswith("strobe: gives up waiting for itself\n")
    assert leftovers.segments(strobe_home) == []


def test_a_start_that_is_blocked_is_given_up(build_program: Build, strobe_home: Path, in_time: float) -> None:
    """The program was started by Frida, and is not running yet."""
    script = BLOCKED.format(module="strobe.session.live", owner="LiveSession", method="begin")
    process = start(
        "run", "-t", "stay", "--", build_program("stays"), "ignores", command=[sys.executable, "-c", script]
    )
    wait_for_line(process, b"blocked\n")
    program = child_of(process, "stays")
    for _ in range(2):
        send(process, signal.SIGTERM)
    status, _ = ends(process, in_time)
    assert status == 128 + signal.SIGTERM
    assert not is_alive(program)
    assert leftovers.segments(strobe_home) == []


def test_a_program_that_uses_interrupts_is_left_alone(build_program: Build, in_time: float) -> None:
    """Ctrl-C far apart, as at a prompt, is the program's own matter: here it is no more than two in a row."""
    process = start("run", "-t", "stay", "--", build_program("stays"), "ignores")
    wait_for_line(process, b"ready\n")
    wait_for_report(process)
    for _ in range(2):
        send(process, signal.SIGINT, os.killpg)
    assert process.poll() is None
    os.kill(child_of(process, "stays"), signal.SIGKILL)
    assert ends(process, in_time)[0] == 128 + signal.SIGKILL


@pytest.mark.parametrize("has_log", [True, False], ids=["told to the log", "without a log"])
def test_a_segment_that_is_removed_ends_nothing(
    build_program: Build, strobe_home: Path, has_log: bool, in_time: float
) -> None:
    if not has_log:
        strobe_home.mkdir(mode=0o700)
        (strobe_home / "strobe.log").mkdir()
    process = start("run", "-t", "stay", "--", build_program("stays"), "term")
    wait_for_line(process, b"ready\n")
    (segment,) = leftovers.segments(strobe_home)
    wait_for_report(process)
    segment.unlink()
    program = child_of(process, "stays")
    wait_for_rounds(process)
    assert process.poll() is None and is_alive(program)
    os.kill(process.pid, signal.SIGTERM)
    status, error = ends(process, in_time)
    assert status == 125
    assert "cannot be read" in error
    assert error.endswith("strobe: the program ended with exit status 7\n")
    assert "Traceback" not in error


def test_a_disk_that_is_full_ends_nothing(build_program: Build, strobe_home: Path, in_time: float) -> None:
    with filesystems.small(strobe_home, 2 << 20):
        process = start("run", "-t", "stay", "--", build_program("stays"), "term")
        wait_for_line(process, b"ready\n")
        filesystems.fill(strobe_home)
        wait_for_rounds(process)
        os.kill(process.pid, signal.SIGTERM)
        status, error = ends(process, in_time)
        assert re.search(r"^ *[\d,]+ .* stay$", error, re.M)
        assert "Traceback" not in error
        assert status in (7, 125)
        assert (status == 125) == ("could not be written" in error or "has failed" in error)
