#!/usr/bin/env python3
"""Write a program of local functions that assign over their random parameters first, as `p = p->next` does.

Usage: random_changes.py SEED COUNT

The caller says what it gives and gets, in Strobe's words: "> f1(p0=-3)" and "< f1 = 4". What compilers pass in the
place of such a parameter is another value.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass

HEAD = """// Written by random_changes.py.
#include <stdio.h>
#define LOCAL __attribute__((noinline)) static
struct pair { int first, second; double share; };
struct node { struct node* next; long l; double d; int i; struct pair* pair; };
struct pair pairs[4] = {{1, 2, .5}, {3, 4, 1.5}, {5, 6, 2.5}, {7, 8, 3.5}};
struct node nodes[4] = {{&nodes[1], 1001, 1.25, 11, &pairs[0]}, {&nodes[2], 1002, 2.25, 12, &pairs[1]},
                        {&nodes[3], 1003, 3.25, 13, &pairs[2]}, {&nodes[0], 1004, 4.25, 14, &pairs[3]}};
__attribute__((noinline)) void use(const void* address) { __asm__ volatile("" : : "r"(address) : "memory"); }
static void ignore(long value) { (void)value; }
static int zero(void) { return 0; }
"""


@dataclass(frozen=True)
class Kind:
    """A type of parameters: how it is written, printed, and found in a node and in a pair."""

    name: str
    form: str
    of_node: str
    of_pair: str | None
    constant: str
    given: str  # where "N" is a random number, 0 to 3, plus what the compiler does not know


KINDS = (
    Kind("long", "%ld", "l", None, "5", "N - 1000"),
    Kind("int", "%d", "i", "second", "6", "N + 70"),
    Kind("double", "%.2f", "d", "share", "1.5", "N + 0.25"),
    Kind("struct node*", "%p", "next", None, "&nodes[2]", "&nodes[N]"),
    Kind("struct pair*", "%p", "pair", None, "&pairs[1]", "&pairs[N]"),
)
Parameters = list[tuple[str, Kind]]


def value(r: random.Random, kind: Kind, parameters: Parameters) -> str:
    """An expression of a type, of what the function is given."""
    found = [kind.constant] + [name for name, other in parameters if other is kind] * 2
    for name, other in parameters:
        if other.name == "struct node*":
            found += [f"{name}->{kind.of_node}"] * 3
        if other.name == "struct pair*" and kind.of_pair:
            found += [f"{name}->{kind.of_pair}"] * 2
    return r.choice(found)


def used(r: random.Random, name: str, kind: Kind) -> str:
    """A statement that needs a parameter, or none."""
    register = "x" if kind.name == "double" else "r"
    number = f"(long){name}"
    return r.choice([f"use(&{name});", f'__asm__ volatile("" : : "{register}"({name}));', f"use((void*){number});", ""])


def function(r: random.Random, number: int) -> tuple[str, str]:
    """The function, and the statements of a call of it."""
    parameters: Parameters = [(f"p{index}", r.choice(KINDS)) for index in range(r.randint(1, 5))]
    body = []
    for _ in range(r.choice([0, 1, 1, 2, 3])):
        name, kind = r.choice(parameters)
        body.append(f"{name} = {value(r, kind, parameters)};")
    name, kind = r.choice(parameters)
    body.insert(0, f"ignore((long){name});" if r.random() < 0.3 else "")
    body.insert(r.randint(0, len(body)), f"if (zero()) use(&{name});" if r.random() < 0.3 else "")
    body += [used(r, *parameter) for parameter in r.sample(parameters, len(parameters))]
    declared = ", ".join(f"{kind.name} {name}" for name, kind in parameters)
    result = value(r, KINDS[0], parameters)
    text = f'LOCAL long f{number}({declared}) {{ {" ".join(body)} __asm__ volatile("# f{number}"); return {result}; }}'
    given = [kind.given.replace("N", f"({r.randrange(4)} + more)") for _, kind in parameters]
    call = "".join(f"{kind.name} {name} = {one}; " for (name, kind), one in zip(parameters, given, strict=True))
    forms = ", ".join(f"{name}={kind.form}" for name, kind in parameters)
    names = ", ".join(name for name, _ in parameters)
    call += f'printf("> f{number}({forms})\\n", {names}); '
    if r.random() < 0.6:
        return text, call + f'printf("< f{number} = %ld\\n", f{number}({names}));'
    return text, call + f"f{number}({names});"


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    r = random.Random(seed)
    functions, calls = zip(*(function(r, number) for number in range(count)), strict=True)
    print(HEAD + "\n".join(functions))
    for number, call in enumerate(calls):
        print(f"LOCAL void call{number}(int more) {{ {call} }}")
    print("int main(int count, char** arguments) {\n    (void)arguments;")
    print("\n".join(f"    call{number}(count - 1);" for number in range(count)) + "\n    return 0;\n}")


if __name__ == "__main__":
    main()
