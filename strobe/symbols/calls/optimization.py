"""Whether a compiler may have left out parameters or results of a function, as LLVM does without a sign."""

from __future__ import annotations

import re
from collections.abc import Sequence

from strobe.symbols.calls.entry_sources import Seen
from strobe.symbols.calls.system_v import INTEGER_REGISTERS, NOTHING, ONE_FLOAT, ONE_INTEGER, Passing, Shape, Sources

OPTIMIZES = re.compile(r" -O(?!0)")  # among the options that gcc notes
_COMPLETE_RUSTC = (1, 95)  # seen: it lists parameters without name (`_`, a closure's own), as older ones did not
_MICROSOFT_REGISTERS = (3, 2, 4, 5)  # rcx, rdx, r8, r9, as System V numbers what passes integers
Assigned = Sequence[Sources | None]


def is_complete(producer: str, has_origin: bool) -> bool:
    """Whether all parameters are listed. A declaration lists them, too, and was compared with."""
    return "rustc" not in producer or has_origin or _rustc_version(producer) >= _COMPLETE_RUSTC


def is_kept_in_frame(shapes: list[Shape | None], seen: list[Seen]) -> bool | None:
    """Whether each parameter lies in the frame from the first to the last instruction; None where there is none.

    Those passed by reference do not count: clang lists locations for them even at -O0.
    """
    own = [
        entry.in_frame
        for shape, entry in zip(shapes, seen, strict=True)
        if shape is not None and shape.passing is not Passing.REFERENCE
    ]
    return all(own) if own else None


def is_unoptimized(shapes: list[Shape | None], assigned: Assigned, seen: list[Seen]) -> bool:
    """Whether all parameters that have a source are kept in the frame, as compilers do without optimization."""
    in_frame = [shape if sources else None for shape, sources in zip(shapes, assigned, strict=True)]
    return is_kept_in_frame(in_frame, seen) is True


def is_plain_gcc(producer: str) -> bool:
    """Whether gcc noted its options, and none to optimize."""
    return " -m" in producer and OPTIMIZES.search(producer) is None


def shows_convention(number: int, shape: Shape | None, sources: Sources | None, entry: Seen, is_plain: bool) -> bool:
    """Whether the source of a parameter is System V's and could not be that of Microsoft's x64 convention. `number`: of
    the parameter, 0 for the first.

    That one passes the n-th parameter in the n-th register whatever it is (the next one behind a hidden address of the
    result), what is large by address, and keeps room on the stack above the return address, where gcc stores parameters
    at -O0 (`is_plain`).
    """
    if shape is None or not sources:
        return False
    if sources[0] in _MICROSOFT_REGISTERS[number : number + 2]:
        return False
    if shape.passing is Passing.MEMORY or sources[0] < INTEGER_REGISTERS:
        return entry.confirms(sources) or (is_plain and shape == ONE_INTEGER and entry.is_below)
    return is_plain and shape == ONE_FLOAT and entry.is_below


def is_like_elsewhere(result: Shape) -> bool:
    """Whether a result is in the same register by other conventions: a scalar."""
    return result in (NOTHING, ONE_INTEGER, ONE_FLOAT)


def _rustc_version(producer: str) -> tuple[int, ...]:
    match = re.search(r"rustc version (\d+)\.(\d+)", producer)
    return tuple(int(part) for part in match.groups()) if match else (0, 0)
