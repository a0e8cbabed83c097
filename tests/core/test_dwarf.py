"""The native scanner's rows are those of a full walk with pyelftools, whatever wrote the debug information and how."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from elftools.dwarf.locationlists import LocationExpr, LocationParser
from elftools.elf.elffile import ELFFile
from support import programs

from strobe import _core
from strobe._core import Dwarf, DwarfIndex
from strobe.symbols.objects.elf import ElfImage
from strobe.symbols.objects.sections import SCANNED, DebugSections

BuildProgram = Callable[..., Path]
TYPE_TAGS = {
    f"DW_TAG_{kind}": number
    for kind, number in (
        ("class_type", 0x02),
        ("enumeration_type", 0x04),
        ("structure_type", 0x13),
        ("typedef", 0x16),
        ("union_type", 0x17),
        ("base_type", 0x24),
    )
}
OP_ADDR, OP_CONST4U, OP_CONST8U, OP_ADDRX = 0x03, 0x0C, 0x0E, 0xA1
THREAD_LOCAL = 2

VARIANTS = [
    ("symbols/variables", "g++", "-O0"),
    ("symbols/variables", "g++", "-O0 -gdwarf-3 -gstrict-dwarf"),
    ("symbols/variables", "g++", "-O0 -gdwarf-4 -fdebug-types-section"),
    ("symbols/variables", "g++", "-O0 -gdwarf-5 -fdebug-types-section"),
    ("symbols/variables", "g++", "-O2 -gz=zlib"),
    ("symbols/variables", "clang++", "-O0 -gdwarf-5"),
    ("symbols/variables", "clang++", "-O1 -gdwarf-4"),
    ("symbols/naming", "g++", "-O2 -ffunction-sections -Wl,--gc-sections"),
    ("symbols/naming", "g++", "-O2 -flto"),
    ("symbols/naming", "clang++", "-O2 -gdwarf-5"),
    ("symbols/rustic", "rustc", ""),
]


TYPES_OF_VARIABLES = [
    (TYPE_TAGS["DW_TAG_structure_type"], "store::Shape"),
    (TYPE_TAGS["DW_TAG_enumeration_type"], "store::Shape::Kind"),
    (TYPE_TAGS["DW_TAG_union_type"], "store::Shape::Size"),
    *((TYPE_TAGS["DW_TAG_base_type"], name) for name in ("int", "float", "long int")),
]


@pytest.fixture(params=VARIANTS, ids=" ".join)
def program(request: pytest.FixtureRequest, build_program: BuildProgram) -> Path:
    name, compiler, flags = request.param
    return build_program(name, *flags.split(), compiler=compiler)


def opened(program: Path) -> Dwarf:
    image = ElfImage(str(program))
    try:
        return Dwarf(DebugSections(image).several(SCANNED))
    finally:
        image.close()


def texts(column: bytes) -> list[str]:
    return column.decode().split("\0")[:-1]


def numbers(column: bytes, kind: Literal["B", "H", "I", "Q"] = "Q") -> list[int]:
    return list(memoryview(column).cast(kind))


def by_walk(program: Path) -> Any:
    with program.open("rb") as file:
        return ELFFile(file).get_dwarf_info(follow_links=False)


def dies(dwarf: Any) -> Iterator[Any]:
    for unit in units_of(dwarf):
        yield from unit.iter_DIEs()


def units_of(dwarf: Any) -> list[Any]:
    return [*dwarf.iter_CUs(), *(dwarf.iter_TUs() if dwarf.debug_types_sec else ())]


def name_of(die: Any) -> str:
    """As written around it."""
    parts: list[str] = []
    while die is not None and not die.tag.endswith("_unit"):
        if die.tag in TYPE_TAGS or die.tag in ("DW_TAG_namespace", "DW_TAG_subprogram"):
            while "DW_AT_name" not in die.attributes:
                origin = {"DW_AT_abstract_origin", "DW_AT_specification"} & set(die.attributes)
                if not origin:
                    break
                die = die.get_DIE_from_attribute(origin.pop())
            unnamed = "(anonymous namespace)" if die.tag == "DW_TAG_namespace" else "{unnamed}"
            parts.append(die.attributes["DW_AT_name"].value.decode() if "DW_AT_name" in die.attributes else unnamed)
        die = die.get_parent()
    return "::".join(reversed(parts))


def test_types(program: Path, request: pytest.FixtureRequest) -> None:
    expected = {
        (TYPE_TAGS[die.tag], name_of(die))
        for die in dies(by_walk(program))
        if die.tag in TYPE_TAGS and "DW_AT_name" in die.attributes and "DW_AT_declaration" not in die.attributes
    }
    if "debug-types" in request.node.name:  # where pyelftools 0.33 does not know what is around a type
        expected = set(TYPES_OF_VARIABLES)
    rows = opened(program).scan([]).types()
    found = list(zip(numbers(rows["tag"], "H"), texts(rows["name"]), strict=True))
    assert set(found) == expected and len(found) == len(expected)


def test_functions_and_all_their_ranges(program: Path) -> None:
    dwarf = by_walk(program)
    expected: dict[int, list[tuple[int, int]]] = {}
    for die in dies(dwarf):
        if die.tag == "DW_TAG_subprogram" and "DW_AT_declaration" not in die.attributes:
            ranges = [part for part in ranges_of(dwarf, die) if part[0] > 1]
            if ranges:
                expected[die.offset] = ranges
    index = opened(program).scan([])
    rows = index.functions()
    pairs = numbers(index.ranges())
    found = {
        die: [(pairs[2 * i], pairs[2 * i + 1]) for i in range(first, first + count)]
        for die, first, count in zip(
            numbers(rows["die"]), numbers(rows["first_range"], "I"), numbers(rows["range_count"], "I"), strict=True
        )
    }
    assert found == expected and expected
    starts = [(parts[0][0], parts[0][1] - parts[0][0]) for parts in found.values()]
    assert list(zip(numbers(rows["address"]), numbers(rows["size"]), strict=True)) == starts


def ranges_of(dwarf: Any, die: Any) -> list[tuple[int, int]]:
    if "DW_AT_low_pc" in die.attributes and "DW_AT_high_pc" in die.attributes:
        low, high = die.attributes["DW_AT_low_pc"].value, die.attributes["DW_AT_high_pc"]
        return [(low, high.value if "addr" in high.form else low + high.value)]
    if "DW_AT_ranges" not in die.attributes:
        return []
    top = die.cu.get_top_DIE()
    base = top.attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in top.attributes else 0
    found = []
    for entry in dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, cu=die.cu):
        if hasattr(entry, "base_address"):
            base = entry.base_address
        else:
            shift = 0 if entry.is_absolute else base
            found.append((entry.begin_offset + shift, entry.end_offset + shift))
    return found


def test_variables(program: Path) -> None:
    dwarf = by_walk(program)
    parser = LocationParser(dwarf.location_lists())
    expected = {}
    for die in dies(dwarf):
        if die.tag == "DW_TAG_variable" and "DW_AT_location" in die.attributes:
            place = parser.parse_from_attribute(die.attributes["DW_AT_location"], die.cu["version"], die)
            address = static_address(dwarf, die, place) if isinstance(place, LocationExpr) else None
            if address is not None:
                expected[die.offset] = address
    rows = opened(program).scan([]).variables()
    flags = [bool(flag & THREAD_LOCAL) for flag in rows["flags"]]
    found = dict(zip(numbers(rows["die"]), zip(numbers(rows["address"]), flags, strict=True), strict=True))
    assert found == expected


def static_address(dwarf: Any, die: Any, place: LocationExpr) -> tuple[int, bool] | None:
    """(address, thread-local) of what the linker kept."""
    operation, rest = place.loc_expr[0], bytes(place.loc_expr[1:])
    if operation == OP_ADDR and len(rest) == 8:
        address = int.from_bytes(rest, "little")
        return (address, False) if address > 1 else None
    if operation == OP_ADDRX and rest[0] < 128:
        address = dwarf.get_addr(die.cu, rest[0])
        return (address, False) if len(rest) == 1 else None
    if operation in (OP_CONST4U, OP_CONST8U) and len(rest) in (5, 9):
        return int.from_bytes(rest[:-1], "little"), True
    return None


def test_names_of_variables(build_program: BuildProgram) -> None:
    expected = {
        "plain", "store::(anonymous namespace)::hidden", "store::Shape::made", "store::counter", "store::kept",
        "store::next::calls", "store::next::calls_here", "store::per_thread", "store::unseen",
    }  # fmt: skip
    for compiler, version in (("g++", 4), ("g++", 5), ("clang++", 4), ("clang++", 5)):
        program = build_program("symbols/variables", "-O0", f"-gdwarf-{version}", compiler=compiler)
        index = opened(program).scan([])
        rows = index.variables()
        found = set(texts(rows["name"]))
        spelled = {name.partition("<")[0] for name in found}
        assert {name for name in spelled if name.startswith(("store", "plain"))} - {"store::folded"} == expected
        assert {index.files()[number].rpartition("/")[2] for number in numbers(rows["file"], "I")} == {"variables.cpp"}


def test_line_tables(program: Path) -> None:
    dwarf, core = by_walk(program), opened(program)
    units = list(dwarf.iter_CUs())
    assert [row[0] for row in core.units() if not row[4]] == [unit.cu_offset for unit in units]
    for index, unit in enumerate(units):
        table = dwarf.line_program_for_CU(unit)
        if table is None or len(table.header["file_entry"]) == 0:
            continue
        expected = [row for sequence in sequences(table) if sequence[0][0] != 0 for row in sequence]
        rows = core.unit_lines(index)
        columns = [numbers(rows["address"]), *(numbers(rows[name], "I") for name in ("file", "line", "column"))]
        flags = [(flag & 3 != 0, flag & 2 != 0) for flag in rows["flags"]]
        assert [(*row, *flag) for *row, flag in zip(*columns, flags, strict=True)] == expected
        named = [os.path.basename(path) for path in core.unit_files(index)]  # noqa: PTH119
        shift = 0 if table.header["version"] >= 5 else 1
        assert named[shift:] == [os.path.basename(e.name.decode()) for e in table.header["file_entry"]]  # noqa: PTH119


def sequences(table: Any) -> Iterator[list[tuple[int, int, int, int, bool, bool]]]:
    rows = []
    for entry in table.get_entries():
        state = entry.state
        if state is None:
            continue
        ends = bool(state.end_sequence)
        # no code is at an end; pyelftools forgets whether it would begin a statement
        rows.append((state.address, state.file, state.line, state.column, ends or bool(state.is_stmt), ends))
        if ends:
            yield rows
            rows = []


def test_the_64_bit_format_says_the_same(build_program: BuildProgram) -> None:
    """pyelftools 0.33 cannot read its line tables."""
    for version in ("-gdwarf-4", "-gdwarf-5"):
        usual = opened(build_program("symbols/variables", "-O0", version))
        wide = opened(build_program("symbols/variables", "-O0", version, "-gdwarf64"))
        assert [without_places(wide.scan([])), wide.unit_lines(0), wide.unit_files(0)] == [
            without_places(usual.scan([])),
            usual.unit_lines(0),
            usual.unit_files(0),
        ]


def without_places(index: DwarfIndex) -> list[Any]:
    """Rows without the offsets of DIEs, which differ."""
    tables = [index.functions(), index.variables(), index.types(), index.inlined()]
    return [*({name: table[name] for name in table if name != "die"} for table in tables), index.files()]


def test_zdebug_sections_are_read(build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/variables", "-O0", "-gdwarf-4")
    old = tmp_path / "old"
    command = [programs.require("objcopy"), "--compress-debug-sections=zlib-gnu", str(program), str(old)]
    subprocess.run(command, check=True, timeout=60)
    assert contents(opened(old).scan([])) == contents(opened(program).scan([]))


def test_zstd_sections_are_read(build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/variables", "-O0")
    new = tmp_path / "new"
    command = [programs.require("objcopy"), "--compress-debug-sections=zstd", str(program), str(new)]
    if subprocess.run(command, timeout=60, capture_output=True).returncode != 0:
        pytest.skip("objcopy without zstd")
    assert contents(opened(new).scan([])) == contents(opened(program).scan([]))


def contents(index: DwarfIndex) -> list[Any]:
    return [index.functions(), index.variables(), index.types(), index.inlined(), index.files(), index.ranges()]


def test_offsets_that_lead_nowhere_are_errors(build_program: BuildProgram) -> None:
    core = opened(build_program("symbols/variables", "-O0"))
    for offset in (0, 3, 2**40, 2**64 - 1):
        with pytest.raises(ValueError):
            core.qualified_name(offset)
        with pytest.raises(ValueError):
            core.children(offset, 0x05)
    with pytest.raises(IndexError):
        core.unit_lines(1000)
    with pytest.raises(ValueError, match="no units"):
        Dwarf({})


NO_THREADS = """
import os
import resource
import sys
from strobe._core import Dwarf
from strobe.symbols.objects.elf import ElfImage
from strobe.symbols.objects.sections import SCANNED, DebugSections

image = ElfImage(sys.argv[1])
dwarf = Dwarf(DebugSections(image).several(SCANNED))
if os.getuid() == 0:
    os.setresuid(54321, 54321, 54321)  # root is not limited
resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
print(dwarf.scan([], 8).functions())
"""


def test_where_no_thread_can_be_begun_one_does_it_all() -> None:
    """It ended the process, which may be a daemon, by SIGABRT."""
    program = _core.__file__  # of many units
    result = subprocess.run([sys.executable, "-c", NO_THREADS, program], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{opened(Path(program)).scan([], 8).functions()}\n"
