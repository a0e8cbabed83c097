"""MiniDebugInfo: a symbol table that distributions leave in stripped programs, as a small xz'ed ELF file."""

from __future__ import annotations

import lzma

from strobe.symbols.objects.debug_links import stored
from strobe.symbols.objects.elf import ElfImage
from strobe.symbols.objects.image import Image

_SECTION = ".gnu_debugdata"
_MAX_STORED_BYTES = 64 << 20
_MAX_BYTES = 256 << 20
_MAX_RATIO = 1 << 13  # more than xz reaches on symbol tables; a damaged stream must not ask for any amount
_DECODER_BYTES = 128 << 20  # xz -9 needs half of it


def mini_debug_info(program: Image) -> Image | None:
    """The file in `.gnu_debugdata`, None where there is none. ValueError or StrobeError where it is damaged."""
    content = stored(program, _SECTION, _MAX_STORED_BYTES)
    if not content:
        return None
    image = ElfImage(program.path, _unpacked(content))
    image.executable = program.executable
    return image


def _unpacked(content: bytes) -> bytes:
    limit = min(_MAX_BYTES, _MAX_RATIO * len(content))
    decoder = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_DECODER_BYTES)
    try:
        plain = decoder.decompress(content, max_length=limit)
    except lzma.LZMAError as error:
        raise ValueError(f"{_SECTION}: {error}") from error
    if not decoder.eof:
        raise ValueError(f"{_SECTION} is truncated or has more than {limit >> 20} MB")
    return plain
