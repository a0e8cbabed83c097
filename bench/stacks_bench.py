"""What stacks of events cost: a frame of a recorded stack, and the heap's history.

Stresses the unwinder in the target. A figure is the best batch of 20,000 calls of a function that is called 40 frames
deep; baseline: the same recorded call without a stack. Of the heap: a malloc and its free, each with 8 callers;
baseline: the pair alone.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import strobe
from strobe.model import EventFilter

from .harness import Figure, compile_c

ROUNDS = 3
RUN_SECONDS = 60
FRAMES = 32
BATCHES, CALLS = 60, 20_000  # as the program has them: more than the segment keeps, so its memory is used again
BAR_NS = 100.0
PAIR_BAR_NS = 150.0  # over an untraced pair
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define BATCHES 60
#define CALLS 20000

static volatile int total;
static int heap;
static void* volatile kept;
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
        for (int i = 0; i < CALLS && !heap; ++i) total = leaf(i);
        for (int i = 0; i < CALLS && heap; ++i) {
            kept = malloc(64);
            free(kept);
        }
        took = (now() - begin) / CALLS;
        if (batch == 0 || took < best) best = took;
    }
    return best;
}

int main(int argc, char** argv) {
    heap = argc > 1;
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
    return [*found, _pair(program, home)]


def _pair(program: Path, home: Path) -> Figure:
    alone = min(_alone(program) for _ in range(ROUNDS))
    best = min(_heap(program, home) for _ in range(ROUNDS)) - alone
    return Figure("a malloc and its free, with 8 callers each", best, "ns", "the pair alone", alone, bar=PAIR_BAR_NS)


def _alone(program: Path) -> float:
    done = subprocess.run([program, "heap"], capture_output=True, text=True, check=True, timeout=RUN_SECONDS)
    return float(done.stdout)


def _heap(program: Path, home: Path) -> float:
    with strobe.launch([program, "heap"], trace=["@heap"], home=home) as run:
        run.wait(RUN_SECONDS)
        counted = {group.key: group.count for group in run.totals()}
        if min(counted.get("malloc", 0), counted.get("free", 0)) < BATCHES * CALLS:
            raise AssertionError(f"not all calls were counted: {counted}")
        return float(run.stdout)


def _traced(program: Path, home: Path, frames: int) -> float:
    with strobe.launch([program], trace=["leaf"], stack=frames, sampling="off", home=home) as run:
        run.wait(RUN_SECONDS)
        stack = run.query(EventFilter(event_type="function_enter", newest_first=True, limit=1)).events[0].stack
        if frames and (stack is None or len(stack) != frames):
            raise AssertionError(f"no stack of {frames} frames: {stack}")
        return float(run.stdout)
