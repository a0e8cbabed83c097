"""Probes at each instruction, and at each line, count what gdb's breakpoints count, and change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.oracles.breakpoints import hits, instructions
from support.oracles.gcov import executions
from support.programs import PROGRAMS
from support.sessions import Build, Launch, outcome, totals, untraced

from strobe.model import Probe, TraceRequest
from strobe.session import Session
from strobe.symbols import ElfResolver

ROUNDS = "120"
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])


def counted(session: Session) -> dict[str, int]:
    return {one.label: one.hits for one in session.timeline.probe_totals()}


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
        session.trace(TraceRequest(probe=[Probe(hex(base + entry + offset), label=f"{offset}") for offset in offsets]))
        if traced == "traced after":
            session.trace(TraceRequest(add=patterns))

    session = launch(program, ROUNDS, patterns=patterns if traced == "traced before" else [], check=place)
    assert outcome(session) == untraced(program, ROUNDS)
    assert [counted(session)[str(offset)] for offset in offsets] == expected
    assert not [text for text in session.warnings if "Probe" in text]
    if traced != "alone":
        assert (totals(session)["work"].count, totals(session)["pick"].count) == (1, int(ROUNDS))


PROGRAMS_OF_LINES = [  # gdb stops at each, which takes seconds in some
    ("probes/pool.cpp", "-O0"),
    ("probes/every_instruction.cpp", "-O0"),
    pytest.param("calls/recursion.c", "-O0", marks=pytest.mark.long),
    pytest.param("calls/overloads.cpp", "-O0", marks=pytest.mark.long),
    pytest.param("calls/ledger.cpp", "-O0", marks=pytest.mark.long),
    pytest.param("calls/arguments.c", "-O0", marks=pytest.mark.long),
    pytest.param("calls/tail_calls.c", "-O0", marks=pytest.mark.long),
    pytest.param("calls/fibonacci.c", "-O0", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("source", "level"), PROGRAMS_OF_LINES)
@pytest.mark.parametrize("traced", [False, True])
def test_each_line(launch: Launch, build_program: Build, source: str, level: str, traced: bool) -> None:
    program = build_program(Path(source).stem, level)
    name = Path(source).name
    length = len((PROGRAMS / source).read_text().splitlines())
    lines = [line for line in range(1, length + 1) if has_code(program, name, line)]

    def place(session: Session) -> None:
        session.trace(TraceRequest(probe=[Probe(f"{name}:{line}") for line in lines]))

    session = launch(program, patterns=["**"] if traced else [], check=place)
    assert outcome(session) == untraced(program)
    found = counted(session)
    expected = dict(zip(found, hits(program, [f"{name}:{line}" for line in lines]), strict=True))
    assert {label: (gdb, found[label]) for label, gdb in expected.items() if gdb != found[label]} == {}


@pytest.mark.parametrize(
    ("source", "level", "least"),
    [
        ("probes/pool.cpp", "-O1", 0.7),
        ("probes/pool.cpp", "-O2", 0.7),
        ("probes/every_instruction.cpp", "-O1", 0.9),
        ("calls/tail_calls.c", "-O2", 0.8),
        ("calls/ledger.cpp", "-O2", 0.9),
        ("calls/recursion.c", "-O2", 0.9),
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_each_line_of_optimized_code(
    launch: Launch, build_program: Build, tmp_path: Path, source: str, level: str, least: float, traced: bool
) -> None:
    """Most count what gcov counts without optimization, and a warning says that they need not. gdb chooses other
    places there. `least`: of 1, with gcc 12; what is missing is code that the compiler has left out or merged."""
    program, name = build_program(Path(source).stem, level), Path(source).name
    expected = executions(PROGRAMS / source, tmp_path)
    wanted = [line for line in expected if has_code(program, name, line)]
    warnings: list[str] = []

    def place(session: Session) -> None:
        warnings.extend(session.trace(TraceRequest(probe=[Probe(f"{name}:{line}") for line in wanted])).warnings)

    session = launch(program, patterns=["**"] if traced else [], check=place)
    assert outcome(session) == untraced(program)
    found = {int(label.rpartition(":")[2]): count for label, count in counted(session).items()}
    assert sorted(found) == sorted(wanted)
    [told] = [warning for warning in warnings if "the code is optimized" in warning]
    assert all(f"'{name}:{line}'" in told for line in wanted)
    right = [line for line in wanted if found[line] == expected[line]]
    wrong = {line: (expected[line], found[line]) for line in wanted if line not in right}
    assert len(right) >= least * len(wanted), (len(right), len(wanted), wrong)


def has_code(program: Path, name: str, line: int) -> bool:
    details = ElfResolver().details(str(program))
    assert details is not None
    return bool(details.lines.of(name, line).locations)
