"""ELF files for AArch64: read as those of x86-64 are, but nothing is said of which register has which parameter."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from support.programs import require, source_of

from strobe.symbols import ElfResolver, Pattern, select
from strobe.symbols.objects.formats import open_image


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("aarch64") / "library.so"
    linker = Path(require("ld.lld")).parent
    flags = ["--target=aarch64-linux-gnu", "-g", "-O0", "-fPIC", "-shared", "-nostdlib", "-fuse-ld=lld", f"-B{linker}"]
    command = [require("clang"), *flags, "-o", str(target), str(source_of("symbols/freestanding"))]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return str(target)


def test_functions_and_lines_are_found(library: str) -> None:
    resolver = ElfResolver()
    symbols = resolver.module(library)
    with closing(open_image(library)) as image:
        assert image.machine == "aarch64"
    assert symbols.has_debug_info
    plain = next(function for function in symbols.functions if function.name == "plain")
    assert (plain.line, plain.size % 4) == (28, 0) and plain.size > 0
    details = resolver.details(library)
    assert details is not None and details.lines is not None
    place = details.lines.at(plain.address)
    assert place is not None and (Path(place.file).name, place.line) == ("freestanding.cpp", 28)


def test_parameters_have_types_and_no_places(library: str) -> None:
    resolver = ElfResolver()
    found = resolver.detail(resolver.module(library).functions)
    plain = next(function for function in found if function.name == "plain")
    assert plain.parameters is not None
    assert [(item.name, item.type.name) for item in plain.parameters] == [
        ("point", "const shapes::Point*"),
        ("ratio", "double"),
    ]
    for function in found:
        assert all(item.captures == () for item in function.parameters or ()) and function.return_captures == ()


@pytest.mark.parametrize(("option", "unseen"), [("-O0", {}), ("-O2", {"Both::second": "thunk"})])
def test_thunks_that_jump_are_told_from_copies(tmp_path: Path, option: str, unseen: dict[str, str]) -> None:
    """Where nothing is optimized, what a thunk calls is the function; else it has a copy of that."""
    linker = Path(require("ld.lld")).parent
    (tmp_path / "thunks.cpp").write_text(
        "struct One { virtual int first(); int a; }; struct Two { virtual int second(int); int b; };\n"
        "struct Both : One, Two { int second(int) override; int c; };\n"
        "int One::first() { return a; } int Two::second(int by) { return b * by; }\n"
        "int Both::second(int by) { return b + by * c; }\n"
    )
    flags = [
        "--target=aarch64-linux-gnu",
        option,
        "-fPIC",
        "-shared",
        "-nostdlib",
        "-fno-rtti",
        "-fuse-ld=lld",
        "-Wl,-Bsymbolic",
    ]
    command = [require("clang++"), *flags, f"-B{linker}", "-o", str(tmp_path / "thunks.so"), "thunks.cpp"]
    subprocess.run(command, check=True, timeout=60, capture_output=True, cwd=tmp_path)
    symbols = ElfResolver().module(str(tmp_path / "thunks.so"))
    assert select([Pattern.parse("Both::second")], [symbols]).unseen == unseen
