"""The tables of frames of one file, read when somebody asks for a frame."""

from __future__ import annotations

import os
from pathlib import Path

from strobe.errors import StrobeError
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.frames.tables import FrameSection
from strobe.symbols.objects.formats import open_image
from strobe.symbols.objects.image import StoredSection

_LOADED = (".eh_frame", ".eh_frame_hdr")
_UNLOADED = ".debug_frame"


def frame_sections(path: str, debug_info: DebugInfo | None) -> dict[str, FrameSection]:
    """`path`: the file with the code, whose tables a separate file of debug information does not repeat.

    Raises ValueError or OSError where a section is truncated, or the file cannot be read any more.
    """
    try:
        image = open_image(path)
    except StrobeError as error:
        raise ValueError(str(error)) from error
    try:
        stored = [section for section in image.sections() if section.name in _LOADED and not section.is_compressed]
    finally:
        image.close()
    found = {section.name: FrameSection(_content(path, section), section.address) for section in stored}
    separate = b"" if debug_info is None else debug_info.section(_UNLOADED)
    return found | ({_UNLOADED: FrameSection(separate)} if len(separate) else {})


def _content(path: str, section: StoredSection) -> bytes:
    with Path(path).open("rb") as file:
        if section.offset + section.size > os.fstat(file.fileno()).st_size:
            raise ValueError(f"{section.name} is truncated")
        file.seek(section.offset)
        return file.read(section.size)
