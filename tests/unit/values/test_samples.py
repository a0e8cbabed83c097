"""A tick of a poll as the text of its event: what the targets are called, and how much there is room for."""

from __future__ import annotations

from strobe.limits import SAMPLE_BYTES
from strobe.model import Text
from strobe.session.variables.samples import document, labels_of
from strobe.timeline.snapshots import load
from strobe.values.reading import ReadResult, ReadTarget

AROUND = len('{"values":{"a":""}}')


def test_targets_that_would_be_called_the_same() -> None:
    targets = [
        ReadTarget(" gTempo"),
        ReadTarget("gTempo"),
        ReadTarget("gTempo", thread=7),
        ReadTarget(address=16, type="i32"),
        ReadTarget(address=16, type="bytes", size=4),
        ReadTarget(address=32, type="u8"),
    ]
    assert labels_of(targets) == [
        "gTempo",
        "gTempo",
        "gTempo (thread 7)",
        "(i32*)0x10",
        "(bytes*)0x10, 4 bytes",
        "0x20",
    ]


def test_a_value_that_fits_just_and_one_that_does_not() -> None:
    for length, fits in ((SAMPLE_BYTES - AROUND, True), (SAMPLE_BYTES - AROUND + 1, False)):
        snapshot = load(document(["a", "b"], [ReadResult("a", value=Text("x" * length)), ReadResult("b")]).encode())
        assert snapshot is not None
        assert ("a" in snapshot.values) == fits
        assert "b" in (snapshot.errors or {}) if fits else "b" in snapshot.values


def test_the_first_bytes_are_shown() -> None:
    results = [ReadResult("a", content=bytes(range(size))) for size in (31, 32, 33)]
    snapshot = load(document(["a", "b", "c"], results).encode())
    assert snapshot is not None
    assert snapshot.values == {
        "a": bytes(range(31)).hex(" "),
        "b": bytes(range(32)).hex(" "),
        "c": bytes(range(32)).hex(" ") + " …",
    }
