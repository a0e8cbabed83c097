"""What one traced call costs: enter and exit recorded, two integer arguments, return value, duration.

Stresses the hook and the recorder. Baselines in the same run: the same loop untraced, and the same loop under a Frida
Interceptor hook in JavaScript whose callbacks do nothing.
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

from . import harness
from .harness import Figure

CALLS = 2_000_000
JAVASCRIPT_CALLS = 200_000
RUN_SECONDS = 60
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) int step(int a, int b) {
    __asm__ volatile("" : "+r"(a));
    return a * 3 + (b ^ 5);
}

int main(int argc, char** argv) {
    long calls = argc > 1 ? atol(argv[1]) : 1000;
    struct timespec begin, end;
    int sum = 0;
    for (int i = 0; i < 1000; ++i) sum = step(sum, i);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < calls; ++i) sum = step(sum, (int)i);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ns = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
    printf("%.3f\\n", ns / calls);
    return sum == 42;
}
"""
HOOK = """
Interceptor.attach(Process.mainModule.enumerateSymbols().find(s => s.name === 'step').address, {
    onEnter(args) {},
    onLeave(result) {}
});
"""


def measure(folder: Path) -> list[Figure]:
    program = harness.compile_c(folder, "calls", SOURCE)
    untraced = min(float(_output([str(program), str(CALLS)])) for _ in range(3))
    traced = min(_traced(program, folder / f"home{i}") for i in range(3))
    javascript = _javascript(program)
    return [
        Figure("a traced call, 2 int arguments and result", traced, "ns", "the same loop untraced", untraced, bar=45),
        Figure("a traced call, 2 int arguments and result", traced, "ns", "empty JavaScript hook (Frida)", javascript),
    ]


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=RUN_SECONDS).stdout


def _traced(program: Path, home: Path) -> float:
    import strobe

    with strobe.launch([program, str(CALLS)], trace=["step"], sampling="off", home=home) as run:
        run.wait(RUN_SECONDS)
        return float(run.stdout)


def _javascript(program: Path) -> float:
    """ns per call under an Interceptor hook in JavaScript, by the program's own clock."""
    import frida

    device = frida.get_local_device()
    output: list[bytes] = []
    ended = threading.Event()

    def on_output(pid: int, descriptor: int, data: bytes) -> None:
        output.append(data)
        if not data:
            ended.set()

    device.on("output", on_output)
    pid = device.spawn([str(program), str(JAVASCRIPT_CALLS)], stdio="pipe")
    try:
        script = device.attach(pid).create_script(HOOK)
        errors: list[str] = []
        script.on("message", lambda message, _: errors.append(str(message.get("description"))))
        script.load()
        if errors:
            raise RuntimeError(errors[0])
        device.resume(pid)
        if not ended.wait(RUN_SECONDS):
            device.kill(pid)
            raise TimeoutError(f"the hooked program did not end within {RUN_SECONDS} s")
    finally:
        device.off("output", on_output)
    return float(b"".join(output))
