"""Lines of addresses and addresses of lines are those of gdb; a line without code has its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import gdb_oracle

from strobe.symbols import ElfResolver
from strobe.symbols.lines import SourceLines

BuildProgram = Callable[..., Path]
VARIANTS = [
    ("g++", "-O0"),
    ("g++", "-O0 -gdwarf-4"),
    ("g++", "-O2"),
    ("g++", "-O2 -flto"),
    ("clang++", "-O0"),
    ("clang++", "-O2 -gdwarf-4"),
]


@pytest.fixture(params=VARIANTS, ids=" ".join)
def program(request: pytest.FixtureRequest, build_program: BuildProgram) -> Path:
    compiler, flags = request.param
    return build_program("symbols/naming", *flags.split(), compiler=compiler)


def lines_of(program: Path) -> SourceLines:
    lines = ElfResolver().lines(str(program))
    assert lines is not None
    return lines


def test_lines_of_addresses_are_those_of_gdb(program: Path, tmp_path: Path) -> None:
    lines = lines_of(program)
    functions = [f for f in ElfResolver().module(str(program)).functions if f.source_file is not None]
    inside = [address for f in functions for address in range(f.address, f.address + f.size, 3)]
    # line 0 is code that no line stands for; gdb gives it to the line before
    found = {address: place for address in inside if (place := lines.at(address)) is not None and place.line}
    assert len(found) > 40
    answer = gdb_oracle.ask("gdb_lines.py", program, list(found), tmp_path)
    assert [[place.file, place.line] for place in found.values()] == answer


def test_places_of_lines_are_where_the_line_begins(program: Path, request: pytest.FixtureRequest) -> None:
    lines = lines_of(program)
    with_code = {line: match for line in range(1, 60) if (match := lines.of("naming.cpp", line)).places}
    assert len(with_code) >= 10
    for line, match in with_code.items():
        assert {(place.line, Path(place.file).name) for place in match.places} == {(line, "naming.cpp")}
        if "-O0" in request.node.name:  # optimizers let several lines begin at one address
            there = [lines.at(place.address) for place in match.places]
            assert all(place is not None and place.line == line for place in there), line


def test_every_copy_of_an_inlined_line_is_found(build_program: BuildProgram) -> None:
    lines = lines_of(build_program("symbols/inlined", "-O0"))
    source = (Path(__file__).parents[1] / "programs/symbols/inlined.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "return" in text)
    assert len(lines.of("inlined.c", line).places) >= 3


def test_a_line_without_code_has_neighbours(build_program: BuildProgram) -> None:
    lines = lines_of(build_program("symbols/variables", "-O0"))
    match = lines.of("symbols/variables.cpp", 1)
    assert match.places == [] and match.before is None and match.after is not None
    assert lines.of("variables.cpp", match.after).places
    assert [Path(file).name for file in match.files] == ["variables.cpp"]
    last = lines.of("variables.cpp", 10_000)
    assert last.places == [] and last.after is None and last.before is not None


def test_files_and_addresses_that_are_not_there(build_program: BuildProgram) -> None:
    lines = lines_of(build_program("symbols/variables", "-O0"))
    for file in ("ariables.cpp", "other/variables.cpp", "", "none.c"):
        assert lines.of(file, 25).files == []
    assert lines.at(0) is None and lines.at(2**64 - 1) is None
