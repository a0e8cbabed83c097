"""At every instruction: what is in scope is what gdb says, and what locations describe is what gdb prints.

The program runs in gdb to each instruction once; registers and memory are saved there, and values read from them here.
"""

from __future__ import annotations

import os
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from oracle import gdb_oracle
from support.oracles.located import Machine, Reader, Unknown, fetched

from strobe import _abi
from strobe.errors import StrobeError
from strobe.symbols import ElfResolver
from strobe.symbols.dwarf.locations import AtCfa, ImplicitPointer, OptimizedOut, Pieces
from strobe.symbols.dwarf.registers import NAMES, RETURN_ADDRESS, register_name
from strobe.symbols.frames.model import Frame, Local
from strobe.symbols.frames.module_frames import Frames
from strobe.symbols.types.model import Array, Reference
from strobe.values.lookup.address_scope import scope_of_address
from strobe.values.lookup.locations import ValueLocation
from strobe.values.lookup.scope import Module

MOST_BYTES = 4096
BuildProgram = Callable[..., Path]
IS_BIG = os.environ.get("STROBE_BIG_ORACLE") == "1"
# what tells types apart; `long int` is `long`
WORDS = re.compile(r"\b(?!(?:struct|class|union|enum|int|variable|length)\b)[\w:]+|[^\w\s]")
Row = tuple[str, bool, str, int]  # name, whether it is a parameter, type, line
VARIANTS = [
    ("symbols/locals", "g++", "-O0"),
    ("symbols/locals", "g++", "-O2"),
    ("symbols/locals", "g++", "-O2 -gdwarf-4"),
    ("symbols/locals", "g++", "-O1 -flto"),
    ("symbols/locals", "clang++", "-O0 -gdwarf-5"),
    ("symbols/locals", "clang++", "-O2"),
    ("symbols/locals", "clang++", "-O2 -gdwarf-5"),
    ("symbols/locals_of_c", "gcc", "-O0 -gdwarf-4"),
    ("symbols/locals_of_c", "gcc", "-O2 -no-pie -fno-asynchronous-unwind-tables"),
    ("symbols/locals_of_c", "clang", "-O2 -gdwarf-4 -Wl,--no-eh-frame-hdr"),
    ("symbols/rustic", "rustc", ""),
    ("symbols/rustic", "rustc", "-Copt-level=2"),
]
BIG_VARIANTS = [
    ("symbols/signatures", "g++", "-O0 -gdwarf-4 -fdebug-types-section"),
    ("symbols/signatures", "g++", "-O2"),
    ("symbols/signatures", "clang++", "-O2 -gdwarf-5"),
    ("symbols/locals", "g++", "-O2 -gdwarf-2"),
    ("symbols/locals", "g++", "-O2 -gdwarf64"),
    ("symbols/locals", "g++", "-O3 -ffunction-sections -gno-variable-location-views"),
]


class Comparison:
    """One program, all its instructions."""

    def __init__(self, program: Path, folder: Path, *, is_lenient: bool = False) -> None:
        """`is_lenient`: of library code. gdb counts variables of blocks that have no code left among those of the
        function around, and spells types its way.
        """
        self.is_lenient = is_lenient
        resolver = ElfResolver()
        symbols = resolver.module(str(program))
        details = resolver.details(str(program))
        assert details is not None
        self.frames: Frames = details.frames
        own = [f for f in symbols.functions if Path(f.source_file or "").name.startswith(program.name)]
        question = {
            "main": next(f.address for f in symbols.functions if f.raw_name == "main"),
            "functions": [[f.address, f.address + f.size] for f in own if f.size],
            "step": 1,
        }
        self.answer = gdb_oracle.ask("gdb_frames.py", program, question, folder)
        self.tls_size = tls_size(program)
        base = self.answer["slide"] + symbols.link_base
        self.module = Module(str(program), base, 1 << 20, symbols, details)
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []

    def scopes(self) -> None:
        """Names, types and lines of what is in scope, and the functions around each address."""
        for address, blocks in self.answer["scopes"].items():
            frame = self.frames.at(int(address))
            if frame is None:
                self.differs(int(address), "no frame", blocks)
                continue
            theirs = list(by_call(blocks))
            if len(theirs) != len(frame.calls):
                self.differs(int(address), [call.name for call in frame.calls], blocks)
                continue
            for call, rows in zip(frame.calls, theirs, strict=True):
                self.seen["calls"] += 1
                self.scope(int(address), [shown(local) for local in named(call)], rows)

    def scope(self, address: int, ours: list[Row], theirs: list[Row]) -> None:
        self.seen["variables"] += len(ours)
        left = Counter(row[:2] + row[3:] for row in theirs)
        left.subtract(row[:2] + row[3:] for row in ours)
        known = {
            (row[0], row[3]) for row in ours
        }  # gdb has some twice, of the abstract instance and of the concrete one
        more = [row for row, count in left.items() if count > 0 and (row[0], row[2]) not in known]
        wrong = [row for row, count in left.items() if count < 0] + ([] if self.is_lenient else more)
        types: dict[tuple[str, int], set[str]] = defaultdict(set)
        for name, _, kind, line in theirs:
            types[name, line].add(kind)
        others = [row for row in ours if not any(same_type(row[2], kind) for kind in types[row[0], row[3]])]
        if wrong or (others and not self.is_lenient):
            self.differs(address, (ours, wrong, others), theirs)

    def values(self) -> None:
        for address, stop in self.answer["stops"].items():
            frame = self.frames.at(int(address))
            if frame is None:
                continue  # told by scopes()
            reader = Reader(self.machine(stop), frame)
            self.caller(frame, reader, stop)
            self.places(frame, stop["places"])
            for local, value in self.pairs(frame, self.answer["scopes"][address], stop["values"]):
                verdict = self.verdict(reader, local, value)
                self.seen[verdict.partition(":")[0]] += 1
                if verdict.startswith("wrong"):
                    self.differs(int(address), f"{local.name}: {local.location}", (value, verdict))

    def names(self) -> None:
        """What names mean is what gdb prints, or refused; but at a function's entry, where gdb reads the frame that is
        not there yet."""
        for address, stop in self.answer["stops"].items():
            frame = self.frames.at(int(address))
            function = self.module.symbols.function_at(int(address))
            if frame is None or function is None:
                continue
            scope = scope_of_address(int(address), self.module, None)
            machine = self.machine(stop)
            words = {number: machine.registers.get(name, 0) for number, name in enumerate(NAMES[: _abi.PASSED_WORDS])}
            for local, value in self.pairs(frame, self.answer["scopes"][address], stop["values"]):
                level = next(number for number, call in enumerate(frame.calls) if local in named(call))
                name = f"{frame.calls[level].name}::{local.name}" if level else local.name
                if value is None or local.is_shadowed:
                    continue
                try:
                    location = scope.location(name)
                except StrobeError:
                    self.seen["refused"] += value != "out"
                    continue
                if location is not None:
                    self.named_value(int(address), local, location, words, machine, value)

    def named_value(
        self, address: int, local: Local, location: ValueLocation, words: dict[int, int], machine: Machine, value: Any
    ) -> None:
        def read(at: int, size: int) -> bytes | None:
            try:
                return machine.read(at, size)
            except Unknown:
                return None

        size = 8 if isinstance(local.type.bare, Reference) else local.type.size or 0
        item = fetched(location, words, read, min(size, MOST_BYTES))
        if value == "out":
            if item.is_there:
                self.differs(address, f"{local.name} has a value: {local.location}", value)
        elif item.is_there and size <= MOST_BYTES:
            verdict = of_bytes(item.data, size, local, value)
            if "address" in value and item.address != value["address"]:
                verdict = f"wrong: at {item.address:#x}"
            self.seen["named" if verdict == "same" else "not compared"] += 1
            if verdict.startswith("wrong"):
                self.differs(address, f"{local.name}: {local.location}", (value, verdict))

    def machine(self, stop: dict[str, Any]) -> Machine:
        slide = self.answer["slide"]
        memory = [(start, bytes.fromhex(content)) for start, content in stop["memory"]]
        machine = Machine(stop["registers"], memory, slide)
        if "fs_base" in stop["registers"] and self.tls_size is not None:
            machine.tls = stop["registers"]["fs_base"] - self.tls_size
        if stop["caller"] is not None:
            around, pc = Machine(stop["caller"]["registers"], memory, slide), stop["caller"]["pc"]
            is_own = 0 < pc < 1 << 40
            site = self.frames.call_site(pc) if is_own else None
            machine.caller = around, self.frames.at(pc - 1) if is_own else None, site
            self.seen["call sites"] += site is not None
        return machine

    def caller(self, frame: Frame, reader: Reader, stop: dict[str, Any]) -> None:
        """The caller's registers are where the tables say."""
        if stop["caller"] is None or frame.layout is None:
            return
        theirs = stop["caller"]["registers"]
        expected = {7: AtCfa(0), **frame.layout.saved}
        for number, location in expected.items():
            size = 8
            ours = reader.cfa() if number == 7 else int.from_bytes(reader.bytes_of(location, size), "little")
            name = "rip" if number == RETURN_ADDRESS else register_name(number)
            self.seen["registers"] += 1
            if theirs[name] != ours:
                self.differs(frame.address, f"caller's {name}: {ours:#x}", hex(theirs[name]))

    def places(self, frame: Frame, theirs: list[Any]) -> None:
        """Where inlined calls stand in the source. At the first instruction of one gdb is still outside it."""
        calls = frame.calls[:-1]
        ours = [[call.location.file, call.location.line] for call in calls if call.location is not None]
        assert len(ours) == len(calls)
        self.seen["places"] += len(theirs)
        if theirs != ours[len(ours) - len(theirs) :]:
            self.differs(frame.address, ours, theirs)

    def pairs(self, frame: Frame, blocks: list[Any], values: list[Any]) -> Iterator[tuple[Local, Any]]:
        """Our locals with gdb's values; of those of one name in one call the innermost first.

        Left out is what gdb has twice.
        """
        waiting: dict[tuple[int, str, int], list[Local]] = defaultdict(list)
        for number, call in enumerate(frame.calls):
            for local in named(call):
                waiting[number, local.name, local.line or 0].append(local)
        found: dict[tuple[int, str, int], list[Any]] = defaultdict(list)
        number, left = 0, iter(values)
        for block in blocks:
            for name, _, _, line in block["variables"]:
                found[number, name, line].append(next(left))
            number += block["function"] is not None
        for key, same in found.items():
            if len(same) == len(waiting[key]):
                yield from zip(reversed(waiting[key]), same, strict=True)

    def verdict(self, reader: Reader, local: Local, value: Any) -> str:
        """Begins with "same", "wrong", "unknown" (cannot be compared) or "out"."""
        if value is None:
            return "unknown: gdb"
        if value == "out":
            return self.is_out(reader, local)
        if isinstance(local.location, OptimizedOut):
            return "wrong: nothing"
        try:
            return compared(reader, local, value)
        except Unknown as reason:
            return f"unknown: {reason}"

    def is_out(self, reader: Reader, local: Local) -> str:
        """gdb says "optimized out" for parts, too, and where the caller does not tell the value at entry."""
        if isinstance(local.location, (OptimizedOut, Pieces, ImplicitPointer)):
            return "out"
        try:
            found = reader.bytes_of(local.location, local.type.size or 8)
        except Unknown as reason:
            return f"unknown: {reason}"
        return f"wrong: {found.hex()}"

    def differs(self, address: int, ours: object, theirs: object) -> None:
        self.wrong.append(f"{address:#x}: {ours} instead of {theirs}")


def compared(reader: Reader, local: Local, value: dict[str, Any]) -> str:
    size = 8 if isinstance(local.type.bare, Reference) else local.type.size or 0
    if "fields" in value:
        content = int.from_bytes(reader.bytes_of(local.location, size), "little")
        for start, bits, number in value["fields"]:
            if number != "out" and content >> start & (1 << bits) - 1 != number:
                return f"wrong: {content:#x}"
        return "same"
    address = reader.address(local.location)
    if address is None and isinstance(local.type.bare, Array):
        return "unknown: gdb"  # it puts arrays that are nowhere into the program, to have an address
    if "address" in value and address != value["address"]:
        return f"wrong: at {address}"
    number = value["number"]
    if number is None or isinstance(local.type.bare, Array):
        return "same" if "address" in value else "unknown: gdb"
    return of_bytes(reader.bytes_of(local.location, size), size, local, value)


def of_bytes(content: bytes, size: int, local: Local, value: dict[str, Any]) -> str:
    """A value whose bytes have been read."""
    if "fields" in value:
        bits = int.from_bytes(content, "little")
        parts = [(start, count, number) for start, count, number in value["fields"] if number != "out"]
        return "same" if all(bits >> start & (1 << n) - 1 == number for start, n, number in parts) else "wrong"
    number = value["number"]
    if number is None or isinstance(local.type.bare, Array):
        return "same" if "address" in value else "unknown: gdb"
    if isinstance(number, dict):
        (ours,) = struct.unpack("<f" if size == 4 else "<d", content)
        return "same" if repr(ours) == repr(number["float"]) else f"wrong: {ours}"
    return "same" if int.from_bytes(content, "little") == number else f"wrong: {content.hex()}"


def named(call: Any) -> list[Local]:
    return [local for local in (*call.parameters, *call.locals) if local.name]


def shown(local: Local) -> Row:
    return local.name, local.is_parameter, local.type.name, local.line or 0


def by_call(blocks: list[Any]) -> Iterator[list[Row]]:
    rows: list[Row] = []
    for block in blocks:
        rows += [(name, is_argument, kind, line) for name, is_argument, kind, line in block["variables"]]
        if block["function"] is not None:
            yield rows
            rows = []


def same_type(ours: str, theirs: str) -> bool:
    """gdb spells base types its way, does not say in which function a local type is, and knows no pointers of Rust."""
    words, others = WORDS.findall(ours), WORDS.findall(theirs)
    if sorted(words) == sorted(others) or "&" in ours[:1] or "*" in ours[:1] or "[" in ours[:1]:
        return True
    return ours.endswith("::" + theirs.rpartition(" ")[2])


def tls_size(program: Path) -> int | None:
    """Bytes from the start of the program's thread-local block to the thread pointer."""
    with program.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_TLS"):
            return int(-(-segment["p_memsz"] // segment["p_align"]) * segment["p_align"])
    return None


@pytest.fixture(params=VARIANTS + (BIG_VARIANTS if IS_BIG else []), ids=" ".join)
def comparison(request: pytest.FixtureRequest, build_program: BuildProgram, tmp_path: Path) -> Comparison:
    name, compiler, flags = request.param
    program = build_program(name, *flags.split(), compiler=compiler)
    return Comparison(program, tmp_path, is_lenient=compiler == "rustc" or name == "symbols/signatures")


def test_scopes_and_values_are_those_of_gdb(comparison: Comparison) -> None:
    comparison.scopes()
    comparison.values()
    comparison.names()
    seen = comparison.seen
    assert comparison.wrong == [], seen
    assert seen["same"] > 200 and seen["registers"] > 100, seen
    assert seen["places"] > 0 or seen["call sites"] == 0, seen
    assert seen["unknown"] < seen["same"] / 4, seen
    assert seen["named"] > seen["refused"] and seen["named"] > 100, seen
