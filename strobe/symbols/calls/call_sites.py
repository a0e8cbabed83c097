"""What callers do with the results of a module's functions, as its x86-64 code shows."""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from pathlib import Path

from strobe._core import result_uses
from strobe.errors import StrobeError
from strobe.symbols.calls.system_v import RAX, RDX, XMM0, Sources
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.formats import open_image

_BITS = {RAX: 1, RDX: 2, XMM0: 4, XMM0 + 1: 8}  # as result_uses has them


class CallSites:
    """Of one module; its code is read when first asked for: some 10 ms for 10 MB."""

    def __init__(self, functions: FunctionTable) -> None:
        self._functions = functions

    def read_result(self, address: int, sources: Sources) -> bool:
        """Whether callers of the function at an address read all of these registers right behind a call. False where
        no direct call shows it."""
        number = self._functions.at(address)
        wanted = sum(_BITS[source] for source in sources)
        return number is not None and wanted != 0 and self._uses[number] & wanted == wanted

    @cached_property
    def _uses(self) -> bytes:
        try:
            return result_uses(self._code(), list(self._functions.addresses))
        except UNREADABLE:
            return bytes(len(self._functions))
        except StrobeError:  # the file is gone, or another one
            return bytes(len(self._functions))

    def _code(self) -> list[tuple[int, bytes]]:
        path = self._functions.path
        with closing(open_image(path)) as image:
            starts = {start for start, _ in image.executable}
            stored = [section for section in image.sections() if section.address in starts]
        with Path(path).open("rb") as file:
            found = []
            for section in stored:
                file.seek(section.offset)
                found.append((section.address, file.read(section.size)))
        return found
