"""What names mean at an instruction, compared with what the program itself says that they are there."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import programs
from support.oracles.located import fetched, holds

from strobe import _abi
from strobe.errors import StrobeError
from strobe.symbols import ElfResolver
from strobe.symbols.select.line_sites import SourceRange, line_sites
from strobe.symbols.types.model import Encoding, Enum, Scalar
from strobe.values.language import condition
from strobe.values.lookup.address_scope import scope_of_address, scope_of_line
from strobe.values.lookup.expression import parse
from strobe.values.lookup.locations import ValueLocation, location_of
from strobe.values.lookup.scope import Module, Scope
from strobe.values.memory.recipes import decoded_steps

BuildProgram = Callable[..., Path]
BUILDS = [("g++", "-O0"), ("g++", "-O2"), ("g++", "-O1 -gdwarf-4"), ("clang++", "-O0"), ("clang++", "-O2 -gdwarf-4")]
NOT_THERE = re.compile(r"optimized out|is known only as|is computed|in parts|what the compiler has taken apart")


class Stopped:
    """The program at one of its stops."""

    def __init__(self, pid: int, path: Path, told: str, registers: str) -> None:
        self._pid = pid
        self.words = {number: int(word, 16) for number, word in enumerate(registers.split())}
        self.words[_abi.CONTEXT_PC] -= 1  # int3 itself
        self.told = dict(part.split("=") for part in told.strip().split(";"))
        resolver = ElfResolver()
        symbols, details = resolver.module(str(path)), resolver.details(str(path))
        base = next(
            int(line.partition("-")[0], 16)
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
            if line.endswith(str(path))
        )
        self.module = Module(str(path), base, 1 << 20, symbols, details)
        address = self.words[_abi.CONTEXT_PC] - self.module.slide
        self.call = scope_of_address(address, self.module, None)
        function = symbols.function_at(address)
        self.function = "" if function is None else function.name

    def location(self, text: str) -> ValueLocation:
        return location_of(parse(text), Scope(self.module, list), call=self.call)

    def value(self, text: str) -> str:
        """As the program writes it. Raises StrobeError."""
        location = self.location(text)
        plain = location.type.bare
        size = location.type.size or 0
        if location.bits is not None:
            location.recipe.add(location.bits.offset or 0)
        item = fetched(location, self.words, self._read, size)
        assert item.is_there, (self.function, text, item)
        if isinstance(plain, Scalar) and plain.encoding is Encoding.FLOAT:
            return (_double if size == 8 else _float)(item.data).hex()
        is_signed = isinstance(plain, Enum) or (isinstance(plain, Scalar) and plain.is_signed)
        number = int.from_bytes(item.data[:size], "little", signed=is_signed)
        if location.bits is not None:
            bits = location.bits.bit_size or 0
            number = number >> (location.bits.bit_offset or 0) % 8 & (1 << bits) - 1
            number -= (1 << bits) if number >> (bits - 1) else 0
        return str(number) if isinstance(plain, (Scalar, Enum)) else hex(number)

    def holds(self, text: str) -> bool:
        """Whether a condition does."""
        return holds(condition(text, Scope(self.module, list), self.call), self.words, self._read)

    def _read(self, address: int, size: int) -> bytes | None:
        memory = os.open(f"/proc/{self._pid}/mem", os.O_RDONLY)
        try:
            return os.pread(memory, size, address)
        except OSError:
            return None
        finally:
            os.close(memory)


@contextmanager
def running(program: Path) -> Iterator[Iterator[Stopped]]:
    """Each stop, one after the other; the next one lets the program go on."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None and stdout is not None

        def stops() -> Iterator[Stopped]:
            while not (told := stdout.readline()).startswith("end"):
                yield Stopped(process.pid, program, told, stdout.readline())
                stdin.write("g")
                stdin.flush()

        try:
            yield stops()
        finally:
            process.kill()


def _double(data: bytes) -> float:
    return float.fromhex(memoryview(data).cast("d")[0].hex())


def _float(data: bytes) -> float:
    return float.fromhex(memoryview(data).cast("f")[0].hex())


def same(ours: str, theirs: str) -> bool:
    if "0x" in theirs and "p" in theirs:
        return float.fromhex(ours) == float.fromhex(theirs) if "p" in ours else float(ours) == float.fromhex(theirs)
    return ours == theirs


@pytest.mark.parametrize(("compiler", "flags"), BUILDS)
def test_values_are_what_the_program_says(build_program: BuildProgram, compiler: str, flags: str) -> None:
    seen: Counter[str] = Counter()
    wrong = []
    with running(build_program("tells", *flags.split(), compiler=compiler)) as stops:
        for stop in stops:
            seen["stops"] += 1
            for text, told in stop.told.items():
                try:
                    value = stop.value(text)
                except StrobeError as error:
                    assert "-O0" not in flags and NOT_THERE.search(str(error)), (stop.function, text, str(error))
                    seen["not there"] += 1
                    continue
                seen["told"] += 1
                if not same(value, told):
                    wrong.append((stop.function, text, value, told))
                if "->" not in text and re.fullmatch(r"-?\d+", told):
                    seen["conditions"] += 1
                    tests = f"{text} == {told}", f"{text} < {int(told) + 1}", f"!({text} < {told})"
                    wrong += [(stop.function, test, value, told) for test in tests if not stop.holds(test)]
    assert wrong == []
    assert seen["stops"] == 18, seen
    assert seen["told"] > seen["not there"] and seen["conditions"] > 20, seen


LINES = programs.source_of("tells").read_text().splitlines()


def line_of(text: str) -> int:
    (found,) = (number for number, line in enumerate(LINES, 1) if text in line)
    return found


class AtLine:
    """Names where a line of the program begins. `given`: whether it is known what calls are given."""

    def __init__(self, program: Path, text: str, *, given: bool = False) -> None:
        resolver = ElfResolver()
        symbols, details = resolver.module(str(program)), resolver.details(str(program))
        assert details is not None
        line = line_of(text)
        (site,) = line_sites(SourceRange("tells.cpp", line, line), symbols, details)
        self.module = Module(str(program), symbols.link_base, 1 << 20, symbols, details)
        (values,) = resolver.call_values([site.function])
        self.address = site.address + self.module.slide
        self.call = scope_of_line(site, self.module, values if given else None)

    def location(self, text: str) -> ValueLocation:
        return location_of(parse(text), Scope(self.module, list), call=self.call)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_variables_have_no_value_before_they_are_declared(build_program: BuildProgram, compiler: str) -> None:
    program = build_program("tells", "-O0", compiler=compiler)
    at = AtLine(program, "int kept = number - sink;")
    assert at.call.names == ["number"]
    with pytest.raises(StrobeError, match=rf"result is declared only at tells.cpp:{line_of('int result = inner')}\."):
        at.location("result")
    with pytest.raises(StrobeError, match="kept is declared by this very line"):
        at.location("kept")
    with pytest.raises(StrobeError, match=r"(one|'one') (is declared only at tells.cpp|not found)"):
        AtLine(program, "pair{add(4), 9}").location("one")
    assert AtLine(program, "int result = inner(").call.names == ["kept", "number"]
    # the local of that name comes later: the global is meant
    before = AtLine(program, "sink = static_cast<int>(value);")
    assert before.call.location("hidden") is None
    assert decoded_steps(before.location("hidden").recipe)[0][0] == "BASE"
    after = AtLine(program, "return hidden;")
    assert [name for name, *_ in decoded_steps(after.location("hidden").recipe)][:2] == ["PASSED", "DEREF"]


def test_unknown_names_are_refused_with_those_in_scope(build_program: BuildProgram) -> None:
    at = AtLine(build_program("tells", "-O0"), "int result = inner(")
    with pytest.raises(StrobeError, match=r"'kapt' not found.*Names like it: kept"):
        at.location("kapt")
    with pytest.raises(StrobeError, match=r"\$nonsense.*\$rax"):
        at.location("$nonsense")


def test_registers_have_their_words(build_program: BuildProgram) -> None:
    at = AtLine(build_program("tells", "-O0"), "int result = inner(")
    words = {"$rax": 0, "$rdx": 1, "$rsp": _abi.CONTEXT_RSP, "$sp": _abi.CONTEXT_RSP, "$r15": 15}
    vectors = {"$xmm0": _abi.CONTEXT_XMM0, "$xmm15": _abi.PASSED_WORDS - 1}
    for name, word in (words | vectors).items():
        location = at.location(name)
        assert decoded_steps(location.recipe) == [("PASSED", word, 1)]
        needs = at.call.needs(location.recipe)
        assert needs & ~_abi.NEEDS_VECTORS == _abi.NEEDS_PASSED | _abi.NEEDS_CONTEXT
        assert bool(needs & _abi.NEEDS_VECTORS) == (name in vectors)
    for name in ("$rip", "$pc"):  # the probe knows where it is
        assert at.location(name).is_value and decoded_steps(at.location(name).recipe) == [("BASE", at.address, 0)]
        assert at.call.needs(at.location(name).recipe) == 0


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_functions_first_line_sees_what_the_caller_passed(build_program: BuildProgram, compiler: str) -> None:
    """Nothing is stored in the frame there yet."""
    program = build_program("tells", "-O0", compiler=compiler)
    at = AtLine(program, "APART int many(", given=True)
    assert decoded_steps(at.location("a").recipe) == [("PASSED", 5, 1)]  # rdi
    assert decoded_steps(at.location("f").recipe) == [("PASSED", 9, 1)]  # r9
    on_stack = [("PASSED", 7, 1), ("DEREF", 0, 0), ("ADD", 8, 0)]  # above the return address
    assert decoded_steps(at.location("g").recipe) == on_stack
    with pytest.raises(StrobeError, match=r"a is not stored yet|a is in the frame, which is not set up"):
        AtLine(program, "APART int many(").location("a")
    with pytest.raises(StrobeError, match=r"numbers is not stored yet|numbers is declared only at"):
        at.location("numbers")


def test_what_a_lambda_has_captured_is_not_known_before_it_is_stored(build_program: BuildProgram) -> None:
    program = build_program("line_copies", "-O0")
    resolver = ElfResolver()
    symbols, details = resolver.module(str(program)), resolver.details(str(program))
    assert details is not None
    line = next(
        n
        for n, text in enumerate(programs.source_of("line_copies").read_text().splitlines(), 1)
        if "// CLOSURE" in text
    )
    found = line_sites(SourceRange("line_copies.cpp", line, line), symbols, details)
    (site,) = (site for site in found if site.function.name.endswith("operator()"))
    module = Module(str(program), symbols.link_base, 1 << 20, symbols, details)
    (values,) = resolver.call_values([site.function])
    call = scope_of_line(site, module, values)
    assert site.is_entry
    assert decoded_steps(location_of(parse("more"), Scope(module, list), call=call).recipe) == [("PASSED", 4, 1)]
    with pytest.raises(StrobeError, match="count is not stored yet"):
        call.location("count")


def test_what_is_optimized_out_tells_where_it_has_a_value(build_program: BuildProgram) -> None:
    program = build_program("tells", "-O2")
    reasons = []
    for text in ("int result = inner(", "int kept = number - sink;", "double total = 0;", "int value = depth;"):
        at = AtLine(program, text)
        for name in at.call.names:
            with contextlib.suppress(StrobeError):
                at.location(name)
                continue
            with pytest.raises(StrobeError) as refused:
                at.location(name)
            reasons.append(str(refused.value))
    told = [
        found
        for reason in reasons
        if (found := re.search(r"optimized out at .*; it has a value at lines? (\d+)", reason))
    ]
    assert told, reasons
    for found in told:
        assert LINES[int(found[1]) - 1].strip()
