"""New values for the variables of a running program: what is written, what is refused, and what it then has."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.reads import ready, shown, value
from support.sessions import Launch, all_events, text
from support.short_form import short
from support.wait import wait_until

import strobe
from strobe.errors import StrobeError
from strobe.model import EventFilter
from strobe.session import Session, SessionManager
from strobe.values.decode import text as values_text
from strobe.values.reading import ReadTarget
from strobe.values.write.writing import WriteResult, WriteTarget

Build = Callable[..., Path]
FLIPS = short(400, 100)
_NUMBERS = itertools.count(1)  # what a program is asked with


@pytest.fixture
def written(build_program: Build, launch: Launch) -> Session:
    return ready(launch(build_program("written", "-O0")))


def write(session: Session, variable: str, new: Any) -> WriteResult:
    (result,) = session.writer.write([WriteTarget(variable, new)])
    assert result.error is None, str(result.error)
    return result


def refusal(session: Session, variable: str, new: Any) -> str:
    """What is told of a write that must fail."""
    (result,) = session.writer.write([WriteTarget(variable, new)])
    assert result.error is not None, f"{variable} became {new}"
    return f"{result.error.message} {result.error.next_step}".strip()


def printed(session: Session, asked: str = "gAsked") -> str:
    """The line that the program prints of what it has now."""
    before = text(session, "stdout").count("\n")
    write(session, asked, next(_NUMBERS))
    wait_until(lambda: text(session, "stdout").count("\n") > before, "the program to print")
    return text(session, "stdout").splitlines()[-1]


WRITTEN: list[tuple[str, Any, str]] = [
    ("gTempo", 140, "140"),
    ("gTempo", "0x90", "144"),
    ("gTempo", "-7", "-7"),
    ("gTempo", 140.0, "140"),
    ("gByte", 255, "255"),
    ("gSmall", -128, "-128"),
    ("gHuge", "18446744073709551615", "18446744073709551615"),
    ("gHuge", "0xffffffffffffffff", "18446744073709551615"),
    ("gDouble", "nan", "nan"),
    ("gDouble", "-inf", "-inf"),
    ("gDouble", 3, "3.0"),
    ("gExtended", -3.25, "-3.25"),
    ("gFlag", False, "false"),
    ("gFlag", "true", "true"),
    ("gLetter", "z", "'z'"),
    ("gLetter", "'\\n'", "'\\n'"),
    ("gLetter", 65, "'A'"),
    ("gWide", "\u00e4", "'\u00e4'"),
    ("gColour", "kBlue", "kBlue(3)"),
    ("gColour", "Colour::kRed", "kRed(1)"),
    ("gColour", 2, "kGreen(2)"),
    ("gColour", "kBlue(3)", "kBlue(3)"),
    ("gFlags", "kA|kC", "kA|kC(5)"),
    ("gVoice.freq", 220.5, "220.5"),
    ("gVoice.base_number", 6, "6"),
    ("gVoices[1].note", 3, "3"),
    ("gVoice.name", "bass", '"bass"'),
    ("gVoice.name", "1234567", '"1234567"'),
    ("gText", "IN A BUFFER", '"IN A BUFFER"'),
    ("gText", "x", '"x"'),
    ("gBuffer", "", '""'),
    ("gWideText", "h\u00e4", '"h\u00e4"'),
    ("gGrid[1][2]", 60, "60"),
    ("gGrid", [[1, 2, 3], [4, 5, 60]], "[[1, 2, 3], [4, 5, 60]]"),
    ("gGrid", "[[0, 0, 0], [4, 5, 6]]", "[[0, 0, 0], [4, 5, 6]]"),
    ("gNumber", {"real": 1.5}, "{whole = 1069547520, real = 1.5}"),
    ("gReference", 9, "9"),
    ("gAtomic", 5, "5"),
    ("gRow", [7, 8], "[7, 8]"),
    ("gNumbers[1]", 20, "20"),
    ("gDuration", 7, "7s"),
    ("*(int*)&gDouble", 0, "0"),
    ("gNoText", None, "0x0"),
    ("gCallback", "0x0", "0x0"),
]


def test_what_is_written_is_read_again(written: Session) -> None:
    for variable, new, expected in WRITTEN:
        before = shown(written, variable)
        result = write(written, variable, new)
        assert values_text.shown(result.previous) == before, variable
        assert values_text.shown(result.value) == expected, variable
        assert shown(written, variable) == expected, variable


def test_the_program_has_what_was_written(written: Session) -> None:
    expected = {
        "gTempo": 141,
        "gShort": "fifteen letters",
        "gLong": "y" * 40,
        "gText": "was",
        "gAtomic": 77,
        "gVoice": {"freq": 1.5, "name": "alto", "low": 7, "high": 3, "flag": False},
        "gNode": "&gFirst",
        "gCallback": "&twice",
        "gExtended": -0.5,
    }
    results = written.writer.write([WriteTarget(name, new) for name, new in expected.items()])
    assert [str(result.error) for result in results if result.error is not None] == []
    assert printed(written) == "141 fifteen letters 15 40 was 77 1.5 alto 730 1 42 -0.5"


def test_pointers(written: Session) -> None:
    assert shown(written, "gNode") == "0x0"
    assert str(write(written, "gNode", "&gFirst").value).endswith(" <gFirst>")
    address = int(value(written, "&gFirst"))
    assert int(write(written, "gNode", "&gLeaf").value) == int(value(written, "&gLeaf"))  # a base class of it
    assert int(write(written, "gNode", "(Node*)&gTempo").value) == int(value(written, "&gTempo"))
    assert int(write(written, "gAnything", "&gTempo").value) == int(value(written, "&gTempo"))
    assert int(write(written, "gNode", hex(address)).value) == address
    assert write(written, "gNode->value", 8).previous == 1
    assert not write(written, "gNode", "null").value
    assert refusal(written, "gNode", "&gTempo").startswith("'gNode' (Node*) cannot become '&gTempo': it points to int.")
    assert "it is not an address" in refusal(written, "gNode", "gFirst")
    assert "it is not an address" in refusal(written, "gNode", "first")
    assert "out of range" in refusal(written, "gNode", 1 << 64)
    assert refusal(written, "gNode->value", 1) == "Null pointer at gNode."


REFUSED: list[tuple[str, Any, str]] = [
    ("gByte", 256, "it is out of range. Valid: 0 to 255."),
    ("gByte", -1, "it is out of range. Valid: 0 to 255."),
    ("gSmall", 128, "it is out of range. Valid: -128 to 127."),
    ("gTempo", 1 << 31, "it is out of range. Valid: -2147483648 to 2147483647."),
    ("gHuge", -1, "Valid: 0 to 18446744073709551615."),
    ("gTempo", "abc", "it is not a whole number."),
    ("gTempo", 1.5, "it is not a whole number."),
    ("gTempo", True, "it is not a whole number."),
    ("gTempo", [1], "it is not a whole number."),
    ("gTempo", None, "it is not a whole number."),
    ("gFlag", 2, "it is neither true nor false."),
    ("gDouble", "much", "it is not a number."),
    ("gVoice.freq", 1e300, "it is out of range."),
    ("gLetter", "ab", "it is not a character of this type."),
    ("gLetter", "\u00e4", "it is not a character of this type."),
    ("gColour", "kGren", "there is no such enumerator, but kGreen"),
    ("gColour", 256, "no enumerator has this number."),
    ("gColour", "kRed|kBlue", "there is no such enumerator"),
    ("gVoice.low", 8, "it is out of range. Valid: 0 to 7."),
    ("gVoice.high", 16, "it is out of range. Valid: -16 to 15."),
    ("gVoice.colour", 4, "no enumerator has this number."),
    ("gVoice.name", "12345678", "it has 8 bytes, and 7 fit before the zero."),
    ("gVoice.name", "a\0b", "it contains a NUL character"),
    ("gVoice", 5, "it is not an object of members."),
    ("gVoice", {1: 2}, "it is not an object of members."),
    ("gNumbers", [1, 2], "a class of the standard library cannot be written as a whole. Valid: what is in it: v[1]"),
    ("gVoice", {"nam": "x"}, "Voice has no field 'nam'. Names like it: name."),
    ("gVoice", {"freq": 2.5, "note": 200}, "it is out of range."),
    ("gVoice", {"fixed": 1}, "'gVoice.fixed' is const"),
    ("gVoice.fixed", 1, "'gVoice.fixed' is const"),
    ("gNumber", {"whole": 1, "real": 1.0}, "overlap in the memory"),
    ("gOverlaid", {"first": 2, "left": 3, "right": 4}, "overlap in the memory"),
    ("gGrid", [[1, 2, 3]], "it has 2 elements, 1 are given."),
    ("gGrid", 5, "it is not a list."),
    ("gVoice", {}, "it is not an object of members."),
    ("gDouble", "1e400", "it is out of range."),
    ("gGrid[2]", [1, 2, 3], "has no element 2"),
    ("gText", "longer than the buffer", "and the text there now has 11."),
    ("gNoText", "text", "it is a null pointer."),
    ("gConstantText", "other", "lies in memory that must not be written: r--p"),
    ("gShort", "sixteen letters.", "the string has room for 15 without other memory."),
    ("gLong", "y" * 41, "the string has room for 40"),
    ("gShort", 5, "it is not text."),
    ("gView", "view", "only std::string of libstdc++ can be written"),
    ("gConstant", 4, "'gConstant' is const"),
    ("gLate", 4, "'gLate' is const"),
    ("*(int*)&gConstant", 4, "lies in memory that must not be written: r--p"),
    ("&gTempo", 4, "it has no location in memory"),
    ("seen", 4, "Locals and arguments cannot be written"),
    ("*(int*)16", 1, "Address not readable: 0x10"),
    ("gTemp", 1, "Names like it: gTempo."),
]


def test_what_cannot_be_written_is_refused(written: Session) -> None:
    for variable, new, reason in REFUSED:
        assert reason in refusal(written, variable, new)


def test_what_is_refused_changes_nothing(written: Session) -> None:
    before = [shown(written, name, 3) for name in ("gVoice", "gGrid", "gOverlaid", "gShort")]
    refusal(written, "gVoice", {"freq": 2.5, "note": 200})
    refusal(written, "gGrid", [[9, 9, 9], [9, 9, "x"]])
    refusal(written, "gOverlaid", {"first": 2, "left": 3, "right": 4})
    refusal(written, "gShort", "z" * 16)
    assert [shown(written, name, 3) for name in ("gVoice", "gGrid", "gOverlaid", "gShort")] == before


def test_neighbours_of_a_bit_field_stay(written: Session) -> None:
    for name, new in (("low", 2), ("high", -16), ("flag", False), ("colour", "kBlue")):
        fields = dict(value(written, "gVoice"))
        write(written, f"gVoice.{name}", new)
        after = dict(value(written, "gVoice"))
        assert {key for key in fields if fields[key] != after[key]} == {name}


def test_one_bad_target_does_not_affect_others(written: Session) -> None:
    targets = [WriteTarget("gTempo", 1), WriteTarget("gByte", 300), WriteTarget("gNope", 1), WriteTarget("gSmall", 2)]
    results = written.writer.write(targets)
    assert [result.error is None for result in results] == [True, False, False, True]
    assert [value(written, name) for name in ("gTempo", "gByte", "gSmall")] == [1, 200, 2]


def test_what_was_read_can_be_written_back(written: Session) -> None:
    for name in ("gVoices[0]", "gColour", "gFlags", "gLetter", "gNode", "gGrid", "gFirst"):
        was = value(written, name, 3)
        if name != "gVoices[0]":
            write(written, name, was)
            assert value(written, name, 3) == was
    fields = {key: item for key, item in value(written, "gVoice") if key != "fixed"}
    write(written, "gVoices[0]", fields | {"note": 1})
    assert value(written, "gVoices[0]").note == 1


def test_raw_memory(written: Session) -> None:
    tempo, huge = (int(value(written, name)) for name in ("&gTempo", "&gHuge"))
    code = int(write(written, "gCallback", "&twice").value)
    results = written.writer.write(
        [
            WriteTarget(value=77, address=tempo, type="i32"),
            WriteTarget(value="0xff", address=huge + 1, type="u8"),
            WriteTarget(value="&gFirst", address=int(value(written, "&gNode")), type="pointer"),
            WriteTarget(value=300, address=tempo, type="u8"),
            WriteTarget(value=1, address=0x10, type="i32"),
            WriteTarget(value=1, address=tempo, type="bytes"),
            WriteTarget(value=1, address=code, type="u8"),
        ]
    )
    assert [result.previous for result in results[:2]] == [120, 0]
    assert [value(written, "gTempo"), value(written, "gHuge")] == [77, 0xFF01]
    assert value(written, "gNode->value") == 1
    told = [str(result.error) for result in results[3:]]
    assert "out of range" in told[0] and "not readable" in told[1] and "there is no such type" in told[2]
    assert "lies in memory that must not be written: r-xp" in told[3]


def test_each_write_is_an_event(written: Session) -> None:
    targets = [WriteTarget("gTempo", 140), WriteTarget("gByte", 300), WriteTarget("gDouble", "inf")]
    written.writer.write(targets)
    refusal(written, "gByte", 300)
    (event,) = all_events(written, EventFilter(event_type="variable_snapshot"))
    assert event.values == {"gTempo": 140, "gDouble": "inf"}
    assert event.previous == {"gTempo": 120, "gDouble": 2.5}
    assert event.errors is None


def test_aligned_words_are_never_seen_half_written(build_program: Build, launch: Launch) -> None:
    """By a program that reads them at full speed; nor does one lose what it counts beside a bit-field."""
    session = ready(launch(build_program("flipped", "-O2")))
    names = ("g64", "g32", "g16", "gBits.low", "gBits.high")
    sizes = (64, 32, 16, 7, 7)
    for turn in range(FLIPS):
        new: list[Any] = [(1 << bits) - 1 if turn % 2 else 0 for bits in sizes]
        targets = [WriteTarget(name, item) for name, item in zip(names, new, strict=True)]
        results = session.writer.write([*targets, WriteTarget("gDouble", 12.34 if turn % 2 else 0)])
        assert all(result.error is None and result.is_atomic for result in results)
    counts = {name: value(session, name) for name in ("gTorn", "gLost", "gReads", "gCounts")}
    assert counts["gTorn"] == counts["gLost"] == 0
    assert counts["gReads"] > FLIPS and counts["gCounts"] > FLIPS


def test_another_process_claims_no_more_than_is_true(written: Session, strobe_home: Path) -> None:
    """What another Strobe of the same home writes, and the event that it makes of it."""
    with closing(SessionManager()) as manager:
        other = manager.get(written.id)
        try:
            results = other.writer.write(
                [WriteTarget("gTempo", 150), WriteTarget("gLetter", "x"), WriteTarget("gByte", 300)]
            )
        except StrobeError as error:
            pytest.skip(f"one process may not read another here: {error.message}")
    assert [result.error is None for result in results] == [True, True, False]
    assert [result.is_atomic for result in results[:2]] == [False, True]
    assert value(written, "gTempo") == 150
    (event,) = all_events(written, EventFilter(event_type="variable_snapshot"))
    assert (event.values, event.previous) == ({"gTempo": 150, "gLetter": "'x'"}, {"gTempo": 120, "gLetter": "'q'"})


def test_a_stopped_program_gets_a_value_once(written: Session) -> None:
    """Its agent does not answer; the kernel writes instead, and the agent must not do it again when it goes on."""
    os.kill(written.pid, signal.SIGSTOP)
    try:
        assert not write(written, "gTempo", 5).is_atomic
        (result,) = written.reader.read([ReadTarget("gTempo")])
        assert result.value == 5
        os.kill(written.pid, signal.SIGCONT)
        assert write(written, "gTempo", 6).is_atomic
        assert value(written, "gTempo") == 6
        assert printed(written).startswith("6 ")
    finally:
        os.kill(written.pid, signal.SIGCONT)


def test_a_program_that_restricts_its_calls_is_not_made_to_call(build_program: Build, launch: Launch) -> None:
    """The agent would have the kernel look at the page first, which a filter may answer by ending the program."""
    session = ready(launch(build_program("filtered", "-O0")))
    result = write(session, "gTempo", 140)
    assert (result.previous, result.is_atomic, value(session, "gTempo")) == (120, False, 140)
    wait_until(lambda: value(session, "gSeen") == 140, "the program to see it")


def test_from_python(build_program: Build, strobe_home: Path) -> None:
    with strobe.launch([build_program("written", "-O0")], home=strobe_home) as program:
        ready(program._session)
        assert program.write("gTempo", 140) == 120
        assert program.write("gTempo", 141) == 140
        assert program.read("gTempo") == 141
        with pytest.raises(StrobeError, match=r"WRITE_FAILED: 'gByte' \(uint8_t\) cannot become 300"):
            program.write("gByte", 300)
        assert program.read("gByte") == 200
        (first, second) = [event.values for event in program.events(EventFilter(event_type="variable_snapshot"))]
        assert (first, second) == ({"gTempo": 140}, {"gTempo": 141})


def test_rust(build_program: Build, launch: Launch) -> None:
    session = ready(launch(build_program("written_rust")))
    new = {
        "COUNT": 7,
        "BYTE": 255,
        "IS_ON": False,
        "LEVEL": 1.5,
        "LETTER": "\u00e4",
        "COLOUR": "Blue",
        "POINT": {"x": 5, "y": -1},
        "ROW": [7, 8, 65535],
        "HUGE": str(1 << 100),
        "CALLS": 9,
    }
    results = session.writer.write([WriteTarget(name, item) for name, item in new.items()])
    assert [str(result.error) for result in results if result.error is not None] == []
    expected = f"7 255 false 1.5 \u00e4 Blue Point {{ x: 5, y: -1.0 }} [7, 8, 65535] {1 << 100} 9 9"
    assert printed(session, "ASKED") == expected
    assert "out of range" in refusal(session, "BYTE", 256)
    assert "not a character of this type" in refusal(session, "LETTER", 0xD800)
    assert "no enumerator has this number" in refusal(session, "COLOUR", 2)
    assert "lies in memory that must not be written" in refusal(session, "LIMIT", 3)
