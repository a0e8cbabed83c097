"""What debug information says of a module beyond the list of its functions, each part made when first asked for."""

from __future__ import annotations

from functools import cached_property

from strobe.symbols.debug_info import DebugInfo
from strobe.symbols.lines import SourceLines


class ModuleDetails:
    """One module's lines. Raises one of UNREADABLE where debug information is damaged."""

    def __init__(self, debug_info: DebugInfo) -> None:
        self.debug_info = debug_info

    @cached_property
    def lines(self) -> SourceLines:
        return self.debug_info.lines
