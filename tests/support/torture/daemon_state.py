"""What the daemon holds, at moments when it has no session, and at rest: when it has let go of what it keeps for some
time (strobe/symbols/module.py). Only at rest does memory tell what grows: what is kept depends on which programs were
looked at in the minutes before, and how busy the machine was."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from strobe.symbols.module import FULL_KB

MEMORY_SHARE, MEMORY_KB = 0.10, 8 * 1024  # by how much the last rest may be above the first
KEPT_SHARE = 0.15  # by how much memory may be above what is said to be kept at most
DESCRIPTORS = 4
THREADS = 4
WRITTEN_SECONDS = 3.0  # for it to write its stacks
FEWEST = 9  # moments that can be compared


@dataclass(frozen=True, slots=True)
class Held:
    memory_kb: int
    descriptors: int
    threads: int
    maps: int
    kinds: dict[str, int]  # of descriptors
    kinds_kb: dict[str, int]  # of memory: own, of files, shared

    def __str__(self) -> str:
        memory = f"{self.memory_kb / 1024:.1f} MB ({_in_mb(self.kinds_kb)})"
        return f"{memory}, {self.descriptors} descriptors, {self.threads} threads, {self.maps} mappings"


def held(pid: int) -> Held:
    process = Path(f"/proc/{pid}")
    status = (process / "status").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"^(VmRSS|Rss\w+|Threads):\s+(\d+)", status, re.M)}
    memory = {name.removeprefix("Rss"): kb for name, kb in numbers.items() if name.startswith("Rss")}
    kinds: Counter[str] = Counter()
    for descriptor in (process / "fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            kinds[re.sub(r"\d+", "", str(descriptor.readlink()))] += 1
    maps = len((process / "maps").read_text().splitlines())
    return Held(numbers["VmRSS"], kinds.total(), numbers["Threads"], maps, dict(kinds), memory)


def _in_mb(kinds: dict[str, int]) -> str:
    return ", ".join(f"{kind} {kb / 1024:.1f}" for kind, kb in kinds.items())


def stacks(pid: int, log: Path) -> str:
    """What its threads do, as the kernel and Python tell."""
    lines = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
        with contextlib.suppress(OSError):
            name, waits_in = (task / "comm").read_text().strip(), (task / "wchan").read_text()
            lines.append(f"thread {task.name} {name} in {waits_in}")
    written = log.stat().st_size
    os.kill(pid, signal.SIGQUIT)
    time.sleep(WRITTEN_SECONDS)
    with log.open() as text:
        text.seek(written)
        lines.append(text.read())
    return "\n".join(lines)


def growth(moments: list[Held], rests: list[Held]) -> list[str]:
    """What has grown: memory from the first rest to the last, or beyond what may be kept; descriptors and threads from
    the first third of moments, after a warm-up, to the last. Nothing is said of few moments, or one rest."""
    found = []
    if len(rests) > 1 and rests[-1].memory_kb > rests[0].memory_kb * (1 + MEMORY_SHARE) + MEMORY_KB:
        found.append(f"memory at rest: {', then '.join(map(str, rests))}")
    most = max((moment.kinds_kb["Anon"] for moment in moments), default=0)
    if most > FULL_KB * (1 + KEPT_SHARE):
        found.append(f"memory of its own to {most / 1024:.1f} MB; {FULL_KB / 1024:.0f} MB may be kept")
    return found + _counted(moments)


def _counted(moments: list[Held]) -> list[str]:
    if len(moments) < FEWEST:
        return []
    warm = moments[len(moments) // 6 :]
    third = len(warm) // 3
    first, last = warm[:third], warm[-third:]

    def of(name: str) -> tuple[float, float]:
        return median(getattr(one, name) for one in first), median(getattr(one, name) for one in last)

    found = []
    (open_then, open_now), (threads, threads_now) = of("descriptors"), of("threads")
    if open_now > open_then + DESCRIPTORS:
        kinds = {kind: (first[-1].kinds.get(kind, 0), count) for kind, count in last[-1].kinds.items()}
        changed = {kind: counts for kind, counts in kinds.items() if counts[0] != counts[1]}
        found.append(f"descriptors from {open_then} to {open_now}: {changed}")
    if threads_now > threads + THREADS:
        found.append(f"threads from {threads} to {threads_now}")
    return found
