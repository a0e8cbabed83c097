"""Compile the programs of tests/programs, each variant once; what has not changed is taken from the cache."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
SETS = ("differential", "symbols", "torture")  # may have programs of the same name as others
WARNINGS = ("-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True, slots=True)
class Language:
    """How sources with one ending are compiled; `compiler` is the default, which a test may replace."""

    compiler: str
    flags: tuple[str, ...]
    last_flags: tuple[str, ...] = ()


LANGUAGES = {
    ".c": Language("gcc", ("-std=gnu11", "-g", *WARNINGS), ("-pthread", "-ldl")),
    ".cpp": Language("g++", ("-std=c++20", "-g", *WARNINGS), ("-pthread", "-ldl")),
    ".rs": Language("rustc", ("--edition=2021", "-g", "-Dwarnings")),
}

_MISSING = re.compile(r"-fuse-ld=\w+(?=')|libclang_rt\.[\w.-]+|(?<=cannot find )(?:-l|lib)[altu]san\S*|LLVMgold\.so")


def require(tool: str) -> str:
    """Full path of a program that a test needs. Without it the test is skipped; in CI it fails, for CI installs it."""
    # where Debian keeps some tools of LLVM, and servers: these folders are not on each user's PATH
    elsewhere = [*sorted(Path("/usr/lib").glob("llvm-*/bin")), "/usr/sbin", "/usr/local/sbin"]
    found = shutil.which(tool) or shutil.which(tool, path=os.pathsep.join(map(str, elsewhere)))
    return found or lack(f"{tool} is not installed")


def lack(reason: str) -> NoReturn:
    """Something that a test needs is not there."""
    pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def source_of(name: str) -> Path:
    """The source file of the program called `name`; of those in SETS `set/name`."""
    found = [path for suffix in LANGUAGES for path in file_called(name + suffix)]
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found) or 'no'} programs {name!r} in {PROGRAMS}")
    return found[0]


def file_called(name: str) -> list[Path]:
    """The files of that name, in whatever folder of the programs; in SETS, and folders of one, only where the set is
    named."""
    folder, _, file = name.rpartition("/")
    below = PROGRAMS.glob(f"{folder}/*/{file}") if folder in SETS else ()
    elsewhere = [path for path in PROGRAMS.glob(f"*/{name}") if path.parent.name not in SETS and not folder]
    return [path for path in (PROGRAMS / name, *below, *elsewhere) if path.exists()]


def line_of(name: str, marker: str) -> int:
    """The number of the first line of a source that has this in it."""
    (source,) = file_called(name)
    return next(number for number, line in enumerate(source.read_text().splitlines(), 1) if marker in line)


def generate(arguments: Sequence[str], cache: Path) -> Path:
    """Run a generator of C or C++ sources (`many_functions.py 5000`), return the file it wrote."""
    (script,) = file_called(arguments[0])
    key = hashlib.sha256(script.read_bytes() + repr(list(arguments)).encode()).hexdigest()[:16]
    target = cache / key / f"{script.stem}{'.cpp' if 'c++' in arguments else '.c'}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        text = subprocess.run(
            [sys.executable, script, *arguments[1:]], check=True, capture_output=True, timeout=60
        ).stdout
        _publish(target, text)
    return target


def build(source: Path, flags: Sequence[str], compiler: str | None, cache: Path) -> Path:
    """Compile `source`, return the program, called as the source is. A complaint of the compiler fails the test, unless
    it is about a part that Debian packages on its own: a linker, the runtime of a sanitizer."""
    language = LANGUAGES[source.suffix]
    tool = require(compiler or language.compiler)
    command = [tool, *language.flags, f"-I{PROGRAMS}" if source.suffix != ".rs" else "-Cprefer-dynamic=no", *flags]
    headers = b"".join(path.read_bytes() for path in sorted(PROGRAMS.rglob("*.h")))
    more = b"".join(Path(flag).read_bytes() for flag in flags if flag.endswith(tuple(LANGUAGES)))  # other sources
    identity = repr([command, str(source), Path(tool).stat().st_mtime_ns]).encode()
    target = cache / hashlib.sha256(identity + headers + more + source.read_bytes()).hexdigest()[:16] / source.stem
    if target.exists():
        return target
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    if source.suffix == ".rs":  # whose parts have the same names in each test run
        partial = target.parent / str(os.getpid()) / target.name
    partial.parent.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(
        [*command, str(source), "-o", str(partial), *language.last_flags], capture_output=True, text=True, timeout=120
    )
    if result.returncode != 0:
        if missing := _MISSING.search(result.stderr):
            lack(f"{tool} has no {missing[0]}")
        pytest.fail(f"{source.name} does not compile:\n{result.stderr}", pytrace=False)
    partial.rename(target)
    return target


def _publish(target: Path, content: bytes) -> None:
    """Write by rename: several test runs may share the cache."""
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.rename(target)
