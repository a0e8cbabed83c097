"""Location lists: which expression holds from which to which address (DWARF 5, section 2.6.2; DWARF 4, section 2.6.2).

The view numbers that gcc writes beside a list are not read: they stand before it, and attributes point behind them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from strobe.dataclass import dataclass
from strobe.symbols.objects.sections import Content

_MAX_ENTRIES = 1 << 16
END_OF_LIST, BASE_ADDRESSX, STARTX_ENDX, STARTX_LENGTH, OFFSET_PAIR = range(5)
DEFAULT_LOCATION, BASE_ADDRESS, START_END, START_LENGTH, VIEW_PAIR = range(5, 10)


@dataclass(frozen=True, slots=True)
class ListEntry:
    """`content`: the bytes of an expression, which holds in [start, end). `is_default`: where no other entry does.

    Where start is end, it holds for some views of that address only, as of a parameter that is soon something else.
    """

    start: int
    end: int
    content: bytes
    is_default: bool = False


def read_old(section: Content, offset: int, base: int, address_size: int) -> Iterator[ListEntry]:
    """Of .debug_loc (DWARF 2 to 4). Raises ValueError or struct.error where the list is damaged."""
    pair = struct.Struct("<QQ" if address_size == 8 else "<II")
    selects_base = (1 << 8 * address_size) - 1
    for _ in range(_MAX_ENTRIES):
        start, end = pair.unpack_from(section, offset)
        offset += pair.size
        if start == end == 0:
            return
        if start == selects_base:
            base = end
            continue
        (length,) = struct.unpack_from("<H", section, offset)
        content = _bytes(section, offset + 2, length)
        offset += 2 + length
        if start <= end:
            yield ListEntry(base + start, base + end, content)
    raise ValueError("an unterminated location list")


def read_new(
    section: Content, offset: int, base: int, address_size: int, address: Callable[[int], int]
) -> Iterator[ListEntry]:
    """Of .debug_loclists (DWARF 5). `address`: by index in .debug_addr. Raises as read_old."""
    cursor = _Cursor(section, offset, address_size)
    for _ in range(_MAX_ENTRIES):
        kind = cursor.number(1)
        if kind == END_OF_LIST:
            return
        if kind == VIEW_PAIR:
            cursor.uleb(), cursor.uleb()
        elif kind == BASE_ADDRESSX:
            base = address(cursor.uleb())
        elif kind == BASE_ADDRESS:
            base = cursor.address()
        else:
            start, end = _bounds(kind, cursor, base, address)
            content = cursor.take(cursor.uleb())
            if start <= end:
                yield ListEntry(start, end, content, kind == DEFAULT_LOCATION)
    raise ValueError("an unterminated location list")


def _bounds(kind: int, cursor: _Cursor, base: int, address: Callable[[int], int]) -> tuple[int, int]:
    if kind == STARTX_ENDX:
        return address(cursor.uleb()), address(cursor.uleb())
    if kind == STARTX_LENGTH:
        start = address(cursor.uleb())
        return start, start + cursor.uleb()
    if kind == OFFSET_PAIR:
        return base + cursor.uleb(), base + cursor.uleb()
    if kind == DEFAULT_LOCATION:
        return 0, (1 << 64) - 1
    if kind == START_END:
        return cursor.address(), cursor.address()
    if kind == START_LENGTH:
        start = cursor.address()
        return start, start + cursor.uleb()
    raise ValueError(f"an unknown entry {kind} in a location list")


class _Cursor:
    def __init__(self, section: Content, position: int, address_size: int) -> None:
        self._section = section
        self._position = position
        self._address_size = address_size

    def take(self, count: int) -> bytes:
        content = _bytes(self._section, self._position, count)
        self._position += count
        return content

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def address(self) -> int:
        return self.number(self._address_size)

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 70:
                raise ValueError("an unterminated number")


def _bytes(section: Content, offset: int, count: int) -> bytes:
    if offset + count > len(section):
        raise ValueError("a truncated location list")
    return bytes(section[offset : offset + count])
