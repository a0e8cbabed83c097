"""`.debug_macro`: its forms, and damage, which leaves out what follows."""

from __future__ import annotations

import random

from strobe.symbols.dwarf.macros import macros

STRINGS = b"\0SHARED 7\0CALLED(x) x\0INDEXED (1 << 4)\0"
OFFSETS = (8 + 4).to_bytes(4, "little") + b"\5\0\0\0" + (1).to_bytes(4, "little") + (22).to_bytes(4, "little")


def unit(version: int, flags: int, *entries: bytes) -> bytes:
    return version.to_bytes(2, "little") + bytes([flags]) + b"".join(entries) + b"\0"


SECTION = unit(
    5,
    2,
    b"\0\0\0\0",  # where the line table is
    b"\1\0LIMIT 64\0",
    b"\3\0\1",
    b"\1\x85\1EMPTY\0",
    b"\5\2" + (1).to_bytes(4, "little"),
    b"\5\3" + (10).to_bytes(4, "little"),
    b"\4",
    b"\7" + (30).to_bytes(4, "little"),
    b"\x0b\1\1",
) + unit(4, 1, b"\1\1LIMIT 65\0", b"\2\1LIMIT\0", b"\7" + bytes(8), b"\1\1TWICE(x) ((x)*2)\0", b"\1\2LAST 'x'\0")


def test_forms() -> None:
    assert macros(SECTION, STRINGS, OFFSETS) == {
        "LIMIT": {"64", "65"},
        "EMPTY": {""},
        "SHARED": {"7"},
        "INDEXED": {"(1 << 4)"},
        "LAST": {"'x'"},
    }
    assert "INDEXED" not in macros(SECTION, STRINGS, OFFSETS * 2)  # of two units: which one is not known
    assert macros(b"", b"", b"") == {}


def test_damage() -> None:
    whole = macros(SECTION, STRINGS, OFFSETS)
    for cut in range(len(SECTION)):
        found = macros(SECTION[:cut], STRINGS, OFFSETS)
        assert all(texts <= whole[name] for name, texts in found.items()), cut
    source = random.Random(5)
    for _ in range(3000):
        data = bytearray(SECTION)
        for _ in range(source.randrange(1, 5)):
            data[source.randrange(len(data))] = source.randrange(256)
        macros(bytes(data), STRINGS, OFFSETS)
        macros(SECTION, bytes(data), bytes(data))
