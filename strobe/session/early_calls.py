"""What may have been called before the hooks were in place: the dynamic linker runs constructors of libraries, and what
chooses among implementations of a function, before the program's first instruction."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress

from strobe.model import FunctionSymbol, LoadedModule
from strobe.symbols.objects.early_code import early_code
from strobe.symbols.select.allocators import is_allocator


def early_calls(modules: Sequence[LoadedModule], functions: Iterable[FunctionSymbol]) -> dict[str, list[str]]:
    """`modules`: those that are loaded when the program begins to run, itself first. `functions`: the traced ones.

    Gives `modules`, paths of those that have run code by then, which may have called any function of theirs, and
    `functions`, raw names of those that such a module has from another one.
    """
    early: list[str] = []
    imported: set[str] = set()
    for number, module in enumerate(modules):
        with suppress(OSError, ValueError, struct.error):  # not a file, such as the kernel's own library
            found = early_code(module.path, is_program=number == 0)
            if found.runs:
                early.append(module.path)
                imported |= found.imports
    named = {
        item.raw_name
        for item in functions
        if item.exported and (item.raw_name in imported or is_allocator(item, is_system=False))
    }
    return {"modules": early, "functions": sorted(named)}
