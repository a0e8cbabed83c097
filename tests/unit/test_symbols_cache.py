"""What is kept of a large module comes back the same, and a kept file that is damaged, old or gone does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs

from strobe.symbols import ElfResolver, ModuleSymbols, cache
from strobe.symbols.debug_info import DebugInfo

BuildProgram = Callable[..., Path]


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "WORTH_BYTES", 0)


@pytest.fixture
def program(build_program: BuildProgram) -> Path:
    return build_program("symbols/inlined", "-O0", "-Wl,--build-id")


def load(path: Path) -> ModuleSymbols:
    """By a resolver of its own, when all it keeps is written."""
    symbols = ElfResolver().module(str(path))
    for thread in threading.enumerate():
        if thread.name == "strobe-symbols":
            thread.join(30)
    return symbols


def kept(home: Path) -> list[Path]:
    return sorted((home / "symbols").iterdir())


class ReadAnewError(Exception):
    """The cache was not used."""


def refuse_to_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    def scan(self: DebugInfo) -> None:
        raise ReadAnewError

    monkeypatch.setattr(DebugInfo, "scan", scan)


def test_the_second_reading_is_the_same_without_a_scan(
    program: Path, strobe_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(program)
    detailed = ElfResolver().detail(first.functions)
    refuse_to_scan(monkeypatch)
    second = load(program)
    assert second == first and second.inlined_sites == first.inlined_sites and second.inlined_only == {"small": 3}
    assert ElfResolver().detail(second.functions) == detailed
    assert any(function.parameters for function in detailed)
    (file,) = kept(strobe_home)
    assert file.suffix == ".db" and file.stat().st_mode & 0o777 == 0o600


def test_a_copy_elsewhere_is_known_and_a_stripped_one_is_not(
    program: Path, tmp_path: Path, strobe_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(program)
    stripped = tmp_path / "other" / program.name
    stripped.parent.mkdir()
    subprocess.run([programs.require("strip"), "-g", "-o", str(stripped), str(program)], check=True, timeout=30)
    assert not load(stripped).has_debug_info and len(kept(strobe_home)) == 2
    stripped.write_bytes(program.read_bytes())
    refuse_to_scan(monkeypatch)
    assert {function.module for function in load(stripped).functions} == {str(stripped)}


def test_damaged_files_are_made_anew(program: Path, strobe_home: Path) -> None:
    first = load(program)
    (file,) = kept(strobe_home)
    good = file.read_bytes()
    damaged = [good[:100], good[: len(good) // 2], b"", b"no database" * 100]
    for position in range(0, len(good), len(good) // 60):
        damaged.append(good[:position] + bytes([good[position] ^ 0x41]) + good[position + 1 :])
    for content in damaged:
        file.write_bytes(content)
        assert load(program) == first
        assert kept(strobe_home) == [file]


def test_another_version_is_not_read(program: Path, strobe_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(program)
    monkeypatch.setattr(cache, "SCHEMA", cache.SCHEMA + 1)
    refuse_to_scan(monkeypatch)
    with pytest.raises(ReadAnewError):
        load(program)


def test_the_least_recently_used_go(
    program: Path, build_program: BuildProgram, strobe_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = build_program("symbols/first", "-O0", str(programs.PROGRAMS / "symbols/second.c"))
    load(program)
    (old,) = kept(strobe_home)
    os.utime(old, (1, 1))
    monkeypatch.setattr(cache, "CAP_BYTES", 2 * old.stat().st_size - 1)
    load(other)
    (new,) = kept(strobe_home)
    assert new != old


def test_a_home_that_cannot_be_used_costs_time_only(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(program)
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    monkeypatch.setenv("STROBE_HOME", str(no_folder))
    assert load(program) == first


LOADS = """
import sys
from strobe.symbols import ElfResolver, cache
cache.WORTH_BYTES = 0
for _ in range(5):
    functions = ElfResolver().module(sys.argv[1]).functions
print(len(functions))
"""


def test_several_processes_at_once(program: Path, strobe_home: Path) -> None:
    command = [sys.executable, "-c", LOADS, str(program)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    try:
        answers = {process.communicate(timeout=60)[0].strip() for process in running}
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert answers == {str(len(load(program).functions))}
    assert [file.suffix for file in kept(strobe_home)] == [".db"]
