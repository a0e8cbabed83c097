"""What is kept of a large module comes back the same, and a kept file that is damaged, old or gone does no harm."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import programs

from strobe.symbols import ElfResolver, ModuleSymbols, cache
from strobe.symbols.dwarf.columns import Columns
from strobe.symbols.dwarf.debug_info import DebugInfo

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


def test_what_was_derived_is_kept_with_the_symbols(program: Path, tmp_path: Path, strobe_home: Path) -> None:
    program = Path(shutil.copy(program, tmp_path / "program"))
    load(program)
    (symbols,) = kept(strobe_home)
    assert ElfResolver().derived(str(program), "sum-1", lambda: b"first") == b"first"
    assert ElfResolver().derived(str(program), "sum-1", lambda: b"second") == b"first"
    assert ElfResolver().derived(str(program), "sum-2", lambda: b"second") == b"second"
    files = [file for file in kept(strobe_home) if file != symbols]
    assert len(files) == 2
    for file in files:
        file.write_bytes(b"no database" * 100)
    assert ElfResolver().derived(str(program), "sum-1", lambda: b"third") == b"third"
    subprocess.run([programs.require("strip"), "-g", str(program)], check=True, timeout=30)
    assert ElfResolver().derived(str(program), "sum-1", lambda: b"fourth") == b"fourth"


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


def test_types_variables_and_addresses_are_kept(
    build_program: BuildProgram, monkeypatch: pytest.MonkeyPatch, strobe_home: Path
) -> None:
    program = build_program("symbols/variables", "-O0", "-Wl,--build-id")

    def answers() -> list[Any]:
        symbols = load(program)
        resolver = ElfResolver()
        details = resolver.details(str(program))
        assert details is not None
        debug_info = details.debug_info
        columns = debug_info.named.columns
        types, variables = (columns[f"{table}.name"].decode().split("\0")[:-1] for table in ("type", "variable"))
        inside = [symbols.function_at(function.address + function.size - 1) for function in symbols.functions]
        return [
            {name: debug_info.find_types(name) for name in types},
            {name: debug_info.find_variables(name) for name in variables},
            inside,
            [symbols.function_at(0), symbols.function_at(2**63)],
            symbols.scoped_names,
        ]

    first = answers()
    refuse_to_scan(monkeypatch)
    assert answers() == first
    found_types, found_variables, inside, outside, _ = first
    assert found_types and found_variables and outside == [None, None]
    assert all(found_types.values()) and all(found_variables.values())
    assert inside == [f if f.size else None for f in load(program).functions]


def test_an_address_in_a_cold_part_belongs_to_its_function(build_program: BuildProgram) -> None:
    symbols = load(build_program("symbols/split", "-O2", "-freorder-blocks-and-partition"))
    parts = ElfResolver().module(symbols.path).parts
    assert parts is not None
    starts, ends, entries = (memoryview(parts.columns[name]).cast("Q") for name in ("start", "end", "entry"))
    away = [(start, end, entry) for start, end, entry in zip(starts, ends, entries, strict=True) if start != entry]
    assert away, "gcc has made no cold part"
    for start, end, entry in away:
        for address in (start, end - 1):
            function = symbols.function_at(address)
            assert function is not None and function.address == entry


def test_what_killed_writers_leave_goes_after_an_hour(program: Path, strobe_home: Path) -> None:
    folder = strobe_home / "symbols"
    folder.mkdir(parents=True)
    old, new = folder / "a.1-abc.new", folder / "a.2-abc.new"
    for file in (old, new):
        file.write_bytes(b"half of it")
    os.utime(old, (time.time() - 3700,) * 2)
    load(program)
    assert not old.exists() and new.exists() and len(kept(strobe_home)) == 2


def test_two_writers_of_one_file(program: Path, strobe_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have found nothing, and both write: either file is right."""
    both = threading.Barrier(2)
    write = cache._write

    def together(file: Path, content: Columns) -> None:
        write(file, content)
        both.wait(30)

    monkeypatch.setattr(cache, "_write", together)
    found: list[ModuleSymbols] = []
    threads = [threading.Thread(target=lambda: found.append(load(program))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    load(program)
    assert len(found) == 2 and [file.suffix for file in kept(strobe_home)] == [".db"]
    refuse_to_scan(monkeypatch)
    assert load(program) == found[0] == found[1]


def test_a_home_for_reading_only_is_used(program: Path, strobe_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(program)

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    refuse_to_scan(monkeypatch)
    assert load(program) == first


FULL = """
import resource, sys, threading
from strobe.symbols import ElfResolver, cache
cache.WORTH_BYTES = 0
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
print(len(ElfResolver().module(sys.argv[1]).functions))
"""


def test_a_full_disk_costs_time_only(program: Path, strobe_home: Path) -> None:
    command = [sys.executable, "-c", FULL, str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert kept(strobe_home) == []
    assert int(ended.stdout) == len(load(program).functions)
