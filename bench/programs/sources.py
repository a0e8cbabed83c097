"""Programs from Debian's sources, fetched with `apt-get source` and built with -g -O2 into a folder that is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..harness import Skipped

FETCH_SECONDS, BUILD_SECONDS = 300, 1200


@dataclass(frozen=True, slots=True)
class Package:
    """A source package, what its folder is called, and how `program` in it is built; {} stands for more flags."""

    name: str
    folder: str
    commands: tuple[str, ...]
    program: str


SQLITE = Package(
    "sqlite3",
    "sqlite3-*",
    ('./configure --disable-tcl --disable-readline --disable-shared --enable-fts5 CFLAGS="-g -O2 {}"', "make sqlite3"),
    "sqlite3",
)
ZSTD = Package("libzstd", "libzstd-*", ('make -C programs zstd-release CFLAGS="-g -O2 {}"',), "programs/zstd")
REDIS = Package(
    "redis",
    "redis-*",
    ('make MALLOC=libc OPTIMIZATION=-O2 BUILD_TLS=no REDIS_CFLAGS="{}" REDIS_LDFLAGS="{}"',),
    "src/redis-server",
)


def built(folder: Path, package: Package, flags: str = "") -> Path:
    """The program, built now unless it was before. Raises Skipped where the sources cannot be had or built."""
    place = folder / ("built" + flags.replace(" ", ""))
    place.mkdir(parents=True, exist_ok=True)
    sources = place / package.name
    if not (sources / package.program).exists():
        shutil.rmtree(sources, ignore_errors=True)
        shutil.copytree(_fetched(folder, package), sources, symlinks=True)
        for command in package.commands:
            _run(command.replace("{}", flags), sources, BUILD_SECONDS, f"{package.name} could not be built")
    return sources / package.program


def _fetched(folder: Path, package: Package) -> Path:
    """The package's sources as Debian has them: unpacked in `folder`, fetched where they are not."""
    for _ in range(2):
        found = sorted(path for path in folder.glob(package.folder) if path.is_dir())
        if found:
            return found[0]
        reason = (
            f"no sources of {package.name}: apt-get source needs a deb-src line in apt's lists of sources, apt-get "
            f"update after it, and dpkg-dev; or unpack them in {folder}"
        )
        _run(f"apt-get source {package.name}", folder, FETCH_SECONDS, reason)
    raise Skipped(f"apt-get source {package.name} left no folder {package.folder} in {folder}")


def _run(command: str, folder: Path, seconds: float, failing: str) -> None:
    """A shell's command, without a terminal; raises Skipped with `failing` and the last line of what it said."""
    log = folder / "strobe-bench.log"
    environment = {**os.environ, "DEB_BUILD_OPTIONS": "", "LC_ALL": "C"}
    with log.open("w") as output:
        try:
            done = subprocess.run(
                command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                timeout=seconds, env=environment,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Skipped(f"{failing}: not done after {seconds} s") from None
    if done.returncode != 0:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise Skipped(f"{failing} ({' '.join(last)})")
