"""The floor of the design card, 100,000 events a second: far below what is true, so that no busy machine fails it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import strobe
from strobe.cli.bench_command import _harness

CALLS = 200_000
FLOOR = 100_000
callers = importlib.import_module(f"{_harness().__package__}.callers")
call_program = importlib.import_module(f"{_harness().__package__}.call_program")


@pytest.mark.parametrize("form", ["native", "portable"])
def test_events_a_second_of_one_thread(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = callers.build(tmp_path, "calls")

    def ns_per_call() -> float:
        with strobe.launch([program, "two", str(CALLS)], trace=["two"], sampling="off", home=tmp_path / "home") as run:
            run.wait(60)
            assert run.loss.total == 0
            assert [group.completed for group in run.totals()] == [CALLS]
            return float(call_program.timing_of(run.stdout).all)

    rate = 2e9 / benchmark.pedantic(ns_per_call, rounds=2, iterations=1)
    benchmark.extra_info["events_per_second"] = round(rate)
    assert rate >= FLOOR
