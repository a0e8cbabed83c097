"""What a tortured program says at its end, and whether that is right."""

from __future__ import annotations

import re
from dataclasses import dataclass

EXIT_STATUS = 5
_NUMBER = re.compile(r"(\w+) (-?\d+)")


@dataclass(frozen=True, slots=True)
class Reported:
    """Its own counts of its calls."""

    rounds: int
    counted: int
    handled: int
    plugged: int


def reported(output: str, written: int | None) -> Reported:
    """Fails unless all rounds had the right result. `written`: what Strobe wrote last to `gWritten`."""
    assert "wrong" not in output, output
    ends = [line for line in output.splitlines() if line.startswith("end ")]
    assert len(ends) == 1, f"it did not say its end once: {output!r}"
    facts = {name: int(number) for name, number in _NUMBER.findall(ends[0])}
    rounds = facts["rounds"]
    assert facts["failures"] == 0, output
    assert facts["told"] == 1, f"it ended by itself: {output!r}"
    assert facts["sum"] == 3 * rounds * (rounds - 1) // 2 + 8 * rounds, output
    assert written is None or facts["written"] == written, f"Strobe wrote {written}: {output!r}"
    last = {}
    for line in output.splitlines():  # what threads did after it was told to end
        if line.startswith("last "):
            last = {name: int(number) for name, number in _NUMBER.findall(line)}
    facts |= last
    return Reported(rounds, facts["counted"], facts["handled"], facts["plugged"])
