"""What a file says of those that its debug information was moved to (GDB's manual, "Separate Debug Files")."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from strobe.dataclass import dataclass
from strobe.symbols.objects.image import Image

_MAX_BYTES = 1 << 16  # of a section that has a path and a checksum
_SUP_HEAD = struct.Struct("<HB")  # DWARF 5, section 7.3.6: version, is_supplementary


@dataclass(frozen=True, slots=True)
class DebugLink:
    """`.gnu_debuglink`: name of the separate debug file, without folder, and the CRC-32 of its whole content."""

    name: str
    crc: int


@dataclass(frozen=True, slots=True)
class AlternateLink:
    """The file that dwz has moved common parts to: its path, from where the debug file is, and its identity in hex."""

    path: str
    identity: str


def stored(image: Image, name: str, limit: int) -> bytes:
    """Content of a section as the file has it; empty where there is none. ValueError where it is cut or too long."""
    section = next((section for section in image.sections() if section.name == name), None)
    if section is None:
        return b""
    if section.size > limit:
        raise ValueError(f"{name} is too long")
    with open(image.path, "rb") as file:  # noqa: PTH123
        file.seek(section.offset)
        content = file.read(section.size)
    if len(content) != section.size:
        raise ValueError(f"{name} is truncated")
    return content


def debug_link(image: Image) -> DebugLink | None:
    """ValueError where the section is damaged."""
    content = stored(image, ".gnu_debuglink", _MAX_BYTES)
    if not content:
        return None
    name = _text(content, ".gnu_debuglink")
    crc = content[-4:]
    if "/" in name or not name or len(content) < len(name) + 5:
        raise ValueError(".gnu_debuglink is damaged")
    return DebugLink(name, int.from_bytes(crc, "little"))


def alternate_link(image: Image) -> AlternateLink | None:
    """Of GNU's section, or the one of DWARF 5. ValueError where it is damaged."""
    content = stored(image, ".gnu_debugaltlink", _MAX_BYTES)
    if content:
        path = _text(content, ".gnu_debugaltlink")
        return AlternateLink(path, content[len(path.encode()) + 1 :].hex())
    return next((link for is_supplementary, link in _supplementary(image) if not is_supplementary), None)


def identities(image: Image) -> set[str]:
    """What an AlternateLink may call a file: its build id, or the checksum of DWARF 5."""
    own = {link.identity for is_supplementary, link in _supplementary(image) if is_supplementary}
    return own | ({image.build_id} if image.build_id is not None else set())


def _supplementary(image: Image) -> Iterator[tuple[bool, AlternateLink]]:
    content = stored(image, ".debug_sup", _MAX_BYTES)
    if not content:
        return
    if len(content) < _SUP_HEAD.size:
        raise ValueError(".debug_sup is truncated")
    _, is_supplementary = _SUP_HEAD.unpack_from(content)
    path = _text(content[_SUP_HEAD.size :], ".debug_sup")
    length, start = _uleb(content, _SUP_HEAD.size + len(path.encode()) + 1)
    yield bool(is_supplementary), AlternateLink(path, content[start : start + length].hex())


def _text(content: bytes, name: str) -> str:
    end = content.find(b"\0")
    if end < 0:
        raise ValueError(f"{name} is damaged")
    return content[:end].decode()  # UnicodeDecodeError is a ValueError


def _uleb(content: bytes, position: int) -> tuple[int, int]:
    """(value, position behind it)"""
    value = shift = 0
    while position < len(content):
        byte = content[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
    raise ValueError(".debug_sup is truncated")
