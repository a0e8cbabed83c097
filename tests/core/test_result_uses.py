"""What the code behind calls reads of their results, beside objdump's reading of the same instructions."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from support import programs

from strobe._core import result_uses
from strobe.symbols.objects.formats import open_image

LINE = re.compile(r"^\s+([0-9a-f]+):\t(?:(?:data16|rex\S*|repz?) )*(\S+)(?: +(\S.*?))?(?: +#.*)?(?: +<.*>)?$")
LABEL = re.compile(r"^([0-9a-f]+) <.+>:$")
CALL = re.compile(r"^([0-9a-f]+)\b")
OPERANDS = re.compile(r",(?![^()]*\))")
LOOKED = 4
FEW = 3
RAX = re.compile(r"%(?:rax|eax|ax|al)\b")
XMM0 = re.compile(r"%[xy]mm0\b")
IMPLIED = ("cltq", "cwtl")  # rax by itself
ZEROES = ("xor", "sub", "sbb", "xorps", "pxor")
OVERWRITES = ("mov", "lea", "movz", "movs", "movabs", "cvt", "sqrt", "set", "pop")
ENDS = ("j", "call", "ret", "ud2", "hlt", "int3", "leave", "nop", "data16")


def disassembly(path: Path) -> list[str]:
    command = [programs.require("objdump"), "-d", "--no-show-raw-insn", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def instructions(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """(address, mnemonic, operands) of all code."""
    for line in lines:
        if (found := LINE.match(line)) is not None:
            yield int(found[1], 16), found[2], found[3] or ""


def is_read(mnemonic: str, operands: str, register: re.Pattern[str]) -> bool:
    """Whether an instruction reads the register, as far as its text shows; no when in doubt."""
    if register is RAX and mnemonic in IMPLIED:
        return True
    *sources, last = OPERANDS.split(operands)
    if sources and len({*sources, last}) == 1 and mnemonic.startswith(ZEROES):
        return False
    if any(register.search(source) for source in sources) or ("(" in last and register.search(last)):
        return True
    return bool(register.search(last)) and not mnemonic.startswith(OVERWRITES)


def is_written(mnemonic: str, operands: str, register: re.Pattern[str]) -> bool:
    last = OPERANDS.split(operands)[-1]
    return "(" not in last and bool(register.search(last)) and not mnemonic.startswith(("cmp", "test", "push", "ucomi"))


def shown(lines: Iterable[str]) -> dict[int, set[str]]:
    """By target of direct calls, which of rax and xmm0 is read behind one of them."""
    found: dict[int, set[str]] = defaultdict(set)
    listed = list(instructions(lines))
    for number, (_, mnemonic, operands) in enumerate(listed):
        if mnemonic.startswith("call") and (target := CALL.match(operands)) is not None:
            for name, register in (("rax", RAX), ("xmm0", XMM0)):
                for _, each, its in listed[number + 1 : number + 1 + LOOKED]:
                    if each.startswith(ENDS):
                        break
                    if is_read(each, its, register):
                        found[int(target[1], 16)].add(name)
                        break
                    if is_written(each, its, register):
                        break
            found[int(target[1], 16)] |= set()
    return found


@pytest.mark.parametrize("subject", ["rust", "clang++", "g++", "bash", "host"])
def test_no_use_is_found_that_objdump_does_not_show(subject: str, build_program: Callable[..., Path]) -> None:
    if subject == "rust":
        path = build_program("values_rust", "-Copt-level=2")
    elif subject in ("clang++", "g++"):
        programs.require(subject)
        path = build_program("symbols/signatures", "-O2", compiler=subject)
    else:
        import strobe._core

        path = Path("/bin/bash").resolve() if subject == "bash" else Path(strobe._core.__file__)
    lines = disassembly(path)
    expected = shown(lines)
    entries = sorted({*expected, *(int(found[1], 16) for line in lines if (found := LABEL.match(line)) is not None)})
    image = open_image(str(path))
    starts = {start for start, _ in image.executable}
    content = path.read_bytes()
    code = [
        (section.address, content[section.offset : section.offset + section.size])
        for section in image.sections()
        if section.address in starts
    ]
    image.close()
    possible = sum("rax" in found for found in expected.values())
    for has_traps in (True, False):
        uses = dict(zip(entries, result_uses(code, entries, has_traps), strict=True))
        wrong = {
            hex(target): (use, expected.get(target))
            for target, use in uses.items()
            if (use & 1 and "rax" not in expected.get(target, ()))
            or (use & 4 and "xmm0" not in expected.get(target, ()))
        }
        assert not wrong
        seen = sum(bool(use & 1) for use in uses.values())
        print(f"{subject}, traps {has_traps}: {seen} of {possible} results in rax, of {len(entries)} targets")
        assert seen >= (0.8 if has_traps else 0.6) * possible - FEW


IS_CALLED = 16
FIRST, SECOND, THIRD = 0x1000, 0x1010, 0x1020  # where three functions begin


def test_bytes_within_an_instruction_are_no_call() -> None:
    """mov $0x...e8, %rax: what looks like a call of the third function, and test %eax, %eax behind it."""
    call = b"\xe8" + (THIRD - (FIRST + 2 + 5)).to_bytes(4, "little") + b"\x85\xc0\xc3"
    assert uses_of(b"\x48\xb8" + call + b"\xc3") == [0, 0, 0]
    at = FIRST + 1
    assert uses_of(b"\x90\xe8" + (THIRD - (at + 5)).to_bytes(4, "little") + b"\x85\xc0\xc3") == [0, 0, 1]


def test_the_next_function_is_not_what_a_caller_does() -> None:
    """A call that does not return is the last thing of its function; the next one begins with push %rax."""
    at = SECOND - 5
    code = b"\x90" * (at - FIRST) + b"\xe8" + (THIRD - SECOND).to_bytes(4, "little") + b"\x50\x58\xc3"
    assert uses_of(code) == [0, 0, 0]


def uses_of(code: bytes) -> list[int]:
    found = result_uses([(FIRST, code.ljust(0x40, b"\xcc"))], [FIRST, SECOND, THIRD], True)
    return [use & ~IS_CALLED for use in found]
