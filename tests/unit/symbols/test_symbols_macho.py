"""Mach-O files as sources of symbols: objects and universal files of clang, programs of ld64.lld, dSYMs of dsymutil."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from support.programs import require, source_of

from strobe.capture.program import resolve
from strobe.errors import Code, StrobeError
from strobe.model import FunctionSymbol, LaunchSpec
from strobe.symbols import ElfResolver, ModuleSymbols
from strobe.symbols.objects.formats import open_image

CompileFor = Callable[..., Path]
CPUS = {"x86_64": 0x01000007, "arm64": 0x0100000C}
NAMES = {
    "shapes::first": 9,
    "shapes::open": 21,
    "shapes::(anonymous namespace)::hidden": 18,
    "shapes::Box<int>::get": 14,
    "plain": 28,
    "main": 32,
}
FRAME_BASES = {"x86_64": ("at rbp", "at rsp"), "arm64": ("at x29", "at sp")}
FILES = 200


@pytest.fixture
def compile_for(tmp_path: Path) -> CompileFor:
    """An object file for macOS on one architecture."""

    def compile_for(architecture: str, *flags: str) -> Path:
        target = tmp_path / f"{architecture}{len(list(tmp_path.iterdir()))}.o"
        triple = f"{architecture}-apple-macos11"
        command = [
            require("clang"),
            "-target",
            triple,
            "-std=c++17",
            "-g",
            *flags,
            "-c",
            source_of("symbols/freestanding"),
        ]
        run([*command, "-stdlib=libc++", "-Wno-unused-command-line-argument", "-o", target])
        return target

    return compile_for


def run(command: list[object]) -> None:
    subprocess.run([str(word) for word in command], check=True, timeout=60, capture_output=True)


def universal(*slices: tuple[str, Path], wide: bool = False) -> bytes:
    """A file of several architectures, as lipo makes it (mach-o/fat.h)."""
    entry = struct.Struct(">IIQQII" if wide else ">IIIII")
    header = struct.pack(">II", 0xCAFEBABF if wide else 0xCAFEBABE, len(slices))
    content = b""
    start = 4096
    for architecture, path in slices:
        slice_ = path.read_bytes()
        header += entry.pack(CPUS[architecture], 0, start + len(content), len(slice_), 12, *([0] if wide else []))
        content += slice_ + bytes(-len(slice_) % 4096)
    return header.ljust(start, b"\0") + content


def link(objects: Path, architecture: str, target: Path) -> Path:
    platform = ["-platform_version", "macos", "11.0", "11.0"]
    run(
        [
            require("ld64.lld"),
            "-arch",
            architecture,
            *platform,
            "-e",
            "_main",
            "-undefined",
            "dynamic_lookup",
            "-o",
            target,
            objects,
        ]
    )
    return target


def by_name(symbols: ModuleSymbols) -> dict[str, FunctionSymbol]:
    return {function.name: function for function in symbols.functions}


def frame_base(resolver: ElfResolver, path: str, function: FunctionSymbol) -> str:
    details = resolver.details(path)
    frame = None if details is None else details.frames.at(function.address)
    assert frame is not None
    assert [local.name for local in frame.calls[0].parameters] == ["point", "scale"]
    return str(frame.frame_base)


@pytest.mark.parametrize("architecture", CPUS)
@pytest.mark.parametrize("flags", ["-gdwarf-4 -O0", "-gdwarf-5 -O0", "-gdwarf-4 -O1 -fno-inline"])
def test_an_object_file_gives_functions_lines_and_signatures(
    compile_for: CompileFor, architecture: str, flags: str
) -> None:
    path = str(compile_for(architecture, *flags.split()))
    resolver = ElfResolver()
    symbols = resolver.module(path)
    assert (symbols.warnings, symbols.build_id, symbols.link_base) == ([], None, 0)
    found = by_name(symbols)
    assert {name: function.line for name, function in found.items()} == NAMES
    (hidden,) = resolver.detail([found["shapes::(anonymous namespace)::hidden"]])
    assert hidden.parameters is not None
    assert [(p.name, p.type.name) for p in hidden.parameters] == [("point", "const shapes::Point*"), ("scale", "long")]
    if "-O0" in flags:
        assert [p.register for p in hidden.parameters] == ([0, 1] if architecture == "x86_64" else [None, None])
    lines = resolver.lines(path)
    assert lines is not None
    if "-O0" in flags:
        assert frame_base(resolver, path, hidden) in FRAME_BASES[architecture]
    place = lines.at(hidden.address)
    assert place is not None and (Path(place.file).name, place.line) == ("freestanding.cpp", 18)
    assert hidden.address in [location.address for location in lines.of("freestanding.cpp", 18).locations]


def test_sizes_end_where_the_next_function_begins(compile_for: CompileFor) -> None:
    path = str(compile_for("arm64", "-g0"))
    functions = ElfResolver().module(path).functions
    assert [f.source_file for f in functions] == [None] * len(NAMES)
    assert [f.address + f.size for f in functions][:-1] == [f.address for f in functions][1:]
    assert all(f.size > 0 and f.size % 4 == 0 for f in functions)


@pytest.mark.parametrize("wide", [False, True])
def test_a_universal_file_is_read_as_x86_64_where_it_can_be(
    compile_for: CompileFor, tmp_path: Path, wide: bool
) -> None:
    one, other = compile_for("x86_64"), compile_for("arm64")
    both, single = tmp_path / "both", tmp_path / "single"
    both.write_bytes(universal(("arm64", other), ("x86_64", one), wide=wide))
    single.write_bytes(universal(("arm64", other), wide=wide))
    assert [open_image(str(path)).machine for path in (both, single)] == ["x86-64", "aarch64"]
    for path, alone in ((both, one), (single, other)):
        expected = [(f.name, f.address, f.size, f.line) for f in ElfResolver().module(str(alone)).functions]
        assert [(f.name, f.address, f.size, f.line) for f in ElfResolver().module(str(path)).functions] == expected


@pytest.mark.parametrize("architecture", CPUS)
def test_a_program_gets_its_debug_information_from_the_dsym_beside_it(
    compile_for: CompileFor, tmp_path: Path, architecture: str
) -> None:
    program = link(compile_for(architecture, "-O0"), architecture, tmp_path / "app")
    bare = ElfResolver().module(str(program))
    assert set(by_name(bare)) == set(NAMES) and not bare.has_debug_info
    assert bare.link_base == 0x100000000 and bare.build_id is not None

    run([require("dsymutil"), program])
    resolver = ElfResolver()
    symbols = resolver.module(str(program))
    assert symbols.has_debug_info and symbols.warnings == [] and symbols.build_id == bare.build_id
    assert {function.name: function.line for function in symbols.functions} == NAMES
    assert [f.address for f in symbols.functions] == [f.address for f in bare.functions]
    details = resolver.details(str(program))
    assert details is not None
    assert details.lines.of("freestanding.cpp", NAMES["plain"]).locations


def test_a_dsym_of_another_build_is_refused(compile_for: CompileFor, tmp_path: Path) -> None:
    program = link(compile_for("x86_64", "-O0"), "x86_64", tmp_path / "app")
    run([require("dsymutil"), program])
    link(compile_for("x86_64", "-O1", "-fno-inline"), "x86_64", program)
    symbols = ElfResolver().module(str(program))
    assert not symbols.has_debug_info and set(by_name(symbols)) == set(NAMES)
    assert len(symbols.warnings) == 1 and "another build" in symbols.warnings[0]


def test_a_mach_o_program_is_not_launched(compile_for: CompileFor, tmp_path: Path) -> None:
    program = tmp_path / "app"
    shutil.copy(compile_for("arm64"), program)
    program.chmod(0o755)
    with pytest.raises(StrobeError, match="a program for macOS") as caught:
        resolve(LaunchSpec(str(program)))
    assert caught.value.code == Code.VALIDATION_ERROR


def test_32_bit_files_and_java_classes_are_told_apart(tmp_path: Path) -> None:
    old, java = tmp_path / "old", tmp_path / "A.class"
    old.write_bytes(struct.pack("<IIIIIII", 0xFEEDFACE, 7, 3, 2, 0, 0, 0) + bytes(64))
    java.write_bytes(struct.pack(">IHH", 0xCAFEBABE, 0, 61) + bytes(64))
    with pytest.raises(StrobeError, match="x86 \\(32 bit\\)"):
        ElfResolver().module(str(old))
    with pytest.raises(StrobeError, match="neither"):
        ElfResolver().module(str(java))


def test_damaged_files_end_in_an_error_or_an_answer(compile_for: CompileFor, tmp_path: Path) -> None:
    one, other = compile_for("x86_64", "-gdwarf-5"), compile_for("arm64")
    good = [one.read_bytes(), other.read_bytes(), universal(("x86_64", one), ("arm64", other))]
    choose = random.Random(1)
    read = 0
    path = tmp_path / "damaged"
    for _ in range(FILES):
        content = bytearray(choose.choice(good))
        if choose.random() < 0.3:
            del content[choose.randrange(len(content)) :]
        # half of the changes go to the load commands
        for _ in range(choose.choice((0, 1, 3, 30)) if content else 0):
            position = choose.randrange(min(2000, len(content)) if choose.random() < 0.5 else len(content))
            content[position] = choose.choice((0, 0x7F, 0x80, 0xFF, choose.randrange(256)))
        path.write_bytes(content)
        try:
            resolver = ElfResolver()
            symbols = resolver.module(str(path))
            resolver.detail(symbols.functions[:10])
            lines = resolver.lines(str(path))
            with suppress(ValueError):
                _ = lines and lines.of("freestanding.cpp", 18)
            read += 1
        except StrobeError as error:
            assert error.code == Code.VALIDATION_ERROR
    assert FILES // 4 < read < FILES
