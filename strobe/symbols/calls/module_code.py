"""The x86-64 code of a module, as evidence of what its functions are given and give back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path

from strobe._core import argument_stores, result_uses
from strobe.errors import StrobeError
from strobe.symbols.calls.system_v import RAX, RDX, XMM0, Sources
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.formats import open_image
from strobe.symbols.objects.image import StoredSection

_BITS = {RAX: 1, RDX: 2, XMM0: 4, XMM0 + 1: 8}  # as result_uses has them
_IS_CALLED = 16
_BEGINNING_BYTES = 256
_WORD_BYTES = 8
_EXCEPTIONS = ".gcc_except_table"


class ModuleCode:
    """Of one module; read when first asked for: some 10 ms for 10 MB. Shows nothing where it cannot be read."""

    def __init__(self, functions: FunctionTable) -> None:
        self._functions = functions

    def reads_result(self, address: int, sources: Sources, has_traps: bool) -> bool:
        """Whether callers of the function at an address read all of these registers right behind a direct call.

        `has_traps`: the compiler puts a trap behind a call that code does not come back from (`unreachable`), as rustc
        does. Others put what they like there, such as a block for an exception: where the module handles exceptions,
        nothing is known of them.
        """
        number = self._functions.at(address)
        wanted = sum(_BITS[source] for source in sources)
        if number is None or wanted == 0 or (not has_traps and self._handles_exceptions):
            return False
        uses = self._uses_before_traps if has_traps else self._uses_without_traps
        return uses[number] & wanted == wanted

    def ignores_result(self, address: int, sources: Sources) -> bool:
        """Whether there are direct calls of the function at an address, and none that reads all of these registers."""
        number = self._functions.at(address)
        if number is None or not self._uses_before_traps[number] & _IS_CALLED:
            return False
        return not self.reads_result(address, sources, has_traps=True)

    def stores(self, address: int, base: int, offset: int, sources: Sources) -> bool:
        """Whether the function at an address begins by storing these arguments, as they came, one word after the other
        in its frame. `base`: rbp or rsp, as DWARF numbers them."""
        found = argument_stores(self._at(address))
        return all(
            (source, base, offset + _WORD_BYTES * number) in found for number, source in enumerate(sources)
        ) and bool(sources)

    @cached_property
    def _uses_before_traps(self) -> bytes:
        return self._uses(has_traps=True)

    @cached_property
    def _uses_without_traps(self) -> bytes:
        return self._uses(has_traps=False)

    def _uses(self, has_traps: bool) -> bytes:
        try:
            pieces = [(section.address, self._read(section.offset, section.size)) for section in self._code]
            return result_uses(pieces, list(self._functions.addresses), has_traps)
        except UNREADABLE:
            return bytes(len(self._functions))

    def _at(self, address: int) -> bytes:
        for section in self._code:
            behind = address - section.address
            if 0 <= behind < section.size:
                return self._read(section.offset + behind, min(_BEGINNING_BYTES, section.size - behind))
        return b""

    @property
    def _code(self) -> Sequence[StoredSection]:
        return self._sections[0]

    @property
    def _handles_exceptions(self) -> bool:
        return self._sections[1]

    @cached_property
    def _sections(self) -> tuple[Sequence[StoredSection], bool]:
        """Those with code, and whether there is a table of blocks for exceptions."""
        try:
            with closing(open_image(self._functions.path)) as image:
                starts = {start for start, _ in image.executable}
                sections = image.sections()
                handles = any(section.name == _EXCEPTIONS for section in sections)
                return [section for section in sections if section.address in starts], handles
        except UNREADABLE:
            return (), False
        except StrobeError:  # the file is gone, or another one
            return (), False

    def _read(self, offset: int, size: int) -> bytes:
        with Path(self._functions.path).open("rb") as file:
            file.seek(offset)
            return file.read(size)
