#!/usr/bin/env python3
"""Write a C program of N functions that a compiler inlines everywhere, and one more, which is never called.

`many_inlined.py N > many_inlined.c`.
"""

from __future__ import annotations

import sys


def program(count: int) -> str:
    """The whole program as C source."""
    functions = "\n".join(
        f"static inline __attribute__((always_inline)) int inlined_{index}(int a) {{ return a * 3 + {index}; }}"
        for index in range(count)
    )
    calls = "\n".join(f"    sum += inlined_{index}(sum);" for index in range(count))
    return f"""{functions}
__attribute__((noinline)) int never_called(int a) {{
    volatile int copy = a;
    return copy * 3 + 2;
}}
int (*volatile kept)(int) = never_called;
int main(int count, char **words) {{
    (void)words;
    volatile int sum = count;
{calls}
    return sum == 77 ? kept(sum) : 0;
}}
"""


if __name__ == "__main__":
    print(program(int(sys.argv[1])), end="")
