"""The tools against real programs: where they start, what they outlive, and what they say to bad input."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import WAIT_SECONDS, Wire, pump, wait_gone
from support.programs import PROGRAMS
from support.wait import wait_until

from strobe.mcp import daemon

ROOT = str(PROGRAMS)


def launched(wire: Wire, program: Path | str, *arguments: str, **more: Any) -> str:
    """The session of a program; user code is tests/programs."""
    answer = wire.good("debug_launch", command=str(program), args=list(arguments), projectRoot=ROOT, **more)
    session: str = answer["sessionId"]
    return session


def ended(wire: Wire, session: str) -> dict[str, Any]:
    """The listing of a session whose program has ended."""

    def find() -> dict[str, Any] | None:
        (found,) = (one for one in wire.good("debug_list_sessions")["sessions"] if one["sessionId"] == session)
        return found if found["status"] != "running" else None

    return wait_until(find, "the program to end") or {}


def output(wire: Wire, session: str, stream: str = "stdout") -> str:
    """All that a program wrote until its end."""
    ended(wire, session)
    events = wire.good("debug_query", sessionId=session, eventType=stream, limit=500, maxTokens=12_000)["events"]
    return "".join(event["text"] for event in events)


def test_a_program_runs_with_the_environment_and_folder_of_the_client(
    strobe_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.start(strobe_home)  # has neither
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STROBE_TEST_MARK", "of the client")
    with Wire.to(strobe_home) as wire:
        session = launched(wire, "env", env={"STROBE_TEST_ADDED": "of the call"})
        printed = output(wire, session).splitlines()
        assert {"STROBE_TEST_MARK=of the client", "STROBE_TEST_ADDED=of the call"} <= set(printed)
        assert wire.good("debug_stop", sessionId=session)["success"]
        session = launched(wire, "pwd", env={"PWD": ""})
        assert output(wire, session) == f"{tmp_path}\n"
        wire.good("debug_stop", sessionId=session)


def test_a_program_finds_its_signals_as_a_shell_would_leave_them(wire: Wire) -> None:
    session = launched(wire, "grep", "SigIgn\\|SigBlk", "/proc/self/status")
    of_the_c_library = 0b11 << 31  # signals 32 and 33, which posix_spawn (and so make) leaves ignored in its children
    assert {int(line.split()[1], 16) & ~of_the_c_library for line in output(wire, session).splitlines()} == {0}
    wire.good("debug_stop", sessionId=session)


def test_a_relative_command_counts_from_cwd_and_else_from_the_project(
    wire: Wire, tmp_path: Path, build_program: Callable[..., Path]
) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "hello").symlink_to(build_program("hello", "-g"))
    for more in ({"cwd": str(tmp_path / "build"), "command": "./hello"}, {"command": "build/hello"}):
        session = wire.good("debug_launch", projectRoot=str(tmp_path), **more)["sessionId"]
        assert ended(wire, session)["exitCode"] == 0
        wire.good("debug_stop", sessionId=session)


def test_staged_patterns_see_the_first_calls(wire: Wire, build_program: Callable[..., Path]) -> None:
    staged = wire.good("debug_trace", projectRoot=ROOT, add=["counted::*"])
    assert (staged["mode"], staged["activePatterns"]) == ("pending", ["counted::*"])
    program = build_program("million", "-g", "-O1")
    answer = wire.good("debug_launch", command=str(program), projectRoot=ROOT)
    assert answer["pendingPatternsApplied"] == ["counted::*"]
    session = answer["sessionId"]
    assert ended(wire, session)["exitCode"] == 0
    groups = wire.good("debug_query", sessionId=session, groupBy="function")["groups"]
    assert {group["function"]: group["count"] for group in groups} == {"counted::f": 1_000_000, "counted::once": 4}
    wire.good("debug_stop", sessionId=session)


def test_a_session_outlives_the_client_that_launched_it(strobe_home: Path, build_program: Callable[..., Path]) -> None:
    program = build_program("threads3", "-g", "-O1")
    with Wire.to(strobe_home) as first:
        session = launched(first, program)
    with Wire.to(strobe_home) as second:
        (listed,) = second.good("debug_list_sessions")["sessions"]
        assert (listed["sessionId"], listed["status"], listed["binaryPath"]) == (session, "running", str(program))
        assert second.good("debug_trace", sessionId=session, add=["midi::*"])["hookedFunctions"] == 2
        wait_until(lambda: second.good("debug_query", sessionId=session, function={"contains": "midi"})["events"])
        second.good("debug_stop", sessionId=session)
        assert second.good("debug_list_sessions") == {"sessions": []}


def test_an_attached_program_is_traced_and_left_running(wire: Wire, build_program: Callable[..., Path]) -> None:
    program = build_program("threads3", "-g")
    with subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        session = launched(wire, "", pid=process.pid)
        assert wire.good("debug_trace", sessionId=session, add=["midi::*"])["hookedFunctions"] == 2
        wait_until(lambda: wire.good("debug_query", sessionId=session, function={"contains": "midi"})["events"])
        assert wire.good("debug_stop", sessionId=session)["success"]
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=WAIT_SECONDS) == (b"", b"bye\n")
        assert process.returncode == 0


def test_a_client_gone_in_the_middle_of_a_launch_leaves_a_session(
    strobe_home: Path, build_program: Callable[..., Path]
) -> None:
    program = build_program("threads3", "-g", "-O1")
    with Wire.to(strobe_home) as watcher:
        with Wire.to(strobe_home) as gone:
            arguments = {"command": str(program), "projectRoot": ROOT}
            gone.post("tools/call", {"name": "debug_launch", "arguments": arguments})
        found = wait_until(lambda: watcher.good("debug_list_sessions")["sessions"], "the session", timeout=20)
        session = found[0]["sessionId"]
        wait_until(lambda: watcher.good("debug_query", sessionId=session, eventType="stdout")["events"], "its output")
        watcher.good("debug_stop", sessionId=session)


def test_the_end_of_the_daemon_ends_what_it_started(wire: Wire, build_program: Callable[..., Path]) -> None:
    answer = wire.good("debug_launch", command=str(build_program("threads3", "-g")), projectRoot=ROOT)
    assert daemon.status().running_sessions == 1
    assert daemon.stop()
    wait_gone(answer["pid"])


def test_what_was_recorded_survives_the_kill_of_the_daemon(
    strobe_home: Path, build_program: Callable[..., Path]
) -> None:
    program = build_program("threads3", "-g", "-O1")
    with Wire.to(strobe_home) as wire:
        session = launched(wire, program)
        wire.good("debug_trace", sessionId=session, add=["audio::**"])
        query = {"sessionId": session, "eventType": "function_enter"}
        seen = wait_until(lambda: (now := wire.good("debug_query", **query))["totalCount"] > 50 and now["events"])
        killed = daemon.status(strobe_home).pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        wait_gone(killed)
    with Wire.to(strobe_home) as wire:
        again = wire.good("debug_query", **query)["events"]
        assert again[: len(seen)] == seen
        assert ended(wire, session)["endedAt"]
        wire.good("debug_stop", sessionId=session)
        assert wire.good("debug_list_sessions") == {"sessions": []}


BAD_LAUNCHES = [
    ({"command": "/no/such/program"}, "VALIDATION_ERROR: No such program: '/no/such/program'."),
    ({"command": "no-such-program-in-path"}, "VALIDATION_ERROR: No such program: 'no-such-program-in-path'."),
    ({"command": "/usr"}, "VALIDATION_ERROR: '/usr' is a directory, not a program."),
    ({"command": "./README.md", "cwd": ROOT}, "is not executable. Run: chmod +x"),
    ({"command": ""}, "VALIDATION_ERROR: 'command' is '': it is empty."),
    ({"command": "env", "projectRoot": "/no/such/folder"}, "VALIDATION_ERROR: 'projectRoot' is '/no/such/folder'"),
    ({"command": "env", "cwd": "/no/such/folder"}, "VALIDATION_ERROR: 'cwd' is '/no/such/folder'"),
    ({"command": "env", "arguments": ["x"]}, "'arguments' is not a parameter here (did you mean 'args'?)"),
    ({"command": "env", "pid": 0}, "VALIDATION_ERROR: 'pid' is 0: it is out of range."),
    ({"command": "", "pid": 2**22 + 1}, "ATTACH_FAILED: No process has the id 4194305."),
    ({}, "VALIDATION_ERROR: 'command' is missing."),
]


@pytest.mark.parametrize(("arguments", "text"), BAD_LAUNCHES)
def test_a_bad_launch_says_what_is_wrong_and_leaves_nothing(wire: Wire, arguments: dict[str, Any], text: str) -> None:
    assert text in wire.bad("debug_launch", **{"projectRoot": ROOT, **arguments})
    assert wire.good("debug_list_sessions") == {"sessions": []}


BAD_CALLS = [
    ("debug_query", {}, "VALIDATION_ERROR: 'sessionId' is missing."),
    ("debug_query", {"sessionId": "none"}, "SESSION_NOT_FOUND: There is no session 'none'."),
    ("debug_stop", {"sessionId": "../.."}, "SESSION_NOT_FOUND: "),
    ("debug_delete_session", {"sessionId": "none"}, "SESSION_NOT_FOUND: "),
    ("debug_trace", {"sessionId": "none", "add": ["a"]}, "SESSION_NOT_FOUND: "),
    ("debug_trace", {"add": ["a"]}, "VALIDATION_ERROR: 'sessionId' is missing."),
    ("debug_trace", {"projectRoot": ROOT, "add": ["@nonsense"]}, "INVALID_PATTERN: "),
    ("debug_trace", {"projectRoot": ROOT, "watches": {"add": [{}]}}, "'watches.add[0]' is {}: exactly one is needed"),
    (
        "debug_trace",
        {"projectRoot": ROOT, "watches": {"add": [{"address": "0x10"}]}},
        "'watches.add[0].type' is missing",
    ),
    ("debug_trace", {"projectRoot": ROOT, "serializationDepth": 11}, "'serializationDepth' is 11: it is out of range"),
    ("debug_trace", {"projectRoot": ROOT, "sampling": "of"}, "did you mean 'off'?"),
]


@pytest.mark.parametrize(("tool", "arguments", "text"), BAD_CALLS)
def test_a_bad_call_says_what_is_wrong(wire: Wire, tool: str, arguments: dict[str, Any], text: str) -> None:
    assert text in wire.bad(tool, **arguments)


def test_bad_filters_say_what_is_wrong(wire: Wire) -> None:
    session = launched(wire, "env")
    for arguments, text in (
        ({"limit": 0}, "VALIDATION_ERROR: 'limit' is 0"),
        ({"limit": 501}, "VALIDATION_ERROR: 'limit' is 501"),
        ({"function": {"matches": "("}}, "VALIDATION_ERROR: The regular expression '(' is not valid"),
        ({"afterEventId": "nonsense"}, "VALIDATION_ERROR: 'nonsense' is not an event id of session"),
        ({"timeFrom": "yesterday"}, "VALIDATION_ERROR: "),
        ({"function": {}}, "VALIDATION_ERROR: 'function' is empty"),
        ({"returnValue": {}}, "VALIDATION_ERROR: 'returnValue' is empty"),
        ({"eventType": "stdot"}, "did you mean 'stdout'?"),
        ({"eventType": "function_enter", "returnValue": {"equals": "1"}}, "only the exit of a call has one"),
        ({"eventType": "function_enter", "minDurationNs": 5}, "only the exit of a call has one"),
    ):
        assert text in wire.bad("debug_query", sessionId=session, **arguments)
    wire.good("debug_stop", sessionId=session)


def test_a_running_session_cannot_be_deleted(wire: Wire, build_program: Callable[..., Path]) -> None:
    session = launched(wire, build_program("threads3", "-g"))
    assert wire.bad("debug_delete_session", sessionId=session).startswith("SESSION_EXISTS: ")
    wire.good("debug_stop", sessionId=session)


def test_an_answer_is_never_over_12_kb(wire: Wire, build_program: Callable[..., Path]) -> None:
    wire.good("debug_trace", projectRoot=ROOT, add=["audio::**"])
    session = launched(wire, build_program("threads3", "-g", "-O1"), "200")
    ended(wire, session)
    result = wire.call("debug_query", sessionId=session, verbose=True)
    assert len(result["content"][0]["text"]) <= 12_000
    answer = result["structuredContent"]
    assert (next(iter(answer)), answer["truncated"], answer["hasMore"]) == ("truncated", True, True)
    assert answer["shown"] == len(answer["events"]) < 50
    rest = wire.good("debug_query", sessionId=session, verbose=True, afterEventId=answer["nextCursor"])
    following = wire.good("debug_query", sessionId=session, verbose=True, offset=answer["nextOffset"])
    assert rest["events"] == following["events"]
    assert rest["events"][0]["timestampNs"] >= answer["events"][-1]["timestampNs"]
    asked = wire.call("debug_query", sessionId=session, limit=500)["content"][0]["text"]
    assert len(asked) <= 12_000
    wire.good("debug_stop", sessionId=session)


def test_a_program_launched_through_the_pump(build_program: Callable[..., Path]) -> None:
    """The pump alone, as a client would: nothing of the launched program reaches its output."""
    import orjson

    program = str(build_program("hello", "-g"))
    call = {"name": "debug_launch", "arguments": {"command": program, "projectRoot": ROOT}}
    with pump() as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}) + b"\n")
        client.stdin.flush()
        session = orjson.loads(client.stdout.readline())["result"]["structuredContent"]["sessionId"]
        stop = {"name": "debug_stop", "arguments": {"sessionId": session}}
        client.stdin.write(orjson.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": stop}) + b"\n")
        client.stdin.close()
        assert [orjson.loads(line)["id"] for line in client.stdout] == [2]
