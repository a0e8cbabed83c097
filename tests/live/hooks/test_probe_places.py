"""Probes in programs that run: each copy of a line counts, and no jump is written into the middle of an instruction."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs
from support.oracles.gcov import executions

import strobe
from strobe.errors import StrobeError
from strobe.symbols import ElfResolver
from strobe.symbols.objects.instructions import around

BuildProgram = Callable[..., Path]


def line_of(name: str, text: str) -> int:
    lines = programs.source_of(name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("name", ["symbols/locals", "symbols/naming", "arguments", "recursion", "fibonacci"])
def test_lines_are_counted_as_often_as_gcov_counts_them(name: str, build_program: BuildProgram, tmp_path: Path) -> None:
    """All of a program that is not optimized, whose output stays what it is."""
    program, source = build_program(name, "-O0"), programs.source_of(name)
    text = source.read_text().splitlines()
    counted = executions(source, tmp_path)
    alone = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True).stdout
    with strobe.launch([program], probe=[f"{source.name}:{line}" for line in counted]) as session:
        session.wait(60)
        assert session.stdout == alone
        hits = {int(one.label.rpartition(":")[2]): one.hits for one in session.probe_totals()}
    # of the head of a loop gcov counts the tests, of a line with a lambda what is around it alone
    plain = [line for line in counted if not re.search(r"\b(for|while) \(|\[.*\]\(|^\s*};?$", text[line - 1])]
    assert {line: hits[line] for line in plain} == {line: counted[line] for line in plain}
    assert len(plain) > 8


def test_every_copy_of_an_optimized_line_is_counted(build_program: BuildProgram) -> None:
    """gcc gives `down` two ends; 10,204 is how often the program calls it."""
    program = build_program("recursion", "-O2")
    line = line_of("recursion", "return below + levels")
    with strobe.launch([program], probe=[f"recursion.c:{line} if levels < 3 : levels, below"]) as session:
        session.wait(60)
        (totals,) = session.probe_totals()
        shown = {tuple(hit.values.values()) for hit in session.hits()}
        warnings = session.warnings
    assert totals.hits == 10_204
    assert totals.held == 12
    assert shown == {(0, 0), (1, 0), (2, 1)}
    assert any("the code is optimized" in warning for warning in warnings)


def test_a_probe_inside_an_instruction_is_refused(build_program: BuildProgram) -> None:
    program = build_program("recursion", "-O2", "-no-pie")
    down = next(f for f in ElfResolver().module(str(program)).functions if f.name == "down")
    inside = next(at for at in range(down.address, down.address + down.size) if begin(program, down.address, at) != at)
    first, last = begin(program, down.address, inside), inside
    while begin(program, down.address, last) == first:
        last += 1
    with pytest.raises(StrobeError, match=f"no instruction begins there.* {first:#x} and {last:#x}"):
        strobe.launch([program], probe=[hex(inside)])
    alone = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True).stdout
    with strobe.launch([program], probe=[hex(first), hex(last)]) as session:
        session.wait(60)
        assert session.stdout == alone
        assert {one.hits for one in session.probe_totals()} == {10_204}


def begin(program: Path, start: int, address: int) -> int:
    found = around(str(program), start, address)
    assert found is not None
    return found[0]
