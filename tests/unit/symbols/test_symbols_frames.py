"""Where values are: forms that compilers seldom write, in bytes made here; scopes, statics, call sites of programs."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from support import debug_files

from strobe.errors import StrobeError
from strobe.symbols import ElfResolver
from strobe.symbols.details import ModuleDetails
from strobe.symbols.dwarf.expressions import BaseType, Operation, Surroundings, operations_of
from strobe.symbols.dwarf.location_lists import ListEntry, read_new, read_old
from strobe.symbols.dwarf.locations import (
    AtAddress,
    AtCfa,
    AtFrameBase,
    AtRegister,
    Computed,
    Constant,
    EntryValue,
    ImplicitPointer,
    InRegister,
    Location,
    OptimizedOut,
    Piece,
    Pieces,
    ThreadLocal,
    location_of,
)
from strobe.symbols.frames.cfi import CallFrames
from strobe.symbols.frames.model import Frame, Local
from strobe.symbols.frames.tables import FrameSection
from strobe.symbols.objects.damage import UNREADABLE

BuildProgram = Callable[..., Path]
UNIT = Surroundings(5, 8, 4, 0x100, lambda index: 0x5000 + index, lambda offset: BaseType(5, offset - 0x100))


def described(content: str) -> Location:
    operations = operations_of(bytes.fromhex(content), UNIT)
    return location_of(operations, lambda offset: AtAddress(offset))


DESCRIBED = [
    ("", OptimizedOut()),
    ("55", InRegister(5)),
    ("9011", InRegister(17)),
    ("916c", AtFrameBase(-20)),
    ("91 6c 23 04", AtFrameBase(-16)),
    ("9c", AtCfa(0)),
    ("9c 11 70 22", AtCfa(-16)),
    ("77 08", AtRegister(7, 8)),
    ("92 11 08", AtRegister(17, 8)),
    ("03 1020000000000000", AtAddress(0x2010)),
    ("03 1020000000000000 23 08", AtAddress(0x2018)),
    ("a1 03", AtAddress(0x5003)),
    ("fb 03", AtAddress(0x5003)),
    ("0e 0800000000000000 e0", ThreadLocal(8)),
    ("a2 04 9b", ThreadLocal(0x5004)),
    ("35 9f", Constant(5)),
    ("09 ff 9f", Constant(-1)),
    ("0c ffffffff 9f", Constant(0xFFFFFFFF)),
    ("9e 02 0102", Constant(b"\x01\x02")),
    ("a3 01 55 9f", EntryValue(5)),
    ("f3 01 54 9f", EntryValue(4)),
    ("a0 40000000 08", ImplicitPointer(0x40, 8, AtAddress(0x40))),
    ("f2 40000000 7f", ImplicitPointer(0x40, -1, AtAddress(0x40))),
    ("55 93 08 93 04", Pieces((Piece(InRegister(5), 64), Piece(OptimizedOut(), 32)))),
    ("35 9f 9d 05 03", Pieces((Piece(Constant(5), 5, 3),))),
    ("55 f0", InRegister(5)),
    ("75 08 9f", Computed((Operation("register_plus", (5, 8)),), is_value=True)),
    ("91 6c 06", Computed((Operation("fbreg", (-20,)), Operation("deref")), is_value=False)),
]


@pytest.mark.parametrize(("content", "location"), DESCRIBED)
def test_expressions_become_locations(content: str, location: Location) -> None:
    assert described(content) == location
    assert str(location)


def test_operations_of_other_forms() -> None:
    content = "2f0100 96 28fcff f5 03 04 a8 00 a4 08 02 0304 fa 10000000 99 20000000 15 02"
    assert operations_of(bytes.fromhex(content), UNIT) == (
        Operation("skip", (2,)),
        Operation("nop"),
        Operation("bra", (1,)),
        Operation("regval_type", (3, BaseType(5, 4))),
        Operation("convert", (BaseType(0, 8),)),
        Operation("const_type", (BaseType(5, 8), b"\x03\x04")),
        Operation("parameter_ref", (0x110,)),
        Operation("call", (0x120,)),
        Operation("pick", (2,)),
    )


@pytest.mark.parametrize("content", ["91", "03 00", "ff", "2f 0100 10 05", "9e 09 00", "a3 05 55", "55 93 08 50", "93"])
def test_what_is_no_expression_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        described(content)


def test_nesting_of_expressions_is_bounded() -> None:
    content = b"\x55"
    for _ in range(6):
        content = bytes([0xA3, len(content)]) + content
    with pytest.raises(ValueError, match="unterminated"):
        operations_of(content, UNIT)


def test_location_lists_of_dwarf_4() -> None:
    section = struct.pack("<QQHB", 0x10, 0x20, 1, 0x55) + struct.pack("<QQHB", 0x20, 0x20, 1, 0x56)
    section += struct.pack("<QQ", 2**64 - 1, 0x9000) + struct.pack("<QQH2s", 0, 4, 2, b"\x91\x00") + bytes(16)
    expected = [ListEntry(0x1010, 0x1020, b"\x55"), ListEntry(0x1020, 0x1020, b"\x56")]
    expected += [ListEntry(0x9000, 0x9004, b"\x91\x00")]
    assert list(read_old(b"\xee" + section, 1, 0x1000, 8)) == expected
    with pytest.raises((ValueError, struct.error)):
        list(read_old(section[:-1], 0, 0x1000, 8))


def test_location_lists_of_dwarf_5() -> None:
    address = struct.Struct("<Q").pack
    entries = [
        b"\x09\x01\x02",  # a pair of views
        b"\x04\x10\x20\x01\x50",  # offsets from the unit's base
        b"\x01\x03\x04\x01\x02\x01\x51",  # a base by index, then offsets
        b"\x06" + address(0x7000) + b"\x04\x01\x02\x01\x52",  # a base
        b"\x02\x10\x20\x01\x53",  # both by index
        b"\x03\x10\x05\x01\x54",  # start by index, length
        b"\x05\x01\x55",  # where nothing else holds
        b"\x07" + address(0x8000) + address(0x8004) + b"\x01\x56",
        b"\x08" + address(0x9000) + b"\x08\x01\x57",
    ]
    found = list(read_new(b"".join(entries) + b"\0", 0, 0x1000, 8, lambda index: 0x5000 + index))
    places = [(0x1010, 0x1020), (0x5004, 0x5005), (0x7001, 0x7002), (0x5010, 0x5020), (0x5010, 0x5015)]
    places += [(0, 2**64 - 1), (0x8000, 0x8004), (0x9000, 0x9008)]
    assert [(entry.start, entry.end) for entry in found] == places
    assert [entry.content[0] - 0x50 for entry in found] == list(range(8))
    assert [entry.is_default for entry in found].index(True) == 5
    for content in (b"".join(entries), b"\x0b\0", b"\x04\xff", b"\x04" + b"\x80" * 20):
        with pytest.raises(ValueError, match=r"."):
            list(read_new(content, 0, 0, 8, lambda index: 0))


def frame_section(instructions: bytes, *, is_eh: bool) -> FrameSection:
    """A CIE with CFA rsp + 8 and the return address there, and an FDE of [0x1000, 0x1100)."""
    common = b"\x01zR\0\x01\x78\x10\x01\0" if is_eh else b"\x03\0\x01\x78\x10"
    common += b"\x0c\x07\x08\x90\x01"
    link = struct.pack("<I", 0 if is_eh else 0xFFFFFFFF)
    first = struct.pack("<I", len(link + common)) + link + common
    place = len(first) + 4
    body = struct.pack("<I", place if is_eh else 0) + struct.pack("<QQ", 0x1000, 0x100) + (b"\0" if is_eh else b"")
    second = struct.pack("<I", len(body + instructions)) + body + instructions
    return FrameSection(first + second + (bytes(4) if is_eh else b""), 0x4000 if is_eh else 0)


@pytest.mark.parametrize("is_eh", [False, True])
def test_frames_follow_the_instructions(is_eh: bool) -> None:
    # push rbp; rbp = rsp; remember; pop, ret; restore; lost and expressions
    steps = "41 0e10 8602 43 0d06 0a 44 0c0708 c6 41 0b 41 0703 1004 02 9106 160c 01 30 41 0f 03 77 08 06 41 140d02"
    section = frame_section(bytes.fromhex(steps), is_eh=is_eh)
    frames = CallFrames({".eh_frame" if is_eh else ".debug_frame": section})
    cfas = {address: at.cfa for address in range(0x1000, 0x1010) if (at := frames.at(address)) is not None}
    assert cfas[0x1000] == AtRegister(7, 8) and cfas[0x1001] == AtRegister(7, 16)
    assert cfas[0x1003] == AtRegister(7, 16) and cfas[0x1004] == AtRegister(6, 16)
    assert cfas[0x1008] == AtRegister(7, 8) and cfas[0x1009] == AtRegister(6, 16)
    assert cfas[0x100B] == Computed((Operation("register_plus", (7, 8)), Operation("deref")), is_value=False)
    last = frames.at(0x100C)
    assert last is not None and last.saved[6] == AtCfa(-16) and last.saved[16] == AtCfa(-8)
    assert last.saved[3] == OptimizedOut()
    cfa = Operation("call_frame_cfa")
    assert last.saved[4] == Computed((cfa, Operation("fbreg", (6,))), is_value=False)
    assert last.saved[12] == Computed((cfa, Operation("const", (0,))), is_value=True)
    assert last.saved[13] == Computed((cfa, Operation("const", (-16,)), Operation("plus")), is_value=True)
    at_1008 = frames.at(0x1008)
    assert at_1008 is not None and 6 not in at_1008.saved
    assert frames.at(0xFFF) is None and frames.at(0x1100) is None


def details_of(program: Path) -> ModuleDetails:
    details = ElfResolver().details(str(program))
    assert details is not None
    return details


def frame_at(details: ModuleDetails, file: str, line: int) -> Frame:
    frame = details.frames.at(details.lines.of(file, line).locations[0].address)
    assert frame is not None
    return frame


def line_of(text: str, source: str = "locals.cpp") -> int:
    lines = (Path(__file__).parents[2] / "programs/symbols" / source).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def local(frame: Frame, name: str) -> list[Local]:
    return [found for found in frame.calls[0].locals if found.name == name]


def test_inner_variables_hide_outer_ones(build_program: BuildProgram) -> None:
    details = details_of(build_program("symbols/locals", "-O0"))
    inside = local(frame_at(details, "locals.cpp", line_of("sink = static_cast<int>(value) + text[i]")), "value")
    assert [(found.type.name, found.is_shadowed) for found in inside][:2] == [("int", True), ("int", True)]
    assert len(inside) == 3 and not inside[2].is_shadowed
    assert len({found.location for found in inside}) == 3
    outside = local(frame_at(details, "locals.cpp", line_of("return value + sink")), "value")
    assert [found.is_shadowed for found in outside] == [False]


def test_methods_statics_and_parameters(build_program: BuildProgram) -> None:
    details = details_of(build_program("symbols/locals", "-O0"))
    call = frame_at(details, "locals.cpp", line_of("total += once + sink")).calls[0]
    assert call.name == "shapes::Box::area" and call.location is None
    assert [(p.name, p.is_artificial) for p in call.parameters] == [("this", True), ("times", False)]
    (calls, *others) = local(frame_at(details, "locals.cpp", line_of("seen += calls")), "calls")
    assert isinstance(calls.location, AtAddress) and calls.line == line_of("static int calls") and others == []


def test_inlined_calls_say_where_they_were_called(build_program: BuildProgram) -> None:
    details = details_of(build_program("symbols/locals", "-O2"))
    line = line_of("int doubled = number * 2")
    chains = [
        [(call.name, call.location.line if call.location else None) for call in frame.calls]
        for location in details.lines.of("locals.cpp", line).locations
        if (frame := details.frames.at(location.address)) is not None and len(frame.calls) > 2
    ]
    calls_twice = {line_of("int part = twice(number)"), line_of("int rest = twice(part + 1)")}
    assert {chain[0] for chain in chains} <= {("twice", number) for number in calls_twice} and chains
    assert chains[0][1:] == [("four_times", line_of("int total = four_times(count)")), ("main", None)]


def text_at(program: Path, address: object) -> bytes:
    """The string in .rodata."""
    with program.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".rodata")
        assert isinstance(address, int) and section is not None
        start = address - section["sh_addr"]
        return bytes(section.data()[start:].partition(b"\0")[0])


@pytest.mark.parametrize("version", [4, 5])
def test_calls_name_their_callee_and_pass_values(version: int, build_program: BuildProgram) -> None:
    program = build_program("symbols/locals", "-O2", f"-gdwarf-{version}")
    details = details_of(program)
    main = next(f for f in ElfResolver().module(str(program)).functions if f.name == "main")
    inside = range(main.address, main.address + main.size + 1)
    sites = {site.name: site for address in inside if (site := details.frames.call_site(address)) is not None}
    assert sites["many"].linkage_name == "_Z4manyiiiiiiil" and not sites["many"].is_tail_call
    passed = {parameter.location: parameter.value for parameter in sites["printf"].parameters}
    (form,) = passed[InRegister(5)]
    assert form.name == "addr" and text_at(program, form.operands[0]) == b"%d %ld\n"
    assert details.frames.call_site(main.address) is None and details.frames.call_site(0) is None


def test_variables_by_name(build_program: BuildProgram) -> None:
    variables = details_of(build_program("symbols/variables", "-O0")).variables
    (counter,) = variables.find("store::counter")
    assert (counter.type.name, counter.is_external, counter.line) == ("int", True, 4)
    assert Path(counter.file or "").name == "variables.cpp" and isinstance(counter.location, AtAddress)
    (per_thread,) = variables.find("per_thread")
    assert per_thread.name == "store::per_thread" and per_thread.is_thread_local
    assert isinstance(per_thread.location, ThreadLocal)
    (made,) = variables.find("Shape::made")
    assert made.name == "store::Shape::made" and made.linkage_name == "_ZN5store5Shape4madeE"
    assert [found.name for found in variables.find("hidden")] == ["store::(anonymous namespace)::hidden"]
    (calls,) = variables.find("next::calls")
    assert calls.line == line_of("static int calls = 0", "variables.cpp") and not calls.is_external
    assert [found.type.name for found in variables.find("store::kept")] == ["long int"]
    assert variables.find("variables.cpp::counter") == [counter] == variables.find("symbols/variables.cpp::counter")
    assert variables.find("other.cpp::counter") == [] == variables.find("ounter") == variables.find("")


def test_extern_names_in_functions_lead_to_the_variable(build_program: BuildProgram) -> None:
    details = details_of(build_program("symbols/locals_of_c", "-O0"))
    frame = frame_at(details, "locals_of_c.c", line_of("long sum = flags.low", "locals_of_c.c"))
    (copy,) = local(frame, "per_thread_copy")
    assert copy.location == details.variables.find("per_thread_copy")[0].location


def test_no_frame_where_there_is_no_code(build_program: BuildProgram) -> None:
    frames = details_of(build_program("symbols/locals", "-O0")).frames
    assert frames.at(0) is None and frames.at(2**64 - 1) is None and frames.layout(0) is None


def test_damaged_debug_information_ends_in_an_error_or_an_answer(build_program: BuildProgram, tmp_path: Path) -> None:
    choose = random.Random(2)
    flags = ("-O2 -gdwarf-4", "-O2", "-O0")
    programs = [build_program("symbols/locals", *variant.split()).read_bytes() for variant in flags]
    read = 0
    for number in range(60):
        content = bytearray(choose.choice(programs))
        for _ in range(choose.choice((3, 30, 300))):
            content[choose.randrange(len(content) // 3, len(content))] = choose.choice((0, 0x7F, 0x80, 0xFF, 1))
        path = tmp_path / f"damaged{number}"
        path.write_bytes(content)
        read += read_all(path)
        path.unlink()
    assert read > 30


def read_all(path: Path) -> int:
    """How many answers there were."""
    read = 0
    try:
        resolver = ElfResolver()
        functions = resolver.module(str(path)).functions
        details = resolver.details(str(path))
    except StrobeError:
        return 0
    for function in functions if details is not None else ():
        for address in (function.address, function.address + function.size // 2):
            try:
                assert details is not None
                read += details.frames.at(address) is not None
                read += details.frames.call_site(address + 5) is not None
            except UNREADABLE:
                continue
    try:
        assert details is None or isinstance(details.variables.find("sink"), list)
    except UNREADABLE:
        return read
    return read


def test_a_separate_debug_file_leaves_the_tables_of_frames_in_the_program(
    build_program: BuildProgram, tmp_path: Path
) -> None:
    program = build_program("symbols/locals", "-O2")
    stripped = debug_files.split(program, tmp_path / "locals", tmp_path / "locals.debug")
    line = line_of("total += once + sink")
    apart, whole = (frame_at(details_of(path), "locals.cpp", line) for path in (stripped, program))
    assert apart.layout == whole.layout and apart.layout is not None
    shown = [
        [(found.name, found.type.name, found.location) for found in frame.calls[0].locals] for frame in (apart, whole)
    ]
    assert shown[0] == shown[1] != []
    assert {str(location) for location in apart.layout.saved.values()} >= {"at CFA - 8"}


def test_a_file_that_is_gone_is_an_error_of_those_that_damage_makes(
    build_program: BuildProgram, tmp_path: Path
) -> None:
    copy = debug_files.copy_of(build_program("symbols/locals", "-O0"), tmp_path / "gone")
    details = details_of(copy)
    copy.unlink()
    with pytest.raises(UNREADABLE):
        details.frames.layout(0x1000)
