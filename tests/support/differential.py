"""The programs of the differential test, and the ways in which they are built."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from _pytest.mark import ParameterSet

IS_BIG = os.environ.get("STROBE_BIG_DIFFERENTIAL") == "1"
NATIVE, PORTABLE = "native", "portable"
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")


@dataclass(frozen=True, slots=True)
class Program:
    """`flags`: what it needs to be built, `header` likewise. `varying`: functions called a different number of times in
    each run; "*" for all. `compilers`: which
    can build it. `exact`: how often functions are called. `takes_library`: it is given the path of `plugin`. `also`:
    a way to build it in every run."""

    name: str
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    varying: frozenset[str] = frozenset()
    compilers: tuple[str, ...] = ("gcc", "clang")
    not_with: tuple[str, ...] = ()
    forms: tuple[str, ...] = (PORTABLE, NATIVE)
    header: str = ""
    takes_library: bool = False
    also: str = ""
    exact: dict[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return " ".join((self.name, *self.arguments))


def program(
    name: str, *arguments: str, flags: Sequence[str] = (), varying: str = "", gcc_only: bool = False, not_with: str = ""
) -> Program:
    compilers = ("gcc",) if gcc_only else ("gcc", "clang")
    return Program(name, arguments, tuple(flags), frozenset(varying.split()), compilers, tuple(not_with.split()))


STATIC_RUNTIME = "gcc -O2 -static-libgcc -static-libstdc++"
SANITIZED = "-fsanitize=address -fsanitize=undefined"
PROGRAMS = [
    program("hello"),
    replace(program("throws"), also=STATIC_RUNTIME),
    program("longjmps"),
    program("coroutines"),
    program("recursion"),
    program("signals", varying="*", not_with="-fsanitize=address"),  # it tells thread ids
    program("pthread_exit", varying="*"),
    program("tail_calls"),
    program("tiny"),
    program("entries", not_with="-flto"),  # its assembly names a variable of the C code
    program("arguments"),
    program("constructors"),
    program("forks", varying="*"),
    replace(program("churn"), also="clang -O1 -fsanitize=address"),  # the sanitizer is part of the program
    program("million"),
    program("exits", "quick_exit", "3"),
    program("exits", "thread-last", "4"),
    program("exits", "fpe", not_with=SANITIZED),  # they report an address, which varies
    *(
        program(f"differential/{name}")
        for name in (
            "callbacks",
            "contexts_that_throw",
            "deep",
            "executes_itself",
            "signals_thrown",
            "frames_of_any_size",
            "generators",
            "jumps_in_loops",
            "keeps_registers",
            "library_users",
            "many_arguments",
            "red_zone",
            "rethrows",
            "struct_returns",
            "thread_ends",
            "threads_at_once",
            "variadic",
            "vectors",
            "virtuals",
            "wide_integers",
        )
    ),
    program("differential/life", varying="*"),  # a thread spins until another has begun
    program("differential/life", "quick", varying="*"),
    program("differential/aliases", not_with="-fuse-ld=lld"),  # lld 14 crashes on it
    program("differential/alternate_stack_within"),
    # the portable form records no children
    program("differential/children", varying="work in_child _sub_D_00099_0"),
    # a thread that is cancelled at any instruction, the compiled recorder's among them, may take the program along
    replace(program("differential/cancelled", not_with="-fsanitize=address"), forms=(NATIVE,)),
    program("differential/futures", varying="*"),
    program("differential/handlers_on_the_stack", varying="*"),
    program("differential/handlers_that_jump", varying="*", not_with=SANITIZED),  # faults, and leaks its stack
    program("differential/interpreter"),
    program("differential/stacks_within"),  # its jump to swapcontext saves the address of a return stub
    program("differential/faults_thrown", flags=("-fnon-call-exceptions",), gcc_only=True),
    program("differential/nested_functions", gcc_only=True),
    # it calls itself for each frame: fewer where Interceptor refuses main
    replace(program("differential/stack_walks", flags=("-rdynamic",), varying="step note"), also=STATIC_RUNTIME),
    replace(program("differential/short_threads"), exact={"work": 10_000, "joined": 4992, "detached": 5008, "main": 1}),
    replace(
        program("differential/fibers", flags=("-Wl,--no-as-needed", "-lboost_context"), not_with="-fsanitize=address"),
        header="boost/context/fiber.hpp",
        varying=frozenset({"operator delete"}),  # two of that name, one jumps to the other
    ),
    program("differential/programs_by_threads", varying="become"),  # children of vfork, which Interceptor sees or not
    # 1 run of 70 missed a round: while another library comes, Frida may not see that this one went and came again
    replace(program("differential/libraries_come_and_go", varying="plugin_run plugin_helper"), takes_library=True),
]


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to build. `family`: gcc or clang."""

    family: str
    flags: tuple[str, ...]

    @property
    def has_runtime(self) -> bool:
        """Whether a library of the compiler becomes part of the program."""
        return any(flag.startswith(("-fsanitize", "-static-lib")) for flag in self.flags)

    @property
    def title(self) -> str:
        return " ".join((self.family, *self.flags))


def variant(text: str) -> Variant:
    family, *flags = text.split()
    return Variant(family, tuple(flags))


THUNKS = {
    "gcc": "-mindirect-branch=thunk -mfunction-return=thunk -fcf-protection=none",
    "clang": "-mretpoline -fcf-protection=none",
}
LINK_TIME = {"gcc": "-flto", "clang": "-flto -fuse-ld=lld"}
FEATURES = {
    family: (
        "",
        "-fno-omit-frame-pointer",
        "-fcf-protection=full",
        "-fstack-protector-strong",
        "-fno-pie -no-pie",
        "-static-libgcc -static-libstdc++",
        THUNKS[family],
        LINK_TIME[family],
        "-falign-functions=1",
        "-march=native",
        "-fsanitize=address",
        "-fsanitize=undefined",  # -fsanitize=thread is refused: tests/live/sessions/test_bad_launch.py
    )
    for family in ("gcc", "clang")
}
ALL = [
    variant(f"{family} {level} {feature}")
    for family in ("gcc", "clang")
    for feature in FEATURES[family]
    for level in LEVELS
]
# What each program is built with in every run
ALWAYS = [variant("gcc -O0"), variant("gcc -O2 -fcf-protection=full")]
# And one of these, each of which serves several programs, unless it takes seconds
SLOW = {"differential/library_users", "differential/futures", "differential/short_threads", "churn", "million"}
IN_TURN = [
    variant(text)
    for text in (
        "gcc -O1",
        "gcc -O3 -fno-omit-frame-pointer",
        "clang -O2",
        "gcc -Os",
        "gcc -O2 -fno-pie -no-pie",
        "clang -O0",
        "gcc -O2 -fstack-protector-strong",
        STATIC_RUNTIME,
        f"gcc -O2 {THUNKS['gcc']}",
        "clang -O3 -fcf-protection=full",
        "gcc -O3 -flto",
        "gcc -O1 -fsanitize=address",
        "gcc -O2 -fsanitize=undefined",
    )
]


def cases() -> list[ParameterSet]:
    """Each program with the ways to build it. The last one, which differs among programs, is in `make test` for
    every third program, unless that takes seconds."""
    found = []
    for index, item in enumerate(PROGRAMS):
        possible = [way for way in ways(index, item) if can_be_built(item, way)]
        always = [] if index % 3 or item.name in SLOW else possible[-1:]
        found += [pytest.param(item, way, marks=[] if way in always else pytest.mark.long) for way in possible]
    return found


def ways(index: int, item: Program) -> list[Variant]:
    if IS_BIG:
        return ALL
    in_turn = [] if item.name in SLOW else [IN_TURN[index % len(IN_TURN)]]
    also = [variant(item.also)] if item.also else []
    return [*ALWAYS, *in_turn, *(way for way in also if way not in in_turn)]


def can_be_built(item: Program, way: Variant) -> bool:
    return way.family in item.compilers and not any(flag in item.not_with for flag in way.flags)
