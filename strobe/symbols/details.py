"""What debug information says of a module beyond the list of its functions, each part made when first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.lines import SourceLines
from strobe.symbols.types.module_types import Types

if TYPE_CHECKING:  # what most sessions never ask for takes as long to import as a program to be read
    from strobe.symbols.frames.module_frames import Frames
    from strobe.symbols.variables import Variables


class ModuleDetails:
    """One module's lines, types, variables and frames. Raises one of UNREADABLE where debug information is damaged."""

    def __init__(self, debug_info: DebugInfo, path: str) -> None:
        """`path`: the file with the code."""
        self.debug_info = debug_info
        self._path = path

    @cached_property
    def lines(self) -> SourceLines:
        """Line tables; read when asked for."""
        return self.debug_info.lines

    @cached_property
    def macros(self) -> Mapping[str, frozenset[str]]:
        """What macros without parameters stand for, by name; empty without -g3. Read when asked for."""
        from strobe.symbols.dwarf.macros import macros

        names = (".debug_macro", ".debug_str", ".debug_str_offsets")
        return macros(*(self.debug_info.section(name) for name in names))

    @cached_property
    def types(self) -> Types:
        """Types by name or DIE; read when asked for."""
        return Types(self.debug_info)

    @cached_property
    def variables(self) -> Variables:
        """Globals and statics; read when asked for."""
        from strobe.symbols.variables import Variables

        return Variables(self.debug_info, self.types)

    @cached_property
    def frames(self) -> Frames:
        """Scopes, locals and unwind tables by address; read when asked for."""
        from strobe.symbols.frames.module_frames import Frames
        from strobe.symbols.frames.sections import frame_sections

        return Frames(self.debug_info, self.types, lambda: frame_sections(self._path, self.debug_info))
