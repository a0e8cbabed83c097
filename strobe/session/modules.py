"""The modules of one process, each with the symbols that belong to it: those of the file that it has in memory.

A file that was rebuilt or replaced while the program runs has other functions at other addresses. A hook placed by its
symbols would write into the middle of whatever the running code has there. So a module is compared with its file before
its symbols are used, each function's first bytes once more when its hook is installed (`ProbeSpec.code`), and what was
replaced later gets no more hooks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from strobe.capture.mapped_elf import ElfFile, Layout, MappedElf, Peek
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, enumerated, failure
from strobe.model import FunctionSymbol, LoadedModule
from strobe.symbols import ModuleSymbols, SymbolResolver

_CODE_BYTES = 32  # more than the instructions that a hook displaces
_SHOWN = 5

T = TypeVar("T")
FileState = tuple[int, int, int, int]  # device, inode, mtime in ns, size


class _Unmapped(Exception):
    """No file is mapped any more where the module was."""


@dataclass
class TracedModule:
    """A module whose symbols are right. `state` is that of the file which they were read from, `mapped` device and
    inode of the one in memory, None where that may not be looked at; `stale`: why it gets no more hooks, empty where it
    may."""

    module: LoadedModule
    symbols: ModuleSymbols
    state: FileState
    mapped: tuple[int, int] | None
    stale: str = ""

    def address(self, link_address: int) -> int:
        """Where it lies in the process."""
        return self.module.base + link_address - self.symbols.link_base

    def current(self, read: Callable[[], T]) -> T | None:
        """What `read` gives of the file; None where the file is gone, or another one has its name by now."""
        try:
            found = read()
        except StrobeError:
            return None
        return found if file_state(self.symbols.path) == self.state else None

    def entry_codes(self, functions: Sequence[FunctionSymbol]) -> list[bytes]:
        """What stands at their entries in the file; nothing where the loader changes code. Raises OSError, ValueError
        where the file is gone."""
        with closing(ElfFile(self.module.path)) as file:
            if _state_of(file.status) != self.state:
                raise ValueError("replaced")
            if file.relocates_code:
                return [b""] * len(functions)
            return [file.code(function.address, _CODE_BYTES) for function in functions]


class Modules:
    """Not for several threads at once. Its methods raise ProcessLookupError when the process is gone."""

    def __init__(
        self,
        pid: int,
        resolver: SymbolResolver,
        peek: Peek | None = None,
        is_going: Callable[[int], bool] = lambda base: False,
    ) -> None:
        """`peek`: how memory is read where /proc/PID/mem may not be; `is_going`: whether what was at a base is known to
        have been unloaded."""
        self._pid = pid
        self._peek = peek
        self._is_going = is_going
        self._resolver = resolver
        self._known: dict[tuple[str, int], TracedModule] = {}  # by path and base
        self._refused: dict[str, str] = {}  # path -> how it differs

    def of(self, modules: Iterable[LoadedModule]) -> list[TracedModule]:
        """Those with symbols, in the given order; `warnings` says what is wrong with the others."""
        present = [module for module in modules if _is_file_path(module.path)]
        self._refused = {}
        found = []
        for module in present:
            with suppress(_Unmapped):  # it is going
                found.append(self._one(module))
        return [known for known in found if known is not None]

    def check(self, program: LoadedModule) -> None:
        """Raises replaced_on_disk where no function of the program could be hooked for that reason."""
        self._refused = {}
        try:
            known = self._one(program)
        except _Unmapped as error:
            raise ProcessLookupError(f"process {self._pid} has ended, or become another program") from error
        how = self._refused.get(program.path) if known is None else known.stale
        if how:
            raise failure("replaced_on_disk", path=program.path, pid=self._pid, how=how)

    def at(self, base: int) -> TracedModule | None:
        """What `of` has found there."""
        return next((known for key, known in self._known.items() if key[1] == base), None)

    def forget(self, base: int) -> None:
        """A library was unloaded."""
        self._known = {key: known for key, known in self._known.items() if key[1] != base}

    def keep(self, bases: Collection[int]) -> None:
        """What was at others has been unloaded."""
        self._known = {key: known for key, known in self._known.items() if key[1] in bases}

    def is_there(self, base: int) -> bool:
        """Whether what `of` has found at a base still is."""
        known = self.at(base)
        memory = MappedElf(self._pid, base, self._peek)
        try:
            is_same = known is None or memory.file() == known.mapped
            return memory.is_mapped() and is_same and not self._is_going(base)
        finally:
            memory.close()

    def warnings(self) -> list[str]:
        """Which files are no longer what the process runs."""
        stale = {known.module.path: known.stale for known in self._known.values() if known.stale}
        how = self._refused | stale
        if not how:
            return []
        shown = enumerated((f"{path} ({why})" for path, why in how.items()), _SHOWN)
        return [
            f"No new hooks in {shown}: the file on disk is no longer the code in memory, so its addresses would "
            "be wrong. What was not traced before is not recorded there; start the program again to trace it."
        ]

    def _one(self, module: LoadedModule) -> TracedModule | None:
        """Raises _Unmapped."""
        key = (module.path, module.base)
        known = self._known.get(key)
        if known is not None and file_state(module.path) == known.state and module.file in (None, known.mapped):
            known.stale = ""
            return known
        memory = MappedElf(self._pid, module.base, self._peek)
        try:
            mapped = memory.file()
            if known is not None and mapped != known.mapped:
                del self._known[key]  # it was unloaded, and another file of that name loaded at the same place
                known = None
            loaded = self._load(module, memory, mapped, known)
        except ProcessLookupError:
            raise
        except OSError:
            loaded = "deleted"
        except (StrobeError, ValueError):  # the main program was checked at launch
            loaded = "no program any more" if known is not None else ""
        finally:
            memory.close()
        if isinstance(loaded, TracedModule):
            self._known[key] = loaded
            return loaded
        if loaded and self._is_going(module.base):
            raise _Unmapped
        if known is not None:  # what is hooked already is hooked by symbols that were right
            known.stale = loaded
        elif loaded:
            self._refused[module.path] = loaded
        return known

    def _load(
        self, module: LoadedModule, memory: MappedElf, mapped: tuple[int, int] | None, known: TracedModule | None
    ) -> TracedModule | str:
        """The module, or how it differs. The file is open from the comparison on until its symbols are read, so that
        they are known to be of this very file. `known`: what was read of the file that is mapped, and whose name
        another may have now, with the same code and without a build id, but with other types."""
        try:
            opened = ElfFile(module.path)
        except ValueError:
            if known is None and memory.layout() is None:
                raise
            return "no program any more"  # as while a linker writes it
        with closing(opened) as file:
            difference = _difference(memory, file)
            if difference:
                return difference
            state = _state_of(file.status)
            if known is not None and mapped is not None and state[:2] != known.state[:2]:
                known.stale = ""
                return known
            symbols = self._resolver.module(module.path)
            return TracedModule(module, symbols, state, mapped) if file_state(module.path) == state else "being written"


def _difference(memory: MappedElf, file: ElfFile) -> str:
    """How memory differs from the file; empty where it does not. Raises _Unmapped."""
    here = memory.layout()
    if here is None and not memory.is_mapped():
        raise _Unmapped
    difference = _how_it_differs(here, memory, file)
    if difference and memory.layout() != here:  # it went, or the process became another, in the middle of this
        raise _Unmapped
    return difference


def _how_it_differs(here: Layout | None, memory: MappedElf, file: ElfFile) -> str:
    there = file.layout
    if here is not None and here.build_id != there.build_id:
        return f"build id {_short(here.build_id)} in memory, {_short(there.build_id)} on disk"
    if here is not None and here.loads != there.loads:
        return "other segments in memory than on disk"
    if here is not None and here.build_id is not None:
        return ""
    # the loader maps the file's own pages: the same file has the same code, even if it was written to
    same = memory.file() == (file.status.st_dev, file.status.st_ino) or memory.has_code_of(file)
    return "" if same else "other code in memory than on disk"


def _is_file_path(path: str) -> bool:
    """Neither the kernel's own (linux-vdso.so.1) nor memory that never had a name on disk."""
    if not path.startswith("/") or path.startswith("/memfd:"):
        return False
    return not Path(path).exists() or Path(path).is_file()


def file_state(path: str) -> FileState | None:
    """What distinguishes a file from another that has its name later; None where there is none."""
    try:
        return _state_of(os.stat(path))  # noqa: PTH116
    except OSError:
        return None


def _state_of(status: os.stat_result) -> FileState:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _short(build_id: str | None) -> str:
    return "none" if build_id is None else f"{build_id[:12]}…"
