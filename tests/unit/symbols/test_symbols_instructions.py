"""Where instructions begin is what objdump says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import programs

from strobe._core import instruction_length
from strobe.symbols import ElfResolver
from strobe.symbols.objects.instructions import around

BuildProgram = Callable[..., Path]
ROW = re.compile(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(.*)")
WAITS = b"\x9b"  # FWAIT, an instruction of its own that objdump shows as a part of the next one


def disassembled(path: Path) -> Iterator[tuple[int, bytes]]:
    command = [programs.require("objdump"), "-d", "-w", "--section=.text", str(path)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout
    for line in listing.splitlines():
        row = ROW.match(line)
        if row is not None and "(bad)" not in row[3]:
            yield int(row[1], 16), bytes.fromhex(row[2])


@pytest.mark.parametrize("library", ["libc.so.6", "libstdc++.so.6", "libm.so.6"])
def test_lengths_are_those_of_objdump(library: str) -> None:
    """The C library has all vector extensions."""
    path = Path("/lib/x86_64-linux-gnu") / library
    if not path.exists():
        path = Path("/usr/lib/x86_64-linux-gnu") / library
    if not path.exists():
        programs.lack(f"{library} is not there")
    count = 0
    for address, code in disassembled(path):
        count += 1
        if not code.startswith(WAITS):
            assert instruction_length(code) == len(code), hex(address)
            assert instruction_length(code + bytes(15)) == len(code), hex(address)
    assert count > 10_000


@pytest.mark.parametrize("flags", ["-O0", "-O2", "-O3 -march=x86-64-v4"])
def test_each_byte_belongs_to_its_instruction(build_program: BuildProgram, flags: str) -> None:
    program = build_program("line_copies", *flags.split())
    functions = ElfResolver().module(str(program)).functions
    compared = 0
    for address, code in disassembled(program):
        function = next((f for f in functions if f.source_file and f.address <= address < f.address + f.size), None)
        if function is None:
            continue
        for byte in range(len(code)):
            assert around(str(program), function.address, address + byte) == (address, address + len(code))
        compared += 1
    assert compared > 100


@pytest.mark.parametrize(
    "code", ["", "48", "0f", "e8010203", "c5f8", "62f1fd", "06", "0f04c0", "8fe97801c0", "66" * 15 + "90"]
)
def test_what_is_no_instruction_has_no_length(code: str) -> None:
    assert instruction_length(bytes.fromhex(code)) == 0


def test_code_that_is_not_there_has_no_instructions(build_program: BuildProgram) -> None:
    program = str(build_program("line_copies", "-O0"))
    assert around(program, 0x1000, 0x900) is None
    assert around(program, 1 << 40, (1 << 40) + 1) is None
