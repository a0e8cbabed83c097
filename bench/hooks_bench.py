"""How long it takes to place hooks on thousands of functions of a running program.

Stresses the agent's installation: patching, plans, one batch. Baseline: the same functions hooked one by one with
Frida's Interceptor in JavaScript, which flushes once at the end, as a script would do it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import harness
from .harness import Figure

COUNTS = (5_000, 10_000)
BAR_S = 2.0
MAIN = """
#include <unistd.h>
int main(void) {
    alarm(120);
    pause();
    return 0;
}
"""
ATTACH_ALL = """
rpc.exports.attachAll = () => {
    const found = Process.mainModule.enumerateSymbols().filter(s => s.name.startsWith('bulk_'));
    found.forEach(s => Interceptor.attach(s.address, { onEnter(args) {} }));
    Interceptor.flush();
    return found.length;
};
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds by the clock of the wall, and of CPU in the traced program and its tracer; `again_s`: of a second time,
    after all hooks were taken out."""

    wall_s: float
    cpu_s: float
    again_s: float = 0.0


def measure(folder: Path) -> list[Figure]:
    return [figure for count in COUNTS for figure in _figures(folder / str(count), count)]


def _figures(folder: Path, count: int) -> Iterator[Figure]:
    folder.mkdir()
    program = harness.compile_c(folder, "many", _source(count))
    own, baseline = _strobe(program, folder / "home", count), _javascript(program, count)
    name, attach = f"hooks placed on {count:,} functions", f"Interceptor.attach in JavaScript, {count:,} times"
    yield Figure(f"{name} at once", own.wall_s, "s", attach, baseline.wall_s, bar=BAR_S)
    yield Figure(f"{name}, CPU of both processes", own.cpu_s, "s", attach, baseline.cpu_s)
    yield Figure(f"{name}, taken out and installed again", own.again_s, "s", attach, baseline.wall_s)


def _source(count: int) -> str:
    """Functions of a few instructions each, long enough for Interceptor, none the same as another."""
    functions = (
        f"__attribute__((noinline)) int bulk_{i}(int a, int b) {{ return a * {i + 3} + (b ^ {i + 9}); }}"
        for i in range(count)
    )
    return "\n".join([*functions, MAIN])


def _strobe(program: Path, home: Path, count: int) -> Taken:
    """From the call to its answer, in a program that waits; reading the symbols is part of it."""
    import strobe

    with strobe.launch([program], home=home) as run:
        started = time.monotonic(), _cpu_s(run.pid)
        answer = run.trace(add=["bulk_*"])
        wall_s, cpu_s = time.monotonic() - started[0], _cpu_s(run.pid) - started[1]
        if answer.hooked_functions < count:
            raise AssertionError(f"{answer.hooked_functions} of {count} functions hooked: {answer.warnings[:3]}")
        run.trace(remove=["bulk_*"])
        again = time.monotonic()
        run.trace(add=["bulk_*"])
        return Taken(wall_s, cpu_s, time.monotonic() - again)


def _javascript(program: Path, count: int) -> Taken:
    import frida

    device = frida.get_local_device()
    pid = device.spawn([str(program)], stdio="pipe")
    try:
        script = device.attach(pid).create_script(ATTACH_ALL)
        script.load()
        device.resume(pid)
        started = time.monotonic(), _cpu_s(pid)
        attached = script.exports_sync.attach_all()
        if attached != count:
            raise AssertionError(f"{attached} of {count} functions found")
        return Taken(time.monotonic() - started[0], _cpu_s(pid) - started[1])
    finally:
        device.kill(pid)


def _cpu_s(pid: int) -> float:
    """Of this process and another one so far: what others do on the machine does not change it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
