#!/usr/bin/env python3
"""Write a C program of N functions, called in a loop from two threads until SIGUSR1, that checks its own results.

`many_functions.py N > many_functions.c`. It prints "ready" after its first round, and at the end "right" when every
round of both threads gave the sum that this generator computed, else "wrong".
"""

from __future__ import annotations

import sys

HEAD = """#include <pthread.h>
#include <stdio.h>
#include "told.h"
static long rounds[2], wrong[2];
"""
TAIL = """
static long play(void) {{
    long sum = 0;
    for (int i = 0; i < {count}; i++) sum += table[i](i, 3);
    return sum;
}}
static void *run(void *index) {{
    long thread = (long)index;
    for (; !told || !rounds[thread]; rounds[thread]++) wrong[thread] += play() != {expected}L;
    return NULL;
}}
int main(void) {{
    pthread_t threads[2];
    run_until_told();
    if (play() != {expected}L) return 3;
    puts("ready");
    fflush(stdout);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    for (long i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    puts(wrong[0] + wrong[1] ? "wrong" : "right");
    return 0;
}}
"""


def function(index: int) -> str:
    """One of four shapes, so that prologues of several kinds are hooked; none is shorter than a jump."""
    name = f"work_{index:05d}"
    body = (
        f"return a * {index % 97 + 2} + b;",
        f"long sum = 0; for (int i = 0; i < b; i++) sum += a + {index % 89}; return sum;",
        f'volatile int copy[16]; copy[b] = a; __asm__ volatile("" ::: "memory"); return copy[b] + {index};',
        f"return a > {index} ? b : a - {index % 83};",
    )[index % 4]
    return f"__attribute__((noinline)) long {name}(int a, int b);\nlong {name}(int a, int b) {{ {body} }}"


def result(index: int, a: int, b: int) -> int:
    """What function `index` returns."""
    sum_of_loop = sum(a + index % 89 for _ in range(b))
    return (a * (index % 97 + 2) + b, sum_of_loop, a + index, b if a > index else a - index % 83)[index % 4]


def program(count: int) -> str:
    """The whole program as C source."""
    table = ",".join(f"work_{index:05d}" for index in range(count))
    expected = sum(result(index, index, 3) for index in range(count))
    functions = "\n".join(function(index) for index in range(count))
    tail = TAIL.format(count=count, expected=expected)
    return f"{HEAD}{functions}\nstatic long (*const table[])(int, int) = {{{table}}};{tail}"


if __name__ == "__main__":
    print(program(int(sys.argv[1])))
