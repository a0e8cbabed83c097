"""Variables of a running program by every kind of expression, how they are shown, and what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs
from support.reads import error, ready, shown, value
from support.sessions import Launch

import strobe
from strobe.errors import StrobeError
from strobe.session import Session
from strobe.values.reading import ReadTarget


@pytest.fixture
def values(build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("values", "-O0")))


@pytest.fixture
def more(build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("values", "-O0", str(programs.source_of("values_more")))))


@pytest.fixture
def classes(build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("values_classes", "-O0")))


def test_values_are_shown_as_a_person_writes_them(values: Session) -> None:
    expected = {
        "gTempo": "120",
        "gTrue": "true",
        "gLetter": "'q'",
        "gZero": "'\\0'",
        "gSmall": "-5",
        "gByte": "200",
        "gLong": "-9000000000000000000",
        "gHuge": "18000000000000000000",
        "gWide": str(1 << 100),
        "gFloat": "0.1",
        "gInfinite": "inf",
        "gComplex": "{re = 1.0, im = 2.0}",
        "gMode": "MODE_LOOP(2)",
        "gBelow": "MODE_BELOW(-3)",
        "gFlags": "FLAG_A|FLAG_C(5)",
        "gBits": "{low = 5, high = -9, flag = true, mode = MODE_LOOP(2), wide = 737894400291}",
        "gNumber": '{whole = 1069547520, real = 1.5, bytes = ""}',
        "gVoice": '{freq = 440.5, note = -7, name = "abc"}',
        "gTitle": '"hello"',
        "gTitles": '["one", 0x0, "three"]',
        "gWideText": '"h\u00e4 h\u00f6"',
        "gUnended": '"full"',
        "gNull": "0x0",
        "gHidden": "31",
        "gState.title": '"a \\"title\\""',
        "gState.grid": "[[1, 2, 3], [4, 5, 6]]",
        "counted::calls": "41",
    }
    assert {name: shown(values, name) for name in expected} == expected


def test_what_cannot_be_seen_is_escaped(more: Session) -> None:
    expected = {
        "gEscapes": r'''"\a\b\t\n\v\f\r\"'\\?\x1b\x7f!"''',
        "gPoem": '"gr\u00fc\u00dfe \u65e5\u672c \U0001f600"',
        "gBeyond": "-1.5e+4000",
        "gNegativeZero": "-0.0",
        "gNotANumber": "nan",
    }
    assert {name: shown(more, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("gState.voices[3].freq", "220.25"),
        ("gStatePointer->voices[3].name", '"bass"'),
        ("gStatePointer.head.value", "1"),
        ("(*gStatePointer).y", "4"),
        ("*gElement", "5"),
        ("gElement[1]", "6"),
        ("gElement[-1]", "4"),
        ("gState.grid[1][2]", "6"),
        ("*gTitles", '"one"'),
        (" gFirst . next -> value ", "2"),
        ("((struct Node*)gAnything)->value", "120"),
        ("((Node*)&gTempo)->value", "120"),
        ("*(short*)&gTempo", "120"),
        ("(char*)gVoice.name", '"abc"'),
        ("gFirst.next->next->next->next->value", "1"),
        ("values.c::gHidden", "31"),
        ("::gTempo", "120"),
    ],
)
def test_expressions(values: Session, expression: str, expected: str) -> None:
    assert shown(values, expression) == expected


def test_pointers_say_what_they_point_to(values: Session) -> None:
    assert shown(values, "gAnything").endswith(" <gTempo>")
    assert shown(values, "gCallback").endswith(" <twice>")
    assert shown(values, "gStatePointerPointer").endswith(" <gStatePointer>")
    assert shown(values, "&gState.head").partition(" ")[2].startswith("<gState+")


def test_depth_says_how_far_structures_are_shown(values: Session) -> None:
    assert shown(values, "gStatePointer.bits", 1).startswith("{low")
    state = value(values, "gState", 1)
    assert [str(state.voices[0]), str(state.bits), state.y] == ["<struct>", "<struct>", 4]
    assert state.head.to is None
    deeper = value(values, "gState", 2)
    assert deeper.voices[3].name == "bass"
    assert deeper.head.to.value == 1
    assert deeper.head.to.next.to is None
    assert value(values, "gState", 4).head.next.next == "<circular ref to gState.head>"


def test_a_cycle_is_named(values: Session) -> None:
    first = value(values, "gFirst", 5)
    assert first.next.value == 2
    assert first.next.next == "<circular ref to gFirst>"


def test_long_arrays_and_texts_are_cut(values: Session) -> None:
    many, hundred, more = (value(values, name) for name in ("gMany", "gHundred", "gHundredOne"))
    assert [(len(array), array.total) for array in (many, hundred, more)] == [(100, 250), (100, 100), (100, 101)]
    assert many[:4] == [1, 2, 3, 0]
    assert value(values, "gLongest") == "x" * 1024
    assert value(values, "gTooLong") == "y" * 1024 + "\u2026"
    assert value(values, "(char*)gLongest") == "x" * 1024
    assert value(values, "(char*)gTooLong") == "y" * 1024 + "\u2026"


def test_what_is_wrong_is_reported(values: Session) -> None:
    assert error(values, "gFoo") == "Variable 'gFoo' not found in debug symbols."
    assert error(values, "gNull->value") == "Null pointer at gNull."
    assert error(values, "gFirst.next->next->next->none").startswith("Node has no field 'none'")
    assert error(values, "gWild->value") == "Address not readable: 0x10, for gWild->value."
    assert error(values, "gState.voices[4]") == "'gState.voices' has no element 4: it has 4."
    assert error(values, "gState.voices[-1]") == "'gState.voices' has no element -1: it has 4."
    assert error(values, "calls").startswith("'calls' is ambiguous: 2 variables.")
    assert error(values, "*gTempo").endswith("it is int, not a pointer.")
    assert error(values, "gTempo->x").endswith("it is int, not a pointer; use '.'.")
    assert error(values, "gOpaque->x").endswith("Opaque is only declared: its fields are not known.")
    assert error(values, "(Nope*)gNull") == "There is no type 'Nope' in the debug symbols."
    assert error(values, "gState[x]") == "Variable 'x' not found in debug symbols."
    for broken in ("gTempo +", "gState.", "gState[", "(gTempo", "", "*", "gTempo gTempo", "a b"):
        assert error(values, broken).endswith(("understood", "missing", "number", "end.", "'.", '".')), broken


def test_names_like_it_are_suggested(values: Session) -> None:
    results = values.reader.read([ReadTarget("gTemp"), ReadTarget("gState.heed"), ReadTarget("calls")])
    steps = [result.error.next_step for result in results if result.error is not None]
    assert steps[0] == "Names like it: gTempo."
    assert steps[1] == "Names like it: head."
    assert steps[2] == "Name one of them: counted::calls, counted_too::calls."


def test_one_bad_target_does_not_affect_others(values: Session) -> None:
    results = values.reader.read(
        [ReadTarget(name) for name in ("gTempo", "gFoo", "gNull->value", "gWild->value", "gShort")]
    )
    assert [result.value for result in results] == [120, None, None, None, -1234]
    assert [result.error is None for result in results] == [True, False, False, False, True]


def test_limits_of_an_expression(values: Session) -> None:
    longest = "gTempo".rjust(256)
    assert value(values, longest) == 120
    assert "257 characters" in error(values, " " + longest)
    assert shown(values, "gFirst.next->next->next->next->value") == "1"
    assert error(values, "gFirst.next->next->next->next->next->value").startswith(
        "One expression follows at most 4 pointers."
    )


def test_raw_memory(values: Session) -> None:
    tempo, state = (int(value(values, name)) for name in ("&gTempo", "&gMany"))
    targets = [
        ReadTarget(address=tempo, size=4, type="i32"),
        ReadTarget(address=tempo, type="u8"),
        ReadTarget(address=state, size=12, type="u32"),
        ReadTarget(address=state, size=5, type="bytes"),
        ReadTarget(address=state, size=3, type="i32"),
        ReadTarget(address=0x10, size=8, type="pointer"),
        ReadTarget(address=(1 << 64) - 4, size=65536, type="bytes"),
    ]
    results = values.reader.read(targets)
    assert [result.value for result in results[:3]] == [120, 120, [1, 2, 3]]
    assert results[3].content == b"\1\0\0\0\2"
    errors = [result.error.message for result in results[4:] if result.error is not None]
    assert errors[0] == "'size' is 3: i32 has 4 bytes."
    assert errors[1] == "Address not readable: 0x10."
    assert len(errors) == 3


def test_classes(classes: Session) -> None:
    assert shown(classes, "gPlain") == (
        "{base_number = 11, name = \"named\", initial = 'n', colour = kGreen(2), is_new = true}"
    )
    assert shown(classes, "gDiamond") == "{root = 1, left = 2, right = 3, own = 4}"
    assert shown(classes, "gDog") == '{legs_ = 4, sound_ = "woof"}'
    assert shown(classes, "gNoColour") == "77"
    assert shown(classes, "gNothing") == "0x0"
    assert shown(classes, "gPriceReference") == "250"
    assert shown(classes, "shop::Box<int>::last") == "8"
    assert shown(classes, "shop::Dog::count") == "2"
    assert shown(classes, "Dog::count") == "2"
    assert shown(classes, "price") == "250"
    assert shown(classes, "gUtf8") == '"gr\u00fcn"'
    assert shown(classes, "((shop::Dog*)gAnimal)->sound_") == '"woof"'
    assert value(classes, "gOuter", 3).up == "<circular ref to gOuter>"


def test_the_deepest_structure_is_beyond_the_depth(classes: Session) -> None:
    assert [shown(classes, "gLevels", depth) for depth in (1, 4, 5)] == [
        "{two = <struct>}",
        "{two = {three = {four = {five = <struct>}}}}",
        "{two = {three = {four = {five = {last = 5}}}}}",
    ]


def test_a_program_that_has_ended_cannot_be_read(build_program: Callable[..., Path], launch: Launch) -> None:
    session = launch(build_program("hello"))
    session.wait(60)
    with pytest.raises(StrobeError, match="PROCESS_EXITED"):
        session.reader.read([ReadTarget("gTempo")])


def test_from_python(build_program: Callable[..., Path], strobe_home: Path) -> None:
    with strobe.launch([build_program("values", "-O0")], home=strobe_home) as program:
        ready(program._session)
        assert program.read("gTempo") == 120
        assert program.read("gState").voices[3].name == "bass"
        assert program.read("gState.head").next.value == 2
        assert dict(program.read("gVoice")) == {"freq": 440.5, "note": -7, "name": "abc"}
        with pytest.raises(StrobeError, match="Null pointer at gNull"):
            program.read("gNull->value")
        for depth in (0, 6):
            with pytest.raises(StrobeError, match="'depth' is"):
                program.read("gTempo", depth)
