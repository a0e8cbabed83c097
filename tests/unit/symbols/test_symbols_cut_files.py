"""A program that is built anew over its file while that is mapped: what is gone reads as zeros, and Strobe lives."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from strobe._core import FileMap

BuildProgram = Callable[..., Path]
PAGE = 4096


def run(code: str, file: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: where the guard fails, that one ends."""
    return subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=60)


def filled(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(b"\7" * 16 * PAGE)
    return file


def test_a_map_is_the_file(tmp_path: Path) -> None:
    for content in (b"", b"abc", bytes(range(256)) * 100):
        file = tmp_path / "file"
        file.write_bytes(content)
        with file.open("rb") as stream:
            mapped = FileMap(stream.fileno())
        assert bytes(memoryview(mapped)) == content and memoryview(mapped).readonly and not mapped.was_cut


CUT = """
import faulthandler, os, sys
from strobe._core import FileMap
faulthandler.enable()
with open(sys.argv[1], "rb") as stream:
    maps = [FileMap(stream.fileno()) for _ in range(3)]
assert bytes(memoryview(maps[0])).count(7) == 16 * 4096
os.truncate(sys.argv[1], 5000)
for mapped in maps[:2]:
    content = bytes(memoryview(mapped))
    assert content == b"\\7" * 5000 + bytes(16 * 4096 - 5000), content.count(7)
print([mapped.was_cut for mapped in maps])
"""


def test_what_is_cut_off_reads_as_zeros(tmp_path: Path) -> None:
    ended = run(CUT, filled(tmp_path))
    assert (ended.returncode, ended.stdout) == (0, "[True, True, False]\n"), ended.stderr


FOREIGN = """
import mmap, os, sys
from strobe._core import FileMap
with open(sys.argv[1], "rb") as stream:
    guarded = FileMap(stream.fileno())
    other = mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)
if {with_faulthandler}:
    import faulthandler
    faulthandler.enable()
    again = FileMap(os.open(sys.argv[1], os.O_RDONLY))
os.truncate(sys.argv[1], 0)
other[0]
"""


def test_other_faults_end_the_process_as_ever(tmp_path: Path) -> None:
    for with_faulthandler in (False, True):
        ended = run(FOREIGN.format(with_faulthandler=with_faulthandler), filled(tmp_path))
        assert ended.returncode == -signal.SIGBUS
        assert ("Bus error" in ended.stderr) == with_faulthandler


BUILT_ANEW = """
import os, sys
from strobe.symbols import ElfResolver
from strobe.symbols.objects import sections
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.objects.formats import open_image
sections._READ_BYTES = 0
path = sys.argv[1]
resolver = ElfResolver()
functions = list(resolver.module(path).functions)
details = resolver.details(path)
debug_info = DebugInfo(open_image(path))
os.truncate(path, 4096)
for function in functions:
    try:
        details.lines.at(function.address)
    except UNREADABLE:
        pass
try:
    debug_info.scan()
except UNREADABLE as error:
    print(error)
"""


def test_a_program_that_is_cut_while_it_is_read(build_program: BuildProgram, tmp_path: Path) -> None:
    program = tmp_path / "program"  # the built one is other tests', too
    program.write_bytes(build_program("symbols/naming", "-O0").read_bytes())
    ended = run(BUILT_ANEW, program)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout  # why it could not be read
