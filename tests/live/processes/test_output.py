"""Output is captured whole and in order, input is fed whole, and a sanitizer's report is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.sessions import Build, Launch, all_events, outcome, text, untraced
from support.wait import wait_until

from strobe.model import EventFilter

MEGABYTE = 1 << 20
# for a minute, in one line
DOTS = "i=0; while [ $i -lt 6000 ]; do printf .; [ $i != 20 ] || echo ready >&2; i=$((i+1)); sleep 0.01; done"


def test_twenty_megabytes(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("output", "-O2"), "20", patterns=["write_megabyte"])
    ended = outcome(session)
    assert ended.status == 0
    assert ended.stdout.endswith("the end")
    # every byte value is there; those that are not UTF-8 each stand for themselves or for a replacement, ASCII is exact
    assert ended.stdout.count("A") == 20 * untraced_megabyte().count(b"A")


def untraced_megabyte() -> bytes:
    """What the program writes for one megabyte."""
    return bytes((index * 7 + (index >> 8)) & 255 for index in range(MEGABYTE))


def test_both_streams_in_order(launch: Launch, build_program: Build) -> None:
    program = build_program("output", "-O0")
    session = launch(program, "lines", "2000")
    assert outcome(session) == untraced(program, "lines", "2000")


def test_output_before_a_crash_is_there(launch: Launch, build_program: Build) -> None:
    ended = outcome(launch(build_program("terminates", "-O0"), patterns=["*"]))
    assert ended.stdout == "before\n"
    assert "nobody catches this" in ended.stderr
    assert ended.status == -signal.SIGABRT


@pytest.mark.parametrize("size", [0, 1, 4096, 1_000_000])
def test_standard_input_then_its_end(launch: Launch, build_program: Build, size: int) -> None:
    stdin = ("0123456789abcdef" * (size // 16 + 1))[:size]
    ended = outcome(launch(build_program("echo"), stdin=stdin, patterns=["copy"]))
    assert (ended.stdout, ended.stderr, ended.status) == (stdin, f"{size} bytes\n", 0)


def test_without_input_the_program_does_not_wait_for_any(launch: Launch, build_program: Build) -> None:
    assert outcome(launch(build_program("echo"))).stderr == "0 bytes\n"


def test_text_that_is_no_ascii(launch: Launch, build_program: Build) -> None:
    stdin = "grüße 日本語 🎹\n" * 5000
    assert outcome(launch(build_program("echo"), stdin=stdin)).stdout == stdin


def test_environment_and_arguments(launch: Launch) -> None:
    script = 'printf "%s|" "$STROBE_TEST" "$@"; pwd'
    session = launch("sh", "-c", script, "sh", "a b", "", "ü*", env={"STROBE_TEST": "x y"}, cwd="/usr/lib")
    assert outcome(session).stdout == "x y|a b||ü*|/usr/lib\n"


@pytest.mark.parametrize("pattern", ["*", "@usercode"])
@pytest.mark.parametrize("name", ["longjmps", "recursion", "arguments", "throws"])
def test_address_sanitizer_builds(launch: Launch, build_program: Build, name: str, pattern: str) -> None:
    program = build_program(name, "-O1", "-fsanitize=address,undefined", "-fno-omit-frame-pointer")
    assert outcome(launch(program, patterns=[pattern])) == untraced(program)


def test_address_sanitizer_report_is_captured(launch: Launch, build_program: Build) -> None:
    program = build_program("overflow", "-O0", "-fsanitize=address")
    ended, alone = outcome(launch(program, patterns=["*"])), untraced(program)
    assert "heap-buffer-overflow" in ended.stderr
    assert "write_behind" in ended.stderr
    assert (ended.stdout, ended.status) == (alone.stdout, alone.status)


def test_output_and_calls_share_one_clock(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("threads3"), "50", patterns=["audio::**"])
    assert text(session, "stdout") == "ready\n" or outcome(session).status == 0
    outcome(session)
    events = list(all_events(session, EventFilter()))
    assert [event.timestamp_ns for event in events] == sorted(event.timestamp_ns for event in events)
    ready = next(index for index, event in enumerate(events) if event.event_type == "stdout")
    bye = next(index for index, event in enumerate(events) if event.event_type == "stderr")
    calls = [index for index, event in enumerate(events) if event.function == "audio::tick"]
    # a pipe takes its time: what was written before the threads started may be read a little after their first calls
    assert ready < calls[len(calls) // 2] and calls[-1] < bye


def test_a_child_that_writes_after_the_end(launch: Launch) -> None:
    """What comes then is not captured, and nobody says that it is."""
    session = launch("sh", "-c", "sleep 60 2>&- & echo $! >&2")
    os.kill(int(outcome(session).stderr), signal.SIGKILL)
    absence = session.query(EventFilter(event_type="stdout")).absence or ""
    assert absence.startswith("Nothing was captured of stdout.")
    assert "written to it after that is not captured" in absence
    assert any("had stdout open when the recording ended" in warning for warning in session.warnings)


def test_a_text_that_lies_in_two_events(launch: Launch) -> None:
    """What was written in pieces is not denied; what was not written in any is."""
    cut = launch("sh", "-c", "printf nee; sleep 0.5; echo dle; echo other")
    assert outcome(cut).stdout == "needle\nother\n"
    whole = launch("sh", "-c", "echo other; printf other")
    assert outcome(whole).stdout == "other\nother"
    asked = EventFilter(where='$text contains "needle"')
    assert whole.query(asked).absence == "It held for none of 2 checked events."
    absence = cut.query(asked).absence or ""
    assert absence.startswith("It held for none of 3 checked events. This does not prove that it did not happen. ")
    assert "a text that lies across two of them is in none." in absence
    for kind in (None, "stdout"):
        found = whole.query(EventFilter(event_type=kind, text="needle")).absence or ""
        assert found.startswith(
            "All of stdout is captured: the program has written nothing to it that the other conditions select ("
        )
        absence = cut.query(EventFilter(event_type=kind, text="needle")).absence or ""
        assert absence.startswith("This does not prove that it was not written. No event of stdout has it. "), absence


def test_a_line_that_has_no_end_yet_is_not_denied(launch: Launch) -> None:
    """A program may write its progress for as long as it runs."""
    for asked in (
        EventFilter(event_type="stdout"),
        EventFilter(text="..."),
        EventFilter(where='$text contains "..."'),
    ):
        session = launch("sh", "-c", DOTS)
        wait_until(lambda session=session: text(session, "stderr") == "ready\n")
        page = session.query(asked)
        assert page.total_count, page.absence
        session.stop()


def test_output_of_another_process_s_session_is_not_denied(launch: Launch) -> None:
    """What that one has not written down yet nobody else knows."""
    session = launch("sh", "-c", DOTS)
    wait_until(lambda: text(session, "stderr") == "ready\n")
    asked = [sys.executable, "-m", "strobe", "query", session.id, "--type", "stdout"]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert "This does not prove that it was not written." in found.stdout + found.stderr
    assert f"Process {os.getpid()} captures the output" in found.stdout + found.stderr


def test_a_child_that_crashes_is_not_denied(launch: Launch) -> None:
    session = launch("sh", "-c", "sh -c 'kill -SEGV $$'; true")
    outcome(session)
    page = session.query(EventFilter(event_type="crash"))
    assert page.absence == "No crash event was recorded. Crashes of its children are not reported."
