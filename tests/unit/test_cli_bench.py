"""The benchmarks' harness: how figures are judged and shown, and that a broken one does not end the rest."""

from __future__ import annotations

import importlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from strobe.cli.bench_command import _harness

harness = _harness()
picture = importlib.import_module(f"{harness.__package__}.picture")


def test_a_figure_is_judged_by_its_side_of_the_bar() -> None:
    slow = harness.Figure("slow", 300.0, "ns", "fast", 1.5, bar=45.0)
    many = harness.Figure("many", 30.0, "million/s", "none", 0.0, bar=20.0, higher_is_better=True)
    assert (slow.holds, slow.ratio, many.holds) == (False, 200.0, True)
    assert harness.Figure("unpromised", 1.0, "s", "other", 2.0).holds is None


def test_the_table_shows_value_baseline_and_ratio() -> None:
    figure = harness.Figure("a call", 300.0, "ns", "untraced", 1.5, bar=45.0)
    assert harness.table([figure]) == (
        "a call               300 ns  bar 45  MISSED\n"  #
        "  untraced           1.5 ns  x 200.00"
    )


def test_every_benchmark_of_the_folder_can_be_loaded() -> None:
    assert {"call", "hooks", "throughput"} <= set(harness.names())
    for name in harness.names():
        assert callable(harness._load(name))


def test_a_benchmark_that_fails_is_reported_and_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no compiler
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    told: list[str] = []
    ((name, outcome),) = harness.run(["call"], told.append)
    assert (name, told) == ("call", ["call"])
    assert isinstance(outcome, harness.Skipped)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_has_a_bar_for_each_figure_and_baseline_longer_where_the_value_is_greater() -> None:
    figures = [
        harness.Figure("a call", 40.0, "ns", "untraced <loop>", 1.5),
        harness.Figure("a call", 41.0, "ns", "another way", 900.0),
    ]
    root = ElementTree.fromstring(picture.picture("calls", figures))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a call", "untraced <loop>", "another way", "40", "900", "1.5"} <= set(texts)
    bars = [float(bar.attrib["width"]) for bar in root.findall("{http://www.w3.org/2000/svg}rect") if "x" in bar.attrib]
    assert len(bars) == 3
    assert bars == sorted(bars, reverse=True)
    with pytest.raises(ValueError, match="one unit"):
        picture.picture("mixed", [*figures, harness.Figure("hooks", 2.0, "s", "other", 1.0)])
