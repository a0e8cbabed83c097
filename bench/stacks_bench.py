"""What stacks of events cost: a frame of a recorded stack.

Stresses the unwinder in the target. A figure is the best batch of 20,000 calls of a function that is called 40 frames
deep. Baseline: the same recorded call without a stack.
"""

from __future__ import annotations

from pathlib import Path

import strobe
from strobe.model import EventFilter

from .harness import Figure, compile_c

ROUNDS = 3
RUN_SECONDS = 60
FRAMES = 32
BAR_NS = 100.0
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define BATCHES 20
#define CALLS 20000

static volatile int total;
__attribute__((noipa)) int leaf(int n) { total = n; return n + 1; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

__attribute__((noipa)) double down(int depth) {
    double best = 0;
    if (depth > 0) {
        best = down(depth - 1);
        total = depth;
        return best;
    }
    for (int batch = 0; batch < BATCHES; ++batch) {
        double begin = now(), took;
        for (int i = 0; i < CALLS; ++i) total = leaf(i);
        took = (now() - begin) / CALLS;
        if (batch == 0 || took < best) best = took;
    }
    return best;
}

int main(void) {
    printf("%.2f\\n", down(40));
    return 0;
}
"""


def measure(folder: Path) -> list[Figure]:
    program = compile_c(folder, "deep", SOURCE, "-O2")
    home = folder / "home"
    plain = min(_traced(program, home, 0) for _ in range(ROUNDS))
    found = []
    for frames, bar in ((1, None), (8, None), (FRAMES, BAR_NS)):
        best = min(_traced(program, home, frames) for _ in range(ROUNDS))
        name = f"a stack of {frames}, each frame"
        found.append(Figure(name, (best - plain) / frames, "ns", "a recorded call without", plain, bar=bar))
    return found


def _traced(program: Path, home: Path, frames: int) -> float:
    with strobe.launch([program], trace=["leaf"], stack=frames, sampling="off", home=home) as run:
        run.wait(RUN_SECONDS)
        stack = run.query(EventFilter(event_type="function_enter", newest_first=True, limit=1)).events[0].stack
        if frames and (stack is None or len(stack) != frames):
            raise AssertionError(f"no stack of {frames} frames: {stack}")
        return float(run.stdout)
