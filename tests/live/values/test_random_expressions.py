"""Expressions that nobody has thought of, calculated in the program by Strobe and by the compiler."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from support.sessions import Launch, all_events, status, text

from strobe.model import EventFilter, TextMatch, Watch

CALLS = 20
EXPRESSIONS = 30  # of one session
DEPTH = 4
NAMES: tuple[str, ...] = (
    "a",
    "b",
    "d",
    "s->x",
    "s->rest[2]",
    "s->next->x",
    "s->small",
    "gValue",
    "s->rest[d & 3]",
    "n->rest[1]",
)
NAMES += ("u", "s->big", "s->wide", "gUnsigned", "s->bits", "s->kind")
PROGRAM = """
#include <cstdint>
#include <cstdio>
struct S { long x; S* next; long rest[4]; signed char small; unsigned short wide; unsigned long big; unsigned bits : 7;
    enum Kind { NO, YES = 3 } kind; };
volatile long gValue = 17;
volatile unsigned gUnsigned = 4000000000;
__attribute__((noinline)) long traced(long a, long b, int d, const S* s, const S* n, unsigned u) {
PRINTS
    return a;
}
int main() {
    S other{-5, nullptr, {1, -2, 3, 1L << 40}, -7, 65535, 5, 100, S::YES};
    S one{9, &other, {11, -22, 33, 44}, 100, 1, ~0UL, 3, S::NO};
    for (long i = 0; i < CALLS; i++) {
        one.x = i * 7919 - 50000;
        one.rest[i % 4] = i * i * i - 1000;
        one.small = static_cast<signed char>(i * 13);
        traced(i - 10, (i - 3) * 1000003, static_cast<int>(i * 5), &one, i % 3 ? &other : &one,
            static_cast<unsigned>(i * 400000000));
    }
}
"""


def expression(source: random.Random, depth: int) -> str:
    """The same text for Strobe and C: integers of all types, no division by 0, shifts by less than 32."""
    if depth == 0 or (depth < DEPTH and source.random() < 0.15):
        if source.random() < 0.6:
            return source.choice(NAMES)
        number = source.choice([source.randrange(-300, 300), source.getrandbits(40), source.getrandbits(32)])
        return f"({number}{source.choice(('', '', 'u', 'L', 'UL'))})"
    one, two = (expression(source, depth - 1) for _ in range(2))
    match source.randrange(12):
        case 0:
            return f"({one} / (({two} & 1023) + 1))"
        case 1:
            return f"({one} % (({two} & 255) + 3))"
        case 2:
            return f"({one} {source.choice(['<<', '>>'])} ({two} & 31))"
        case 3 | 4:
            sign = source.choice(["<", "<=", ">", ">=", "==", "!=", "&&", "||"])
            return f"({one} {sign} {two})"
        case 5:
            return f"({one} ? {two} : {expression(source, depth - 1)})"
        case 6:
            return f"({source.choice(['-', '~', '!'])}({one}))"
        case 7:
            kind = source.choice(["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "uint64_t"])
            return f"(({kind})({one}))"
    return f"({one} {source.choice(['+', '-', '*', '&', '|', '^'])} {two})"


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_each_has_the_value_that_the_compiler_gives_it(launch: Launch, tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    wanted = [expression(source, DEPTH) for _ in range(EXPRESSIONS)]
    prints = "".join(f'    std::printf("%ld\\n", (long)({code}));\n' for code in wanted)
    file, program = tmp_path / "program.cpp", tmp_path / "program"
    file.write_text(PROGRAM.replace("PRINTS", prints).replace("CALLS", str(CALLS)))
    subprocess.run(["g++", "-g", "-O0", "-fwrapv", "-w", "-o", program, file], check=True)
    session = launch(program, patterns=["traced"], watch=[Watch(one, label=f"w{at}") for at, one in enumerate(wanted)])
    assert status(session) == 0
    expected = [int(line) for line in text(session, "stdout").splitlines()]
    entries = EventFilter(function=TextMatch(equals="traced"), event_type="function_enter")
    seen = [event.watch_values or {} for event in all_events(session, entries)]
    assert len(seen) == CALLS
    wrong = {}
    for call, values in enumerate(seen):
        for at, one in enumerate(wanted):
            value, right = values.get(f"w{at}"), expected[call * EXPRESSIONS + at]
            if not isinstance(value, int) or (value - right) % (1 << 64):  # of an unsigned long
                wrong[one] = (call, value, right)
    assert not wrong
