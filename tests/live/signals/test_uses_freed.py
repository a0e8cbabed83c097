"""A crash says which pointers of its frames lead into memory that was freed, where @heap is recorded; and of no block
that was handed out again. Program: uses_freed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import line_of

import strobe
from strobe.session.crashes import freed as freed_blocks

Build = Callable[..., Path]
SECONDS = 60.0
FLAGS = ("-g", "-pthread")
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O1"])


def freed(program: Path, *arguments: str, trace: tuple[str, ...] = ("@heap",), **more: object) -> list[str]:
    """What is said of freed memory."""
    with strobe.launch([str(program), *arguments], trace=trace, **more) as run:  # type: ignore[arg-type]
        run.wait(timeout=SECONDS)
        crash = run.crash
        assert crash is not None and crash.values is not None
        return list(crash.values.get("freed", []))


@LEVELS
def test_an_object_that_another_thread_has_deleted(build_program: Build, level: str) -> None:
    found = freed(build_program("uses_freed", level, *FLAGS), "member", "100")
    assert re.fullmatch(
        r"this \(frame 0\)[^:]* leads? to a block of 40 bytes at 0x[0-9a-f]+ that was freed in "
        rf"drop_item uses_freed\.cpp:{line_of('uses_freed.cpp', '// dropped')} by thread \d+ \(uses_freed\) "
        rf"\S+ \ws before; allocated in make_item uses_freed\.cpp:{line_of('uses_freed.cpp', '// made')}",
        found[0],
    ), found
    assert len(found) == 1


def test_a_pointer_in_a_struct(build_program: Build) -> None:
    (found,) = freed(build_program("uses_freed", "-O0", *FLAGS), "field")
    assert found.startswith("range->begin (frame 0) and range.begin (frame 1) lead 16 bytes into a block of 48 bytes")
    assert "freed in drop_text uses_freed.cpp:" in found and "allocated in make_text uses_freed.cpp:" in found


def test_each_pointer_has_its_own_offset(build_program: Build) -> None:
    (found,) = freed(build_program("uses_freed", "-O0", *FLAGS), "range")
    assert found.startswith(
        "range->begin (frame 0) and range.begin (frame 1) lead 16 bytes, range->end (frame 0) and range.end (frame 1) "
        "lead 40 bytes into a block of 48 bytes at 0x"
    )


def test_two_blocks_of_one_start(build_program: Build) -> None:
    older, newer = freed(build_program("uses_freed", "-O0", *FLAGS), "smaller")
    assert "range->begin (frame 0)" in older and "2900 bytes into a block of 3000 bytes" in older
    assert "range->end (frame 0)" in newer and "100 bytes into a block of 1500 bytes" in newer


@pytest.mark.parametrize("how", ["again", "alive"])
def test_what_is_not_freed_now(build_program: Build, how: str) -> None:
    assert freed(build_program("uses_freed", "-O0", *FLAGS), how) == []


def test_memory_that_is_unmapped(build_program: Build) -> None:
    found, doubt = freed(build_program("uses_freed", "-O0", *FLAGS), "unmapped")
    assert found.startswith("the address of the fault") and "fault leads 4096 bytes" in found
    assert "text (frame 0) leads 0 bytes into a block of 1048576 bytes" in found
    assert doubt.endswith("blocks of 128 KB or more may have been unmapped, and other memory mapped there")


def test_what_realloc_has_moved(build_program: Build) -> None:
    (found,) = freed(build_program("uses_freed", "-O0", *FLAGS), "grown")
    assert "to a block of 48 bytes" in found and "that was freed (realloc) in grown uses_freed.cpp:" in found


def test_the_second_free_is_not_the_one(build_program: Build) -> None:
    """It has not returned: the one before is named."""
    program = build_program("uses_freed", "-O0", *FLAGS)
    found = freed(program, "twice", trace=("@heap", "drop_text"))
    (told,) = [one for one in found if "text (frame" in one]
    assert "to a block of 2000 bytes" in told and "allocated in twice uses_freed.cpp:" in told
    with strobe.launch([str(program), "twice"], trace=["@heap"]) as run:
        run.wait(timeout=SECONDS)
        assert [call.returned for call in run.calls("free") if "drop_text" in str(call.stack)] == [True, False]


def test_without_the_heap_that_is_said_where_it_may_be_so(build_program: Build) -> None:
    program = build_program("uses_freed", "-O0", *FLAGS)
    unknown = ["not known whether pointers lead into freed memory: @heap was not traced"]
    for how in ("member", "unmapped", "twice"):
        assert freed(program, how, trace=("drop_item",)) == unknown, how
    assert freed(program, "null", trace=("drop_item",)) == []


@pytest.mark.parametrize("part", ["free", "malloc"])
def test_a_part_of_the_heap_is_none_of_it(build_program: Build, part: str) -> None:
    """The allocator's functions are the program's own, of which one is traced."""
    found = freed(build_program("owns_heap", "-O0", "-g", "-fno-builtin"), trace=(part,))
    assert found == ["not known whether pointers lead into freed memory: @heap was not traced"]


def test_what_else_gives_memory_is_missed(build_program: Build) -> None:
    found = freed(build_program("owns_heap", "-O0", "-g", "-fno-builtin"), trace=("malloc", "free"))
    assert found == []


def test_a_search_that_is_cut_is_told(build_program: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed_blocks, "_SECONDS", 0.0)
    found = freed(build_program("uses_freed", "-O0", *FLAGS), "field")
    assert found == ["not known of all pointers: the search was cut after 0 s"]


def test_what_was_evicted_since_is_a_doubt(build_program: Build, strobe_home: Path) -> None:
    strobe_home.mkdir(mode=0o700, exist_ok=True)
    (strobe_home / "settings.json").write_text('{"events": {"maxPerSession": 20000}}')
    found = freed(build_program("uses_freed", "-O0", *FLAGS), "evicted", sampling="off")
    assert "freed in drop_text" in found[0]
    assert "events evicted, up to " in found[1]


def test_what_may_have_got_the_block_is_said(build_program: Build) -> None:
    found = freed(build_program("uses_freed", "-O0", *FLAGS), "placed")
    assert "was freed in drop_text" in found[0]
    assert found[1:] == [
        "not certain, as such memory may have been handed out again: 1 block of posix_memalign not followed"
    ]


def test_at_the_terminal(build_program: Build) -> None:
    command = [sys.executable, "-m", "strobe.cli.main", "run", "-t", "@heap"]
    program = build_program("uses_freed", "-O0", *FLAGS)
    result = subprocess.run([*command, str(program), "field"], capture_output=True, text=True, timeout=SECONDS)
    assert "strobe:   freed: range->begin (frame 0) and range.begin (frame 1) lead 16 bytes into" in result.stderr
