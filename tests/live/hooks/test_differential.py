"""Each program run alone, with the portable form and with the native form of the recorder, everything traced: it prints
and ends the same, and both forms record the same calls.

Here each program is built in three ways, STROBE_BIG_DIFFERENTIAL=1 builds it in all of tests/support/differential.py.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.differential import NATIVE, PORTABLE, Program, Variant, cases
from support.programs import lack, source_of
from support.sessions import Build, Launch, Outcome, outcome, totals, untraced

from strobe.session import Session
from strobe.timeline.store import Store
from strobe.timeline.totals import Totals


@pytest.mark.parametrize(("program", "variant"), cases(), ids=lambda item: item.title)
def test_program_is_the_same_however_it_is_traced(
    launch: Launch,
    build_program: Build,
    build_plugin: Build,
    monkeypatch: pytest.MonkeyPatch,
    program: Program,
    variant: Variant,
) -> None:
    built = build(build_program, program, variant)
    arguments = (*program.arguments, *([str(build_plugin())] if program.takes_library else []))
    alone = shown(untraced(built, *arguments))
    calls = {}
    for form in program.forms:
        monkeypatch.setenv("STROBE_RECORDER", form)
        session = launch(built, *arguments, patterns=["**"], sampling="off")
        assert (form, shown(outcome(session))) == (form, alone)
        calls[form] = recorded_calls(session, variant.has_runtime)
    assert {name: calls[NATIVE][name] for name in program.exact} == program.exact
    compare(calls.get(PORTABLE, calls[NATIVE]), calls[NATIVE], program.varying)


def build(build_program: Build, program: Program, variant: Variant) -> Path:
    if program.header and not Path("/usr/include", program.header).exists():
        lack(f"{program.header} is not installed")
    source = source_of(program.name)
    compilers = {"gcc": None, "clang": "clang++" if source.suffix == ".cpp" else "clang"}
    # warnings come and go with the level of optimisation
    flags = (*variant.flags, *program.flags, "-Wno-error")
    return build_program(program.name, *flags, compiler=compilers[variant.family])


def shown(outcome: Outcome) -> Outcome:
    """Without the process ids, addresses and distances in what a sanitizer says."""
    return replace(outcome, stderr=re.sub(r"^==\d+==|\b0x[0-9a-f]+|\(\d{9,}\)", "", outcome.stderr, flags=re.MULTILINE))


def recorded_calls(session: Session, has_runtime: bool = False) -> dict[str, int | None]:
    """How often each function was called, by name; None where one of that name could not be hooked. `has_runtime`: only
    those with debug information; what a runtime library calls depends on where memory happens to lie.
    """
    store = Store()
    try:
        functions, hooked = store.functions(session.id), store.hook_spans(session.id)
    finally:
        store.close()
    if has_runtime:
        functions = {item: function for item, function in functions.items() if function.source_file is not None}
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


@pytest.mark.parametrize("form", [PORTABLE, NATIVE])
def test_threads_may_free_memory_after_their_destructors(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """5,000 threads, each of which calls `free` once more when all else has ended; there are 1,024 states."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    built = build_program("churn", "-O0")
    session = launch(built, patterns=["@lib:libc", "brief"], sampling="off")
    assert outcome(session) == untraced(built)
    assert totals(session)["brief"].count == 5000
