"""`strobe export`: what the file says, against the events that `strobe query` gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.processes import without_progress

STROBE = [sys.executable, "-m", "strobe"]
Settings = Callable[[dict[str, object]], None]


def kept(options: list[str], *command: str | Path) -> str:
    """A session of a run that may end as it likes."""
    command = (*STROBE, "run", "--keep", "--summary", *options, "--", *command)
    report = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stderr
    return report.partition("kept as session ")[2].split(";")[0]


def told(*words: str | Path) -> Any:
    done = subprocess.run([*STROBE, *words], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def by_thread(entries: list[dict[str, Any]], phases: str) -> dict[int, list[dict[str, Any]]]:
    found = defaultdict(list)
    for entry in entries:
        if entry["ph"] in phases:
            found[entry["tid"]].append(entry)
    return found


def check_nesting(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each E ends the innermost open B of its thread, no time goes back. Those that are left open."""
    left = []
    for calls in by_thread(entries, "BE").values():
        open_calls: list[dict[str, Any]] = []
        assert [one["ts"] for one in calls] == sorted(one["ts"] for one in calls)
        for one in calls:
            if one["ph"] == "B":
                open_calls.append(one)
            else:
                assert open_calls.pop()["name"] == one["name"]
        left += open_calls
    return left


def test_every_call_is_there_with_its_time_arguments_and_result(
    build_program: Callable[..., Path], tmp_path: Path
) -> None:
    session = kept(["-t", "shop::*", "-t", "main"], build_program("ledger", "-O1"), "20")
    file = tmp_path / "trace.json"
    subprocess.run([*STROBE, "export", session, "-o", file], timeout=60, check=True)
    document = json.loads(file.read_text())
    assert document == told("export", session)
    entries = document["traceEvents"]
    assert document["displayTimeUnit"] == "ns"
    assert document["otherData"]["session"] == session
    assert check_nesting(entries) == []
    events = told("query", session, "--limit", "10000", "--json")["events"]
    threads = {one["threadId"]: one["threadName"] for one in events if one.get("threadName")}
    names = {one["tid"]: one["args"]["name"] for one in entries if one["ph"] == "M"}
    assert names == threads
    assert len(threads) == 4
    for phase, kind in (("B", "function_enter"), ("E", "function_exit")):
        wanted = [(one["timestampNs"], one["threadId"], one["function"]) for one in events if one["eventType"] == kind]
        found = [(round(one["ts"] * 1000), one["tid"], one["name"]) for one in entries if one["ph"] == phase]
        assert found == wanted
    odd = [one for one in entries if one.get("args", {}).get("cents", "").startswith("-")]
    assert {one["name"] for one in odd} <= {"shop::book", "shop::allowed"}
    booked = next(one for one in entries if one["ph"] == "B" and one["name"] == "shop::book")
    assert booked["args"]["what"] == '"bread"'
    assert booked["args"]["at"].endswith("ledger.cpp:32")
    allowed = next(one for one in entries if one["ph"] == "E" and one["name"] == "shop::allowed")
    assert allowed["args"]["return"] in ("true", "false")
    assert [one["args"]["text"] for one in entries if one["name"] == "stdout"] == [
        one["text"].rstrip("\n") for one in events if one["eventType"] == "stdout"
    ]


def test_probes_and_a_crash_are_moments(build_program: Callable[..., Path]) -> None:
    options = ["-t", "shop::*", "-p", "shop::book if cents == 2 : cents, what"]
    session = kept(options, build_program("ledger", "-O1"), "3", "crash")
    entries = told("export", session)["traceEvents"]
    probes = [one for one in entries if one["ph"] == "i" and one["s"] == "t" and "cents" in one["args"]]
    assert {one["args"]["cents"] for one in probes} == {"2"}
    (crash,) = (one for one in entries if one["name"] == "crash")
    assert crash["args"]["signal"].strip('"').startswith("SIG")
    left = check_nesting(entries)
    assert left  # the calls that the crash has ended


@pytest.mark.parametrize("name", ["throws", "longjmps"])
def test_calls_that_were_left_end_where_their_thread_goes_on(build_program: Callable[..., Path], name: str) -> None:
    session = kept(["-t", "**", "-t", "main"], build_program(f"ends/{name}", "-O0"))
    entries = told("export", session)["traceEvents"]
    check_nesting(entries)
    left = [one for one in entries if one.get("args", {}).get("ended") == "its return was not recorded"]
    assert left
    assert all(one["ph"] == "E" for one in left)


def test_a_call_whose_entry_was_evicted_is_complete(build_program: Callable[..., Path], settings: Settings) -> None:
    settings({"events.maxPerSession": 1000})
    session = kept(["--no-sampling", "-t", "counted::*", "-t", "main"], build_program("million", "-O1", "-pthread"))
    document = told("export", session)
    assert document["otherData"]["missing"]["evicted"] > 0
    check_nesting(document["traceEvents"])
    complete = {
        (one["tid"], round((one["ts"] + one["dur"]) * 1000), round(one["dur"] * 1000))
        for one in document["traceEvents"]
        if one["ph"] == "X" and one["name"] == "counted::once"
    }
    asked = ("query", session, "--function", "counted::once", "--json")
    assert not told(*asked, "--type", "function_enter")["events"]
    events = told(*asked, "--type", "function_exit")["events"]
    assert complete == {(one["threadId"], one["timestampNs"], one["durationNs"]) for one in events}
    assert len(complete) == 4


def test_there_is_no_such_session() -> None:
    done = subprocess.run([*STROBE, "export", "none"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert without_progress(done.stderr).startswith("strobe: SESSION_NOT_FOUND")


def test_a_file_that_cannot_be_written_is_named(build_program: Callable[..., Path]) -> None:
    session = kept(["-t", "shop::*"], build_program("ledger", "-O1"), "3")
    for more, said in (
        (["-o", "/dev/full"], "Error: '/dev/full' could not be written: No space left on device\n"),
        ([], "strobe: standard output could not be written: No space left on device\n"),
    ):
        with open("/dev/full", "w") as full:  # noqa: PTH123
            command = [*STROBE, "export", session, *more]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (1, said)


def test_a_file_that_cannot_be_written_to_its_end_is_named(build_program: Callable[..., Path], tmp_path: Path) -> None:
    """Less than the file takes, as on a disk that fills meanwhile; what is left of a buffer is no second failure."""
    session = kept(["-t", "**", "--no-sampling"], build_program("ledger", "-O1"), "2000")
    file = tmp_path / "trace.json"
    limited = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *STROBE, "export", session, "-o", str(file)]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert without_progress(done.stderr) == f"Error: '{file}' could not be written: File too large\n"


@pytest.mark.parametrize("before", [None, "what was there"])
@pytest.mark.parametrize("reason", ["no room", "no session"])
def test_an_export_that_fails_leaves_what_was_there(
    build_program: Callable[..., Path], tmp_path: Path, reason: str, before: str | None
) -> None:
    session = kept(["-t", "**", "--no-sampling"], build_program("ledger", "-O1"), "2000")
    folder = tmp_path / "to"
    folder.mkdir()
    file = folder / "trace.json"
    if before is not None:
        file.write_text(before)
    words = [session if reason == "no room" else "20200101-nothing", "-o", str(file)]
    limited = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *STROBE, "export", *words]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert {one.name: one.read_text() for one in folder.iterdir()} == ({} if before is None else {file.name: before})


def test_a_file_that_is_there_is_replaced(build_program: Callable[..., Path], tmp_path: Path) -> None:
    """It keeps its mode, and what leads to it leads to it."""
    session = kept(["-t", "shop::*"], build_program("ledger", "-O1"), "3")
    file, link = tmp_path / "trace.json", tmp_path / "link"
    file.write_text("what was there")
    file.chmod(0o640)
    link.symlink_to(file.name)
    subprocess.run([*STROBE, "export", session, "-o", link], timeout=60, check=True)
    assert link.is_symlink()
    assert json.loads(file.read_text())["otherData"]["session"] == session
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("line", ['"$@" /dev/stdout | cat', '"$@" >(cat)', '"$@" /dev/fd/3 3>&1 >/dev/null | cat'])
def test_to_a_pipe_that_the_shell_has_made(build_program: Callable[..., Path], line: str) -> None:
    session = kept(["-t", "shop::*"], build_program("ledger", "-O1"), "3")
    command = ["bash", "-c", f"set -o pipefail; {line}", "bash", *STROBE, "export", session, "-o"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["otherData"]["session"] == session
