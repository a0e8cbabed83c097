"""The expression language in the program: conditions and values as recipes that run where something happens.

`roots` say what names mean there; see Roots. Everything that is refused is refused when it is compiled, with its
position (ExpressionError). What was compiled gives a value each time, or an item that says why there is none.
"""

from strobe.values.language.programs import (
    CALCULATED,
    NEVER,
    NO_ROOTS,
    AtEntry,
    Condition,
    NoRoots,
    Roots,
    Value,
    condition,
    is_of_return,
    is_part_of_text,
    location,
    value,
    with_block,
)

__all__ = [
    "CALCULATED",
    "NEVER",
    "NO_ROOTS",
    "AtEntry",
    "Condition",
    "NoRoots",
    "Roots",
    "Value",
    "condition",
    "is_of_return",
    "is_part_of_text",
    "location",
    "value",
    "with_block",
]
