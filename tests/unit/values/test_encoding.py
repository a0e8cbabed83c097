"""Values as bytes: what Python's own struct and ctypes make of them, for all types and at each bound."""

from __future__ import annotations

import ctypes
import math
import struct
from contextlib import nullcontext

import pytest

from strobe.errors import StrobeError
from strobe.symbols.later import Later
from strobe.symbols.types.model import Encoding, Enum, Enumerator, RecordHead, Scalar
from strobe.values.memory.memory_map import MemoryMap
from strobe.values.write.encoding import encode, number_of

FORMS = {("signed", 1): "b", ("signed", 2): "h", ("signed", 4): "i", ("signed", 8): "q"} | {
    ("unsigned", 1): "B",
    ("unsigned", 2): "H",
    ("unsigned", 4): "I",
    ("unsigned", 8): "Q",
}
LONG_DOUBLES = (
    0.0,
    -0.0,
    1.0,
    -1.25,
    0.1,
    1e300,
    -1e-300,
    5e-324,
    2.0**-1022,
    math.inf,
    -math.inf,
    1.7976931348623157e308,
)


def integer(kind: str, size: int) -> Scalar:
    return Scalar(f"{kind}{size}", size, None, Encoding(kind), None)


@pytest.mark.parametrize(("kind", "size"), FORMS)
def test_integers_at_their_bounds(kind: str, size: int) -> None:
    low = -(1 << 8 * size - 1) if kind == "signed" else 0
    high = (1 << 8 * size - (kind == "signed")) - 1
    for number in (low, low + 1, 0, 1, high - 1, high):
        expected = struct.pack("<" + FORMS[kind, size], number)
        assert encode(integer(kind, size), number, "x") == expected
        assert encode(integer(kind, size), str(number), "x") == expected
        assert encode(integer(kind, size), hex(number), "x") == expected
    for number in (low - 1, high + 1):
        with pytest.raises(StrobeError, match=f"out of range. Valid: {low} to {high}"):
            encode(integer(kind, size), number, "x")


@pytest.mark.parametrize("number", LONG_DOUBLES)
def test_long_doubles_are_those_of_the_compiler(number: float) -> None:
    expected = bytes(ctypes.c_longdouble(number))[:10]
    assert encode(Scalar("long double", 16, None, Encoding.FLOAT, None), number, "x")[:10] == expected


@pytest.mark.parametrize("text", ["0.1", "1e4000", "-1e-4900", "3.3e-4950", "1.18973149535723176502e+4932", "4.25"])
def test_long_doubles_are_exact_where_text_is_given(text: str) -> None:
    """As the C library reads it."""
    buffer = ctypes.create_string_buffer(16)
    scan = ctypes.CDLL(None).sscanf
    assert scan(text.encode(), b"%Lf", buffer) == 1
    assert encode(Scalar("long double", 16, None, Encoding.FLOAT, None), text, "x")[:10] == buffer.raw[:10]


def test_floats_beyond_their_range() -> None:
    for name, size, text in (("float", 4, "1e39"), ("double", 8, "1e309"), ("long double", 16, "1e4933")):
        for given in (text, f"-{text}", "1e999999999"):
            with pytest.raises(StrobeError, match="out of range"):
                encode(Scalar(name, size, None, Encoding.FLOAT, None), given, "x")
    double = Scalar("double", 8, None, Encoding.FLOAT, None)
    assert encode(double, "1e-999999999", "x") == bytes(8)
    with pytest.raises(StrobeError, match="out of range"):
        encode(double, 10**400, "x")


def test_floats() -> None:
    for size, form in ((4, "<f"), (8, "<d")):
        type_ = Scalar("float", size, None, Encoding.FLOAT, None)
        for text, number in (("1.5", 1.5), ("-inf", -math.inf), ("0x10", 16.0), ("2e3", 2000.0), ("007", 7.0)):
            assert encode(type_, text, "x") == struct.pack(form, number)
        assert math.isnan(struct.unpack(form, encode(type_, "nan", "x"))[0])


def test_enumerators_by_name_and_number() -> None:
    listed: tuple[Enumerator, ...] = (Enumerator("kOff", 0), Enumerator("ns::kOn", 1), Enumerator("kBelow", -3))
    head, content = Later(lambda: RecordHead(4), nullcontext()), Later(lambda: listed, nullcontext())
    mode = Enum("Mode", 4, None, head, None, False, content)
    for text in ("kBelow", "Mode::kBelow", "kBelow(-3)", "-3"):
        assert encode(mode, text, "x") == (-3 & 0xFFFFFFFF).to_bytes(4, "little")
    assert encode(mode, "kOn", "x") == encode(mode, "ns::kOn", "x") == b"\1\0\0\0"
    for text in ("kOff|kOn", "", "kNope", "1.5"):
        with pytest.raises(StrobeError, match="no such enumerator"):
            encode(mode, text, "x")


def test_bit_fields_have_the_bounds_of_their_width() -> None:
    assert number_of(integer("signed", 4), -16, "x", 5) == 16
    assert number_of(integer("unsigned", 4), 31, "x", 5) == 31
    for type_, number in ((integer("signed", 4), 16), (integer("unsigned", 4), 32), (integer("unsigned", 4), -1)):
        with pytest.raises(StrobeError, match="out of range"):
            number_of(type_, number, "x", 5)


def test_what_may_be_written_is_found_in_the_map() -> None:
    text = (
        "1000-2000 r--p 00000000 08:01 12 /usr/bin/a program\n"
        "2000-4000 rw-p 00001000 08:01 12 /usr/bin/a program\n"
        "4000-5000 rw-p 00000000 00:00 0 \n"
        "6000-7000 rw-s 00000000 00:15 9 /dev/shm/strobe-0-session\n"
    )
    found = MemoryMap(text)
    assert found.why_not_written(0x2000, 0x3000, "x") is None
    for address, size, reason in (
        (0x1FFC, 8, "r--p 0x1000-0x2000 a program"),
        (0x4FFC, 8, "Nothing is mapped at 0x5000"),
        (0x800, 1, "Nothing is mapped at 0x800"),
        (0x6000, 4, "rw-s 0x6000-0x7000"),
    ):
        error = found.why_not_written(address, size, "x")
        assert error is not None and reason in error.message
