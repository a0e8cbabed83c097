"""What arrays have as elements."""

from __future__ import annotations

from contextlib import nullcontext

from strobe.symbols.later import Later
from strobe.symbols.types.model import Array, Dimension, Type


def row_of(array: Array) -> Type:
    """The type of its elements: of several dimensions an array of the others."""
    rest: tuple[Dimension, ...] = array.dimensions[1:]
    if not rest:
        return array.element
    element = array.element
    return Array("", None, None, Later(lambda: element, nullcontext()), rest, array.stated_stride, False)
