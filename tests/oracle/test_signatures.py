"""What the native reader says of functions' parameters is what pyelftools says, DIE by DIE."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import signature_dies
from support import programs

from strobe.symbols import ElfResolver
from strobe.symbols.function_table import FunctionTable

BuildProgram = Callable[..., Path]
VARIANTS = [
    ("symbols/signatures", "g++", "-O0"),
    ("symbols/signatures", "g++", "-O2"),
    ("symbols/signatures", "g++", "-O2 -flto"),
    ("symbols/signatures", "g++", "-O1 -gdwarf-3"),
    ("symbols/signatures", "g++", "-O1 -gdwarf-4 -fdebug-types-section"),
    ("symbols/signatures", "g++", "-O0 -gdwarf-5 -fdebug-types-section"),
    ("symbols/signatures", "clang++", "-O0"),
    ("symbols/signatures", "clang++", "-O2 -gdwarf-4"),
    ("symbols/signatures", "clang++", "-O2 -gdwarf-5"),
    ("symbols/locals_of_c", "gcc", "-O2"),
    ("symbols/rustic", "rustc", ""),
    ("symbols/rustic", "rustc", "-O"),
]


def compare(program: Path) -> int:
    """How many parameters were compared; fails where a row differs."""
    resolver = ElfResolver()
    functions = resolver.module(str(program)).functions
    assert isinstance(functions, FunctionTable)
    details = resolver.details(str(program))
    assert details is not None
    debug_info = details.debug_info
    dies = functions.dies(range(len(functions)))
    compared = 0
    for die, row in zip(dies, debug_info.signatures(dies), strict=True):
        assert row is not None
        assert signature_dies.fields_of(row) == signature_dies.row_at(debug_info.dwarf, die)
        compared += len(row.parameters)
    return compared


@pytest.mark.parametrize(("name", "compiler", "flags"), VARIANTS)
def test_rows_are_those_of_pyelftools(name: str, compiler: str, flags: str, build_program: BuildProgram) -> None:
    assert compare(build_program(name, *flags.split(), compiler=compiler)) > 5


@pytest.mark.parametrize("form", ["-gdwarf-4", "-gdwarf-5"])
def test_rows_of_files_that_dwz_made_smaller(form: str, build_program: BuildProgram, tmp_path: Path) -> None:
    """Common parts are in a file of their own."""
    for name, flags in (("first", ("-O1",)), ("second", ("-O2",))):
        shutil.copy(build_program("symbols/signatures", form, *flags), tmp_path / name)
    command = [programs.require("dwz"), "-m", "common", "first", "second"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert compare(tmp_path / "first") > 10


def test_one_call_reads_all(build_program: BuildProgram) -> None:
    """A DIE that is none gives nothing, and the others are read; functions by the thousand do not use up a bound."""
    program = build_program("symbols/signatures", "-O0")
    resolver = ElfResolver()
    functions = resolver.module(str(program)).functions
    assert isinstance(functions, FunctionTable)
    details = resolver.details(str(program))
    assert details is not None
    dies = functions.dies(range(len(functions)))
    rows = details.debug_info.signatures([*dies, 1, 1 << 40, *dies])
    assert rows[len(dies) : len(dies) + 2] == [None, None]
    assert None not in rows[: len(dies)] and rows[: len(dies)] == rows[len(dies) + 2 :]
