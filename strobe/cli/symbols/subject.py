"""The binary that `strobe symbols` is asked about: found, read as far as an answer needs it, searched by address."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.model import FunctionSymbol
from strobe.symbols import ElfResolver, ModuleSymbols
from strobe.symbols.details import ModuleDetails
from strobe.symbols.dwarf.lines import SourceLocation
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.debug_files import CompleteImage
from strobe.symbols.objects.formats import open_image
from strobe.symbols.objects.image import table_functions

if TYPE_CHECKING:
    from strobe.symbols.frames.model import CallLocation, Frame

_LIBRARY_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/local/lib")
ADVICE = "build it with -g (gcc, clang) or in the dev profile (cargo), or install its -dbg or -dbgsym package."


@dataclass
class Subject:
    """One file. `named` is what the user typed, `path` where that was found; `root`: the project's folder."""

    named: str
    path: str
    root: str
    resolver: ElfResolver

    @cached_property
    def module(self) -> ModuleSymbols:
        """The binary's symbols; read with the first use. Errors as ElfResolver.module."""
        return self.resolver.module(self.path)

    @property
    def functions(self) -> Sequence[FunctionSymbol]:
        """By address."""
        return self.module.functions

    @property
    def details(self) -> ModuleDetails:
        """What debug information says. Raises no_debug_information where there is none."""
        found = self.resolver.details(self.path)
        if found is None:
            raise failure("no_debug_information", path=self.named, hint=f"For that, {ADVICE}")
        return found

    @contextlib.contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Damage that is met while `what` is read becomes an error for the user."""
        try:
            yield
        except UNREADABLE as error:
            reason = str(error) or type(error).__name__
            raise failure("debug_info_unreadable", path=self.named, what=what, reason=reason) from error

    def function_at(self, address: int) -> FunctionSymbol | None:
        """The function whose code an address lies in, with any of its parts."""
        return self.module.function_at(address) if self.is_code(address) else None

    def is_code(self, address: int) -> bool:
        """Whether a link-time address lies in a part that is executable."""
        return any(start <= address < end for start, end in self.code_ranges)

    def address_of(self, name: str) -> int | None:
        """Where a function or variable begins, by its name, linkage name, or any other name in the symbol tables."""
        found = next((f.address for f in self.functions if name in (f.raw_name, f.name)), None)
        return self._alias(name) if found is None else found

    def other_name(self, name: str) -> str | None:
        """Of a function that the symbol tables call `name`, the one that it has here."""
        address = self._alias(name)
        function = None if address is None else self.module.function_at(address)
        return None if function is None or function.name == name else function.name

    def _alias(self, name: str) -> int | None:
        try:
            with contextlib.closing(CompleteImage(open_image(self.path))) as image:
                return next((f.address for f in table_functions(image) if f.name == name), None)
        except UNREADABLE:  # module() has a warning about it
            return None

    def owner(self, address: int) -> str | None:
        """Name of the function whose code an address lies in."""
        function = self.function_at(address)
        return None if function is None else function.name

    def offset_name(self, address: int) -> str:
        """ "ns::f+0x1b"; "??" where no function is known."""
        function = self.function_at(address)
        if function is None:
            return "??"
        return f"{function.name}+{address - function.address:#x}"

    def frame_at(self, address: int) -> Frame | None:
        """Calls and variables at an address, where debug information knows its function."""
        details = self.resolver.details(self.path)
        if details is None:
            return None
        with self.reading("that address"):
            return details.frames.at(address)

    def inlined_as(self, location: SourceLocation) -> str | None:
        """Name of the function whose inlined body a location belongs to; None where it is of the function around it.

        Several lines may begin at one address, so the calls there are searched for the one that is at this line.
        """
        frame = self.frame_at(location.address)
        if frame is None or len(frame.calls) < 2:
            return None
        calls = frame.calls
        outer = [number for number, call in enumerate(calls[:-1], 1) if _is_at(call.location, location)]
        declared = [
            number
            for number, call in enumerate(calls)
            if call.file == location.file and (call.line or 0) <= location.line
        ]
        number = next(iter(outer or declared), 0)
        return calls[number].name if number < len(calls) - 1 else None

    def source(self, path: str | None) -> str:
        """A source file as it is shown: from the project's folder on where it lies in there."""
        if path is None:
            return ""
        return path.removeprefix(self.root.rstrip("/") + "/")

    @cached_property
    def code_ranges(self) -> list[tuple[int, int]]:
        """[start, end) of the executable parts, link-time."""
        with contextlib.closing(open_image(self.path)) as image:
            return image.executable


def _is_at(call: CallLocation | None, location: SourceLocation) -> bool:
    return call is not None and (call.file, call.line) == (location.file, location.line)


def find(named: str) -> str:
    """The file that is meant: a path, or where no file is called so a command of PATH or a library of the system."""
    path = Path(named).expanduser()
    if path.exists() or path.is_symlink() or "/" in named:
        return str(path)
    libraries = (folder / named for folder in map(Path, _LIBRARY_FOLDERS) if ".so" in named)
    return shutil.which(named) or next((str(file) for file in libraries if file.is_file()), named)
