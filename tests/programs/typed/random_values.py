#!/usr/bin/env python3
"""Write a program of functions with random parameters and results, which says what each was given and gave back.

Usage: random_values.py SEED COUNT c|c++

The caller says it, in Strobe's words: "> f1(p0=2.5)" and "< f1 = {x=1}", "@" for any address. So a function need not
use what it is given, and the compiler may leave it out.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

HEAD = """// Written by random_values.py.
#include <stdio.h>
#include <stdbool.h>
#define PUT __attribute__((noinline)) static void
#define HIDE(value) __asm__ volatile("" : "+m"(value))
#define USE(value) __asm__ volatile("" : : "m"(value))
// the name keeps gcc from giving two functions one body
#define BODY(name) __asm__ volatile("nop\\nnop\\nnop\\nnop\\nnop # " #name : : : "memory")
enum colour { RED, GREEN = 70000, BLUE = -3 };
enum access { READ = 1, WRITE = 2, RUN = 4 };
int things[4];
PUT put_wide(__int128 n) {
    if (n < 0) { putchar('-'); n = -n; }
    if (n >= 10) put_wide(n / 10);
    putchar('0' + (int)(n % 10));
}
PUT put_colour(enum colour c) { printf("%s(%d)", c == RED ? "RED" : c == GREEN ? "GREEN" : "BLUE", (int)c); }
PUT put_access(enum access a) { printf("%s(%d)", a == 1 ? "READ" : a == 3 ? "READ|WRITE" : "RUN", (int)a); }
PUT put_text(const char* s) { if (s) printf("\\"%s\\"", s); else printf("0x0"); }
"""
HEAD_OF_CPLUSPLUS = """
#include <string>
#include <string_view>
struct counted {
    int n;
    counted(int from) : n(from) {}
    counted(const counted& other) : n(other.n) {}
    ~counted() { n = 0; }
};
struct base { short a; };
struct derived : base { float b; };
"""


@dataclass(frozen=True)
class Kind:
    """A type: how it is written, a random initializer, and the statement that says a value."""

    name: str
    value: Callable[[random.Random], str]
    put: Callable[[str], str]
    in_struct: bool = True
    as_result: bool = True

    def declare(self, name: str) -> str:
        return self.name.replace("@", name) if "@" in self.name else f"{self.name} {name}"


def number(name: str, low: int, high: int, form: str, suffix: str = "") -> Kind:
    return Kind(name, lambda r: f"{r.randint(low, high)}{suffix}", lambda v: f'printf("{form}", {v});')


def real(name: str, form: str, suffix: str) -> Kind:
    return Kind(name, lambda r: f"{r.randint(-999, 999)}.5{suffix}", lambda v: f'printf("{form}", {v});')


def imaginary(part: Kind) -> Kind:
    def put(v: str) -> str:
        real, imag = part.put(f"__real__ {v}"), part.put(f"__imag__ {v}")
        return f'printf("{{re="); {real} {COMMA}printf("im="); {imag} putchar(\'}}\');'

    def value(r: random.Random) -> str:  # gcc has no other way that C++ knows
        return f"({{ _Complex {part.name} c; __real__ c = {part.value(r)}; __imag__ c = {part.value(r)}; c; }})"

    return Kind(f"_Complex {part.name}", value, put)


def text(name: str) -> Kind:
    words = ['"lead"', '""', '"a longer text than any register holds"', '"caf\\303\\251"', "0"]
    return Kind(name, lambda r: r.choice(words), lambda v: f"put_text({v});")


COMMA = 'printf(", "); '


def joined(parts: list[str]) -> str:
    """Statements that say values with commas between."""
    return f" {COMMA}".join(parts)


FLOATS = [real("float", "%.1f", "f"), real("double", "%.1f", ""), real("long double", "%.1Lf", "L")]
SCALARS = [
    Kind("bool", lambda r: r.choice(("true", "false")), lambda v: f'printf("%s", {v} ? "true" : "false");'),
    Kind("char", lambda r: f"'{r.choice('abcxyz')}'", lambda v: f"printf(\"'%c'\", {v});"),
    number("signed char", -128, 127, "%d"),
    number("unsigned char", 0, 255, "%d"),
    number("short", -(1 << 15), (1 << 15) - 1, "%d"),
    number("unsigned short", 0, (1 << 16) - 1, "%d"),
    number("int", -(1 << 31) + 1, (1 << 31) - 1, "%d"),
    number("unsigned", 0, (1 << 32) - 1, "%u", "u"),
    number("long", -(1 << 63) + 1, (1 << 63) - 1, "%ld", "L"),
    number("unsigned long long", 0, (1 << 64) - 1, "%llu", "ull"),
    Kind("enum colour", lambda r: r.choice(("RED", "GREEN", "BLUE")), lambda v: f"put_colour({v});"),
    Kind("enum access", lambda r: f"(enum access){r.choice((1, 3, 4))}", lambda v: f"put_access({v});"),
    Kind("int*", lambda r: f"&things[{r.randint(0, 3)}]", lambda v: f'printf("%p", (void*){v});'),
]
WIDE = [
    Kind("__int128", lambda r: f"(__int128){r.randint(-(1 << 62), 1 << 62)}L * {r.randint(1, 1 << 30)}L",
         lambda v: f"put_wide({v});"),
]  # fmt: skip
TEXTS = [text("const char*")]
COMPLEX = [imaginary(FLOATS[0]), imaginary(FLOATS[1]), imaginary(FLOATS[2])]


Fields = list[tuple[str, Kind]]


def fields_put(fields: Fields, of: str) -> str:
    parts = [f'printf("{name}="); {kind.put(f"{of}.{name}")}' for name, kind in fields]
    return "putchar('{'); " + joined(parts) + " putchar('}');"


class Program:
    """The text of one program, part by part."""

    def __init__(self, seed: int, language: str) -> None:
        self.random = random.Random(seed)
        self.language = language
        self.types: list[str] = []
        self.functions: list[str] = []
        self.calls: list[str] = []
        self.records: list[Kind] = []
        self.is_mixed = seed % 2 == 0 and language == "c"  # some functions have the calling convention of Windows

    def array(self, element: Kind) -> Kind:
        length = self.random.randint(1, 4)

        def put(v: str) -> str:
            return "putchar('['); " + joined([element.put(f"{v}[{i}]") for i in range(length)]) + " putchar(']');"

        def value(r: random.Random) -> str:
            return "{" + ", ".join(element.value(r) for _ in range(length)) + "}"

        return Kind(f"{element.name} @[{length}]", value, put)

    def field(self) -> Kind:
        choose = self.random
        roll = choose.random()
        if roll < 0.15:
            return self.array(choose.choice([kind for kind in SCALARS if kind.name not in ("char", "int*")] + FLOATS))
        if roll < 0.25 and self.records:
            return choose.choice(self.records)
        if roll < 0.3:
            return choose.choice(WIDE + COMPLEX)
        return choose.choice(SCALARS + FLOATS * 2)

    def bits(self) -> Kind:
        width = self.random.randint(1, 17)
        of = self.random.choice(("int", "unsigned"))
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if of == "int" else (0, (1 << width) - 1)
        return Kind(f"{of} @ : {width}", lambda r: str(r.randint(low, high)), lambda v: f'printf("%d", {v});')

    def record(self, index: int) -> None:
        name = f"s{index}"
        has_bits = self.random.random() < 0.2
        fields = [
            (f"m{i}", self.bits() if has_bits and self.random.random() < 0.7 else self.field())
            for i in range(self.random.choice((1, 1, 2, 2, 3, 4)))
        ]
        lines = " ".join(kind.declare(name) + ";" for name, kind in fields)
        packed = " __attribute__((packed))" if self.random.random() < 0.05 else ""
        self.types.append(f"struct {name} {{ {lines} }}{packed};")
        self.add_record(f"struct {name}", fields)

    def union(self, index: int) -> None:
        first, second = self.random.choice(((6, 7), (8, 9), (4, 2), (7, 4), (9, 6)))
        fields = [("m0", SCALARS[first]), ("m1", SCALARS[second])]
        lines = " ".join(kind.declare(name) + ";" for name, kind in fields)
        self.types.append(f"union u{index} {{ {lines} }};")
        self.add_record(f"union u{index}", fields, fields[:1])

    def vector(self, index: int) -> None:
        element, length = self.random.choice(((FLOATS[0], 4), (SCALARS[6], 4), (FLOATS[1], 2), (SCALARS[4], 4)))
        self.types.append(
            f"typedef {element.name} v{index} __attribute__((vector_size(sizeof({element.name}) * {length})));"
        )
        parts = joined([element.put(f"v[{i}]") for i in range(length)])
        self.types.append(f"PUT put_v{index}(v{index} v) {{ putchar('['); {parts} putchar(']'); }}")
        value = lambda r: "{" + ", ".join(element.value(r) for _ in range(length)) + "}"  # noqa: E731
        self.records.append(Kind(f"v{index}", value, lambda v: f"put_v{index}({v});", in_struct=False))

    def add_record(
        self, name: str, fields: list[tuple[str, Kind]], given: list[tuple[str, Kind]] | None = None
    ) -> None:
        plain = name.replace(" ", "_")
        self.types.append(f"PUT put_{plain}({name} v) {{ {fields_put(fields, 'v')} }}")

        def value(r: random.Random) -> str:
            return "{" + ", ".join(kind.value(r) for _, kind in given or fields) + "}"

        self.records.append(Kind(name, value, lambda v: f"put_{plain}({v});"))

    def kinds(self) -> list[Kind]:
        own: list[Kind] = []
        if self.language == "c++":
            own = classes()
        return SCALARS * 2 + FLOATS * 4 + WIDE + COMPLEX + TEXTS * 3 + self.records * 2 + own * 2

    def function(self, index: int) -> None:
        choose = self.random
        kinds = self.kinds()
        parameters = [choose.choice(kinds) for _ in range(choose.choice((0, 1, 2, 2, 3, 4, 5, 7, 9, 12)))]
        result = None if choose.random() < 0.2 else choose.choice([kind for kind in kinds if kind.as_result])
        linkage = choose.choice(("static ", "static ", ""))
        foreign = self.is_mixed and index % 12 == 3
        convention = "__attribute__((ms_abi)) " if foreign else ""
        listed = ", ".join(kind.declare(f"p{i}") for i, kind in enumerate(parameters)) or "void"
        if parameters and not foreign and choose.random() < 0.05:
            listed += ", ..."
        head = f"{linkage}{result.name if result else 'void'} {convention}f{index}({listed})"
        lines = [f"BODY(f{index});"]
        lines += [f"USE(p{i});" for i in range(len(parameters)) if choose.random() < 0.6]
        if result:
            lines.append(f"{result.declare('r')} = {result.value(choose)};")
            lines += ["HIDE(r);"] if choose.random() < 0.7 else []
            lines.append("return r;")
        self.functions.append(f"{head};\n__attribute__((noinline)) {head} {{ {' '.join(lines)} }}")
        self.calls.append(self.call(index, parameters, result))

    def call(self, index: int, parameters: list[Kind], result: Kind | None) -> str:
        choose = self.random
        lines = []
        for i, kind in enumerate(parameters):
            lines.append(f"{kind.declare(f'a{i}')} = {kind.value(choose)};")
            lines += [f"HIDE(a{i});"] if choose.random() < 0.6 else []
        lines.append(f'printf("> f{index}(");')
        lines += [f'printf("{", " if i else ""}p{i}="); {kind.put(f"a{i}")}' for i, kind in enumerate(parameters)]
        lines.append('printf(")\\n");')
        call = f"f{index}({', '.join(f'a{i}' for i in range(len(parameters)))})"
        if result is None:
            lines.append(f'{call}; printf("< f{index} = ?\\n");')
        else:
            lines.append(f"{result.declare('r')} = {call};")
            lines.append(f"printf(\"< f{index} = \"); {result.put('r')} putchar('\\n');")
        body = "\n    ".join(lines)
        return f"__attribute__((noinline)) static void call_{index}(void) {{\n    {body}\n}}"

    def text(self, count: int) -> str:
        for index in range(12):
            self.record(index)
        for index in range(3):
            self.union(index)
            self.vector(index)
        for index in range(count):
            self.function(index)
        main = "int main(void) {\n" + "\n".join(f"    call_{index}();" for index in range(count)) + "\n    return 0;\n}"
        head = HEAD + (HEAD_OF_CPLUSPLUS if self.language == "c++" else "")
        return "\n".join([head, *self.types, *self.functions, *self.calls, main, ""])


def classes() -> list[Kind]:
    return [
        Kind("std::string", lambda r: f'std::string({r.randint(0, 30)}, \'s\')', lambda v: f"put_text({v}.c_str());"),
        Kind("std::string_view", lambda r: r.choice(('"view"', '""')), lambda v: f"put_text({v}.data());"),
        Kind("derived", lambda r: f"{{{{{r.randint(-9, 9)}}}, 2.5f}}",
             lambda v: f'printf("{{a=%d, b=%.1f}}", {v}.a, {v}.b);'),
        Kind("counted", lambda r: str(r.randint(-9, 9)), lambda v: "printf(\"@\");", as_result=False),
    ]  # fmt: skip


def main() -> None:
    seed, count, language = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    print(Program(seed, language).text(count))


if __name__ == "__main__":
    main()
