"""The memory of a session's program where the system does not permit other processes to read it.

Yama (`ptrace_scope` 1) lets only ancestors read a process; one that has made itself undumpable is read by root alone.
The agent is in the process: it can permit this one (PR_SET_PTRACER), or have the kernel copy the memory for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from strobe.capture.task_status import filters_calls
from strobe.model import LoadedModule
from strobe.process_maps import executable
from strobe.values.memory.process_memory import Code, ProcessMemory
from strobe.values.memory.recipes import Item, run

_PAGE = 4096
_EXEC_S = 1.0
_AUXILIARY_BYTES = 4096  # it has some 400
_POLL_S = 0.001

Rows = Sequence[tuple[int, bytes, bytes]]  # address, bytes, mask
Program = tuple[int, int, bytes]  # device and inode of its file, and its auxiliary vector


class Inside(Protocol):
    """The agent: capture's Target."""

    def modules(self) -> list[LoadedModule]:
        """What is loaded in the process."""

    def allow_tracer(self, pid: int) -> bool:
        """Permits `pid` to read the memory (PR_SET_PTRACER); False where the system has no such thing."""

    def read_memory(self, address: int, size: int) -> bytes:
        """Up to `size` bytes; fewer, or none, where they end."""

    def memory_map(self) -> str:
        """The text of /proc/self/maps."""

    def store(self, rows: Rows) -> list[str]:
        """Writes (address, bytes, mask) each; "" for each that was written, else why not."""


class SessionMemory(ProcessMemory):
    """Read from outside where that is permitted; else by `inside`, the agent, where it is ours."""

    def __init__(self, pid: int, inside: Inside | None) -> None:
        super().__init__(pid)
        self._inside = inside
        self._has_asked = False

    def run(self, recipes: Sequence[Code]) -> list[list[Item]]:
        """What the recipes give, one list of items each. Errors as ProcessMemory."""
        if not recipes:
            return []
        try:
            return run(self.pid, recipes)
        except PermissionError:
            inside = self._helper()
            if inside is None:
                raise
            if self._is_permitted(inside, recipes[0]):
                return run(self.pid, recipes)
        return run(self.pid, recipes, _Pages(inside).read)

    def maps(self) -> str:
        """/proc/PID/maps."""
        try:
            return Path(f"/proc/{self.pid}/maps").read_text(errors="surrogateescape")
        except PermissionError:
            inside = self._helper()
            if inside is None:
                raise
            return inside.memory_map()

    def executable(self) -> tuple[Program, str]:
        """What distinguishes the program from another that the process becomes by exec, and the path of its file."""
        link = Path(f"/proc/{self.pid}/exe")
        try:
            status = link.stat()  # where the link leads, even if it was deleted
            started = self._auxiliary_vector()  # AT_RANDOM differs each time that addresses do
            return (status.st_dev, status.st_ino, started), executable(link)
        except PermissionError:
            inside = self._helper()
            if inside is None:
                raise
            return (-1, 0, b""), inside.modules()[0].path  # another program has no agent

    def has_become_another_than(self, program: Program | None) -> bool:
        """By exec; False where it has ended, or that cannot be seen. Takes some microseconds."""
        try:
            status = os.stat(f"/proc/{self.pid}/exe")  # noqa: PTH116 - half the time of a Path's
            descriptor = os.open(f"/proc/{self.pid}/auxv", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            found = os.read(descriptor, _AUXILIARY_BYTES)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return program is not None and bool(found) and (status.st_dev, status.st_ino, found) != program

    def _auxiliary_vector(self) -> bytes:
        """In exec the kernel fills it in when the new program's files are mapped."""
        deadline = time.monotonic() + _EXEC_S
        while True:
            found = Path(f"/proc/{self.pid}/auxv").read_bytes()
            if not found:
                raise ProcessLookupError(f"process {self.pid} is ending: it has no memory any more")
            if any(found) or time.monotonic() > deadline:
                return found
            time.sleep(_POLL_S)

    def _helper(self) -> Inside | None:
        """None where the program restricts its own calls of the kernel: one of ours might end it."""
        return None if self._inside is None or filters_calls(self.pid) else self._inside

    def _is_permitted(self, inside: Inside, recipe: Code) -> bool:
        """After the program has been asked to permit it, which is done once."""
        if self._has_asked:
            return False
        self._has_asked = True
        if not inside.allow_tracer(os.getpid()):
            return False
        try:
            run(self.pid, [recipe])
        except PermissionError:
            return False
        return True


class _Pages:
    """Memory by whole pages, each asked for once: one read has many parts."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._known: dict[int, bytes] = {}

    def read(self, address: int, size: int) -> bytes | None:
        first, last = address // _PAGE, (address + max(size, 1) - 1) // _PAGE
        if address + size > 1 << 64:
            return None
        pages = [self._page(number) for number in range(first, last + 1)]
        if any(len(page) < _PAGE for page in pages):
            return None
        start = address - first * _PAGE
        return b"".join(pages)[start : start + size]

    def _page(self, number: int) -> bytes:
        if number not in self._known:
            self._known[number] = self._inside.read_memory(number * _PAGE, _PAGE)
        return self._known[number]
