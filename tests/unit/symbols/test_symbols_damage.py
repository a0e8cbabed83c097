"""Files that are damaged anywhere, in any way, are refused, or read as far as they can be: see tests/fuzz/damage.py.

1,000 of them, 80 in the short form, STROBE_DAMAGED_FILES=10000 makes it that many: the same ones each time. One
of them again, with its traceback:
`PYTHONPATH=tests python tests/fuzz/read_damaged.py FOLDER NUMBER NUMBER+1 1 PROGRAM…`.
"""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzz import damage
from support import programs
from support.short_form import short

BuildProgram = Callable[..., Path]
TESTS = Path(__file__).resolve().parents[2]
FILES = int(os.environ.get("STROBE_DAMAGED_FILES", short(1000, 80)))
READERS = 2
MAX_KB = 1 << 20
VARIANTS = [
    "-O0",
    "-O2 -gdwarf-4 -fdebug-types-section",
    "-O2 -gz=zlib",
    "-O0 -gdwarf64",
    "-O2 -gdwarf-5 -fdebug-types-section -ffunction-sections",
    "-O0 -gdwarf-3 -gstrict-dwarf",
    "-O2 -flto",
]


@pytest.fixture(scope="module")
def sound(build_program: BuildProgram, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Programs of all forms that debug information has."""
    built = [build_program("symbols/naming", *flags.split()) for flags in VARIANTS]
    old = tmp_path_factory.mktemp("zdebug") / "naming"
    command = [programs.require("objcopy"), "--compress-debug-sections=zlib-gnu", str(built[1]), str(old)]
    subprocess.run(command, check=True, timeout=60)
    others = [build_program("symbols/variables", "-O0"), build_program("symbols/split", "-O2", "-g3")]
    return [*built, *others, old]


def start(folder: Path, first: int, sound: list[Path]) -> subprocess.Popen[bytes]:
    folder.mkdir()
    script = TESTS / "fuzz/read_damaged.py"
    numbers = [str(first), str(FILES), str(READERS)]
    environment = os.environ | {"PYTHONPATH": str(TESTS), "PYTHONWARNINGS": "error"}
    command = [sys.executable, str(script), str(folder), *numbers, *map(str, sound)]
    with (folder / "results").open("w") as results, (folder / "complaints").open("w") as complaints:
        return subprocess.Popen(command, env=environment, stdout=results, stderr=complaints)


@pytest.mark.timeout(120 + FILES // 2)
def test_damaged_files_end_in_an_error_or_an_answer(sound: list[Path], tmp_path: Path) -> None:
    readers = [start(tmp_path / str(first), first, sound) for first in range(READERS)]
    results: list[dict[str, Any]] = []
    ended = [reader.wait() for reader in readers]  # each ends itself where a file takes too long
    for first, status in enumerate(ended):
        rows = [json.loads(line) for line in (tmp_path / str(first) / "results").read_text().splitlines()]
        assert status == 0, f"after {rows[-1:]}, status {status}:\n{(tmp_path / str(first) / 'complaints').read_text()}"
        results += [row for row in rows if "kind" in row]
    assert sorted(row["number"] for row in results) == list(range(FILES))
    assert [row for row in results if row["peak_kb"] > MAX_KB] == []
    outcomes = collections.Counter(row["outcome"] for row in results)
    assert outcomes["read"] > FILES // 2 and outcomes["refused"] > FILES // 20
    # damage that always ends at the door would not test much; a cut file has lost its section headers
    read = {row["kind"] for row in results if row["outcome"] == "read"}
    assert read >= {kind.__name__ for kind in damage.KINDS if kind is not damage.cut_short}
