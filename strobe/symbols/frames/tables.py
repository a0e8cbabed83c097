"""Where a module says how frames lie: .eh_frame, with its table of functions, and .debug_frame (DWARF 5, section 6.4;
Linux Standard Base 5.0, section 10.6). One entry is read at a time.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property

from strobe.dataclass import dataclass, replace
from strobe.symbols.objects.sections import Content

_LONG_FORMAT = 0xFFFFFFFF
_OMITTED = 0xFF
_PC_RELATIVE, _DATA_RELATIVE, _INDIRECT = 0x10, 0x30, 0x80
_FORMATS = {0x00: "<Q", 0x02: "<H", 0x03: "<I", 0x04: "<Q", 0x0A: "<h", 0x0B: "<i", 0x0C: "<q"}
_ULEB, _SLEB = 0x01, 0x09


@dataclass(frozen=True, slots=True)
class FrameSection:
    """`address`: link-time, 0 for .debug_frame, which is not loaded."""

    content: Content
    address: int = 0


@dataclass(frozen=True, slots=True)
class CommonEntry:
    """A CIE: what the entries of many functions have in common. `program`: its instructions."""

    version: int
    code_alignment: int
    data_alignment: int
    return_register: int
    program: bytes
    pointer_encoding: int = 0
    has_augmentation: bool = False
    is_signal_frame: bool = False


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """An FDE: [start, end) of code, and the instructions that say how its frame changes."""

    common: CommonEntry
    start: int
    end: int
    program: bytes


class FrameTable:
    """One section of entries. Errors of all that reads: ValueError or struct.error where it is damaged."""

    def __init__(self, section: FrameSection, header: FrameSection | None = None, *, is_eh: bool) -> None:
        """`header`: .eh_frame_hdr."""
        self._section = section
        self._header = header
        self._is_eh = is_eh
        self._commons: dict[int, CommonEntry] = {}

    def find(self, address: int) -> FunctionEntry | None:
        """The entry of the function around a link-time address."""
        if self._header is not None and self._is_eh and len(self._header.content):
            offset = self._by_header(self._header, address)
            if offset is not None:
                entry = self._entry(offset)
                return entry if entry is not None and entry.start <= address < entry.end else None
        index = bisect_right(self._all, address, key=lambda entry: entry[0]) - 1
        if index < 0 or address >= self._all[index][1]:
            return None
        return self._entry(self._all[index][2])

    def _by_header(self, header: FrameSection, address: int) -> int | None:
        """Offset in .eh_frame by binary search; None where the header has no table that can be searched."""
        cursor = Pointers(header, 0)
        version, frame_encoding, count_encoding, table_encoding = (cursor.number(1) for _ in range(4))
        form = _FORMATS.get(table_encoding & 0x0F)
        if version != 1 or form is None or count_encoding == _OMITTED or table_encoding & 0x70 != _DATA_RELATIVE:
            return None
        cursor.pointer(frame_encoding)
        count = cursor.pointer(count_encoding)
        pair = struct.Struct(form + form[1])
        first, table = 0, cursor.position
        if count > (len(header.content) - table) // pair.size:
            raise ValueError(".eh_frame_hdr is truncated")
        while first < count:
            middle = (first + count) // 2
            if header.address + pair.unpack_from(header.content, table + middle * pair.size)[0] <= address:
                first = middle + 1
            else:
                count = middle
        if first == 0:
            return None
        entry = header.address + pair.unpack_from(header.content, table + (first - 1) * pair.size)[1]
        return int(entry - self._section.address)

    @cached_property
    def _all(self) -> list[tuple[int, int, int]]:
        """(start, end, offset of the entry) of all functions, in their order."""
        found: list[tuple[int, int, int]] = []
        offset = 0
        while offset + 4 <= len(self._section.content):
            end = _entry_end(Pointers(self._section, offset))
            if end == offset + 4 and self._is_eh:
                break  # an entry without bytes is the last one
            entry = self._entry(offset)
            if entry is not None:
                found.append((entry.start, entry.end, offset))
            offset = end
        return sorted(found)

    def _entry(self, offset: int) -> FunctionEntry | None:
        """None for a CIE."""
        cursor = Pointers(self._section, offset)
        end = _entry_end(cursor)
        width = 8 if cursor.position - offset == 12 else 4
        start = cursor.position
        link = cursor.number(4 if self._is_eh else width)
        if link == (0 if self._is_eh else (1 << 8 * width) - 1):
            return None
        common = self._common(start - link if self._is_eh else link)
        first = cursor.pointer(common.pointer_encoding)
        length = cursor.pointer(common.pointer_encoding & 0x0F)
        if common.has_augmentation:
            cursor.take(cursor.uleb())
        return FunctionEntry(common, first, first + length, cursor.take(end - cursor.position))

    def _common(self, offset: int) -> CommonEntry:
        if offset not in self._commons:
            self._commons[offset] = self._read_common(offset)
        return self._commons[offset]

    def _read_common(self, offset: int) -> CommonEntry:
        cursor = Pointers(self._section, offset)
        end = _entry_end(cursor)
        width = 8 if cursor.position - offset == 12 and not self._is_eh else 4
        if cursor.number(width) != (0 if self._is_eh else (1 << 8 * width) - 1):
            raise ValueError("a frame entry without its CIE")
        version = cursor.number(1)
        augmentation = cursor.text()
        if version >= 4:
            cursor.take(2)  # sizes of addresses and segments
        code, data = cursor.uleb(), cursor.sleb()
        register = cursor.number(1) if version == 1 else cursor.uleb()
        entry = CommonEntry(version, code, data, register, b"")
        if augmentation.startswith(b"z"):
            entry = _augmented(entry, augmentation, cursor)
        elif augmentation:
            raise ValueError("frame entries of an unknown augmentation")
        return replace(entry, program=cursor.take(end - cursor.position))


def _augmented(entry: CommonEntry, augmentation: bytes, cursor: Pointers) -> CommonEntry:
    length = cursor.uleb()
    end = cursor.position + length
    entry = replace(entry, has_augmentation=True)
    for letter in augmentation[1:].decode("ascii", "replace"):
        if letter == "R":
            entry = replace(entry, pointer_encoding=cursor.number(1))
        elif letter == "L":
            cursor.take(1)
        elif letter == "P":
            cursor.pointer(cursor.number(1))
        elif letter == "S":
            entry = replace(entry, is_signal_frame=True)
        elif letter != "B":
            break  # what follows is not known, but its length is
    cursor.take(end - cursor.position)
    return entry


def _entry_end(cursor: Pointers) -> int:
    """Behind the entry that begins at the cursor, which moves behind the length."""
    length = cursor.number(4)
    if length == _LONG_FORMAT:
        length = cursor.number(8)
    end = cursor.position + length
    if end > len(cursor.section.content):
        raise ValueError("a truncated frame entry")
    return end


class Pointers:
    """Numbers of a section, one after the other. ValueError where it ends too early."""

    def __init__(self, section: FrameSection, position: int) -> None:
        if position < 0:
            raise ValueError("a frame entry outside its section")
        self.section = section
        self.position = position

    def take(self, count: int) -> bytes:
        """The next bytes. Raises ValueError where the section ends before."""
        start, end = self.position, self.position + count
        if count < 0 or end > len(self.section.content):
            raise ValueError("a truncated frame entry")
        self.position = end
        return bytes(self.section.content[start:end])

    def number(self, width: int) -> int:
        """The next unsigned number of `width` bytes."""
        return int.from_bytes(self.take(width), "little")

    def uleb(self) -> int:
        """The next unsigned LEB128 number (DWARF 5, section 7.6)."""
        return self._leb(signed=False)

    def sleb(self) -> int:
        """The next signed LEB128 number (DWARF 5, section 7.6)."""
        return self._leb(signed=True)

    def text(self) -> bytes:
        """The next bytes up to a zero byte, without it."""
        found = bytearray()
        while byte := self.take(1):
            if byte == b"\0":
                break
            found += byte
        return bytes(found)

    def pointer(self, encoding: int) -> int:
        """A number as an encoding byte (DW_EH_PE_*) says, relative to itself or to the section where it says so."""
        here = self.section.address + self.position
        if encoding == _OMITTED:
            return 0
        kind = encoding & 0x0F
        if kind in (_ULEB, _SLEB):
            value = self._leb(signed=kind == _SLEB)
        else:
            form = _FORMATS.get(kind)
            if form is None:
                raise ValueError("a pointer of unknown encoding")
            (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        base = {0x00: 0, _PC_RELATIVE: here, _DATA_RELATIVE: self.section.address}.get(encoding & 0x70)
        if base is None:
            raise ValueError("a pointer relative to an unknown base")
        return (int(value) + base) % (1 << 64)

    def _leb(self, *, signed: bool) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value
            if shift > 70:
                raise ValueError("an unterminated number")
