"""What names mean in a process: variables and types of its modules, and the names of what lies at an address."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import Protocol

from strobe.dataclass import dataclass
from strobe.errors import StrobeError, enumerated, failure
from strobe.symbols import ModuleSymbols
from strobe.symbols.details import ModuleDetails
from strobe.symbols.dwarf.locations import AtAddress
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.select.nearest import nearest_names
from strobe.symbols.types.model import Record, Type
from strobe.symbols.variables import Variable
from strobe.values.lookup.rust_locals import thread_locals
from strobe.values.printers.known import Printers, built_in

_SHOWN = 5
_TOOLCHAIN = re.compile(r"/rustc[-/][^/]+/library/")  # also where Debian keeps it


class UnknownName(StrobeError):
    """Nothing has that name here, or several things that cannot be distinguished."""


class UnknownVariable(UnknownName):
    """No module has a variable of that name."""

    def __init__(self, variable: str, error: StrobeError) -> None:
        super().__init__(error.code, error.message, error.next_step)
        self.variable = variable


class ThreadBlocks(Protocol):
    """Blocks of thread-local variables."""

    def block(self, module: Module, thread: int | None, what: str) -> int:
        """Address of the module's block of a thread, by id; None: the main one. Raises READ_FAILED, about `what`."""

    def thread_pointer(self, module: Module) -> int | None:
        """The main thread's, where the module's blocks lie as far from every thread's; else None."""


@dataclass
class Module:
    """A loaded file. `base` is where it lies; `details` None: it has no debug information."""

    path: str
    base: int
    size: int
    symbols: ModuleSymbols
    details: ModuleDetails | None

    @property
    def slide(self) -> int:
        """What link-time addresses are moved by."""
        return self.base - self.symbols.link_base

    @cached_property
    def _addresses(self) -> tuple[list[int], list[int]]:
        """Link-time addresses of variables and their rows, by address."""
        if self.details is None:
            return [], []
        table = self.details.debug_info.named.variables
        rows = ((number, table.row(number)) for number in range(len(table.names())))
        found = sorted((row.address, number) for number, row in rows if not row.is_thread_local)
        return [address for address, _ in found], [number for _, number in found]

    def name_at(self, address: int) -> str | None:
        """`function`, `function+4`, `variable+8` at an address of the process."""
        link = address - self.slide
        function = self.symbols.function_at(link)
        if function is not None:
            return _with_offset(function.name, link - function.address)
        addresses, rows = self._addresses
        at = bisect_right(addresses, link) - 1
        if at < 0 or self.details is None:
            return None
        row = self.details.debug_info.named.variables.row(rows[at])
        if link == row.address:
            return row.name
        found = (one for one in self.details.variables.find(row.name) if one.location == AtAddress(row.address))
        size = next((one.type.size or 0 for one in found), 0)
        return _with_offset(row.name, link - row.address) if link < row.address + size else None


class Scope:
    """The modules of one process, the program first. `others` are loaded when the program does not know a name.

    `blocks`: where threads have the thread-local variables of a module.
    """

    def __init__(
        self,
        program: Module,
        others: Callable[[], Sequence[Module]],
        blocks: ThreadBlocks | None = None,
        printers: Printers | None = None,
    ) -> None:
        self.program = program
        self.printers = printers or built_in()
        self._others = others
        self._blocks = blocks

    def variable(self, name: str) -> tuple[Variable, Module]:
        """Raises READ_FAILED where there is none, or where several are meant."""
        for module in self.modules():
            found = [] if module.details is None else module.details.variables.find(name)
            if not found and module.details is not None:
                found = thread_locals(name, module.details.variables, module.path)
            plain = name.removeprefix("::")
            exact = [one for one in found if one.name == plain or one.name.endswith(f".cpp::{plain}")]
            chosen = exact or found
            chosen = [one for one in chosen if not _is_of_toolchain(one)] or chosen
            if len(chosen) == 1:
                return chosen[0], module
            if chosen:
                visible = [one for one in chosen if one.is_external]
                if len(visible) == 1 and exact:
                    return visible[0], module
                raise _several(name, chosen)
        raise self._unknown(name)

    def macro(self, name: str) -> frozenset[str]:
        """What a macro of that name stands for, in the first module that has one; empty where none has."""
        for module in self.modules():
            if module.details is None:
                continue
            try:
                found = module.details.macros.get(name)
            except UNREADABLE:
                continue
            if found:
                return found
        return frozenset()

    def thread_local(self, variable: Variable, offset: int, module: Module, thread: int | None) -> int:
        """Where a thread has its own, `offset` bytes into its block of the module's. Raises READ_FAILED."""
        if self._blocks is None:
            reason = "the threads of this process are not known"
            raise failure("thread_local_unread", what=variable.name, thread=thread or "", reason=reason)
        return self._blocks.block(module, thread, variable.name) + offset

    def thread_pointer(self, module: Module) -> int | None:
        """As ThreadBlocks.thread_pointer."""
        return None if self._blocks is None else self._blocks.thread_pointer(module)

    def type(self, name: str) -> Type | None:
        """The first type of that name, of the program before its libraries; None where there is none."""
        for module in self.modules():
            found = [] if module.details is None else module.details.types.find(name)
            if found:
                return found[0]
        return None

    def definition(self, name: str) -> tuple[Type, Module] | None:
        """The class of exactly that name, and the module that defines it."""
        for module in self.modules():
            found = [] if module.details is None or not name else module.details.types.find(name)
            for one in found:
                if isinstance(one, Record) and one.name == name and not one.is_declaration:
                    return one, module
        return None

    def function(self, name: str) -> int | None:
        """Where the one function of that name lies; None where there is none, or several are."""
        for module in self.modules():
            found = {one.address for one in module.symbols.functions if one.name == name.removeprefix("::")}
            if found:
                return module.slide + found.pop() if len(found) == 1 else None
        return None

    def name_at(self, address: int) -> str | None:
        """The function or variable that lies there."""
        for module in (self.program, *self._known()):
            if module.base <= address < module.base + module.size:
                return module.name_at(address)
        return None

    def modules(self) -> Iterator[Module]:
        """The program, then its libraries, whose symbols are read only when they are reached."""
        yield self.program
        yield from self._others()

    def _known(self) -> Sequence[Module]:
        return self._others()

    def _unknown(self, name: str) -> Exception:
        if self.program.details is None:
            return failure("no_debug_information", path=self.program.path, hint="Build it with -g.")
        tables = (module.details for module in self.modules() if module.details is not None)
        names = [known for details in tables for known in details.debug_info.named.variables.names()]
        near = nearest_names(name.rpartition(".cpp::")[2], names, _SHOWN)
        hint = (
            f"Names like it: {', '.join(near)}." if near else "List what there is with: strobe symbols --variable '*'"
        )
        return UnknownVariable(name, failure("variable_not_found", what=name, hint=hint))


def _is_of_toolchain(variable: Variable) -> bool:
    """Of the Rust library, which every program has in itself."""
    return variable.file is not None and _TOOLCHAIN.search(variable.file) is not None


def _several(name: str, found: Sequence[Variable]) -> Exception:
    options = [_distinct(one, found) for one in found]
    shown = enumerated(dict.fromkeys(options), _SHOWN)
    error = failure("variable_ambiguous", what=name, count=len(found), options=shown)
    return UnknownName(error.code, error.message, error.next_step)


def _distinct(variable: Variable, others: Sequence[Variable]) -> str:
    """A name that means this one only, as far as there is one."""
    same = [one for one in others if one.name == variable.name]
    if len(same) == 1 or variable.file is None:
        return variable.name
    return f"{PurePath(variable.file).name}::{variable.name}"


def _with_offset(name: str, offset: int) -> str:
    return f"{name}+{offset}" if offset else name
