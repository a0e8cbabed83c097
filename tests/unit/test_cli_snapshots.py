"""How snapshots of variables and polls are written on the command line, and that any value survives as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from strobe.model import Event
from strobe.report import snapshots
from strobe.timeline.snapshots import dump, load


def event(text: str) -> Event:
    snapshot = load(text.encode())
    assert snapshot is not None
    parts = {"values": snapshot.values, "errors": snapshot.errors, "previous": snapshot.previous}
    return Event("s-1", 0, "variable_snapshot", 0, "", 1, **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (120, "120"),
        (-0.5, "-0.5"),
        (True, "true"),
        (None, "?"),
        ("abc", '"abc"'),
        ("two\nlines \x1b[m", '"two\\nlines \\u001b[m"'),
        ("'q'", "'q'"),
        ("MODE_LOOP(2)", "MODE_LOOP(2)"),
        ("FLAG_A|FLAG_C(5)", "FLAG_A|FLAG_C(5)"),
        ("0x55d0 <gState+8>", "0x55d0 <gState+8>"),
        ("<circular ref to gFirst>", "<circular ref to gFirst>"),
        ({"pointer": "0x10", "to": {"value": 1}}, "0x10 -> {value = 1}"),
        ({"count": 250, "elements": [1, 2]}, "[1, 2, … 250 in all]"),
        ([{"freq": 440.0}, {}], "[{freq = 440.0}, {}]"),
        (1 << 70, '"1180591620717411303424"'),
        (float("inf"), "inf"),
    ],
)
def test_a_value(value: Any, shown: str) -> None:
    assert snapshots.line(event(dump({"x": value}))) == f"x = {shown}"


def test_values_errors_and_what_was_written() -> None:
    text = dump({"gTempo": 5, "gName": "b"}, {"*p": "Null pointer at p."}, {"gTempo": 120})
    assert snapshots.line(event(text)) == 'gTempo = 5 (written; it was 120), gName = "b"; *p: Null pointer at p.'


def test_empty_parts_are_left_out() -> None:
    assert dump({"a": 1}, {}, None) == '{"values":{"a":1}}'


@pytest.mark.parametrize("text", [b"", b"nonsense", b"[1]", b'{"values":[]}', b"\xff"])
def test_other_texts_are_no_snapshots(text: bytes) -> None:
    assert load(text) is None


def test_how_a_poll_went() -> None:
    poll: dict[str, Any] = {"targets": ["a", "b"], "intervalMs": 50, "expectedSamples": 600, "samples": 600}
    assert snapshots.poll_line(poll) == "poll of a, b every 50 ms: 600 of 600 samples; it goes on"
    ended = {**poll, "samples": 12, "missed": 2, "ended": "the program ended"}
    assert snapshots.poll_line(ended) == (
        "poll of a, b every 50 ms: 12 of 600 samples, 2 left out as they came too late; ended early: the program ended"
    )
