"""Each program run alone, with the portable form and with the native form of the recorder, everything traced: it prints
and ends the same, and both forms record the same calls.

Here each program is built in two ways; STROBE_BIG_DIFFERENTIAL=1 builds it in all the ways there are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.programs import source_of
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.model import Totals
from strobe.session import Session
from strobe.timeline.store import Store

IS_BIG = os.environ.get("STROBE_BIG_DIFFERENTIAL") == "1"
NATIVE, PORTABLE = "native", "portable"


@dataclass(frozen=True, slots=True)
class Program:
    """`flags`: what it needs to be built. `varying`: functions called a different number of times in each run, or of
    which Interceptor misses calls (in a handler that interrupts it); "*" for all. `compilers`: which can build it."""

    name: str
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    varying: frozenset[str] = frozenset()
    compilers: tuple[str, ...] = ("gcc", "clang")
    not_with: tuple[str, ...] = ()
    forms: tuple[str, ...] = (PORTABLE, NATIVE)

    @property
    def title(self) -> str:
        return " ".join((self.name, *self.arguments))


def program(
    name: str, *arguments: str, flags: Sequence[str] = (), varying: str = "", gcc_only: bool = False, not_with: str = ""
) -> Program:
    compilers = ("gcc",) if gcc_only else ("gcc", "clang")
    return Program(name, arguments, tuple(flags), frozenset(varying.split()), compilers, tuple(not_with.split()))


PROGRAMS = [
    program("hello"),
    program("throws"),
    program("longjmps"),
    program("coroutines"),
    program("recursion"),
    program("signals", varying="*"),
    program("pthread_exit", varying="*"),
    program("tail_calls"),
    program("tiny"),
    program("entries"),
    program("arguments"),
    program("constructors"),
    program("forks", varying="*"),
    program("churn"),
    program("million"),
    program("exits", "quick_exit", "3"),
    program("exits", "thread-last", "4"),
    program("exits", "fpe"),
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
            "short_threads",
            "struct_returns",
            "thread_ends",
            "threads_at_once",
            "variadic",
            "vectors",
            "virtuals",
        )
    ),
    program("differential/life", varying="*"),  # a thread spins until another has begun
    program("differential/life", "quick", varying="*"),
    program("differential/aliases"),
    program("differential/alternate_stack_within"),
    program("differential/children", varying="work in_child"),  # the portable form records no children
    # a thread that is cancelled at any instruction, Interceptor's among them, may take the program along
    replace(program("differential/cancelled"), forms=(NATIVE,)),
    program("differential/futures", varying="*"),
    program("differential/handlers_on_the_stack", varying="*"),
    program("differential/handlers_that_jump", varying="*"),
    program("differential/interpreter"),
    # a jump to swapcontext would save the address of a return stub, which must not outlive its frame
    program("differential/stacks_within", flags=("-fno-optimize-sibling-calls",)),
    program("differential/nested_functions", gcc_only=True),
    program("differential/stack_walks", flags=("-rdynamic",)),
]

FEW_FLAGS = ["-O0", "-O2 -fcf-protection=full"]
BIG_FLAGS = [
    "-O1",
    "-O3 -fno-omit-frame-pointer",
    "-Os",
    "-O2",
    "-O2 -fno-pie -no-pie",
    "-O2 -fstack-protector-strong",
    "-O2 -static-libgcc -static-libstdc++",
    "-O2 -march=native -flto",
    "-O2 -mindirect-branch=thunk -mfunction-return=thunk",
    "-O2 -falign-functions=1",
    "-O2 -fsanitize=address",
    "-O2 -fsanitize=undefined",
    "-O2 -fsanitize=thread",
    "clang -O0",
    "clang -O2",
    "clang -O3 -fcf-protection=full",
]
VARIANTS = FEW_FLAGS + (BIG_FLAGS if IS_BIG else [])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda item: item.title)
def test_program_is_the_same_however_it_is_traced(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, program: Program, variant: str
) -> None:
    built = build(build_program, program, variant)
    alone = untraced(built, *program.arguments)
    calls = {}
    for form in program.forms:
        monkeypatch.setenv("STROBE_RECORDER", form)
        session = launch(built, *program.arguments, patterns=["**"], sampling="off")
        assert (form, outcome(session)) == (form, alone)
        calls[form] = recorded_calls(session)
    compare(calls.get(PORTABLE, calls[NATIVE]), calls[NATIVE], program.varying)


def build(build_program: Build, program: Program, variant: str) -> Path:
    """Built for the variant, or the test is skipped because it cannot be."""
    words = variant.split()
    family = "clang" if words[0] == "clang" else "gcc"
    if family not in program.compilers:
        pytest.skip(f"{family} does not compile it")
    if words[0] == "clang":
        words = words[1:]
    if any(word in program.not_with for word in words):
        pytest.skip(f"not with {variant}")
    names = {"gcc": None, "clang": "clang++" if is_cpp(program.name) else "clang"}
    # warnings come and go with the level of optimisation
    return build_program(program.name, *words, *program.flags, "-Wno-error", compiler=names[family])


def is_cpp(name: str) -> bool:
    return source_of(name).suffix == ".cpp"


def recorded_calls(session: Session) -> dict[str, int | None]:
    """How often each function was called, by name; None where one of that name could not be hooked."""
    store = Store()
    try:
        functions, hooked = store.functions(session.id), store.hook_spans(session.id)
    finally:
        store.close()
    groups: dict[str, Totals] = totals(session)
    calls: dict[str, int | None] = {}
    for item, function in functions.items():
        counted = groups[function.name].count if function.name in groups else 0
        calls[function.name] = None if item not in hooked or calls.get(function.name, 0) is None else counted
    return calls


def compare(portable: dict[str, int | None], native: dict[str, int | None], varying: frozenset[str]) -> None:
    """Functions that one form refuses are left out, as are those that differ from run to run."""
    assert portable.keys() == native.keys()
    assert any(native.values())
    if "*" in varying:
        return
    both = [name for name in native if native[name] is not None and portable[name] is not None and name not in varying]
    assert {name: native[name] for name in both} == {name: portable[name] for name in both}


@pytest.mark.parametrize("form", [PORTABLE, NATIVE])
def test_rust_unwinds_through_traced_functions(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    built = build_program("differential/unwinding_rust", "-O")
    session = launch(built, patterns=["@usercode"], sampling="off")
    assert outcome(session) == untraced(built)
    # Interceptor refuses it
    assert recorded_calls(session)["unwinding_rust::resumed"] in (120, None)
