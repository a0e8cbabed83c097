"""Go programs: a table of Go's kind in a program of C, older tables by hand, and, where it is installed, Go itself."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from support.programs import PROGRAMS, require

from strobe.symbols import ElfResolver, Pattern, select, unsafe_reason
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.go_pclntab import GoFunction, PclnTable

SOURCE = PROGRAMS / "symbols/go/go_table.S"
WORK = ("main.work", 30, "/src/app/main.go", 12)
SERVER = ("main.(*Server).Serve", 1, "/src/app/server.go", 300)
FILES = 100


def assemble(target: Path, magic: str, section: str, text_start: str, *flags: str) -> Path:
    forms = (f"-DMAGIC={magic}", f"-DTABLE={section}", f"-DHEADER_TEXT={text_start}")
    command = [require("gcc"), *forms, *flags, "-x", "assembler-with-cpp", str(SOURCE), "-o", str(target)]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    subprocess.run([require("strip"), str(target)], check=True, timeout=60)
    return target


def found_in(path: Path) -> list[tuple[str, int, str | None, int | None]]:
    symbols = ElfResolver().module(str(path))
    assert symbols.warnings == [] and not symbols.has_debug_info
    return [(f.name, f.size, f.source_file, f.line) for f in symbols.functions if f.is_go]


@pytest.mark.parametrize(
    ("magic", "section", "flags"),
    [
        ("0xfffffff1", '.gopclntab,"a"', "-no-pie"),
        ("0xfffffff0", '.gopclntab,"a"', "-no-pie"),
        ("0xfffffff1", '.data.rel.ro.gopclntab,"aw"', "-pie"),  # the start of the code is known by a relocation alone
        ("0xfffffff1", '.data.rel.ro,"aw"', "-pie"),  # the section's name was lost
        ("0xfffffff1", '.rodata,"a"', "-no-pie"),
    ],
)
def test_a_stripped_program_is_known_by_the_table_of_go(tmp_path: Path, magic: str, section: str, flags: str) -> None:
    assert found_in(assemble(tmp_path / "app", magic, section, "code", flags)) == [WORK, SERVER]


def test_a_table_that_does_not_say_where_code_begins(tmp_path: Path) -> None:
    """As of Go 1.26, here without its .go.module: a program by Go's linker has nothing before it in .text."""
    app = assemble(tmp_path / "app", "0xfffffff1", '.gopclntab,"a"', "0", "-no-pie", "-nostdlib", "-Wl,-e,main")
    assert [name for name, *_ in found_in(app)] == ["main.work", "main.(*Server).Serve"]


def test_go_functions_are_not_hooked_and_c_functions_beside_them_are(tmp_path: Path) -> None:
    app = tmp_path / "app"
    command = [require("gcc"), "-no-pie", "-x", "assembler-with-cpp", str(SOURCE), "-o", str(app)]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    module = ElfResolver().module(str(app))
    patterns = [Pattern.parse(text) for text in ("main.*", "exported_in_c", "main.(*Server).Serve")]
    selection = select(patterns, [module])
    assert [function.name for function in selection.functions] == ["exported_in_c"]
    assert selection.matches["main.*"] == selection.matches["main.(*Server).Serve"] == []
    refused = [warning for warning in selection.warnings if "stack that moves" in warning]
    assert len(refused) == 1 and "main.work, main.(*Server).Serve:" in refused[0]
    assert {f.name for f in module.functions if "stack that moves" in (unsafe_reason(f) or "")} == {WORK[0], SERVER[0]}


def old_table(magic: int, functions: list[tuple[str, int, str, int]], end: int) -> bytes:
    """A table of Go 1.2 (everything counts from its start) or 1.16, which are read alike but for where things are.

    A function: name, address, file, line.
    """
    is_first = magic == 0xFFFFFFFB
    names, files, values, entries, bodies, file_offsets = b"\0", b"", b"\0", b"", b"", [0]
    head = 16 if is_first else 16 + 6 * 8
    list_at = head
    bodies_at = len(functions) * 16 + 16
    rows = []
    for name, address, file, line in functions:
        rows.append((address, len(names), len(file_offsets), len(values)))
        names += name.encode() + b"\0"
        file_offsets.append(len(files))
        files += file.encode() + b"\0"
        for value in (len(file_offsets) - 1, line):
            number = 2 * (value + 1)
            values += bytes([number & 0x7F | 0x80, number >> 7, 1, 0])
    strings_at = list_at + bodies_at + len(rows) * 44
    names_at, files_at, values_at = strings_at, strings_at + len(names), strings_at + len(names) + len(files)
    units_at = values_at + len(values)
    units_at += -units_at % 4
    base = 0 if is_first else list_at
    for number, (address, name_at, _, value_at) in enumerate(rows):
        entries += struct.pack("<QQ", address, list_at + bodies_at + number * 44 - base)
        name_base, value_base = (names_at, values_at) if is_first else (0, 0)
        fields = (name_base + name_at, 0, 0, 0, value_base + value_at, value_base + value_at + 4, 0, 0)
        bodies += struct.pack("<Q8iI", address, *fields, 0)
    entries += struct.pack("<Q", end) + (struct.pack("<II", units_at, 0) if is_first else bytes(8))
    tables = [names_at, units_at, files_at, values_at, list_at]
    header = struct.pack("<IHBBQ", magic, 0, 1, 8, len(rows))
    header += b"" if is_first else struct.pack("<6Q", len(rows), *tables)
    offsets = [files_at + offset if is_first else offset for offset in file_offsets]
    content = header + entries + bodies + names + files + values
    return content.ljust(units_at, b"\0") + struct.pack(f"<{len(offsets)}I", *offsets)


@pytest.mark.parametrize("magic", [0xFFFFFFFB, 0xFFFFFFFA])
def test_tables_of_older_versions(magic: int) -> None:
    functions = [("main.main", 0x401000, "/src/main.go", 5), ("main.(*T).Run", 0x401040, "/src/run.go", 700)]
    table = PclnTable(old_table(magic, functions, 0x401100))
    assert table.span() == (0x401000, 0x401100)
    assert list(table.functions()) == [
        GoFunction("main.main", 0x401000, 0x40, "/src/main.go", 5),
        GoFunction("main.(*T).Run", 0x401040, 0xC0, "/src/run.go", 700),
    ]


def test_damaged_tables_end_in_an_answer_or_a_warning(tmp_path: Path) -> None:
    app = assemble(tmp_path / "app", "0xfffffff1", '.gopclntab,"a"', "code", "-no-pie")
    good = app.read_bytes()
    start = good.index(struct.pack("<IBBBB", 0xFFFFFFF1, 0, 0, 1, 8))
    choose = random.Random(1)
    warned = 0
    for _ in range(FILES):
        content = bytearray(good)
        for _ in range(choose.choice((1, 2, 5))):
            content[start + choose.randrange(300)] = choose.choice((0, 1, 0x7F, 0x80, 0xFF))
        app.write_bytes(content)
        warned += any("Go's functions" in warning for warning in ElfResolver().module(str(app)).warnings)
        for old in (0xFFFFFFFB, 0xFFFFFFFA):
            table = bytearray(old_table(old, [("main.main", 0x401000, "/src/main.go", 5)] * 3, 0x401100))
            table[choose.randrange(8, len(table))] = choose.randrange(256)
            with suppress(*UNREADABLE):
                list(PclnTable(bytes(table)).functions())
    assert FILES // 10 < warned < FILES


@pytest.fixture(scope="module")
def build_go(program_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles the program of Go. Its library is compiled once for all runs of the tests."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("go")
    shutil.copy(PROGRAMS / "symbols/go/service.go", folder)
    settings = {"GOCACHE": str(program_cache / "go"), "GOTOOLCHAIN": "local", "GO111MODULE": "off", "CGO_ENABLED": "0"}
    environment = {**os.environ, **settings}

    def build_go(*flags: str, **variables: str) -> Path:
        target = folder / f"service{len(list(folder.iterdir()))}"
        command = [go, "build", *flags, "-o", str(target), "service.go"]
        subprocess.run(command, check=True, timeout=200, cwd=folder, env=environment | variables, capture_output=True)
        return target

    return build_go


def test_a_stripped_program_has_the_functions_that_its_debug_information_names(build_go: Callable[..., Path]) -> None:
    whole, bare = build_go(), build_go("-ldflags=-s -w")
    module = ElfResolver().module(str(whole))
    assert module.has_debug_info and module.warnings == []
    own = {f.name: f.line for f in module.functions if f.name.startswith("main.")}
    assert own == {
        "main.(*Server).Serve": 11,
        "main.Map[go.shape.int,go.shape.int]": 19,
        "main.main": 26,
        "main.main.func1": 28,
    }
    described = {f.address: f for f in module.functions if f.source_file not in (None, "<autogenerated>")}
    listed = {f.address: f for f in ElfResolver().module(str(bare)).functions}
    assert set(described) <= set(listed)
    for address, function in described.items():
        other = listed[address]
        assert (other.name, other.source_file, other.line) == (function.name, function.source_file, function.line)
        assert function.size <= other.size < function.size + 64
        assert function.is_go and other.is_go


@pytest.mark.long
def test_a_program_for_macos_is_read_by_the_same_table(build_go: Callable[..., Path]) -> None:
    bare = ElfResolver().module(str(build_go("-ldflags=-s -w", GOOS="darwin", GOARCH="arm64")))
    own = {f.name: (Path(f.source_file or "").name, f.line) for f in bare.functions if f.name.startswith("main.")}
    assert own["main.(*Server).Serve"] == ("service.go", 11)
