"""Debug information of one module: a scan of it all, rows by name, and single DIEs in depth."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from strobe._core import Dwarf
from strobe.symbols.dwarf.deep import open_dwarf
from strobe.symbols.dwarf.lines import SourceLines
from strobe.symbols.dwarf.rows import NamedRows, TypeRow, VariableRow
from strobe.symbols.dwarf.scan import Scan
from strobe.symbols.dwarf.signature_rows import SignatureRow
from strobe.symbols.objects.image import Image
from strobe.symbols.objects.sections import SCANNED, Content, DebugSections

UNNAMED = "{unnamed}"  # a type without name, such as clang's lambdas: the linkage name then says more
TAG_FORMAL_PARAMETER = 0x05
UT_COMPILE = 0x01


class DebugInfo:
    """`.debug_info` of one file, read when first asked for. Raises one of UNREADABLE where nothing can be read."""

    def __init__(
        self,
        image: Image,
        kept: Path | None = None,
        named: NamedRows | None = None,
        alternate: Image | None = None,
    ) -> None:
        """`kept`: as DebugSections has it. `named`: what an earlier scan found.

        `alternate`: the file that dwz has moved common parts to. Offsets of DIEs there have the bit ALTERNATE.
        """
        self._sections = DebugSections(image, kept)
        others = None if kept is None else kept.with_name(f"{kept.name}.alternate")
        self._alternate = None if alternate is None else DebugSections(alternate, others)
        self._executable = image.executable
        self.machine = image.machine
        self._lock = threading.RLock()
        self._names: dict[int, str] = {}
        self._with_parameters: dict[int, bool] = {}  # by unit
        self._producers: dict[int, str] = {}
        if named is not None:
            self.named = named

    @cached_property
    def _core(self) -> Dwarf:
        alternate = {} if self._alternate is None else self._alternate.several(SCANNED)
        has_code_at_zero = any(start == 0 for start, _ in self._executable)
        return Dwarf(self._sections.several(SCANNED), alternate, has_code_at_zero)

    def scan(self) -> Scan:
        """Reads all units now."""
        scan = Scan(self._core.scan(self._executable))
        self._sections.check()
        return scan

    def forget(self) -> None:
        """Lets go what scans and single DIEs have left in memory; it is made again in milliseconds."""
        self.__dict__.pop("_core", None)
        dwarf = self.__dict__.get("dwarf")
        if dwarf is not None:
            dwarf.forget()

    def forget_units(self) -> None:
        """Lets go of units and their abbreviations, too: some 15 MB of the C library, when most of its functions were
        asked for. DIEs that were found before stay right, but are not the objects that are found from now on."""
        self.forget()
        self.__dict__.pop("dwarf", None)

    @cached_property
    def dwarf(self) -> Any:
        """A DWARFInfo of elftools. Made when first asked for: it costs more than the scan."""
        found = open_dwarf(self._sections, self._alternate)
        found.lock = self._lock  # one for all of them: who waits for it may go on with another
        return found

    @property
    def core(self) -> Dwarf:
        """The native reader of these sections."""
        return self._core

    def section(self, name: str) -> Content:
        """Plain content of a `.debug_…` section; empty where there is none. ValueError where it is damaged."""
        return self._sections.get(name)

    @cached_property
    def lines(self) -> SourceLines:
        """Line tables; read when asked for."""
        return SourceLines(lambda: self._core)

    def split_units(self) -> int:
        """How many units keep their content in .dwo files, where it is not read."""
        return sum(is_split for *_, is_split in self._core.units())

    def unit_offsets(self) -> list[int]:
        """Where each unit of code begins in .debug_info: not those of types alone, or parts of others."""
        return [offset for offset, _, _, kind, in_types, _ in self._core.units() if kind == UT_COMPILE and not in_types]

    def lists_parameters(self, offset: int) -> bool:
        """Whether the unit describes parameters at all: with -g1, or as Rust's own library is built, it does not."""
        unit = self._core.unit_offset(offset)
        if unit not in self._with_parameters:
            self._with_parameters[unit] = self._core.unit_has_tag(offset, TAG_FORMAL_PARAMETER)
        return self._with_parameters[unit]

    def signatures(self, functions: Sequence[int]) -> list[SignatureRow | None]:
        """What is said of the parameters of functions, by their DIEs; None where it is damaged."""
        rows = self._core.signatures(functions, self.section(".debug_loc"), self.section(".debug_loclists"))
        return [None if row is None else SignatureRow._make(row) for row in rows]

    def producer(self, unit: int) -> str:
        """Which compiler made a unit, with its options; empty where it does not say."""
        if unit not in self._producers:
            self._producers[unit] = self._core.producer(unit)
        return self._producers[unit]

    def find_types(self, name: str) -> list[TypeRow]:
        """Defined types of that qualified name, or of which it is the last part."""
        return self.named.types.find(name)

    def find_variables(self, name: str) -> list[VariableRow]:
        """The same of variables with a place of their own: globals, statics, thread-local ones."""
        return self.named.variables.find(name)

    @cached_property
    def named(self) -> NamedRows:
        """All types and variables: what somebody took over from a scan, or one made now."""
        return self.scan().named()

    def qualified_name(self, offset: int) -> str:
        """Name of a function, namespace or type with the names of all that encloses it."""
        if offset not in self._names:
            self._names[offset] = self._core.qualified_name(offset)
        return self._names[offset]
