"""Lines of addresses and addresses of lines are those of the decoded tables and of gdb."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import corpus_lines, gdb_oracle
from oracle.corpus import Subject
from support import programs

from strobe.symbols import ElfResolver
from strobe.symbols.dwarf.lines import SourceLines
from strobe.symbols.select.line_sites import SourceRange, line_sites

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
    found = {address: location for address in inside if (location := lines.at(address)) is not None and location.line}
    assert len(found) > 40
    answer = gdb_oracle.ask("gdb_lines.py", program, list(found), tmp_path)
    assert [[location.file, location.line] for location in found.values()] == answer


def test_lines_of_addresses_are_those_of_the_decoded_table(subject: Subject) -> None:
    """With columns, and whether a statement begins there."""
    if not subject.dies.has_files:
        pytest.skip("pyelftools cannot read these tables; tests/core/test_dwarf.py compares them with 32-bit ones")
    lines = lines_of(subject.program)
    table = corpus_lines.decoded(subject.dies)
    inside = sorted({address for line in table for address in (line.address, line.end - 1) if line.end > line.address})
    chosen = inside[:: len(inside) // 400 + 1]
    assert len(chosen) > 4
    for address in chosen:
        found, expected = lines.at(address), corpus_lines.at(table, address)
        assert found is not None and expected is not None
        assert (found.address, found.file, found.line, found.column, found.is_statement) == (
            expected.address,
            expected.file,
            expected.line,
            expected.column,
            expected.is_statement,
        )


def test_places_of_lines_are_all_of_the_decoded_table(subject: Subject) -> None:
    if not subject.dies.has_files:
        pytest.skip("pyelftools cannot read these tables; tests/core/test_dwarf.py compares them with 32-bit ones")
    lines = lines_of(subject.program)
    file = str(programs.source_of(f"symbols/{subject.program.stem}"))
    table = [line for line in corpus_lines.decoded(subject.dies) if line.file.endswith(file)]
    last = max(line.line for line in table)
    for number in range(1, last + 2):
        rows = [line for line in table if line.line == number and line.begins]
        statements = {line.address for line in rows if line.is_statement}
        found = {location.address: location.is_statement for location in lines.of(file, number).locations}
        assert found == {line.address: line.address in statements for line in rows}, number


@pytest.mark.parametrize("flags", ["-O0", "-O0 -gdwarf-4", "-O2"])
@pytest.mark.parametrize("name", ["naming", "inlined", "split"])
def test_places_of_lines_are_in_the_functions_that_gdb_finds(
    name: str, flags: str, build_program: BuildProgram, tmp_path: Path
) -> None:
    program = build_program(f"symbols/{name}", *flags.split())
    lines, source = lines_of(program), programs.source_of(f"symbols/{name}")
    functions = ElfResolver().module(str(program)).functions
    count = len(source.read_text().splitlines())
    answer = gdb_oracle.ask("gdb_decode_line.py", program, [source.name, list(range(1, count + 1))], tmp_path)

    def around(addresses: list[int]) -> set[int]:
        return {f.address for f in functions for address in addresses if f.address <= address < f.address + f.size}

    compared = 0
    for line in range(1, count + 1):
        match = lines.of(source.name, line)
        statements = around([location.address for location in match.locations if location.is_statement])
        by_gdb = around([address for address, other in answer.get(str(line), []) if other == line])
        others = {other for _, other in answer.get(str(line), []) if other != line}
        # where exactly in the function: gdb leaves out all but one of several places in a block
        assert by_gdb <= around([location.address for location in match.locations]), line
        # and in optimized code lines that begin no statement, or share their address with another one
        if flags.startswith("-O0"):
            assert statements <= by_gdb, line
            assert not others or (others == {match.after} and not match.locations), line
        compared += bool(by_gdb)
    assert compared >= 5


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("name", ["symbols/naming", "symbols/locals", "symbols/signatures", "line_copies"])
def test_probes_on_lines_go_where_gdb_stops(
    name: str, flags: str, compiler: str, build_program: BuildProgram, tmp_path: Path
) -> None:
    """In the same functions; without optimization at the same addresses, but at a function's first line: gdb goes on
    behind its prologue."""
    program, source = build_program(name, flags, compiler=compiler), programs.source_of(name)
    resolver = ElfResolver()
    module, details = resolver.module(str(program)), resolver.details(str(program))
    assert details is not None
    count = len(source.read_text().splitlines())
    places = line_sites(SourceRange(source.name, 1, count), module, details)
    assert len({(location.address, location.line) for location in places}) == len(places)
    answer = gdb_oracle.ask("gdb_decode_line.py", program, [source.name, list(range(1, count + 1))], tmp_path)
    compared = 0
    for line in range(1, count + 1):
        ours = [location for location in places if location.line == line]
        theirs = {address for address, other in answer.get(str(line), []) if other == line}
        others = {function.address for address in theirs if (function := module.function_at(address)) is not None}
        assert others <= {location.function.address for location in ours}, line
        if flags == "-O0":
            assert {location.address for location in ours if not location.is_entry} <= theirs, line
        compared += len(theirs)
    assert compared > 10


def test_places_of_lines_are_where_the_line_begins(program: Path, request: pytest.FixtureRequest) -> None:
    lines = lines_of(program)
    with_code = {line: match for line in range(1, 60) if (match := lines.of("naming.cpp", line)).locations}
    assert len(with_code) >= 10
    for line, match in with_code.items():
        assert {(location.line, Path(location.file).name) for location in match.locations} == {(line, "naming.cpp")}
        if "-O0" in request.node.name:  # optimizers let several lines begin at one address
            there = [lines.at(location.address) for location in match.locations]
            assert all(location is not None and location.line == line for location in there), line


def test_every_copy_of_an_inlined_line_is_found(build_program: BuildProgram) -> None:
    lines = lines_of(build_program("symbols/inlined", "-O0"))
    source = (Path(__file__).parents[1] / "programs/symbols/inlined.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "return" in text)
    assert len(lines.of("inlined.c", line).locations) >= 3


def test_a_line_without_code_has_neighbours(build_program: BuildProgram) -> None:
    lines = lines_of(build_program("symbols/variables", "-O0"))
    match = lines.of("symbols/variables.cpp", 1)
    assert match.locations == [] and match.before is None and match.after is not None
    assert lines.of("variables.cpp", match.after).locations
    assert [Path(file).name for file in match.files] == ["variables.cpp"]
    last = lines.of("variables.cpp", 10_000)
    assert last.locations == [] and last.after is None and last.before is not None


def test_files_and_addresses_that_are_not_there(build_program: BuildProgram) -> None:
    lines = lines_of(build_program("symbols/variables", "-O0"))
    for file in ("ariables.cpp", "other/variables.cpp", "", "none.c"):
        assert lines.of(file, 25).files == []
    assert lines.at(0) is None and lines.at(2**64 - 1) is None
