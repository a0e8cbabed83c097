"""Write a C program of 60 functions with random parameters; each is called once, with values all different.

Usage: random_signatures.py SEED
"""

import random
import sys

FUNCTIONS = 60
STRUCTS = """
struct s_int { int a; };
struct s_two { int a; int b; };
struct s_long_char { long a; char b; };
struct s_float { float a; };
struct s_floats { float a, b, c; };
struct s_double_int { double a; int b; };
struct s_int_double { int a; double b; };
struct s_float_int { float a; int b; };
struct s_doubles { double a, b; };
struct s_array { short a[6]; };
struct s_nested { struct s_int a; struct s_float b; long c; };
struct s_bits { int a : 5; long b : 40; int c : 9; };
struct s_large { long a, b, c; };
struct s_packed { char a; long b; } __attribute__((packed));
struct s_long_double { long double a; };
struct s_pointer { void* a; double* b; };
union u_mixed { double a; int b; };
union u_floats { double a; float b[2]; };
"""
INTEGERS = ["char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "long long"]
INTEGERS += ["_Bool", "enum colour", "unsigned long", "int*", "const char*", "struct s_large*", "void (*)(int)"]
FLOATS = ["float", "double", "long double", "_Complex float", "_Complex double"]
WIDE = ["__int128"]
RETURNS = ["void", "int", "long", "double", "long double", "_Complex double", "__int128", "struct s_two"]
RETURNS += ["struct s_large", "struct s_doubles", "struct s_packed", "struct s_nested", "struct s_int_double"]


def structs() -> list[str]:
    return [" ".join(line.split()[:2]) for line in STRUCTS.split("\n") if line]


def declare(kind: str, name: str) -> str:
    return kind.replace("(*)", f"(*{name})") if "(*)" in kind else f"{kind} {name}"


def value(kind: str, number: int) -> str:
    if kind in ("char", "signed char", "unsigned char"):
        return str(number % 120 + 1)
    if kind == "_Bool":
        return str(number % 2)
    if "*" in kind:
        return f"({kind}){number * 16}L"
    if kind.startswith(("struct", "union")):
        return f"made_{kind.replace(' ', '_')}"
    return str(number)


def main() -> None:
    choose = random.Random(int(sys.argv[1]))
    kinds = INTEGERS * 3 + FLOATS * 2 + WIDE + structs() * 2
    print("// Written by random_signatures.py.", "enum colour { RED, GREEN = 70000 };", STRUCTS, sep="\n")
    print("static volatile long sink;")
    print("\n".join(f"{kind} made_{kind.replace(' ', '_')};" for kind in structs()))
    calls, number = [], 1000
    for index in range(FUNCTIONS):
        parameters = [choose.choice(kinds) for _ in range(choose.randint(1, 11))]
        result = choose.choice(RETURNS)
        # static ones may be changed by the optimizer in any way it likes
        linkage = "static " if index % 3 == 0 else ""
        names = [declare(kind, f"p{i}") for i, kind in enumerate(parameters)]
        print(f"{linkage}{result} f{index}({', '.join(names)});")
        print(f"__attribute__((noinline)) {linkage}{result} f{index}({', '.join(names)}) {{")
        for i, kind in enumerate(parameters):
            if kind in INTEGERS:
                print(f"    sink = (long)p{i};")
            else:
                print(f"    sink = *(volatile char*)&p{i};")
        if result != "void":
            print(f"    {result} result = {{0}};\n    return result;" if "struct" in result else "    return 1;")
        print("}")
        arguments = [value(kind, number + i) for i, kind in enumerate(parameters)]
        number += len(arguments)
        calls.append(f"    f{index}({', '.join(arguments)});")
    print("int main(void) {", *calls, "    return 0;", "}", sep="\n")


if __name__ == "__main__":
    main()
