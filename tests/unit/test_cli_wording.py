"""Durations, moments, values, loss and totals as text; errors in the words of each interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from strobe import errors
from strobe.cli.output.json_form import dumps, event_json
from strobe.cli.output.tables import totals_table
from strobe.cli.run.report import RunEnd, Sink, ending_lines, exit_code
from strobe.errors import Interface, StrobeError, failure, speak_to
from strobe.model import Argument, Event, ExitStatus, Loss
from strobe.report import wording
from strobe.report.palette import Palette
from strobe.timeline.totals import Totals


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (9_994, "9.99 us"),
        (99_949, "99.9 us"),
        (123_456, "123 us"),
        (34_000_000, "34.0 ms"),
        (2_310_000_000, "2.31 s"),
    ],
)
def test_durations_have_three_digits(ns: int, text: str) -> None:
    assert wording.duration(ns) == text


@pytest.mark.parametrize(
    ("text", "ns"),
    [("0", 0), ("1500", 1_500), ("20us", 20_000), ("1.5ms", 1_500_000), ("2s", 2_000_000_000), ("1m", 60_000_000_000)],
)
def test_durations_are_read(text: str, ns: int) -> None:
    assert wording.parse_ns(text, "--to") == ns


@pytest.mark.parametrize("text", ["", "-5s", "5 s", "5h", "s", "1e3", "0x10"])
def test_what_is_no_duration_is_refused_by_name(text: str) -> None:
    with pytest.raises(StrobeError, match=r"VALIDATION_ERROR: '--to' is"):
        wording.parse_ns(text, "--to")


def test_a_moment_may_count_from_the_end() -> None:
    assert wording.parse_moment("-5s", "--from") == "-5s"


def test_values_read_as_in_the_source() -> None:
    items = (Argument("a", -1), Argument("p", "0x7f00"), Argument("", True), Argument("x", None))
    assert wording.arguments(items) == "a=-1, p=0x7f00, true, x=?"


def test_loss_is_reported_exactly() -> None:
    assert wording.loss_lines(Loss()) == []
    assert wording.loss_lines(Loss(evicted=12_000_000, evicted_until_ns=1_500_000_000, lost=1)) == [
        "12,000,000 events evicted to make room for newer ones, up to +1.500000 s",
        "1 event lost: no room in memory, too many threads, one without clock, or handlers that interrupt one another",
    ]
    assert wording.loss_lines(Loss(evicted=2, event_bytes=64)) == [
        "2 events evicted to make room for newer ones (an event takes 64 bytes here, a plain one 32: so many times "
        "fewer fit)"
    ]


def test_output_of_a_program_cannot_move_the_cursor() -> None:
    assert wording.one_line("red \x1b[31m\tend\r\n") == "red \\x1b[31m\tend"


def test_totals_most_calls_first_and_nothing_hidden() -> None:
    rare = Totals("rare", 1, 50, 50, 50, 50, 50, 50, completed=1, self_ns=30)
    thrown = Totals("thrown", 3, 0, 0, 0, 0, 0, 0, unwound=3, evicted=4)
    assert totals_table([rare, thrown], "function", Palette(False)) == [
        "calls  total   self   mean    p50    p99    max  function",
        "    3      -      -      -      -      -      -  thrown  (3 left without return, 4 events evicted)",
        "    1  50 ns  30 ns  50 ns  50 ns  50 ns  50 ns  rare",
    ]


def end(**changes: object) -> RunEnd:
    fields: dict[str, object] = {
        "status": ExitStatus(code=0),
        "totals": [Totals("f", 1, 1, 1, 1, 1, 1, 1, completed=1)],
        "loss": Loss(),
        "warnings": [],
        "events_recorded": 2,
        "events_not_printed": 0,
        "session_id": "s",
        "kept": False,
    }
    return RunEnd(**(fields | changes))  # type: ignore[arg-type]


def test_a_good_end_needs_no_words() -> None:
    assert ending_lines(end()) == []


def test_the_end_says_what_was_not_printed_and_which_signal() -> None:
    assert ending_lines(end(events_not_printed=1_234, status=ExitStatus(signal=signal.SIGSEGV))) == [
        "1,234 events not printed; the totals count them",
        "the program was ended by SIGSEGV",
    ]


def test_the_end_says_what_of_strobe_has_failed() -> None:
    failed = end(totals=[], failures=["The events are gone."], status=ExitStatus())
    assert ending_lines(failed) == ["The events are gone.", "how the program ended is not known"]


def test_no_call_at_all_is_reported() -> None:
    assert ending_lines(end(totals=[])) == ["no traced function was called"]


@pytest.mark.parametrize(("status", "code"), [(ExitStatus(code=3), 3), (ExitStatus(signal=11), 139), (ExitStatus(), 1)])
def test_exit_status_is_the_one_of_a_shell(status: ExitStatus, code: int) -> None:
    assert exit_code(status) == code


def test_a_sink_waits_for_a_pipe_that_does_not_block() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(["wc", "-c"], stdin=reader, stdout=subprocess.PIPE, text=True) as counter:
        os.close(reader)
        Sink(writer).lines(["x" * 199] * 10_000)
        os.close(writer)
        assert counter.communicate(timeout=60)[0].strip() == "2000000"


def test_a_sink_outlives_its_reader() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    sink = Sink(writer)
    sink.lines(["nobody reads this"])
    os.close(writer)
    assert sink.failure("the report") is None


def test_a_sink_says_what_could_not_be_written() -> None:
    with Path("/dev/full").open("wb") as full:
        sink = Sink(full.fileno())
        sink.lines(["there is no room for this"])
    assert sink.failure("the report") == "the report could not be written to its end: No space left on device"


def test_events_in_json_keep_large_integers_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    event = Event("s-1", 5, "function_enter", 1, "main", 7, "f", arguments=(Argument("big", 1 << 60), Argument("", -2)))
    shown = json.loads(dumps(event_json(event)))["arguments"]
    assert shown == [{"name": "big", "value": str(1 << 60)}, {"name": "", "value": -2}]
    output = Event("s-2", 5, "stdout", 0, "", 7, text="\udcff")
    assert json.loads(dumps(event_json(output)))["text"] == "\udcff"


@pytest.fixture(params=get_args(Interface))
def interface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(errors, "_interface", errors._interface)  # put back at the end
    speak_to(request.param)
    return str(request.param)


def test_each_interface_has_a_name_for_each_command(interface: str) -> None:
    assert all(errors.command_names()[name] for name in errors._COMMANDS["mcp"])
    ended = failure("process_exited", session_id="a-1", how="exit status 0")
    assert {"mcp": "debug_launch", "cli": "strobe run", "python": "strobe.launch"}[interface] in str(ended)
    assert ("debug_" in str(ended)) == (interface == "mcp")


def test_parameters_are_called_as_the_interface_calls_them(interface: str) -> None:
    wrong = failure("bad_value", field="timeFrom", value="-3", reason="it is negative", valid="0 or more")
    called = {"mcp": "timeFrom", "cli": "--from", "python": "time_from"}[interface]
    assert wrong.message == f"'{called}' is -3: it is negative."
    assert failure("bad_value", field="size", value=0, reason="it is 0", valid="1").message == "'size' is 0: it is 0."


def test_the_texts_of_the_table_name_no_tool() -> None:
    for name, (_, message, next_step) in errors._TABLE.items():
        assert "debug_" not in message + next_step, name
        assert message == "{reason}" or message.endswith("."), name
