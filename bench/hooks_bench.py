"""How long it takes to place hooks on thousands of functions of a running program.

Stresses the agent's installation: patching, plans, one batch. Baseline: the same functions hooked one by one with
Frida's Interceptor in JavaScript, which flushes once at the end, as a script would do it.
"""

from __future__ import annotations

import time
from pathlib import Path

from . import harness
from .harness import Figure

COUNTS = (5_000, 10_000)
ANSWER_SECONDS = 60
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


def measure(folder: Path) -> list[Figure]:
    return [_figure(folder / str(count), count) for count in COUNTS]


def _figure(folder: Path, count: int) -> Figure:
    folder.mkdir()
    program = harness.compile_c(folder, "many", _source(count))
    return Figure(
        f"hooks placed on {count:,} functions at once",
        _strobe_seconds(program, folder / "home", count),
        "s",
        f"Interceptor.attach in JavaScript, {count:,} times",
        _javascript_seconds(program, count),
        bar=2.0,
    )


def _source(count: int) -> str:
    """Functions of a few instructions each, long enough for Interceptor, none the same as another."""
    functions = (
        f"__attribute__((noinline)) int bulk_{i}(int a, int b) {{ return a * {i + 3} + (b ^ {i + 9}); }}"
        for i in range(count)
    )
    return "\n".join([*functions, MAIN])


def _strobe_seconds(program: Path, home: Path, count: int) -> float:
    """From the call to its answer, in a program that waits; reading the symbols is part of it."""
    import strobe

    with strobe.launch([program], home=home) as run:
        started = time.monotonic()
        answer = run.trace(add=["bulk_*"])
        seconds = time.monotonic() - started
        if answer.hooked_functions < count:
            raise AssertionError(f"{answer.hooked_functions} of {count} functions hooked: {answer.warnings[:3]}")
        return seconds


def _javascript_seconds(program: Path, count: int) -> float:
    import frida

    device = frida.get_local_device()
    pid = device.spawn([str(program)], stdio="pipe")
    try:
        script = device.attach(pid).create_script(ATTACH_ALL)
        script.load()
        device.resume(pid)
        started = time.monotonic()
        attached = script.exports_sync.attach_all()
        seconds = time.monotonic() - started
        if attached != count:
            raise AssertionError(f"{attached} of {count} functions found")
        return seconds
    finally:
        device.kill(pid)
