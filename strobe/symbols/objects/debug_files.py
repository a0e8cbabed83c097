"""A file together with those that its debug information was moved to, wherever they are on this machine.

Looked for are: a separate debug file, by build id and by .gnu_debuglink; the alternate file that dwz makes; and the
symbol table inside of .gnu_debugdata (MiniDebugInfo). A file of another build is never used.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from strobe._core import SymbolTable
from strobe.errors import StrobeError
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.debug_links import alternate_link, debug_link
from strobe.symbols.objects.debug_search import DebugSearch, Stamp
from strobe.symbols.objects.image import Image, StoredSection
from strobe.symbols.objects.mini_debug_info import mini_debug_info

_DAMAGED: tuple[type[Exception], ...] = (*UNREADABLE, StrobeError)
_DISTRIBUTION = ("/usr/", "/lib/", "/lib64/")  # where programs are stripped, and debug files come in other packages


class CompleteImage:
    """An Image of a program or library, and of the files that belong to it.

    `debug`: the image that has the debug sections; the program's own where they were not moved. `alternate`: the one
    that `debug` refers to. `warnings`: what was looked for and is missing, was refused, or is damaged; grows while
    functions() is read. `missing_parts`: the same of the alternate file, which matters to whoever asks about the file
    itself and not to a trace. `looked_at`: each path where something was looked for, and what was there.
    """

    def __init__(self, program: Image) -> None:
        self.program = program
        self.path, self.machine, self.build_id = program.path, program.machine, program.build_id
        self.link_base, self.executable = program.link_base, program.executable
        self.warnings: list[str] = []
        self.missing_parts: list[str] = []
        self.debug, self.alternate = program, None  # type: Image, Image | None
        self._mini: Image | None = None
        search = DebugSearch(program)
        self.looked_at: dict[str, Stamp] = search.looked_at
        self.has_symtab = program.has_symtab
        try:
            self._find(search)
        except BaseException:
            self.close()
            raise

    def add_functions(self, table: SymbolTable) -> None:
        """Those of all symbol tables there are. A damaged one ends in a warning."""
        for image in self._with_symbols():
            try:
                image.add_functions(table)
            except UNREADABLE as error:
                self.warnings.append(f"The symbol table of {_name(image)} cannot be read ({_reason(error)}).")

    def sections(self) -> list[StoredSection]:
        """Of the image that has the debug sections."""
        return self.debug.sections()

    def section_size(self, name: str) -> int:
        """In bytes as they lie in memory, of the program's file or its debug file; 0 where neither has it."""
        return max(self.program.section_size(name), self.debug.section_size(name))

    def identity(self) -> tuple[object, ...]:
        """What the other files add to the identity of the program, warnings included."""
        others = [image for image in (self.debug, self.alternate) if image is not None and image is not self.program]
        files = [(image.path, image.build_id, self.looked_at.get(image.path)) for image in others]
        return tuple(files), tuple(self.warnings), tuple(self.missing_parts)

    def close(self) -> None:
        """Closes all files."""
        for image in (self.program, self.debug, self.alternate, self._mini):
            if image is not None:
                image.close()

    def _with_symbols(self) -> Iterable[Image]:
        images = [self.program] if self.debug is self.program else [self.program, self.debug]
        return images if self._mini is None else [*images, self._mini]

    def _find(self, search: DebugSearch) -> None:
        if not self.program.section_size(".debug_info"):
            self._find_separate(search)
        self._find_alternate(search)
        self.has_symtab = self.has_symtab or self.debug.has_symtab
        if not self.has_symtab:
            self._find_symbols()

    def _find_symbols(self) -> None:
        try:
            self._mini = mini_debug_info(self.program)
        except _DAMAGED as error:
            self.warnings.append(f"The .gnu_debugdata of {_name(self)} cannot be read ({_reason(error)}).")
        self.has_symtab = self._mini is not None and self._mini.has_symtab

    def _find_separate(self, search: DebugSearch) -> None:
        try:
            link = debug_link(self.program)
        except UNREADABLE as error:
            link = None
            self.warnings.append(f"The link to the debug file of {_name(self)} cannot be read ({_reason(error)}).")
        found = search.separate(link)
        if found is not None:
            found.executable = self.executable  # its own section table may be another one
            self.debug = found
            return
        self.warnings += [f"No debug information of {_name(self)} was read: {refused}." for refused in search.refused]
        if link is not None and not search.refused and not _is_of_distribution(self.path):
            self.warnings.append(
                f"The debug information of {_name(self)} is in a separate file, {link.name}, which was not found in "
                "its folder, in .debug there, or in a folder of STROBE_DEBUG_PATH."
            )

    def _find_alternate(self, search: DebugSearch) -> None:
        search.refused.clear()
        try:
            link = alternate_link(self.debug)
        except UNREADABLE as error:
            link = None
            self.missing_parts.append(
                f"The link to the alternate debug file (dwz) of {_name(self.debug)} cannot be read ({_reason(error)})."
            )
        if link is None:
            return
        self.alternate = search.alternate(link, self.debug)
        if self.alternate is None:
            self._say_missing(link.path, "; ".join(search.refused) or "it was not found")

    def without_alternate(self, reason: str) -> None:
        """Gives up the alternate file, which cannot be read after all."""
        if self.alternate is not None:
            self._say_missing(self.alternate.path, reason)
            self.alternate.close()
            self.alternate = None

    def _say_missing(self, path: str, reason: str) -> None:
        self.missing_parts.append(
            f"A part of the debug information of {_name(self)} is in {path} (dwz), which was not read: {reason}. "
            "Names, types and lines that it holds are missing."
        )


def _is_of_distribution(path: str) -> bool:
    real = str(Path(path).resolve())
    return real.startswith(_DISTRIBUTION) and not real.startswith("/usr/local/")


def _name(image: Image) -> str:
    return Path(image.path).name


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, StrobeError) else str(error) or type(error).__name__
