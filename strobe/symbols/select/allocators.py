"""Which functions give and take memory: what the pattern @heap means."""

from __future__ import annotations

import re
from pathlib import Path

from strobe import _abi
from strobe.dataclass import replace
from strobe.model import Capture, FunctionSymbol, Parameter, ValueKind, ValueType

# what each does with its arguments: session/questions/heap.py
ALLOCATORS = frozenset(
    ["malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "aligned_alloc", "posix_memalign", "memalign"]
) | {"valloc", "pvalloc"}
# new, new[], delete, delete[] that may be replaced; none of a class, nor those that are given the place
OPERATOR = re.compile(r"_Z(?:(?P<new>n[wa]m)|d[la]Pvm?)(?:St11align_val_t)?(?:RKSt9nothrow_t)?(?:@.*)?\Z")
_LOADER = re.compile(r"ld(?:-linux[\w-]*|-musl[\w-]*)?[-.\d]*\.so")


_POINTER, _SIZE = ValueType(ValueKind.POINTER, 8, "void*"), ValueType(ValueKind.UNSIGNED, 8, "size_t")
_AT, _COUNT, _BYTES, _ALIGNMENT = ("ptr", _POINTER), ("count", _SIZE), ("size", _SIZE), ("alignment", _SIZE)
# as the C and POSIX standards declare them; posix_memalign writes its result to memory
_DECLARED = {
    "malloc": (_BYTES,),
    "calloc": (_COUNT, _BYTES),
    "realloc": (_AT, _BYTES),
    "reallocarray": (_AT, _COUNT, _BYTES),
    "free": (_AT,),
    "aligned_alloc": (_ALIGNMENT, _BYTES),
    "memalign": (_ALIGNMENT, _BYTES),
    "valloc": (_BYTES,),
    "pvalloc": (_BYTES,),
}


def with_declared_values(function: FunctionSymbol) -> FunctionSymbol:
    """With parameters and result of C's allocators, whose library may have no debug information; others as they are."""
    declared = _DECLARED.get(function.name)
    if declared is None or function.parameters is not None or not function.exported:
        return function
    given = tuple(Parameter(name, of, index, (Capture(index),)) for index, (name, of) in enumerate(declared))
    if function.name == "free":
        return replace(function, parameters=given)
    return replace(function, parameters=given, returns=_POINTER, return_captures=(Capture(_abi.SOURCE_RAX),))


def is_allocator(function: FunctionSymbol, *, is_system: bool) -> bool:
    """Whether the C library's names are its own, of whichever library defines them. `is_system`: it is of the system's
    runtime, whose operators new and delete end in malloc and free."""
    if _LOADER.match(Path(function.module).name):
        return False  # with a heap of its own, until there is another
    names = {function.name, function.raw_name}
    if names & ALLOCATORS:
        return function.exported or not is_system
    return not is_system and OPERATOR.match(function.raw_name) is not None
