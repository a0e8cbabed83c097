"""Function lists are right: against all DIEs, against readelf for what is there, against gdb for what the user sees."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import corpus_rows, gdb_oracle
from oracle.corpus import Subject
from support import programs

from strobe.model import FunctionSymbol
from strobe.symbols import ElfResolver, names

BuildProgram = Callable[..., Path]

VARIANTS = [
    ("symbols/naming", "g++", "-O0"),
    ("symbols/naming", "g++", "-O2"),
    ("symbols/naming", "g++", "-O0 -gdwarf-4 -no-pie"),
    ("symbols/naming", "clang++", "-O0"),
    ("symbols/naming", "clang++", "-O2 -gdwarf-4"),
    ("symbols/naming", "g++", "-O2 -flto"),
    ("symbols/naming", "g++", "-O0 -fdebug-types-section"),
    ("symbols/naming", "g++", "-O0 -gz=zlib -Wl,--gc-sections -ffunction-sections"),
    ("symbols/signatures", "g++", "-O2"),
    ("symbols/rustic", "rustc", ""),
]
ADJUSTERS = ("_ZTh", "_ZTv", "_ZTc", "_ZGT")  # thunks and the like (Itanium C++ ABI 5.1.4)


def test_functions_are_those_of_all_dies(subject: Subject) -> None:
    found = corpus_rows.scanned_functions(subject.index, has_files=subject.dies.has_files)
    assert found == corpus_rows.walked_functions(subject.dies) and found
    assert subject.index.damage() == []


def test_what_is_in_several_pieces_has_all_of_them(build_program: BuildProgram) -> None:
    """Of code that seldom runs, the symbol table has a name of its own."""
    for flags in ("-O2", "-O2 -gdwarf-4", "-O2 -flto"):
        program = build_program("symbols/split", *flags.split(), "-freorder-blocks-and-partition")
        rows = corpus_rows.scanned_functions(corpus_rows.scan(program), has_files=True)
        cold_parts = {start for row in rows.values() for start, _ in row.place[1:]}
        assert cold_parts == {address for address, _, name in nm_symbols(program) if is_cold(name)}
        assert "split::Checked::take" in {row.name for row in rows.values() if len(row.place) == 2}


@pytest.fixture(params=VARIANTS, ids=" ".join)
def program(request: pytest.FixtureRequest, build_program: BuildProgram) -> Path:
    name, compiler, flags = request.param
    return build_program(name, *flags.split(), compiler=compiler)


def functions_of(program: Path) -> dict[int, FunctionSymbol]:
    return {function.address: function for function in ElfResolver().module(str(program)).functions}


def is_cold(raw_name: str) -> bool:
    return ".cold" in raw_name


def nm_symbols(program: Path) -> list[tuple[int, int, str]]:
    """(address, size, raw name) of the functions in .symtab that are more than a label."""
    listing = subprocess.run(
        [programs.require("readelf"), "-sW", str(program)], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    rows = [line.split() for line in listing.partition("'.symtab'")[2].splitlines()]
    functions = [row for row in rows if len(row) >= 8 and row[3] == "FUNC" and row[6] != "UND"]
    return [(int(row[1], 16), int(row[2], 0), row[7]) for row in functions]


def test_every_symbol_is_a_function_and_the_other_way_round(program: Path) -> None:
    found = functions_of(program)
    symbols = nm_symbols(program)
    left_out = {a for a, _, name in symbols if is_cold(name) or name.startswith(ADJUSTERS)}
    assert {address for address, _, _ in symbols} - left_out == set(found) - left_out
    sizes = {address: size for address, size, _ in symbols if size}
    assert {a: f.size for a, f in found.items() if a in sizes and f.size != sizes[a]} == {}
    raw_names = {(address, name) for address, _, name in symbols}
    assert [f.name for a, f in found.items() if (a, f.raw_name) not in raw_names] == []


def test_names_files_lines_and_ranges_are_those_of_gdb(program: Path, tmp_path: Path) -> None:
    found = {a: f for a, f in functions_of(program).items() if f.source_file is not None}
    answer = gdb_oracle.ask("gdb_functions.py", program, list(found), tmp_path)
    assert len(answer) >= 0.9 * len(found) > 0
    cold = {address for address, _, name in nm_symbols(program) if is_cold(name)}
    wrong = []
    for address, (name, file, line, start, end) in answer.items():
        function = found[int(address)]
        place = (Path(function.source_file or "").name, function.line or 0)
        ours = (*place, function.address, function.address + function.size)
        # gdb has no line for a lambda, where ours is that of its class
        theirs = (Path(file).name, line or function.line, function.address if start in cold else start, end)
        if theirs[0] == "<artificial>":  # all that gdb says of what link-time optimization made
            ours = ("<artificial>", *ours[1:])
        if ours != theirs or not same_name(function.name, name):
            wrong.append((function.name, ours, name, theirs))
    assert wrong == []


def same_name(ours: str, by_gdb: str) -> bool:
    """gdb does not say in which function a local class is, nor number lambdas; it spells template arguments its way."""
    if "{lambda" in ours:
        return names.components(ours)[-1].partition("<")[0] in by_gdb
    if "{impl#" in by_gdb or "{closure" in by_gdb:  # where ours has the type and trait that is implemented
        return last_part(ours.removesuffix("::{shim:vtable#0}")) == last_part(by_gdb)
    return f"::{bare(ours)}".endswith(f"::{bare(names.plain_name(by_gdb))}")


def last_part(name: str) -> str:
    """Of Rust: `fmt`, whatever it is implemented for."""
    return bare(names.components(name)[-1]).partition("<")[0].strip("{}").partition("#")[0]


def bare(name: str) -> str:
    return "".join(text for _, text in names.outside(name) if not text.startswith("<"))
