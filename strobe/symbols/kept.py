"""A module's symbols as the columns that the cache keeps, and back."""

from __future__ import annotations

import json

from strobe.dataclass import dataclass
from strobe.symbols.dwarf import columns
from strobe.symbols.dwarf.code_parts import CodeParts
from strobe.symbols.dwarf.columns import Columns, prefixed, unprefixed
from strobe.symbols.dwarf.rows import NamedRows
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.objects.image import Image

_FACTS = ("has_debug_info", "has_symtab", "register_frame", "warnings", "missing_parts")


@dataclass
class Kept:
    """What one reading of a module gives. `named` None: it has no debug information that can be read."""

    symbols: ModuleSymbols
    functions: FunctionTable
    named: NamedRows | None

    def columns(self) -> dict[str, bytes]:
        """What the cache keeps; `of_columns` reads it."""
        symbols = self.symbols
        facts = {name: getattr(symbols, name) for name in _FACTS}
        inlined = {**symbols.inlined, "scoped": columns.of_strings(symbols.scoped_inlined)}
        return {
            "facts": json.dumps(facts).encode(),
            **prefixed("function", self.functions.kept_columns()),
            **prefixed("inlined", inlined if symbols.inlined else {}),
            **prefixed("part", {} if symbols.parts is None else symbols.parts.columns),
            **prefixed("named", {} if self.named is None else self.named.columns),
        }

    @staticmethod
    def of_columns(image: Image, content: Columns) -> Kept:
        """Raises LookupError, ValueError or TypeError where these are no such columns."""
        functions = FunctionTable(image.path, unprefixed("function", content))
        symbols = ModuleSymbols(image.path, image.build_id, image.link_base, functions)
        for name, value in json.loads(content["facts"]).items():
            setattr(symbols, name, value)
        symbols.inlined = unprefixed("inlined", content)
        parts, named = unprefixed("part", content), unprefixed("named", content)
        symbols.parts = CodeParts(lambda: parts) if parts else None
        return Kept(symbols, functions, NamedRows(named) if named else None)
