"""What is known of one module: its functions, where they lie, and what became of those that were inlined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from strobe.dataclass import dataclass, field
from strobe.model import FunctionSymbol
from strobe.symbols import names
from strobe.symbols.dwarf import columns
from strobe.symbols.dwarf.code_parts import CodeParts
from strobe.symbols.dwarf.columns import NO_FILE, Columns
from strobe.symbols.function_table import FunctionTable


@dataclass
class ModuleSymbols:
    """What is known of one file. Addresses are link-time: at run time `base + (address - link_base)`.

    `functions` are by address; of large modules they are made when touched. `has_debug_info`: some function comes with
    source and parameters. `inlined`: columns name, sites, file, path, unseen (see Scan.inlined). `first_calls`: what
    select/copies.py has found of functions so far, by address. `warnings` and `missing_parts` are worded for the user;
    `strobe symbols` alone shows the latter (see CompleteImage).
    """

    path: str
    build_id: str | None
    link_base: int
    functions: Sequence[FunctionSymbol]
    has_debug_info: bool = False
    has_symtab: bool = False
    register_frame: int | None = None
    warnings: list[str] = field(default_factory=list)
    missing_parts: list[str] = field(default_factory=list)
    inlined: Columns = field(default_factory=dict, compare=False)
    parts: CodeParts | None = field(default=None, compare=False)
    first_calls: dict[int, int | str | None] = field(default_factory=dict, compare=False)

    @cached_property
    def inlined_sites(self) -> dict[str, int]:
        """Name -> how often a function was inlined."""
        if not self.inlined:
            return {}
        return dict(zip(columns.strings(self.inlined["name"]), columns.words(self.inlined["sites"]), strict=True))

    @cached_property
    def inlined_unseen(self) -> frozenset[str]:
        """Functions that were inlined where nothing is left of them, and are in no site."""
        return frozenset(columns.strings(self.inlined["unseen"])) if self.inlined else frozenset()

    @cached_property
    def inlined_files(self) -> list[str | None]:
        """Where the functions of `inlined_sites` are declared, in its order."""
        if not self.inlined:
            return [None] * len(self.inlined_sites)
        paths = columns.strings(self.inlined["path"])
        return [None if file == NO_FILE else paths[file] for file in columns.halves(self.inlined["file"])]

    @cached_property
    def inlined_only(self) -> dict[str, int]:
        """Of `inlined_sites`, the ones without a copy of their own."""
        functions = self.functions
        own = set(functions.names if isinstance(functions, FunctionTable) else (f.name for f in functions))
        return {name: sites for name, sites in self.inlined_sites.items() if name not in own}

    @cached_property
    def scoped_names(self) -> list[str]:
        """Names as patterns see them, in the order of `functions`."""
        if isinstance(self.functions, FunctionTable):
            return self.functions.scoped_names
        return names.scoped_all([function.name for function in self.functions])

    @cached_property
    def scoped_inlined(self) -> list[str]:
        """The names of `inlined_sites` as patterns see them, in its order."""
        kept = self.inlined.get("scoped")
        return names.scoped_all(list(self.inlined_sites)) if kept is None else columns.strings(kept)

    @cached_property
    def source_names(self) -> frozenset[str]:
        """Names of the source files that functions are declared in, without their folders."""
        table = self.functions
        if isinstance(table, FunctionTable):
            return frozenset(path.rpartition("/")[2] for path in table.source_paths)
        return frozenset(function.source_file.rpartition("/")[2] for function in table if function.source_file)

    def function_at(self, address: int) -> FunctionSymbol | None:
        """The function that an address belongs to, with any of its parts: hot, cold, or as the symbol table has it."""
        table = self.functions
        if not isinstance(table, FunctionTable):
            return next((f for f in table if f.address <= address < f.address + f.size), None)
        entry = None if self.parts is None else self.parts.entry(address)
        number = table.around(address) if entry is None else table.at(entry)
        return None if number is None else table[number]
