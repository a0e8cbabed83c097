"""Where debug files lie (GDB's manual, "Separate Debug Files"), and whether one is of the same build."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from strobe.errors import StrobeError
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.debug_links import AlternateLink, DebugLink, identities
from strobe.symbols.objects.elf import ElfImage
from strobe.symbols.objects.formats import open_image
from strobe.symbols.objects.image import Image
from strobe.symbols.objects.macho import MachOImage

_SYSTEM_FOLDER = "/usr/lib/debug"
_VARIABLE = "STROBE_DEBUG_PATH"
_PIECE_BYTES = 1 << 20
Stamp = tuple[int, int, int]


def stamp(path: str) -> Stamp:
    """(device and inode, time of change in ns, bytes): another one, and the file was replaced. Zeros: not there."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0, 0, 0
    return status.st_dev ^ status.st_ino, status.st_mtime_ns, status.st_size


class DebugSearch:
    """Finds the files that belong to one program.

    `looked_at`: each path where a file was looked for. `refused`: a clause on each that was there and does not fit.
    """

    def __init__(self, program: Image) -> None:
        self._program = program
        self.looked_at: dict[str, Stamp] = {}
        self.refused: list[str] = []

    def separate(self, link: DebugLink | None) -> Image | None:
        """The file with the program's debug information."""
        for path in (*_by_build_id(self._program.build_id), *_bundles(self._program)):
            if (image := self._opened(path)) and self._fits(image, {self._program.build_id}):
                return image
        for path in self._linked(link):
            # a file without build id is trusted by its checksum
            if self._has_crc(path, link) and (image := self._opened(path)):
                believed = {image.build_id} if self._program.build_id is None else {self._program.build_id, None}
                if self._fits(image, believed):
                    return image
        return None

    def alternate(self, link: AlternateLink, debug: Image) -> Image | None:
        """The file that `debug` shares with others."""
        for path in _alternates(link, debug):
            image = self._opened(path, lambda path: ElfImage(path, is_program=False))
            if image is None:
                continue
            try:
                if link.identity in identities(image):
                    return image
                self._refuse(image, "is of another build: its build id differs")
            except UNREADABLE as error:
                self._refuse(image, f"cannot be read ({error})")
        return None

    def _linked(self, link: DebugLink | None) -> Iterator[str]:
        if link is None:
            return
        for own in _folders_of(self._program.path):
            yield f"{own}/{link.name}"
            yield f"{own}/.debug/{link.name}"
        for folder in folders():
            for own in _folders_of(self._program.path):
                yield f"{folder}{own}/{link.name}"
            yield f"{folder}/{link.name}"

    def _opened(self, path: str, opener: Callable[[str], Image] = open_image) -> Image | None:
        found = self.looked_at[path] = stamp(path)
        if not any(found) or found == stamp(self._program.path):
            return None
        try:
            return opener(path)
        except StrobeError as error:
            self.refused.append(f"{path} cannot be used ({error.message})")
            return None

    def _has_crc(self, path: str, link: DebugLink | None) -> bool:
        found = self.looked_at[path] = stamp(path)
        if link is None or not any(found) or found == stamp(self._program.path):
            return False
        try:
            crc = _crc32(path, found)
        except OSError as error:
            self.refused.append(f"{path} cannot be read ({error.strerror})")
            return False
        if crc == link.crc:
            return True
        self.refused.append(f"{path} is of another build, or damaged: its CRC-32 is {crc:08x}, not {link.crc:08x}")
        return False

    def _fits(self, image: Image, build_ids: set[str | None]) -> bool:
        if image.build_id not in build_ids:
            self._refuse(image, "is of another build: its build id differs")
        elif not image.has_symtab and not image.section_size(".debug_info"):
            self._refuse(image, "has no debug information")
        else:
            return True
        return False

    def _refuse(self, image: Image, reason: str) -> None:
        self.refused.append(f"{image.path} {reason}")
        image.close()


def folders() -> list[str]:
    """Folders with debug files: those of STROBE_DEBUG_PATH (separated by colons), then the system's."""
    own = [folder.rstrip("/") for folder in os.environ.get(_VARIABLE, "").split(":") if folder.startswith("/")]
    return [*own, _SYSTEM_FOLDER]


def _by_build_id(build_id: str | None) -> Iterator[str]:
    if build_id is not None and len(build_id) > 2:
        for folder in folders():
            yield f"{folder}/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


def _bundles(program: Image) -> Iterator[str]:
    """What dsymutil makes beside a Mach-O file."""
    if isinstance(program, MachOImage) and program.build_id is not None:
        for folder in _folders_of(program.path):
            name = Path(program.path).name
            yield f"{folder}/{name}.dSYM/Contents/Resources/DWARF/{name}"


def _alternates(link: AlternateLink, debug: Image) -> Iterator[str]:
    if link.path.startswith("/"):
        yield link.path
    else:
        for own in _folders_of(debug.path):
            yield os.path.normpath(f"{own}/{link.path}")
    in_dwz = link.path.rpartition("/.dwz/")[2] if "/.dwz/" in link.path else link.path.rpartition("/")[2]
    for folder in folders():
        yield f"{folder}/.dwz/{in_dwz}"
    yield from _by_build_id(link.identity)


def _folders_of(path: str) -> list[str]:
    """The folder that a file was found in, and the one that it really is in, where links lead there."""
    return list(dict.fromkeys([str(Path(path).absolute().parent), str(Path(path).resolve().parent)]))


@lru_cache(maxsize=64)
def _crc32(path: str, found: Stamp) -> int:
    """Of the whole file; `found` identifies its content."""
    crc = 0
    with open(path, "rb") as file:  # noqa: PTH123
        while piece := file.read(_PIECE_BYTES):
            crc = zlib.crc32(piece, crc)
    return crc
