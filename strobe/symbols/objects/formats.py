"""Which format a file has. One file knows each: elf.py, macho.py."""

from __future__ import annotations

from pathlib import Path

from strobe.symbols.objects.elf import ElfImage
from strobe.symbols.objects.image import Image
from strobe.symbols.objects.macho import MachOImage, is_macho


def open_image(path: str) -> Image:
    """Raises StrobeError where the file cannot be read, has a format that is not known, or is for another machine."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(8)
    except OSError:
        head = b""  # ElfImage words the error
    return MachOImage(path) if is_macho(head) else ElfImage(path)
