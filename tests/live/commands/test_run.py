"""`strobe run` as a user meets it: a program traced in a terminal or a pipe, with nothing of it changed."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import filesystems
from support.processes import without_progress
from support.short_form import short
from support.wait import wait_until

STROBE = [sys.executable, "-m", "strobe"]
SECONDS = 60
DURATION = re.compile(r"\s+\d[\d.]* (?:ns|us|ms|s)\b")

Build = Callable[..., Path]


def strobe(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Standard error is without what is said of a step that takes longer than a second, as on a busy machine."""
    command = [*STROBE, *map(str, arguments)]
    result = subprocess.run(command, input=stdin, capture_output=True, timeout=SECONDS)
    result.stderr = without_progress(result.stderr)
    return result


def tree(text: str) -> list[str]:
    """The call tree of a run without its durations: what is between the first line and the totals."""
    return [DURATION.sub("", line) for line in text.partition("\n\n")[0].splitlines()[1:]]


def summary(text: str) -> dict[str, int]:
    """Calls per function of the totals table."""
    rows = (line.split() for line in re.split(r"max +function\n", text)[-1].splitlines())
    return {row[-1]: int(row[0].replace(",", "")) for row in rows if row and row[0].replace(",", "").isdigit()}


def test_the_program_has_its_streams_to_itself(build_program: Build, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4_000
    listing = tmp_path / "calls"
    result = strobe("run", "-t", "copy", "-o", listing, "--", build_program("echo"), stdin=data)
    assert result.stdout == data
    assert result.stderr == b"1024000 bytes\n"
    assert result.returncode == 0
    assert set(summary(listing.read_text())) == {"copy"}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("return", 0), 0), (("exit", 3), 3), (("_exit", 255), 255), (("kill", 9), 137), (("segv",), 139)],
)
def test_the_exit_status_is_the_programs(build_program: Build, arguments: tuple[object, ...], status: int) -> None:
    result = strobe("run", "-t", "end", "--", build_program("exits"), *arguments)
    assert result.returncode == status
    assert result.stdout == b"here\n"


def test_the_exit_status_is_the_last_programs_of_an_exec(tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.write_text("#!/bin/sh\nexec /bin/sh -c 'exit 5'\n")
    first = tmp_path / "first"
    first.write_text(f"#!/bin/sh\nexec {second}\n")
    for script in (first, second):
        script.chmod(0o755)
    assert strobe("run", "-t", "f", "--", first).returncode == 5


def test_a_crash_says_where_it_was(build_program: Build) -> None:
    error = strobe("run", "-t", "end", "-t", "main", "--", build_program("exits"), "segv").stderr.decode()
    assert re.search(r"still open at the end in exits \d+: main > end\n", error)
    lines = error.splitlines()
    said = lines[lines.index("strobe: the program was ended by SIGSEGV") + 1 :]
    assert re.fullmatch(r"strobe: SIGSEGV: read of 0x0, in end at exits.c:\d+ \(thread exits\)", said[0])
    frames = [line.rpartition(":")[0] for line in said if line.startswith("strobe:   #")]
    assert frames[:2] == ["strobe:   #0 end exits.c", "strobe:   #1 main exits.c"]  # then the C library's, if any
    assert 'strobe:        how = "segv"' in said and "strobe:        argc = 2" in said
    assert said[-2] == 'strobe:   in call of end(how="segv")' and said[-1].startswith("strobe:   in call of main(")


def test_an_end_by_a_filter_of_system_calls_is_explained(build_program: Build) -> None:
    result = strobe("run", "-t", "end", "--", build_program("exits"), "kill", 31)
    assert result.returncode == 128 + 31
    assert b"ended by SIGSYS: a filter of system calls (seccomp) forbids" in result.stderr


def test_the_tree_shows_frames_that_an_exception_left(build_program: Build) -> None:
    result = strobe("run", "-t", "flow::*", "--no-sampling", "--", build_program("throws"))
    assert tree(result.stderr.decode())[:15] == [
        "flow::catches(value=4) {",
        "  flow::upper(value=4) {",
        "    flow::middle(value=4) {",
        "      flow::deepest(value=4) = 4",
        "    } flow::middle = 5",
        "  } flow::upper = 6",
        "} flow::catches = 7",
        "flow::catches(value=3) {",
        "  flow::upper(value=3) {",
        "    flow::middle(value=3) {",
        "      flow::deepest(value=3) {",
        "      } flow::deepest left without return",
        "    } flow::middle left without return",
        "  } flow::upper left without return",
        "} flow::catches = -3",
    ]


def test_a_million_calls_are_counted_and_what_is_not_printed_is_reported(build_program: Build) -> None:
    result = strobe("run", "-t", "counted::*", "--no-sampling", "--", build_program("million", "-O1"))
    error = result.stderr.decode()
    assert summary(error) == {"counted::f": 1_000_000, "counted::once": 4}
    shown = len(re.findall(r"\bf\(value=.*\{$|\} counted::f\b", error, re.M)) + 2 * len(
        re.findall(r"\bf\(value=.* = ", error)
    )
    untold = re.search(r"strobe: ([\d,]+) events not printed; the totals count them\n", error)
    told = int(untold[1].replace(",", "")) if untold else 0
    assert shown + told <= 2_000_000 + 8
    assert shown + told >= 2_000_000


def test_a_file_to_which_it_is_redirected_has_every_event(build_program: Build, tmp_path: Path) -> None:
    """More than is printed within 2 s, after which what is late is left out on a terminal and behind a pipe."""
    listing = tmp_path / "calls"
    rounds = short(40_000, 20_000)  # of three calls in each of two threads
    words = ["run", "-t", "step", "--no-sampling", "--", build_program("billion", "-O1", "-pthread"), str(8 * rounds)]
    with listing.open("wb") as file:
        result = subprocess.run([*STROBE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=file, timeout=SECONDS)
    assert result.returncode == 0
    error = listing.read_text()
    calls = sum(summary(error).values())
    assert calls == 6 * rounds
    assert (len(re.findall(r"\bstep\(", error)), not_printed(error)) == (calls, [])


def not_printed(text: str) -> list[str]:
    return re.findall(r"^strobe: ([\d,]+) events not printed; the totals count them$", text, re.M)


def test_what_a_file_lacks_is_said_on_standard_error_too(
    build_program: Build, tmp_path: Path, strobe_home: Path
) -> None:
    strobe_home.mkdir(mode=0o700)
    (strobe_home / "settings.json").write_text('{"events.maxPerSession": 1000}')
    listing = tmp_path / "calls"
    program = build_program("million", "-O1")
    result = strobe("run", "-t", "counted::*", "--no-sampling", "-o", listing, "--", program)
    assert result.returncode == 0
    missing = not_printed(result.stderr.decode())
    assert len(missing) == 1 and int(missing[0].replace(",", "")) > 1_000_000
    assert not_printed(listing.read_text()) == missing


@pytest.mark.parametrize("as_json", [False, True])
def test_a_report_that_cannot_be_written_is_an_error(build_program: Build, as_json: bool) -> None:
    options = ["--json"] if as_json else []
    result = strobe("run", "-t", "end", "-o", "/dev/full", *options, "--", build_program("exits"), "return", 3)
    assert result.returncode == 125
    lines = result.stderr.decode().splitlines()
    assert "strobe: the report in '/dev/full' could not be written to its end: No space left on device" in lines
    assert lines[-1] == "strobe: the program ended with exit status 3"


def test_a_report_for_which_the_disk_has_no_room_is_an_error(build_program: Build, tmp_path: Path) -> None:
    with filesystems.small(tmp_path / "small", 64 << 10) as folder:
        listing = folder / "calls"
        program = build_program("million", "-O1")
        result = strobe("run", "-t", "counted::*", "--no-sampling", "-o", listing, "--", program)
        assert result.returncode == 125
        error = result.stderr.decode()
        assert f"strobe: the report in '{listing}' could not be written to its end: No space left on device\n" in error
        assert error.endswith("strobe: the program ended with exit status 0\n")
        assert listing.stat().st_size > 0


def test_a_full_standard_error_changes_the_status(build_program: Build) -> None:
    command = [*STROBE, "run", "-t", "end", "--", str(build_program("exits")), "return", "0"]
    with Path("/dev/full").open("wb") as full:
        assert subprocess.run(command, stderr=full, stdout=subprocess.DEVNULL, timeout=SECONDS).returncode == 125


def test_who_stops_reading_is_no_error(build_program: Build) -> None:
    """As with `| head`: nobody misses what comes then."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [*STROBE, "run", "-t", "end", "--", str(build_program("exits")), "return", "0"]
    assert subprocess.run(command, stderr=writer, stdout=subprocess.DEVNULL, timeout=SECONDS).returncode == 0
    os.close(writer)


def test_only_totals_on_demand(build_program: Build) -> None:
    error = strobe("run", "--summary", "-t", "audio::**", "--", build_program("threads3"), 5).stderr.decode()
    assert "{" not in error
    assert summary(error) == {"audio::engine::mix": 10, "audio::engine::render": 5, "audio::tick": 5}


def test_without_a_pattern_the_code_of_this_folder_is_traced(build_program: Build) -> None:
    program = build_program("threads3")
    sources = Path(__file__).parents[2] / "programs"
    error = strobe("run", "--summary", "--project-root", sources, "--", program, 2).stderr.decode()
    assert {"main", "midi::parse", "ui::view::tick"} <= set(summary(error))


def test_a_pattern_that_matches_nothing_is_not_silent(build_program: Build) -> None:
    result = strobe("run", "-t", "audio::tock", "--", build_program("threads3"), 1)
    assert result.returncode == 0
    assert b"audio::tock" in result.stderr
    assert b"audio::tick" in result.stderr


def test_json_gives_each_event_and_then_the_totals(build_program: Build, tmp_path: Path) -> None:
    listing = tmp_path / "calls.jsonl"
    strobe("run", "--json", "-o", listing, "-t", "audio::**", "--", build_program("threads3"), 3)
    *events, end = map(json.loads, listing.read_text().splitlines())
    assert end["summary"] is True
    assert {group["function"]: group["count"] for group in end["totals"]}["audio::engine::mix"] == 6
    assert len(events) == end["eventsRecorded"] == 24
    assert [event["timestampNs"] for event in events] == sorted(event["timestampNs"] for event in events)
    mix = next(event for event in events if event["function"] == "audio::engine::mix")
    assert (mix["eventType"], mix["arguments"], mix["threadName"]) == (
        "function_enter",
        [{"name": "left", "value": 0}, {"name": "right", "value": 1}],
        "audio",
    )


@pytest.mark.parametrize(
    ("program", "status", "words"),
    [
        ("./no-such-program", 127, "VALIDATION_ERROR: No such program"),
        ("no-such-program-anywhere", 127, "VALIDATION_ERROR: No such program"),
        ("/tmp", 126, "VALIDATION_ERROR: '/tmp' is a directory"),
        ("/etc/passwd", 126, "VALIDATION_ERROR: '/etc/passwd' is not executable"),
    ],
)
def test_what_cannot_be_started_ends_as_in_a_shell(program: str, status: int, words: str) -> None:
    result = strobe("run", "--", program)
    assert result.returncode == status
    error = result.stderr.decode()
    assert error.startswith(f"strobe: {words}")
    assert error.count("\n") == 1


def test_wrong_use_is_told_apart(build_program: Build) -> None:
    assert strobe("run").returncode == 2
    assert strobe("run", "--no-such-option", "--", "/bin/true").returncode == 2
    bad = strobe("run", "-t", "foo::<", "--", build_program("hello"))
    assert bad.returncode == 1
    assert bad.stderr.startswith(b"strobe: INVALID_PATTERN: ")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("query", "none"), 1, "strobe: SESSION_NOT_FOUND: There is no session 'none'."),
        (("query", "none", "--limit", "0"), 2, "'--limit'"),
        (("query", "none", "--from", "1h"), 2, "'--from' is '1h'"),
        (("sql", "none", "select 1"), 1, "strobe: SESSION_NOT_FOUND"),
        (("sessions", "delete", "none"), 1, "strobe: SESSION_NOT_FOUND"),
        (("bench", "none"), 2, "there are: call"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: tuple[str, ...], status: int, words: str) -> None:
    result = strobe(*arguments)
    assert result.returncode == status
    assert words in result.stderr.decode()
    assert b"Traceback" not in result.stderr


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """strobe as the leader of a process group of its own, as a shell starts it; it is running when "ready" is there."""
    command = [*STROBE, "run", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def read_until(process: subprocess.Popen[bytes], words: bytes) -> None:
    """Reads strobe's own lines until one has these words."""
    assert process.stderr is not None
    assert any(words in line for line in process.stderr), f"{words!r} did not come"


@pytest.mark.parametrize(("number", "group"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False)])
def test_a_signal_ends_the_program_and_the_totals_still_come(
    build_program: Build, number: signal.Signals, group: bool
) -> None:
    process = start("-t", "midi::*", "--", build_program("threads3"))
    read_until(process, b"midi::parse(")
    (os.killpg if group else os.kill)(process.pid, number)
    _, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number
    assert error.decode().endswith(f"strobe: the program was ended by {number.name}\n")
    assert set(summary(error.decode())) == {"midi::parse", "midi::tick"}


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_only_on_a_terminal_that_wants_it(
    build_program: Build, environment: dict[str, str], coloured: bool
) -> None:
    ours, theirs = pty.openpty()
    command = [*STROBE, "run", "-t", "audio::**", "--", str(build_program("threads3")), "1"]
    env = {**os.environ, "TERM": "xterm", **environment}
    env = env if environment else {name: value for name, value in env.items() if name != "NO_COLOR"}
    process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=env)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65_536):
            text += part
    except OSError:  # EIO: the other end is closed, which is how a pseudo-terminal ends
        pass
    os.close(ours)
    assert process.wait(SECONDS) == 0
    assert b"audio::tick" in text
    assert (b"\x1b[" in text) is coloured


def test_what_is_kept_can_be_asked_and_deleted(build_program: Build) -> None:
    error = strobe("run", "--summary", "--keep", "-t", "audio::**", "--", build_program("threads3"), 4).stderr.decode()
    session = error.split()[-1]
    page = json.loads(strobe("query", session, "--contains", "mix", "--limit", 3, "--json").stdout)
    assert (page["totalCount"], page["hasMore"], len(page["events"])) == (16, True, 3)
    groups = json.loads(strobe("query", session, "--group-by", "function", "--json").stdout)["groups"]
    assert groups[0]["function"] == "audio::engine::mix"
    statement = "select function, count(*) as n from events where event_type = 'function_enter' group by 1 order by 2"
    rows = json.loads(strobe("sql", session, statement, "--json").stdout)
    assert rows[-1] == {"function": "audio::engine::mix", "n": 8}
    assert session in strobe("sessions").stdout.decode()
    assert strobe("sessions", "delete", session).returncode == 0
    gone = strobe("query", session)
    assert (gone.returncode, gone.stderr[:26]) == (1, b"strobe: SESSION_NOT_FOUND:")


def test_a_session_that_runs_is_seen_by_another_process(build_program: Build) -> None:
    process = start("-t", "ui::**", "--", build_program("threads3"))
    listed = json.loads(strobe("sessions", "--json").stdout)["sessions"]
    assert [(item["status"], Path(item["binaryPath"]).name) for item in listed] == [("running", "threads3")]
    session = listed[0]["sessionId"]
    wait_until(
        lambda: json.loads(strobe("query", session, "--json").stdout)["totalCount"], "events of the other process"
    )
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=SECONDS)


def test_at_returns_and_watches_in_some_functions(build_program: Build) -> None:
    program = build_program("call_values", "-O0", compiler="g++")
    result = strobe("run", "--at-return", "Pool::add if $return > 20 : $return, m_count", program)
    said = result.stderr.decode()
    assert re.findall(r"\$return=(\d+), m_count=(\d+)", said) == [("25", "3"), ("39", "6")]
    assert "reached 3 times, its condition held 2 times" in said
    result = strobe("run", "--stack", "2", "-p", "Pool::add:return : $return", "-p", "Pool::add", program)
    assert (result.returncode, result.stderr.count(b" < "), result.stderr.count(b"$return=")) == (0, 0, 3)
    assert result.stderr.count(b"from main") == 6
    assert "a line has no return" in strobe("run", "--at-return", "call_values.cpp:10 : x", program).stderr.decode()
    result = strobe("run", "--json", "-t", "Pool::*", "-w", "m_count", "--on", "Pool::add", program)
    events = [json.loads(line) for line in result.stderr.splitlines() if line.startswith(b"{")]
    watched = {one["function"] for one in events if one.get("watchValues")}
    assert watched == {"Pool::add"}
    assert "Pool::Pool" in {one.get("function") for one in events}
    assert "--on goes with -w" in strobe("run", "--on", "Pool::add", program).stderr.decode()
