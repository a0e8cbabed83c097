"""Argument registers are right: what a register holds at the entry is what gdb says that argument is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import gdb_oracle
from support import programs

from strobe.model import FunctionSymbol, Parameter, ValueKind
from strobe.symbols import ElfResolver

BuildProgram = Callable[..., Path]


def compare(program: Path, source: str, folder: Path, *, optimized: bool) -> tuple[int, list[str]]:
    """(how many register assignments were checked, what was wrong)."""
    functions = functions_of(program, source)
    resolver = ElfResolver()
    question = {
        "main": next(f.address for f in resolver.module(str(program)).functions if f.raw_name == "main"),
        "functions": {address: [p.name for p in f.parameters or ()] for address, f in functions.items()},
        "optimized": optimized,
    }
    answer = gdb_oracle.ask("gdb_arguments.py", program, question, folder)
    checks = [
        check
        for address, seen in answer.items()
        for parameter in functions[int(address)].parameters or ()
        if (check := verdict(functions[int(address)], parameter, seen)) is not None
    ]
    return len(checks), [text for text in checks if text]


def functions_of(program: Path, source: str) -> dict[int, FunctionSymbol]:
    resolver = ElfResolver()
    own = [f for f in resolver.module(str(program)).functions if Path(f.source_file or "").name == source]
    return {f.address: f for f in resolver.detail(own)}


def verdict(function: FunctionSymbol, parameter: Parameter, seen: dict[str, object]) -> str | None:
    """Empty when register and value agree, a sentence when not, None where one of them is not known."""
    registers, values = seen["registers"], seen.get("values", {})
    assert isinstance(registers, list) and isinstance(values, dict)
    if parameter.register is None or parameter.name not in values:
        return None
    held, value = word(registers[parameter.register], parameter), word(values[parameter.name], parameter)
    return "" if held == value else f"{function.name}({parameter.name}): register {held:#x}, argument {value:#x}"


def word(value: int, parameter: Parameter) -> int:
    """The bytes that belong to the type; of a bool one bit, as the ABI leaves the others open."""
    if parameter.type.kind is ValueKind.BOOL:
        return value & 1
    return int(value & ((1 << 8 * parameter.type.size) - 1))


GCC_FLAGS = ["-O0", "-O2", "-O0 -gdwarf-4", "-O1 -no-pie -fno-pie", "-O0 -flto"]


@pytest.mark.parametrize("flags", GCC_FLAGS)
def test_gcc_cplusplus(flags: str, build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/signatures", *flags.split())
    checked, wrong = compare(program, "signatures.cpp", tmp_path, optimized="-O0" not in flags)
    assert wrong == []
    assert checked >= 140


@pytest.mark.parametrize("version", [4, 5])
def test_type_units(version: int, build_program: BuildProgram, tmp_path: Path) -> None:
    """gcc's outlines of classes leave out what their functions take, so nothing is claimed of those."""
    program = build_program("symbols/signatures", "-O0", f"-gdwarf-{version}", "-fdebug-types-section")
    checked, wrong = compare(program, "signatures.cpp", tmp_path, optimized=False)
    assert wrong == []
    assert checked >= 120


@pytest.mark.parametrize("flags", ["-O0", "-O2", "-O0 -gdwarf-4"])
def test_clang_cplusplus(flags: str, build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/signatures", *flags.split(), compiler="clang++")
    checked, wrong = compare(program, "signatures.cpp", tmp_path, optimized="-O0" not in flags)
    assert wrong == []
    assert checked >= 130


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("seed", [1, 5])
def test_random_c(seed: int, flags: str, compiler: str, program_cache: Path, tmp_path: Path) -> None:
    source = programs.generate(["symbols/random_signatures.py", str(seed)], program_cache)
    program = programs.build(source, (flags, "-w"), compiler, program_cache)
    checked, wrong = compare(program, source.name, tmp_path, optimized=flags != "-O0")
    assert wrong == []
    assert checked >= 70


def test_rust(build_program: BuildProgram, tmp_path: Path) -> None:
    checked, wrong = compare(build_program("symbols/rustic"), "rustic.rs", tmp_path, optimized=False)
    assert wrong == []
    assert checked >= 14
