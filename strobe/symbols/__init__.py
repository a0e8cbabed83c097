"""Functions of a binary, and the patterns that choose among them."""

from strobe.symbols.module import ElfResolver, SymbolResolver
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.select.never_hooked import unsafe_reason
from strobe.symbols.select.patterns import Pattern, Selection, select

__all__ = ["ElfResolver", "ModuleSymbols", "Pattern", "Selection", "SymbolResolver", "select", "unsafe_reason"]
