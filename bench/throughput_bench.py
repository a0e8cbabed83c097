"""How many events a second one thread gets recorded, in a segment that has room for all and in one that has not.

Stresses the recorder and the supply of fresh memory. Every event is accounted for: kept, or evicted. Baseline: the same
loop untraced, in calls a second.
"""

from __future__ import annotations

import json
from pathlib import Path

from . import callers
from .call_program import timing_of
from .harness import Figure

CALLS = 5_000_000
SMALL_EVENTS = 500_000
ROUNDS = 2
BAR = 20


def measure(folder: Path) -> list[Figure]:
    program = callers.build(folder, "calls")
    untraced = 2e3 / callers.untraced(program, "two", CALLS).all
    large = max(_recorded(program, folder / "large", 3 * CALLS, 0) for _ in range(ROUNDS))
    small = max(_recorded(program, folder / "small", SMALL_EVENTS, 2 * CALLS) for _ in range(ROUNDS))
    baseline = "the same loop untraced, two events a call"
    return [
        Figure(
            f"events recorded by one thread, {2 * CALLS:,} of them, none lost",
            large,
            "million/s",
            baseline,
            untraced,
            bar=BAR,
            higher_is_better=True,
        ),
        Figure(
            f"the same in a segment for {SMALL_EVENTS:,}, the oldest evicted", small, "million/s", baseline, untraced
        ),
    ]


def _recorded(program: Path, home: Path, room: int, most_evicted: int) -> float:
    """Millions of events a second over the whole run. AssertionError where one is neither kept nor counted."""
    import strobe
    from strobe.model import EventFilter, TextMatch

    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"events": {"maxPerSession": room}}))
    with strobe.launch([program, "two", str(CALLS)], trace=["two"], sampling="off", home=home) as run:
        run.wait(callers.RUN_SECONDS)
        loss, group = run.loss, run.totals()[0]
        kept = run.query(EventFilter(function=TextMatch(equals="two"), limit=1)).total_count
        if loss.total != loss.evicted or loss.evicted > most_evicted or group.completed < CALLS:
            raise AssertionError(f"events are missing: {loss}, {group.completed:,} calls")
        if kept + loss.total != 2 * CALLS:
            raise AssertionError(f"{kept:,} events kept, {loss.total:,} counted as missing, of {2 * CALLS:,}")
        return 2e3 / timing_of(run.stdout).all
