"""Where a value lies, as far as an expression has been followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from strobe.symbols.types.model import Field, Type
from strobe.values.lookup.scope import Module
from strobe.values.memory.recipes import Recipe


@dataclass
class Place:
    """`is_value`: the value is the address itself, as of `&x`; it lies nowhere. `dereferenced`: step -> which pointer.

    `refused`: step -> why there is no value, of conditions: another variant, an element that is not there.
    `is_const`: it is declared so, or what it is a part of is. `is_thread_local`: where it is was found for one thread,
    and may be elsewhere at another moment. `root`: the module that has the variable; `module`: that has its type.
    """

    recipe: Recipe
    type: Type
    is_value: bool = False
    module: Module | None = None
    root: Module | None = None
    bits: Field | None = None
    dereferenced: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    is_const: bool = False
    is_thread_local: bool = False
