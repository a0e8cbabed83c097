"""Files that are cut, or in which bits and bytes are changed anywhere: refused, or read as far as they can be.

STROBE_DAMAGED_FILES=1000 makes it that many files; the same ones each time.
"""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from strobe.errors import Code, StrobeError
from strobe.symbols import ElfResolver

BuildProgram = Callable[..., Path]
FILES = int(os.environ.get("STROBE_DAMAGED_FILES", "150"))
MAX_GROWTH_KB = 1 << 20


def damaged(good: bytes, choose: random.Random) -> bytes:
    if choose.random() < 0.25:
        return good[: choose.randrange(len(good))]
    content = bytearray(good)
    first = choose.choice((0, len(good) // 3))  # a third holds the code, in which a change changes nothing
    for _ in range(choose.choice((1, 3, 20, 200))):
        content[choose.randrange(first, len(good))] = choose.choice((0, 0x7F, 0x80, 0xFF, choose.randrange(256)))
    return bytes(content)


def read_all(path: Path) -> None:
    resolver = ElfResolver()
    symbols = resolver.module(str(path))
    resolver.detail(symbols.functions[:40])
    lines = resolver.lines(str(path))
    if lines is None:
        return
    for function in symbols.functions[:20]:
        with suppress(ValueError):
            lines.at(function.address)
    with suppress(ValueError):
        lines.of("naming.cpp", 30)


def test_damaged_files_end_in_an_error_or_an_answer(build_program: BuildProgram, tmp_path: Path) -> None:
    variants = ["-O0", "-O2 -gdwarf-4 -fdebug-types-section", "-O2 -gz=zlib", "-O0 -gdwarf64"]
    programs = [build_program("symbols/naming", *flags.split()).read_bytes() for flags in variants]
    choose = random.Random(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read = 0
    for number in range(FILES):
        path = tmp_path / f"damaged{number}"
        path.write_bytes(damaged(choose.choice(programs), choose))
        try:
            read_all(path)
            read += 1
        except StrobeError as error:
            assert error.code == Code.VALIDATION_ERROR
        path.unlink()
    assert FILES // 4 < read < FILES
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KB
