"""Sections are decompressed whole or not at all; large ones into files that are checked before they are used again."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from strobe.symbols import ElfResolver, ModuleSymbols, cache
from strobe.symbols.objects import sections
from strobe.symbols.objects.inflate import inflated, inflated_file

BuildProgram = Callable[..., Path]
CONTENT = bytes(range(256)) * 1000
STREAM = memoryview(zlib.compress(CONTENT))


def load(program: Path) -> ModuleSymbols:
    symbols = ElfResolver().module(str(program))
    for thread in threading.enumerate():
        if thread.name == "strobe-symbols":  # it saves into the home that is set by then
            thread.join(10)
    return symbols


def test_streams_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    assert inflated(".debug_info", STREAM, len(CONTENT)) == CONTENT
    damaged = memoryview(bytes(STREAM[:20]) + b"\xff" * 20 + bytes(STREAM[40:]))
    for data, size in (
        (STREAM, len(CONTENT) + 1),
        (STREAM[:-9], len(CONTENT)),
        (damaged, len(CONTENT)),
        (STREAM, 2**60),
    ):
        with pytest.raises(ValueError, match="debug_info"):
            inflated(".debug_info", data, size)
        with pytest.raises(ValueError, match="debug_info"):
            inflated_file(tmp_path / "kept", ".debug_info", data, size)
    with pytest.raises(ValueError, match="longer"):
        inflated_file(tmp_path / "kept", ".debug_info", STREAM, 100)
    assert list(tmp_path.iterdir()) == []


def test_kept_files_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "kept"
    for damage in (CONTENT, CONTENT[:-1], b"", b"x" + CONTENT[1:]):
        assert inflated_file(file, ".debug_info", STREAM, len(CONTENT)) == CONTENT
        file.write_bytes(damage)
    assert inflated_file(file, ".debug_info", STREAM, len(CONTENT)) == CONTENT
    assert file.read_bytes() == CONTENT and file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]


@pytest.fixture
def compressed(build_program: BuildProgram, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "WORTH_BYTES", 0)
    monkeypatch.setattr(sections, "_KEPT_BYTES", 1)
    return build_program("symbols/naming", "-O0", "-gz=zlib")


def test_a_compressed_program_is_read_through_kept_files(
    compressed: Path, strobe_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols = load(compressed)
    assert symbols.has_debug_info and symbols.warnings == []
    kept = {file.suffix for file in (strobe_home / "symbols").iterdir()} - {".db"}
    assert {".debug_info", ".debug_line"} <= kept
    monkeypatch.setattr(sections, "_KEPT_BYTES", 1 << 40)
    monkeypatch.setattr(cache, "WORTH_BYTES", 1 << 40)
    assert load(compressed) == symbols


def test_without_a_home_it_is_decompressed_into_memory(
    compressed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols = load(compressed)
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    monkeypatch.setenv("STROBE_HOME", str(no_folder))
    assert load(compressed) == symbols
    monkeypatch.setenv("STROBE_HOME", str(tmp_path / "new"))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "symbols").write_text("")
    assert load(compressed) == symbols


def test_large_debug_information_is_mapped(build_program: BuildProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    program = build_program("symbols/naming", "-O0")
    symbols = load(program)
    monkeypatch.setattr(sections, "_READ_BYTES", 0)
    assert load(program) == symbols
