"""Probes at each instruction, and at each line, count what gdb's breakpoints count, and change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.oracles.breakpoints import hits, instructions
from support.programs import PROGRAMS
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.model import Probe
from strobe.session import Session
from strobe.symbols import ElfResolver

ROUNDS = "120"
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])


def counted(session: Session) -> dict[str, int]:
    return {one.label: one.hits for one in session.probe_totals()}


@LEVELS
@pytest.mark.parametrize("function", ["work", "pick"])
@pytest.mark.parametrize("traced", ["alone", "traced before", "traced after"])
def test_each_instruction(launch: Launch, build_program: Build, level: str, function: str, traced: str) -> None:
    """Also where the jump of a trace lies over them."""
    program = build_program("every_instruction", level)
    offsets = instructions(program, function)
    expected = hits(program, [f"*((char*){function}+{offset})" for offset in offsets], ROUNDS)
    symbols = ElfResolver().module(str(program))
    entry = next(one.address for one in symbols.functions if one.name == function)
    patterns = ["work", "pick", "*::area"]

    def place(session: Session) -> None:
        base = session._target.modules()[0].base - symbols.link_base  # type: ignore[attr-defined]
        session.trace(probe=[Probe(hex(base + entry + offset), label=f"{offset}") for offset in offsets])
        if traced == "traced after":
            session.trace(add=patterns)

    session = launch(program, ROUNDS, patterns=patterns if traced == "traced before" else [], check=place)
    assert outcome(session) == untraced(program, ROUNDS)
    assert [counted(session)[str(offset)] for offset in offsets] == expected
    assert not [text for text in session.warnings if "Probe" in text]
    if traced != "alone":
        assert (totals(session)["work"].count, totals(session)["pick"].count) == (1, int(ROUNDS))


PROGRAMS_OF_LINES = [
    ("probes/pool.cpp", "-O0"),
    ("probes/pool.cpp", "-O2"),
    ("probes/every_instruction.cpp", "-O0"),
    ("probes/every_instruction.cpp", "-O1"),
    ("calls/recursion.c", "-O0"),
    ("calls/overloads.cpp", "-O0"),
    ("calls/ledger.cpp", "-O0"),
    ("calls/arguments.c", "-O0"),
    ("calls/tail_calls.c", "-O2"),
    ("calls/fibonacci.c", "-O0"),
]


@pytest.mark.parametrize(("source", "level"), PROGRAMS_OF_LINES)
@pytest.mark.parametrize("traced", [False, True])
def test_each_line(launch: Launch, build_program: Build, source: str, level: str, traced: bool) -> None:
    program = build_program(Path(source).stem, level)
    name = Path(source).name
    length = len((PROGRAMS / source).read_text().splitlines())
    lines = [line for line in range(1, length + 1) if has_code(program, name, line)]

    placed: dict[str, list[int]] = {}  # how far from main
    main = next(one.address for one in ElfResolver().module(str(program)).functions if one.name == "main")

    def place(session: Session) -> None:
        start = session._target.modules()[0].base + main - ElfResolver().module(str(program)).link_base  # type: ignore[attr-defined]
        for answer in session.trace(probe=[Probe(f"{name}:{line}") for line in lines]).probes:
            placed[answer.probe.at] = [one.address - start for one in answer.places if not one.problem]

    session = launch(program, patterns=["**"] if traced else [], check=place)
    assert outcome(session) == untraced(program)
    found = counted(session)
    if level == "-O0":
        expected = dict(zip(found, hits(program, [f"{name}:{line}" for line in lines]), strict=True))
    else:  # in optimized code gdb chooses other places
        places = [(label, f"*((char*)main+{offset})") for label, offsets in placed.items() for offset in offsets]
        counts = hits(program, [place for _, place in places])
        expected = dict.fromkeys(found, 0)
        for (label, _), count in zip(places, counts, strict=True):
            expected[label] += count or 0
    assert {label: (gdb, found[label]) for label, gdb in expected.items() if gdb != found[label]} == {}


def has_code(program: Path, name: str, line: int) -> bool:
    details = ElfResolver().details(str(program))
    assert details is not None
    return bool(details.lines.of(name, line).places)
