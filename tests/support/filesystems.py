"""File systems that are full, or for reading only."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small(folder: Path, size_bytes: int) -> Iterator[Path]:
    """A file system of so many bytes at `folder`. Skips the test where none can be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={size_bytes},mode=700", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _unmount(folder)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """`folder`, as a file system that is mounted for reading only. Skips the test where it cannot be."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield folder
    finally:
        _unmount(folder)


def fill(folder: Path, leave_bytes: int = 0) -> Path:
    """Takes all the room but `leave_bytes`, by a file that may be removed."""
    filler = folder / "filler"
    with filler.open("wb") as file, contextlib.suppress(OSError):
        while True:
            os.write(file.fileno(), b"x" * 4096)
    if leave_bytes:
        os.truncate(filler, max(0, filler.stat().st_size - leave_bytes))
    return filler


def _mount(*arguments: str) -> None:
    try:
        result = subprocess.run(["mount", *arguments], capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if result.returncode:
        pytest.skip(f"no file system can be mounted here: {result.stderr.strip()}")


def _unmount(folder: Path) -> None:
    """A process that has just ended may still hold it: then it goes with that."""
    subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)
