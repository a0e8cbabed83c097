"""Damaged copies of programs: file `number` is the same one each time."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

_HEADER_BYTES, _SYMBOL_BYTES = 64, 24
_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr: name, type, flags, address, offset, size, link, info, …
_OFFSET, _SIZE = 4, 5
_SHF_COMPRESSED, _SHT_NOBITS = 0x800, 8
_ODD_BYTES = (0, 1, 0x7F, 0x80, 0xFF)
_ODD_NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
_PIECE_BYTES = 1_000_000
BOMB_BYTES = 400 * _PIECE_BYTES


@dataclass(frozen=True)
class Section:
    """One header of a sound file. `place`: where in the file it stands."""

    place: int
    name: str
    fields: tuple[int, ...]

    @property
    def offset(self) -> int:
        return self.fields[_OFFSET]

    @property
    def size(self) -> int:
        """Bytes that the file has of it."""
        return 0 if self.fields[1] == _SHT_NOBITS else self.fields[_SIZE]

    @property
    def is_compressed(self) -> bool:
        return bool(self.fields[2] & _SHF_COMPRESSED) or self.name.startswith(".zdebug")


def sections_of(good: bytes) -> list[Section]:
    """Of a sound 64-bit ELF file."""
    start, count, names = (*struct.unpack_from("<Q", good, 0x28), *struct.unpack_from("<HH", good, 0x3C))
    places = [start + _SECTION.size * index for index in range(count)]
    headers = [_SECTION.unpack_from(good, place) for place in places]
    texts = headers[names][_OFFSET]
    return [
        Section(place, good[texts + fields[0] : good.index(b"\0", texts + fields[0])].decode(), fields)
        for place, fields in zip(places, headers, strict=True)
    ]


def damaged(good: bytes, number: int) -> tuple[str, bytes]:
    """(what was done, a damaged copy)."""
    choose = random.Random(number)
    damage = KINDS[number % len(KINDS)]
    content = bytearray(good)
    damage(content, sections_of(good), choose)
    return damage.__name__, bytes(content)


def cut_short(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    del content[choose.randrange(len(content)) :]


def change_anything(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    _change(content, choose, len(content) // 3, len(content))  # a third holds the code, where nothing is read


def change_one_section(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    section = choose.choice([section for section in sections if section.size and section.name.startswith(_READ)])
    _change(content, choose, section.offset, section.offset + section.size)


def change_file_header(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    _change(content, choose, 4, _HEADER_BYTES)


def change_section_headers(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    for _ in range(choose.choice((1, 1, 3, 10))):
        section = choose.choice(sections)
        fields = list(section.fields)
        field = choose.randrange(len(fields))
        width = 32 if field in (0, 1, 6, 7) else 64
        near = fields[field] ^ 1 << choose.randrange(16)
        fields[field] = choose.choice((*_ODD_NUMBERS, near, choose.choice(sections).fields[field])) % 2**width
        _SECTION.pack_into(content, section.place, *fields)


def swap_sections(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    """Sound content, of another section."""
    one, other = choose.sample([section for section in sections if section.name.startswith(_READ)], 2)
    _SECTION.pack_into(content, one.place, *one.fields[:_OFFSET], *other.fields[_OFFSET : _SIZE + 1], *one.fields[6:])


def change_symbols(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    table = choose.choice([section for section in sections if section.name in (".symtab", ".dynsym")])
    for _ in range(choose.choice((1, 10, 100))):
        symbol = table.offset + choose.randrange(max(1, table.size // _SYMBOL_BYTES)) * _SYMBOL_BYTES
        place, width = choose.choice(((0, 4), (4, 1), (6, 2), (8, 8), (16, 8)))
        number = choose.choice((*_ODD_NUMBERS, choose.getrandbits(64))) % 256**width
        content[symbol + place : symbol + place + width] = number.to_bytes(width, "little")


def huge_numbers(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    """Lengths, counts and offsets in debug information, wherever they may be."""
    section = choose.choice([s for s in sections if s.name.startswith((".debug", ".zdebug")) and s.size > 64])
    for _ in range(choose.choice((1, 4, 16))):
        width = choose.choice((2, 4, 8))
        place = section.offset + choose.choice((choose.randrange(24), choose.randrange(section.size - 8)))
        number = choose.choice((*_ODD_NUMBERS, len(content), section.size)) % 256**width
        content[place : place + width] = number.to_bytes(width, "little")


def lying_sizes(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    """Compressed sections that have more or less than they say; where none is compressed, one says that it is."""
    compressed = [section for section in sections if section.is_compressed and section.size > 24]
    section = choose.choice(compressed or [s for s in sections if s.name.startswith(".debug") and s.size > 24])
    if not compressed:
        _SECTION.pack_into(content, section.place, *section.fields[:2], _SHF_COMPRESSED, *section.fields[3:])
    true = struct.unpack_from("<Q", content, section.offset + 8)[0]
    size = choose.choice((0, 1, true // 2, true + 1, 2 * true, 1 << 24, 1 << 30, 1 << 40, 2**63, 2**64 - 1)) % 2**64
    struct.pack_into("<IIQQ", content, section.offset, choose.choice((1, 1, 1, 2, 3, 0)), 0, size, 1)


def zip_bomb(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    """Debug sections of 400 MB of one pattern, which say so, or less than that."""
    bomb = _bomb(choose.choice((b"\0", b"\1", b"\xff", b"\1\x2e\0\0\0", b"\1\x11\1\0\0\2\x34\0\0\0")))
    size = choose.choice((BOMB_BYTES, BOMB_BYTES, 1 << 20, 16 << 20))
    start = len(content)
    content += struct.pack("<IIQQ", 1, 0, size, 1) + bomb
    wanted = choose.choice((".debug", ".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"))
    for section in sections:
        if section.name.startswith(wanted):
            place = (_SHF_COMPRESSED, section.fields[3], start, len(bomb) + 24)
            _SECTION.pack_into(content, section.place, *section.fields[:2], *place, *section.fields[6:])


def mix_up(content: bytearray, sections: list[Section], choose: random.Random) -> None:
    """A stretch of the file over another one."""
    length = choose.randrange(1, 4096)
    source, target = (choose.randrange(len(content) - length) for _ in range(2))
    content[target : target + length] = content[source : source + length]


_READ = (".debug", ".zdebug", ".symtab", ".dynsym", ".strtab", ".dynstr", ".note.gnu", ".shstrtab", ".gnu_debug")
KINDS: tuple[Callable[[bytearray, list[Section], random.Random], None], ...] = (
    cut_short,
    change_anything,
    change_one_section,
    huge_numbers,
    change_section_headers,
    change_one_section,
    change_symbols,
    lying_sizes,
    change_one_section,
    change_file_header,
    huge_numbers,
    mix_up,
    swap_sections,
    change_one_section,
    zip_bomb,
)


def _change(content: bytearray, choose: random.Random, start: int, end: int) -> None:
    for _ in range(choose.choice((1, 1, 3, 20, 200))):
        place = choose.randrange(start, end)
        flipped = content[place] ^ 1 << choose.randrange(8)
        content[place] = choose.choice((*_ODD_BYTES, flipped, flipped, choose.randrange(256)))


@cache
def _bomb(pattern: bytes) -> bytes:
    """A zlib stream of BOMB_BYTES: one piece, compressed so that it can be repeated."""
    piece = pattern * (_PIECE_BYTES // len(pattern))
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = stream.compress(piece) + stream.flush(zlib.Z_FULL_FLUSH)
    checksum = 1
    for _ in range(BOMB_BYTES // len(piece)):
        checksum = zlib.adler32(piece, checksum)
    return b"\x78\x9c" + packed * (BOMB_BYTES // len(piece)) + b"\x03\x00" + checksum.to_bytes(4, "big")
