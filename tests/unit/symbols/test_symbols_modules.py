"""Functions of real programs: what is found in them, what is known of it, what is said when something is missing."""

from __future__ import annotations

import gc
import shutil
import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs

from strobe.errors import Code, StrobeError
from strobe.model import FunctionSymbol, ValueKind
from strobe.symbols import ElfResolver, ModuleSymbols, module

BuildProgram = Callable[..., Path]
SOURCES = programs.PROGRAMS / "symbols"


def load(program: Path) -> ModuleSymbols:
    return ElfResolver().module(str(program))


def named(symbols: ModuleSymbols, name: str) -> list[FunctionSymbol]:
    return [function for function in symbols.functions if function.name == name]


def signature(program: Path, name: str) -> str:
    """`returns(type name@register, …)`, or "unknown"."""
    resolver = ElfResolver()
    (function,) = resolver.detail(named(resolver.module(str(program)), name))
    if function.parameters is None or function.returns is None:
        return "unknown"
    shown = [f"{p.type.name} {p.name}@{'-' if p.register is None else p.register}" for p in function.parameters]
    return f"{function.returns.name}({', '.join(shown)})"


def copy_with(tool: str, program: Path, target: Path, *flags: str) -> Path:
    subprocess.run([programs.require(tool), *flags, "-o", str(target), str(program)], check=True, timeout=60)
    return target


NAMES = """
    (anonymous namespace)::hidden 6
    main 57
    plain_c 55
    shop::Money::Money 18
    shop::Money::Money 29
    shop::Money::operator bool 25
    shop::Money::operator() 24
    shop::Money::operator+ 22
    shop::Money::operator< 23
    shop::Money::value 26
    shop::Money::zero 27
    shop::Money::~Money 21
    shop::Money::~Money 21
    shop::Shelf<int>::count 34
    shop::Shelf<std::string>::Label::width 36
    shop::closures 45
    shop::closures::Local::twice 47
    shop::closures::{lambda(int)#1}::operator() 49
    shop::closures::{lambda(int, int)#2}::operator() 50
    shop::deep::deeper::buried 41
    shop::deep::deeper::text 42
    shop::largest<int> 14
    shop::largest<shop::Money> 14
    shop::price 10
    shop::price 11
"""
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"


@pytest.mark.parametrize("flags", ["-O0", "-O0 -gdwarf-4", "-O0 -no-pie", "-O0 -gz=zlib"])
def test_names_and_lines_of_cplusplus(flags: str, build_program: BuildProgram) -> None:
    symbols = load(build_program("symbols/naming", *flags.split()))
    own = [f for f in symbols.functions if f.source_file == str(SOURCES / "naming.cpp")]
    found = sorted(f"{function.name} {function.line}".replace(f"{STRING} ", "std::string") for function in own)
    assert found == [row.strip() for row in NAMES.strip().splitlines()]
    assert symbols.has_debug_info and symbols.warnings == []
    assert symbols.link_base == (0x400000 if "-no-pie" in flags else 0)


def test_the_build_id_is_that_of_readelf(build_program: BuildProgram) -> None:
    program = build_program("symbols/naming", "-O0", "-Wl,--build-id")
    notes = subprocess.run(
        [programs.require("readelf"), "-n", str(program)], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    assert f"Build ID: {load(program).build_id}" in notes


def test_static_functions_of_one_name_are_told_apart_by_their_files(build_program: BuildProgram) -> None:
    symbols = load(build_program("symbols/first", "-O0", str(SOURCES / "second.c")))
    found = [(Path(f.source_file or "").name, f.line) for f in named(symbols, "helper")]
    assert sorted(found) == [("first.c", 6), ("second.c", 1)]


def test_relative_source_paths_are_made_full(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shutil.copy(SOURCES / "first.c", tmp_path / "deep" / "a.c")
    shutil.copy(SOURCES / "second.c", tmp_path / "deep" / "b.c")
    for version in ("4", "5"):
        command = [
            programs.require("gcc"),
            "-g",
            f"-gdwarf-{version}",
            "deep/a.c",
            "./deep/../deep/b.c",
            "-o",
            f"p{version}",
        ]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        files = [f.source_file for f in named(load(tmp_path / f"p{version}"), "helper")]
        assert sorted(files, key=str) == [str(tmp_path / "deep" / "a.c"), str(tmp_path / "deep" / "b.c")]


def test_parameters_and_results(build_program: BuildProgram) -> None:
    program = build_program("symbols/signatures", "-O0")
    expected = {
        "references": "void(int& a@0, const long int& b@1, int&& c@2, int* d@3, const char* e@4, void* f@5)",
        "floats_between": "void(int a@0, double b@-, int c@1, float d@-, long int e@2, long double f@-, int g@3)",
        "enums": "void(Colour a@0, Plain b@1, Colour c@2)",
        "destructor": "void(int a@0, WithDestructor b@1, int c@2)",
        "trivial": "void(int a@0, Trivial b@-, int c@2)",
        "in_memory": "void(int a@0, Three b@-, int c@1)",
        "callbacks": "void(int a@0, int (*)(int) b@1, int Trivial::* c@2, long int (Polymorphic::*)(int) d@-, int e@5)",
        "gives_memory": "Three(int a@1, int b@2)",
        "gives_registers": "Trivial(int a@0, int b@1)",
        "gives_long": "Long(int a@-, int b@-)",
        "Methods::gives": "std::string(const Methods* this@1, int a@2)",
        "Methods::no_this": "void(int a@0, long int b@1)",
        "unnamed": "void(int arg0@0, long int b@1, int arg2@2)",
    }
    # gcc writes `this` into the type of a pointer to member function; what is called does get it
    found = {name: signature(program, name).replace("(Polymorphic*, int)", "(int)") for name in expected}
    assert found == expected


def test_value_types(build_program: BuildProgram) -> None:
    resolver = ElfResolver()
    symbols = resolver.module(str(build_program("symbols/signatures", "-O0")))
    functions = {f.name: f for f in resolver.detail(symbols.functions)}

    def kinds(name: str) -> list[tuple[ValueKind, int]]:
        return [(p.type.kind, p.type.size) for p in functions[name].parameters or ()]

    assert kinds("booleans") == [(ValueKind.BOOL, 1)] + [(ValueKind.CHAR, n) for n in (1, 4, 2, 4)] + [
        (ValueKind.BOOL, 1)
    ]
    signed, unsigned = ValueKind.SIGNED, ValueKind.UNSIGNED
    assert kinds("small_integers") == [
        (signed, 1),
        (unsigned, 1),
        (signed, 2),
        (unsigned, 2),
        (signed, 4),
        (unsigned, 4),
    ]
    assert kinds("copy")[1] == (ValueKind.REFERENCE, 8)
    assert kinds("trivial")[1] == (ValueKind.AGGREGATE, 8)
    assert kinds("nothing")[1] == (ValueKind.POINTER, 8)
    colour = (functions["enums"].parameters or ())[0].type
    assert (colour.kind, colour.size, colour.enumerators) == (ValueKind.ENUM, 1, ((1, "Red"), (200, "Green")))


def test_changed_clones_have_a_name_and_no_parameters(build_program: BuildProgram) -> None:
    program = build_program("symbols/changed", "-O2")
    (clone,) = named(load(program), "scaled")
    assert clone.raw_name.startswith("scaled.constprop") and clone.line is not None
    assert signature(program, "scaled") == "unknown"
    assert signature(program, "steady") == "long int(long int value@0, long int other@1)"


def test_without_a_symbol_table_clones_cannot_be_told_from_others(build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/changed", "-O2")
    stripped = copy_with("strip", program, tmp_path / "stripped", "--strip-all", "--keep-section=.debug_*")
    assert load(stripped).has_debug_info and not load(stripped).has_symtab
    assert signature(stripped, "scaled") == "unknown"
    assert signature(stripped, "steady") == "unknown"  # not changed, but static: nothing shows it


def test_inlined_functions_are_counted(build_program: BuildProgram) -> None:
    symbols = load(build_program("symbols/inlined", "-O0"))
    assert symbols.inlined_only == {"small": 3}
    assert symbols.inlined_sites["shared"] == 1
    assert named(symbols, "shared") and named(symbols, "never")


def test_exported_functions_of_a_library(build_program: BuildProgram, tmp_path: Path) -> None:
    library = build_program("symbols/library", "-shared", "-fPIC")
    stripped = copy_with("strip", library, tmp_path / "stripped.so")
    for path, internal in ((library, ["chosen", "hidden_entry", "inner"]), (stripped, [])):
        symbols = load(path)
        exported = [f.name for f in symbols.functions if f.exported]
        assert exported == ["library_entry"]
        assert sorted(f.name for f in symbols.functions if f.name in ("chosen", "hidden_entry", "inner")) == internal
    assert not load(stripped).has_debug_info


def test_a_stripped_program_has_no_functions(build_program: BuildProgram, tmp_path: Path) -> None:
    symbols = load(copy_with("strip", build_program("symbols/naming", "-O0"), tmp_path / "stripped"))
    assert (named(symbols, "main"), symbols.has_debug_info, symbols.has_symtab) == ([], False, False)


def test_names_without_debug_information(build_program: BuildProgram, tmp_path: Path) -> None:
    bare = copy_with("strip", build_program("symbols/naming", "-O0"), tmp_path / "bare", "-g")
    symbols = load(bare)
    assert len(named(symbols, "shop::price")) == 2
    assert named(symbols, "shop::closures::{lambda(int, int)#2}::operator()")
    assert named(symbols, "shop::largest<shop::Money>")
    assert not symbols.has_debug_info and symbols.has_symtab
    assert signature(bare, "shop::closures") == "unknown"


def test_rust(build_program: BuildProgram) -> None:
    program = build_program("symbols/rustic")
    expected = {
        "rustic::shapes::round::area": "i64(i64 radius@0, i32 arg1@1, bool precise@2)",
        "rustic::Point::scaled": "u64(&rustic::Point self@0, u64 factor@1)",
        "rustic::generic<u8>": "u64(u8 value@0)",
        "rustic::text": "usize(&str words@0, usize count@2, &[u16] list@3, char letter@5)",
        "rustic::floats": "f64(f64 a@-, u8 n@0, f32 b@-, i16 m@1)",
    }
    assert {name: signature(program, name) for name in expected} == expected
    assert named(load(program), "<rustic::Point as core::fmt::Display>::fmt")
    assert not [f for f in load(program).functions if "::h" in f.name[-19:-16]]


def test_split_debug_information_is_announced(tmp_path: Path) -> None:
    command = [
        programs.require("gcc"),
        "-g",
        "-gsplit-dwarf",
        str(SOURCES / "first.c"),
        str(SOURCES / "second.c"),
        "-o",
        "split",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    symbols = load(tmp_path / "split")
    assert named(symbols, "main") and named(symbols, "helper")
    (warning,) = symbols.warnings
    assert ".dwo files" in warning and "-gsplit-dwarf" in warning


def test_compression_that_cannot_be_read_is_announced(build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/naming", "-O0", "-gz=zlib")
    damaged = tmp_path / "naming"
    data = bytearray(program.read_bytes())
    position = section_offset(program, ".debug_info")
    assert data[position : position + 4] == b"\x01\0\0\0"  # ELFCOMPRESS_ZLIB
    data[position] = 2  # ELFCOMPRESS_ZSTD
    damaged.write_bytes(data)
    symbols = load(damaged)
    assert named(symbols, "shop::closures") and not symbols.has_debug_info
    (warning,) = symbols.warnings
    assert "cannot be read" in warning and "-gz=none" in warning


def section_offset(program: Path, name: str) -> int:
    listing = subprocess.run(
        [programs.require("readelf"), "-SW", str(program)], capture_output=True, text=True, check=True, timeout=30
    )
    row = next(line for line in listing.stdout.splitlines() if f" {name} " in line)
    return int(row.partition("]")[2].split()[3], 16)


def test_damaged_debug_information_never_raises(build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/first", "-O2", str(SOURCES / "second.c"))
    data = program.read_bytes()
    starts = [section_offset(program, name) for name in (".debug_info", ".debug_abbrev", ".debug_line", ".symtab")]
    damaged = tmp_path / "damaged"
    for start in starts:
        for step in range(0, 240, 7):
            changed = bytearray(data)
            changed[start + step] ^= 0x55
            damaged.write_bytes(changed)
            resolver = ElfResolver()
            try:
                resolver.detail(resolver.module(str(damaged)).functions)
            except StrobeError as error:
                assert error.code == Code.VALIDATION_ERROR


@pytest.mark.parametrize("length", [4, 20, 64, 700, 3000])
def test_files_that_are_cut_short_are_refused_or_read(length: int, build_program: BuildProgram, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(build_program("symbols/naming", "-O0").read_bytes()[:length])
    with pytest.raises(StrobeError) as raised:
        load(cut)
    assert raised.value.code == Code.VALIDATION_ERROR and "cut" in str(raised.value)


def test_what_is_no_elf_file_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    for path, said in ((script, "neither an ELF"), (tmp_path, "is a directory"), (tmp_path / "no", "No such")):
        with pytest.raises(StrobeError, match=said):
            load(path)


def test_a_module_is_read_once_until_its_file_changes(build_program: BuildProgram, tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy(build_program("symbols/naming", "-O0"), program)
    resolver = ElfResolver()
    first = resolver.module(str(program))
    assert resolver.module(str(program)) is first
    other = shutil.copy(build_program("symbols/first", "-O0", str(SOURCES / "second.c")), tmp_path / "new")
    Path(other).replace(program)
    assert named(resolver.module(str(program)), "second_entry")


def test_big_debug_information_is_announced(build_program: BuildProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strobe.symbols.module._BIG_BYTES", 1000)
    said: list[str] = []
    ElfResolver(said.append).module(str(build_program("symbols/naming", "-O0")))
    (sentence,) = said
    assert "debug information of naming" in sentence


@pytest.mark.parametrize("is_full", [False, True])
def test_files_that_nobody_uses_any_more_are_forgotten(
    build_program: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_full: bool
) -> None:
    program = build_program("hello")
    paths = [Path(shutil.copy(program, tmp_path / f"test-{number:x}")) for number in range(40)]
    resolver = ElfResolver()
    read = {str(path): weakref.ref(resolver.module(str(path))) for path in paths[:30]}
    gc.collect()
    assert all(symbols() is not None for symbols in read.values())
    monkeypatch.setattr(module, "FULL_S" if is_full else "KEPT_S", 0.0)
    monkeypatch.setattr(module, "FULL_KB", 0 if is_full else 1 << 40)
    for path in paths[30:]:
        resolver.module(str(paths[0]))
        resolver.module(str(path))
    gc.collect()
    left = [path for path, symbols in read.items() if symbols() is not None]
    assert str(paths[0]) in left
    assert len(left) <= (module.FULL_FILES if is_full else module.KEPT_FILES)
    assert {function.name for function in resolver.module(str(paths[1])).functions} >= {"main"}


def test_what_was_read_of_types_goes_when_a_file_is_not_used(
    build_program: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, other = str(build_program("hello")), str(build_program("symbols/naming", "-O0"))
    resolver = ElfResolver()
    symbols = resolver.module(program)
    main = next(function for function in symbols.functions if function.name == "main")
    (before,) = resolver.call_values([main])
    assert before is not None
    assert before.returned is not None
    details = resolver.details(program)
    assert details is not None
    assert details.types.find("int")
    debug_info = details.debug_info
    read, units = weakref.ref(details), weakref.ref(debug_info.dwarf)
    del details, debug_info
    monkeypatch.setattr(module, "_LOOK_S", 0.0)
    for idle, is_kept in ((60.0, True), (0.0, False)):
        monkeypatch.setattr(module, "IDLE_S", idle)
        resolver.module(other)
        resolver.module(other)  # the first one has just looked
        gc.collect()
        assert (read() is not None, units() is not None) == (is_kept, is_kept)
    assert resolver.module(program) is symbols
    (after,) = resolver.call_values([main])
    assert after is not None
    assert after.returned is not None
    assert after.returned.sources == before.returned.sources
    assert (again := resolver.details(program)) is not None
    assert again.types.find("int")
