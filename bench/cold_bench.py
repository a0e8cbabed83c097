"""What the first call of a function costs when it is traced: 10,000 functions, each called once.

Stresses what is made at a first call (an entry of totals, its pages) and caches that hold none of it. Baselines in the
same run: the same calls untraced, and in the portable form.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import callers, harness
from .harness import Figure

COUNT = 10_000
ROUNDS = 3
MAIN = """
#include <stdio.h>
#include <time.h>
int main(void) {
    struct timespec begin, end;
    int sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < COUNT; ++i) sum += all[i](i, 1);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.1f\\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / COUNT);
    return sum == 42;
}
"""


def measure(folder: Path) -> list[Figure]:
    program = harness.compile_c(folder, "cold", _source())
    command = [str(program)]
    runs = [
        (
            float(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout),
            _traced(program, folder / "home", "native"),
            _traced(program, folder / "home", "portable"),
        )
        for _ in range(ROUNDS)
    ]
    alone, native, portable = (min(values) for values in zip(*runs, strict=True))
    name = f"the first call of each of {COUNT:,} functions"
    return [
        Figure(name, native, "ns", "the same untraced", alone),
        Figure(name, native, "ns", "the portable form, compiled by TinyCC", portable),
    ]


def _source() -> str:
    functions = [
        f"__attribute__((noinline)) int cold_{i}(int a, int b) {{ return a * {i + 3} + (b ^ {i + 9}); }}"
        for i in range(COUNT)
    ]
    table = ", ".join(f"cold_{i}" for i in range(COUNT))
    return "\n".join(
        [*functions, f"#define COUNT {COUNT}", f"static int (*const all[])(int, int) = {{{table}}};", MAIN]
    )


def _traced(program: Path, home: Path, form: str) -> float:
    import strobe

    with callers.recorder_form(form), strobe.launch([program], trace=["cold_*"], sampling="off", home=home) as run:
        run.wait(callers.RUN_SECONDS)
        called = sum(group.completed for group in run.totals())
        if called < COUNT:
            raise AssertionError(f"{called:,} of {COUNT:,} functions seen")
        return float(run.stdout)
