"""One run of a real program, alone, with all of its functions traced or under uftrace: its cost and its calls."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .. import callers

RUN_SECONDS = 300
REAP_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Way:
    """How a program runs; `form` of the recorder is None where Strobe has no part in it."""

    name: str
    form: str | None = None
    sampling: Literal["auto", "off"] = "off"
    is_profiled: bool = False  # built with -pg, run under uftrace


UNTRACED = Way("untraced")
WAYS = (
    UNTRACED,
    Way("every event kept", "native"),
    Way("hot functions sampled, the default", "native", "auto"),
    Way("every event kept, the portable form", "portable"),
)
UFTRACE = Way("uftrace, -pg", is_profiled=True)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: `cpu` seconds that the program took from main on, with its children, and `wall` seconds."""

    cpu: float
    wall: float
    calls: int = 0
    functions: int = 0


# What is done with a program while it runs; gives the CPU seconds that it took for that, or None for the whole run's.
Meanwhile = Callable[[], float | None]


def run(way: Way, command: Sequence[str], folder: Path, meanwhile: Meanwhile = lambda: None) -> Cost:
    """Runs a program in `folder` to its end, beside `meanwhile`. AssertionError where it does not end with status 0."""
    if way.form is None:
        return _alone(_command(way, command, folder), folder, meanwhile)
    return _traced(way, command, folder, meanwhile)


def _command(way: Way, command: Sequence[str], folder: Path) -> list[str]:
    if not way.is_profiled:
        return list(command)
    data = folder / "uftrace.data"
    shutil.rmtree(data, ignore_errors=True)
    return ["uftrace", "record", "--no-libcall", "-d", str(data), *command]


def _alone(command: Sequence[str], folder: Path, meanwhile: Meanwhile) -> Cost:
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        own = meanwhile()
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime if own is None else own, time.monotonic() - started)


def _traced(way: Way, command: Sequence[str], folder: Path, meanwhile: Meanwhile) -> Cost:
    """With all functions of the program's own file traced. AssertionError where a call is neither kept nor counted."""
    import strobe

    with (
        callers.recorder_form(str(way.form)),
        strobe.launch(command, trace=["*"], sampling=way.sampling, cwd=folder, stdin="", home=folder / "home") as run,
    ):
        before = _cpu_of_process(run.pid) + _cpu_of_children()
        started = time.monotonic()
        own = meanwhile()
        status = run.wait(RUN_SECONDS)
        wall = time.monotonic() - started
        if status.code != 0:
            raise AssertionError(f"{command[0]} ended with {status}: {run.stderr[-500:]}")
        if way.form == "native" and any("portable form" in text for text in run.warnings):
            raise AssertionError(f"not the native form: {run.warnings}")
        groups = run.totals()
        _check_events(run, sum(group.count for group in groups), sum(group.completed for group in groups))
        cpu = _cpu_of_children(before) - before if own is None else own
        return Cost(cpu, wall, sum(group.count for group in groups), len(groups))


def _check_events(run: object, calls: int, exits: int) -> None:
    """Every enter and exit is in the timeline or among the losses."""
    import strobe
    from strobe.model import EventFilter

    assert isinstance(run, strobe.api.ProgramSession)
    kept = sum(
        run.query(EventFilter(event_type=kind, limit=1)).total_count for kind in ("function_enter", "function_exit")
    )
    if kept + run.loss.total != calls + exits:
        raise AssertionError(f"{kept:,} events kept, {run.loss}, of {calls:,} calls and {exits:,} returns")


def _cpu_of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cpu_of_children(before: float | None = None) -> float:
    """Of all that have ended and were waited for, which may come a moment after the end is known."""
    end = time.monotonic() + REAP_SECONDS
    while True:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = usage.ru_utime + usage.ru_stime
        if before is None or seconds > before + 1e-3 or time.monotonic() > end:
            return seconds
        time.sleep(0.01)
