"""How many events a second one thread gets recorded, none lost; and how many bytes each takes.

Stresses the recorder and the supply of fresh memory. Baseline: the same loop untraced, in calls a second.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from . import harness
from .call_bench import SOURCE
from .harness import Figure

CALLS = 5_000_000
RUN_SECONDS = 60


def measure(folder: Path) -> list[Figure]:
    program = harness.compile_c(folder, "calls", SOURCE)
    command = [str(program), str(CALLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=RUN_SECONDS)
    untraced = 2e9 / float(done.stdout)
    home = folder / "home"
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"events": {"maxPerSession": 3 * CALLS}}))
    return [
        Figure(
            f"events recorded by one thread, {2 * CALLS:,} of them, none lost",
            _events_per_second(program, home) / 1e6,
            "million/s",
            "the same loop untraced, two events a call",
            untraced / 1e6,
            bar=20,
            higher_is_better=True,
        )
    ]


def _events_per_second(program: Path, home: Path) -> float:
    import strobe

    with strobe.launch([program, str(CALLS)], trace=["step"], sampling="off", home=home) as run:
        run.wait(RUN_SECONDS)
        loss, totals = run.loss, run.totals()
        if loss.total or totals[0].completed < CALLS:
            raise AssertionError(f"events are missing: {loss}, {totals[0].completed:,} calls")
        return 2e9 / float(run.stdout)
