"""The program whose calls are traced: one function for each kind of arguments, called in a loop by a number of threads.

It times batches and prints, as one JSON document, ns per call: `best` batch and `all` batches together, of each thread;
and what memory it took at most. The best batch is what the call costs where nobody else wants the CPU at this moment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

CASES = {
    "none": "no arguments",
    "two": "2 int arguments",
    "six": "6 int arguments",
    "doubles": "2 double arguments",
    "text": "a string literal",
    "heap": "a string on the heap",
}
SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__clang__)
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa)) /* no copy of its own for a call with constants, no argument left out */
#endif
#define BATCHES 40

TRACED int none(void) { __asm__ volatile(""); return 7; }
TRACED int two(int a, int b) { __asm__ volatile("" : "+r"(a)); return a * 3 + (b ^ 5); }
TRACED int six(int a, int b, int c, int d, int e, int f) {
    __asm__ volatile("" : "+r"(a));
    return a * 3 + (b ^ 5) + c - d + (e ^ f);
}
TRACED double doubles(double a, double b) { __asm__ volatile("" : "+x"(a)); return a * 0.5 + b; }
TRACED int text(const char* name) { __asm__ volatile("" : "+r"(name)); return name[0]; }
TRACED int heap(const char* name) { __asm__ volatile("" : "+r"(name)); return name[1]; }

struct node { int value; const char* name; struct node* next; };
TRACED int linked(const struct node* node) { __asm__ volatile("" : "+r"(node)); return node->value; }
volatile int gWatched = 7;
volatile int gNumbers[700], gOthers[700];
volatile int gStored;
TRACED int passes(int a, int b) {
    gStored = 1234567; /* long */
    __asm__ volatile("nop" : "+r"(a)); /* short */
    return a * 3 + (b ^ 5);
}
struct node *gWatchedNode, *gNodes[700], gKept[700];

struct job {
    const char* wanted;
    long calls;
    double best, all;
    long sum;
    pthread_t thread;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void batch(struct job* job) {
    long i, n = job->calls / BATCHES;
    int sum = (int)job->sum;
    double value = 1.0;
    char* allocated = strdup("a string of 24 letters ab");
    switch (job->wanted[0] == 't' ? job->wanted[1] : job->wanted[0]) {
        case 'n': for (i = 0; i < n; ++i) sum += none(); break;
        case 'w': for (i = 0; i < n; ++i) sum = two(sum, (int)i); break;
        case 's': for (i = 0; i < n; ++i) sum = six(sum, (int)i, 1, 2, 3, 4); break;
        case 'd': for (i = 0; i < n; ++i) value = doubles(value, 1.0); break;
        case 'p': for (i = 0; i < n; ++i) sum = passes(sum, (int)i); break;
        case 'l': for (i = 0; i < n; ++i) sum += linked(gWatchedNode); break;
        case 'h': for (i = 0; i < n; ++i) sum += heap(allocated); break;
        default: for (i = 0; i < n; ++i) sum += text("a string of 24 letters ab"); break;
    }
    free(allocated);
    job->sum = sum + (long)value;
}

static void* work(void* argument) {
    struct job* job = argument;
    double begin = now(), last = begin, end;
    for (int i = 0; i < BATCHES; ++i) {
        batch(job);
        end = now();
        if (i == 0 || end - last < job->best) job->best = end - last;
        last = end;
    }
    job->all = (last - begin) / (job->calls / BATCHES * BATCHES);
    job->best /= job->calls / BATCHES;
    return NULL;
}

/* Not by getrusage, which begins with what the process had that started this one. */
static long peak_kb(void) {
    char line[256];
    long kb = 0;
    FILE* status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "VmHWM: %ld", &kb);
    if (status != NULL) fclose(status);
    return kb;
}

int main(int argc, char** argv) {
    int threads = argc > 3 ? atoi(argv[3]) : 1;
    struct job jobs[16];
    gWatchedNode = calloc(1, sizeof *gWatchedNode);
    gWatchedNode->name = "first";
    gWatchedNode->next = calloc(1, sizeof *gWatchedNode);
    for (int i = 0; i < 700; ++i) {
        gKept[i].name = "first";
        gNodes[i] = &gKept[i];
    }
    for (int i = 0; i < threads; ++i) {
        jobs[i] = (struct job){.wanted = argv[1], .calls = atol(argv[2])};
        pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
    }
    for (int i = 0; i < threads; ++i) pthread_join(jobs[i].thread, NULL);
    printf("{\\"threads\\": [");
    for (int i = 0; i < threads; ++i)
        printf("%s{\\"best\\": %.3f, \\"all\\": %.3f}", i ? ", " : "", jobs[i].best, jobs[i].all);
    printf("], \\"peak_kb\\": %ld}\\n", peak_kb());
    return 0;
}
"""


def line_of(marker: str) -> int:
    """The first line of the program that has this in it."""
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if marker in line)


@dataclass(frozen=True, slots=True)
class Timing:
    """What the program printed. ns per call, of the best batch and of all, means over its threads; peak in MB."""

    best: float
    all: float
    peak_mb: float


def timing_of(output: str) -> Timing:
    """From the line of the output that is the program's; raises ValueError where there is none."""
    line = next((line for line in output.splitlines() if line.startswith('{"threads"')), None)
    if line is None:
        raise ValueError(f"the program printed no timing: {output[-200:]!r}")
    found = json.loads(line)
    threads = found["threads"]
    best = sum(thread["best"] for thread in threads) / len(threads)
    return Timing(best, sum(thread["all"] for thread in threads) / len(threads), found["peak_kb"] / 1024)
