"""Every command where something is missing: room, rights, descriptors, memory, a stream, the time to start.

Each ends with a documented status and at most a line or two, never a traceback, and leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support import filesystems, namespaces, programs, timelines
from support.mcp_wire import Wire
from support.processes import without_progress

from strobe.cli import group
from strobe.mcp import daemon

SECONDS = 120
MCP_INPUT = "\n".join(
    json.dumps({"jsonrpc": "2.0", **message})
    for message in (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "debug_list_sessions", "arguments": {}}},
    )
)
COMMANDS = {
    "run": "run -t end -- {program} return 0",
    "run -o": "run -t end -o {folder}/report -- {program} return 0",
    "query": "query {session}",
    "history": "history {session} 0x1000",
    "compare": "compare {session} {other}",
    "heap": "heap {session}",
    "export": "export {session}",
    "export -o": "export {session} -o {folder}/exported",
    "sql": "sql {session} 'select count(*) from events'",
    "sessions": "sessions",
    "sessions delete": "sessions delete {session}",
    "read": "read {session} gTempo",
    "write": "write {session} gTempo=1",
    "watch": "watch {session} gTempo",
    "symbols": "symbols {program}",
    "daemon status": "daemon status",
    "daemon start": "daemon start",
    "doctor": "doctor",
    "install": "install --project {folder} claude",
    "install --print": "install --print claude",
    "uninstall": "uninstall --project {folder} claude",
    "mcp": "mcp",
    "demo": "demo",
    "bench": "bench --list",
}
SHELL_LIMITS = {
    "ulimit -f 0": "ulimit -f 0",
    "ulimit -f 100": "ulimit -f 100",
    "ulimit -v 300000": "ulimit -v 300000",
    "ulimit -d 300000": "ulimit -d 300000",
    "ulimit -n 20": "ulimit -n 20",
}
STREAMS = {
    "no error": "2>&-",
    "no output": ">&-",
    "no input": "<&-",
    "full output": ">/dev/full",
    "none": "<&- >&- 2>&-",
}
# what native code of others writes when it gives up
GIVEN_UP = ("Traceback", "CRITICAL", "fatal error", "Aborted", "core dumped", "Exception ignored", "runtime.")
STATUSES = {0, 1, 2, 125}

Run = Callable[..., tuple[int, str, str]]


def test_each_command_is_among_them() -> None:
    assert {words.split()[0] for words in COMMANDS.values()} == set(group.COMMANDS)


@pytest.fixture
def session(strobe_home: Path) -> Iterator[str]:
    """A session that was recorded in this home."""
    yield write_session(strobe_home)
    daemon.stop(strobe_home)


def write_session(home: Path) -> str:
    written = timelines.new_session(home)
    timelines.write_mixture(written, steps=20)
    written.store.update_session(written.session_id, retained=1)
    written.timeline.close()
    written.store.close()
    return written.session_id


@pytest.fixture
def run(session: str, strobe_home: Path, build_program: Callable[..., Path], tmp_path: Path) -> Run:
    """`run("query", limit="ulimit -n 20", streams="2>&-")`: status, standard output and error."""
    program = build_program("exits")
    other = write_session(strobe_home)

    def run(command: str, limit: str = "", streams: str = "", before: str = "") -> tuple[int, str, str]:
        words = COMMANDS[command].format(session=session, other=other, program=program, folder=tmp_path)
        python = shlex.quote(sys.executable)
        line = f"{limit or ':'} && exec {before} {python} -m strobe {words} {streams}"
        result = subprocess.run(
            ["bash", "-c", line],
            input=MCP_INPUT if command == "mcp" else "",
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return result.returncode, result.stdout, result.stderr

    return run


def outcomes(run: Run, **conditions: str) -> Iterator[tuple[str, tuple[int, str, str]]]:
    """Of all commands but the demo, which runs long; several at a time. What deletes the session comes last."""
    together = [command for command in COMMANDS if command not in ("sessions delete", "demo")]
    with ThreadPoolExecutor(4) as pool:
        yield from zip(together, pool.map(lambda command: run(command, **conditions), together), strict=True)
    yield "sessions delete", run("sessions delete", **conditions)


def check(command: str, outcome: tuple[int, str, str], error_is_open: bool = True) -> None:
    status, output, error = outcome
    told = f"{command}: status {status}\n{output}\n{error}"
    assert status in STATUSES, told
    assert not [word for word in GIVEN_UP if word in error + output], told
    is_finding = command == "doctor" and re.search("^NO ", output, re.M)
    assert not error_is_open or status == 0 or is_finding or "strobe" in error, told
    if status == 1:  # but for what takes long
        lines = [line for line in error.splitlines() if not line.endswith(" ...")]
        most = 2 if command == "install" else 1  # for the list of servers, and for the skill
        assert len(lines) <= (most if error_is_open else 0), told
    if command == "mcp":
        for line in output.splitlines():
            json.loads(line)


def test_where_nothing_is_missing(run: Run) -> None:
    """What is tried elsewhere is a command that works."""
    for command, (status, _, error) in outcomes(run):
        needs_program = command in ("read", "write", "watch")
        assert status == (1 if needs_program else 0), (command, error)
        assert ("has ended" in error) == needs_program, (command, error)
        assert "No function matches" not in error


@pytest.mark.long
@pytest.mark.parametrize("limit", SHELL_LIMITS)
def test_limits(run: Run, limit: str) -> None:
    for command, outcome in outcomes(run, limit=SHELL_LIMITS[limit]):
        check(command, outcome)


@pytest.mark.parametrize("streams", STREAMS)
def test_streams_that_are_closed_or_full(run: Run, streams: str) -> None:
    for command, outcome in outcomes(run, streams=STREAMS[streams]):
        check(command, outcome, error_is_open="2>&-" not in STREAMS[streams])
        writes = command not in ("run", "run -o", "export -o", "mcp", "read", "write", "watch")
        if writes and ">" in STREAMS[streams].replace("2>&-", ""):
            assert outcome[0] == 1, f"{command}: what it has to say was not written, but it ended well"


@pytest.mark.long
@pytest.mark.parametrize("which", ["full", "read-only"])
def test_file_systems(run: Run, which: str, strobe_home: Path, tmp_path: Path) -> None:
    with ExitStack() as mounted:
        if which == "full":
            saved = tmp_path / "saved"
            strobe_home.rename(saved)
            mounted.enter_context(filesystems.small(strobe_home, 8 << 20))
            subprocess.run(["cp", "-a", f"{saved}/.", str(strobe_home)], check=True, timeout=60)
            filesystems.fill(strobe_home)
        else:
            mounted.enter_context(filesystems.read_only(strobe_home))
        for command, outcome in outcomes(run):
            check(command, outcome)


@pytest.mark.parametrize(("limit", "streams"), [("ulimit -f 100", ""), ("ulimit -n 20", ""), ("", ">/dev/full")])
def test_the_demo(run: Run, limit: str, streams: str) -> None:
    check("demo", run("demo", limit, streams))


@pytest.mark.parametrize("limit", [8, 9, 10, 12, 14, 16])
def test_too_few_open_files_are_told_as_that(run: Run, limit: int) -> None:
    """Whatever is the first to find none left: the home, the database, its extension, Frida."""
    for command in ("run", "query", "sessions"):
        status, _, error = run(command, f"ulimit -n {limit}")
        assert status == 0 or re.search("The limit of open files|Too many open files", error), (command, status, error)
        assert "STROBE_HOME" not in error


def test_a_home_of_another_user(run: Run, strobe_home: Path) -> None:
    """As root, but without the right to pass over the permissions of files."""
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to another user")
    without = f"{programs.require('setpriv')} --bounding-set -all --inh-caps -all"
    for path in (strobe_home, *strobe_home.rglob("*")):
        os.chown(path, 65534, 65534)
    strobe_home.chmod(0o700)
    try:
        for command, outcome in outcomes(run, before=without):
            check(command, outcome)
    finally:
        for path in (strobe_home, *strobe_home.rglob("*")):
            os.chown(path, 0, 0)


def test_a_home_that_cannot_be_looked_at(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor can one below a folder of another user, as HOME is after `sudo -u`."""
    monkeypatch.setenv("STROBE_HOME", str(tmp_path / ("long" * 100)))
    for command, outcome in outcomes(run):
        check(command, outcome)


@pytest.mark.parametrize("command", ["run", "query", "sessions", "symbols", "demo"])
def test_ctrl_c_at_any_moment(command: str, session: str, build_program: Callable[..., Path], tmp_path: Path) -> None:
    """From the first line of Strobe's own on: before it, Python speaks for itself."""
    begun = "import strobe.cli.main as cli; import os; os.write(1, b'begun\\n'); cli.main()"
    program = build_program("exits")
    words = shlex.split(COMMANDS[command].format(session=session, program=program, folder=tmp_path))

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", begun, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        return process

    begin = time.monotonic()
    start().communicate(timeout=SECONDS)
    duration = time.monotonic() - begin
    for part in (0.3, 0.8) if command == "demo" else (0.0, 0.2, 0.4, 0.6, 0.8, 0.9):
        process = start()
        time.sleep(part * duration)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=SECONDS)
        assert process.returncode in (0, 130, -signal.SIGINT), (part, process.returncode, error)
        assert b"Traceback" not in error and b"Exception ignored" not in error, (part, error.decode())


# Ctrl-C while a class of a module that is being imported is made: `python -c` with the module's name before the words
INTERRUPTED_IMPORT = """
import os, signal, sys
name = sys.argv.pop(1)
class Member:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
class Finder:
    def find_spec(self, module, *_):
        if module == name:
            class Interrupted:
                member = Member()
sys.meta_path.insert(0, Finder())
import strobe.cli.main as cli
cli.main()
"""


@pytest.mark.parametrize(
    ("command", "module", "expected"),
    [
        pytest.param("sessions", "orjson", -signal.SIGINT, id="before the command has begun"),
        pytest.param("symbols --json {program}", "orjson", 130, id="by the command"),
    ],
)
def test_ctrl_c_within_an_import(build_program: Callable[..., Path], command: str, module: str, expected: int) -> None:
    words = shlex.split(command.format(program=build_program("exits")))
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module, *words], capture_output=True, text=True, timeout=SECONDS
    )
    assert (result.returncode, result.stderr.strip()) == (expected, "")


# Python drops what is raised in a finalizer
IN_A_FINALIZER = """
import os, sys, time
from strobe.cli import interrupts
class Ended:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
with interrupts.raised():
    Ended()
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_within_a_finalizer_ends_the_command(number: signal.Signals, expected: int) -> None:
    command = [sys.executable, "-c", IN_A_FINALIZER, str(int(number))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == expected
    assert "Exception ignored" not in result.stderr


@pytest.mark.parametrize(
    ("elsewhere", "said"),
    [
        pytest.param(namespaces.without_proc, "/proc is not mounted", id="no /proc"),
        pytest.param(namespaces.inside_with_old_proc, "/proc is that of another PID namespace", id="another one's"),
        pytest.param(namespaces.with_read_only_proc, "/proc is mounted read-only", id="read-only"),
    ],
)
def test_without_the_own_proc(
    strobe_home: Path, build_program: Callable[..., Path], elsewhere: Callable[..., list[str | Path]], said: str
) -> None:
    """As in a sandbox that has none of its own: what is looked at there would be another process."""
    strobe = [sys.executable, "-m", "strobe"]
    for command in ([*strobe, "run", "--", build_program("exits"), "return", "0"], [*strobe, "mcp"]):
        if command[-1] == "mcp" and elsewhere is not namespaces.without_proc:
            continue  # the daemon works, and says it when it is to launch
        result = subprocess.run(
            elsewhere(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
        assert result.returncode == 1
        error = without_progress(result.stderr)
        assert said in error and len(error.splitlines()) == 1
    trial = subprocess.run(elsewhere([*strobe, "doctor", "--json"]), capture_output=True, text=True, timeout=SECONDS)
    findings = {one["what"]: one["said"] for one in json.loads(trial.stdout)["findings"]}
    assert said in findings["record a program"] and said in findings["attach"]
    assert not (strobe_home / "sessions").exists() or not list((strobe_home / "sessions").iterdir())


def test_a_tool_that_finds_no_room_answers_with_an_error(strobe_home: Path, build_program: Callable[..., Path]) -> None:
    folder = str(Path(__file__).parents[2] / "programs")
    launch: dict[str, Any] = {"command": str(build_program("exits")), "args": ["return", "0"], "projectRoot": folder}
    with filesystems.small(strobe_home, 2 << 20):
        daemon.start(strobe_home)
        with Wire.to(strobe_home) as wire:
            wire.good("debug_list_sessions")
            filler = filesystems.fill(strobe_home)
            assert "database or disk is full" in wire.bad("debug_launch", **launch)
            filler.unlink()
            wire.good("debug_launch", **launch)
        daemon.stop(strobe_home)
