"""Values out of bytes, and bytes out of what is asked for."""

from __future__ import annotations

import math
import struct

import pytest

from strobe.model import Capture, CaptureKind, Enumerator, Text, ValueKind, ValueType
from strobe.symbols.calls.system_v import (
    BY_REFERENCE,
    ONE_FLOAT,
    ONE_INTEGER,
    TWO_INTEGERS,
    WIDE_INTEGER,
    Shape,
    assign,
    in_memory,
)
from strobe.timeline.decode import floats
from strobe.timeline.decode.captured import Words, captured_value, decode, plain, shown, value_of_bytes
from strobe.timeline.decode.compared import encode

INT = ValueType(ValueKind.SIGNED, 4, "int")
CHARS = ValueType(ValueKind.POINTER, 8, "const char*")
TEXT = (Capture(0), Capture(0, CaptureKind.CHARS))
FLAGS = ValueType(ValueKind.ENUM, 4, "Access", ((1, "READ"), (2, "WRITE"), (4, "RUN")), is_flags=True)
MODES = ValueType(ValueKind.ENUM, 1, "Mode", ((-1, "NONE"), (1, "ONCE"), (2, "LOOP")))


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("number", [0.0, -0.0, 0.1, 440.0, -2.5, 3.4028234663852886e38, 1e-45, math.inf, -math.inf])
def test_floats_there_and_back(number: float, size: int) -> None:
    form = {4: "<f", 8: "<d"}[size]
    data = struct.pack(form, number)
    value = floats.decode(data, size)
    assert isinstance(value, (str, float))
    assert struct.pack(form, float(value)) == data
    assert floats.encode(value, size) == int.from_bytes(data, "little")


def test_floats_that_are_no_numbers() -> None:
    assert floats.decode(struct.pack("<f", math.nan), 4) == "nan"
    assert floats.encode("nan", 8) is None
    assert floats.encode("lead", 8) is None
    assert floats.encode(1e300, 4) is None
    assert floats.decode(b"\0\0\0", 4) is None


def test_single_precision_shows_the_shortest_decimal() -> None:
    assert floats.decode(struct.pack("<f", 0.1), 4) == 0.1
    assert floats.decode(struct.pack("<f", 16777216.0), 4) == 16777216.0


def test_enumerators() -> None:
    assert [shown(decode(word, MODES)) for word in (1, 2, 255, 7)] == ["ONCE(1)", "LOOP(2)", "NONE(-1)", "7"]
    assert [shown(decode(word, FLAGS)) for word in (4, 3, 0, 8, 9)] == ["RUN(4)", "READ|WRITE(3)", "0", "8", "9"]
    value = decode(2, MODES)
    assert isinstance(value, Enumerator) and value == "LOOP" and value.number == 2
    assert [encode(text, MODES) for text in ("LOOP", "LOOP(2)", "2", "LOOP(3)")] == [2, 2, 2, None]
    assert [encode(text, FLAGS) for text in ("READ|RUN", "READ|RUN(5)", "READ|RUN(4)", "READ|X")] == [5, 5, None, None]


def test_json_has_what_it_can_hold() -> None:
    assert plain({"m": decode(1, MODES), "n": 1 << 100}) == {"m": "ONCE(1)", "n": str(1 << 100)}


def test_bit_fields() -> None:
    signed = ValueType(ValueKind.SIGNED, 4, "int", bits=(3, 5))
    assert value_of_bytes(bytes([0b11101_010, 0, 0, 0]), signed) == -3


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([0x10, 4, 0x6461656C], Text("lead")),
        ([0x10, 0], Text("")),
        ([0x10, 0x10003, 0x636261], Text("abc…")),
        ([0x10, 0x10003, 0xC36261], Text("ab…")),
        ([0x10, 2, 0xFF61], Text("a\\xff")),
        ([0, 0x20000], "0x0"),
        ([0x10, 0x40000], "0x10"),
        ([0x10], None),
        ([], None),
    ],
)
def test_text(words: list[int], value: str | None) -> None:
    found = captured_value(TEXT, CHARS, Words(words))
    assert found == value
    assert isinstance(found, Text) == isinstance(value, Text)


def test_what_may_be_no_text_shows_as_text_only_when_it_is() -> None:
    room = (Capture(0), Capture(0, CaptureKind.CHARS, other=1))
    assert captured_value(room, CHARS, Words([0x10, 2, 0x6261])) == Text("ab")
    assert captured_value(room, CHARS, Words([0x10, 2, 0xFF61])) == "0x10"
    assert captured_value(room, CHARS, Words([0x10, 0x10003, 0x636261])) == "0x10"


def test_records_that_end_early_give_no_value() -> None:
    assert captured_value((Capture(0),), INT, Words([])) is None
    assert captured_value((Capture(6, CaptureKind.BYTES, other=4),), INT, Words([0x10002, 0x1])) is None


def test_places_on_the_stack() -> None:
    six = [ONE_INTEGER] * 6
    assert assign(ONE_INTEGER, [*six, ONE_INTEGER, in_memory(16, 16), ONE_FLOAT, in_memory(24)])[6:] == [
        (64,),
        (66, 67),
        (16,),
        (68, 69, 70),
    ]
    assert assign(in_memory(24), [ONE_INTEGER, TWO_INTEGERS, BY_REFERENCE]) == [(1,), (2, 3), (4,)]
    assert assign(ONE_INTEGER, [ONE_FLOAT] * 9)[7:] == [(23,), (64,)]


def test_a_doubt_leaves_all_that_follow_open() -> None:
    assert assign(ONE_INTEGER, [ONE_INTEGER, None, ONE_FLOAT]) == [(0,), None, None]
    assert assign(None, [ONE_INTEGER]) == [None]
    five: list[Shape | None] = [ONE_INTEGER] * 5
    assert assign(ONE_INTEGER, [*five, WIDE_INTEGER, ONE_FLOAT])[5:] == [None, None]
    assert assign(ONE_INTEGER, [*five, ONE_INTEGER, WIDE_INTEGER, ONE_FLOAT, ONE_INTEGER])[6:] == [None, (16,), None]
