"""Which functions give and take memory: what the pattern @heap means."""

from __future__ import annotations

import re
from pathlib import Path

from strobe.model import FunctionSymbol

# what each does with its arguments: session/questions/heap.py
ALLOCATORS = frozenset(
    ["malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "aligned_alloc", "posix_memalign", "memalign"]
) | {"valloc", "pvalloc"}
_OPERATOR = re.compile(r"_Z(?:nw|na|dl|da)[mPS]")  # new, new[], delete, delete[] in their forms; none of a class
_LOADER = re.compile(r"ld(?:-linux[\w-]*|-musl[\w-]*)?[-.\d]*\.so")


def is_allocator(function: FunctionSymbol, *, is_system: bool) -> bool:
    """Whether the C library's names are its own, of whichever library defines them. `is_system`: it is of the system's
    runtime, whose operators new and delete end in malloc and free."""
    if _LOADER.match(Path(function.module).name):
        return False  # with a heap of its own, until there is another
    names = {function.name, function.raw_name}
    if names & ALLOCATORS:
        return function.exported or not is_system
    return not is_system and _OPERATOR.match(function.raw_name) is not None
