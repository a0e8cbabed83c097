"""Programs with watches, scripts and deep arguments at every call: they print and end as they do alone, and no call is
missed for it."""

from __future__ import annotations

import pytest
from support.differential import ALWAYS, NATIVE, PORTABLE, PROGRAMS, Program, can_be_built, variant
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.model import Watch

from .test_differential import build, shown

WAYS = [ALWAYS[0], variant("gcc -O2"), variant("clang -O2")]
WATCHES = [
    Watch(address=0x10, type="i32", label="nowhere"),
    Watch(address=0xFFFF_FFFF_FFFF_FFF8, type="u64", label="at the end"),
    Watch(expr="args[0].readU8()", label="script"),
]
SLOW = {"churn", "million", "differential/short_threads", "differential/library_users", "differential/futures"}
# a script that fails takes 50 to 120 us, at each of their many calls; they have the other watches alone
INTERRUPTED = {f"differential/{name}" for name in ("handlers_on_the_stack", "handlers_that_jump", "deep")}
DEEP = {"differential/threads_at_once", "differential/virtuals"}  # so many calls that they take ten seconds and more
CASES = [
    pytest.param(item, way, marks=[pytest.mark.long] if index % 6 or item.name in DEEP else [])
    for index, item in enumerate(PROGRAMS)
    if item.name not in SLOW
    for way in (WAYS[index % len(WAYS)],)
    if can_be_built(item, way) and not item.takes_library
]


@pytest.mark.parametrize(("program", "way"), CASES, ids=lambda item: item.title)
def test_a_watched_program_is_the_same(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, program: Program, way: object
) -> None:
    built = build(build_program, program, way)  # type: ignore[arg-type]
    alone = shown(untraced(built, *program.arguments))
    monkeypatch.setenv("STROBE_RECORDER", NATIVE)
    watches = WATCHES[:2] if program.name in INTERRUPTED else WATCHES
    session = launch(built, *program.arguments, patterns=["**"], sampling="auto", watch=watches, depth=3)
    assert shown(outcome(session)) == alone
    assert {name: totals(session)[name].count for name in program.exact} == program.exact


@pytest.mark.parametrize("name", ["throws", "arguments", "forks", "tail_calls", "signals"])
def test_it_is_the_same_in_the_portable_form(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    built = build_program(name, "-O2", "-Wno-error")
    alone = shown(untraced(built))
    monkeypatch.setenv("STROBE_RECORDER", PORTABLE)
    session = launch(built, patterns=["**"], sampling="auto", watch=WATCHES, depth=3)
    assert shown(outcome(session)) == alone
