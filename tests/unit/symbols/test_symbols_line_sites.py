"""Where a probe on a line goes: one place in each copy of the line, never in code of another one."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs

from strobe.errors import StrobeError
from strobe.symbols import ElfResolver
from strobe.symbols.select.line_sites import LineSite, SourceRange, line_sites, parsed_lines

BuildProgram = Callable[..., Path]
SOURCE = programs.source_of("line_copies")
LINES = {
    text.rpartition("// ")[2]: number
    for number, text in enumerate(SOURCE.read_text().splitlines(), 1)
    if "// " in text and text.rpartition("// ")[2].isupper()
}
BUILDS = [("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O0"), ("clang++", "-O2"), ("g++", "-O2 -ffunction-sections")]
by_build = pytest.mark.parametrize(("compiler", "flags"), BUILDS)


def places(program: Path, text: str) -> list[LineSite]:
    resolver = ElfResolver()
    lines = parsed_lines(text)
    details = resolver.details(str(program))
    assert lines is not None and details is not None
    return line_sites(lines, resolver.module(str(program)), details)


def marked(program: Path, mark: str) -> list[LineSite]:
    return places(program, f"line_copies.cpp:{LINES[mark]}")


def build(build_program: BuildProgram, compiler: str, flags: str) -> Path:
    return build_program("line_copies", *flags.split(), compiler=compiler)


@by_build
def test_every_copy_has_one_place(build_program: BuildProgram, compiler: str, flags: str) -> None:
    program = build(build_program, compiler, flags)
    copies = Counter((place.function.name, place.inlined) for place in marked(program, "SMALL"))
    assert copies == {
        ("twice_in_a_row", ("small",)): 3,
        ("main", ("small",)): 1,
        ("main", ("small", "middle")): 1,
    }
    instances = sorted(place.function.name for place in marked(program, "DOUBLED"))
    assert instances in (
        ["doubled<double>", "doubled<int>", "doubled<long>"],
        ["doubled<double>", "doubled<int>", "doubled<long int>"],
    )
    # of a class with a virtual base: as a whole object, and as a part of another one
    assert len({place.function.raw_name for place in marked(program, "DERIVED")}) == 2
    assert len(marked(program, "DERIVED")) == 2


@by_build
def test_a_line_belongs_to_the_call_that_has_it(build_program: BuildProgram, compiler: str, flags: str) -> None:
    """Names are looked up there, not in what was inlined at the same instruction."""
    program = build(build_program, compiler, flags)
    resolver = ElfResolver()
    details = resolver.details(str(program))
    assert details is not None
    seen = 0
    for mark, name in {"SMALL": "small", "MIDDLE": "middle", "FOLLOWS": "follows", "BODY": "loops"}.items():
        for place in marked(program, mark):
            frame = details.frames.at(place.address)
            assert frame is not None
            if place.level is None:  # all that is left of the call is a mark in the line table
                assert "O2" in flags and place.inlined == (name,)
                continue
            assert frame.calls[place.level].name == name
            seen += 1
    assert seen >= 7


@by_build
def test_no_line_is_placed_in_the_function_behind_its_own(
    build_program: BuildProgram, compiler: str, flags: str
) -> None:
    program = build(build_program, compiler, flags)
    try:
        found = marked(program, "UNREACHABLE")
    except StrobeError as error:
        assert error.code == "NO_CODE_AT_LINE"
    else:
        assert {place.function.name for place in found} <= {"gives_up"}
    assert [(place.function.name, place.is_entry) for place in marked(program, "FOLLOWS")] == [("follows", True)]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_range_has_a_place_for_each_line_with_code(build_program: BuildProgram, compiler: str) -> None:
    program = build(build_program, compiler, "-O0")
    first, last = LINES["LOOP"] - 3, LINES["BODY"] + 3
    found = places(program, f"probes/line_copies.cpp:{first}-{last}")
    with_code = [first + 1, first + 2, first + 3, first + 4, last - 1, last]
    assert [place.line for place in found] == (with_code if compiler == "g++" else with_code[:-1])
    assert {place.function.name for place in found} == {"loops"}
    # the loop's line is reached once, where it begins
    loop, body = (next(place for place in found if place.line == LINES[mark]) for mark in ("LOOP", "BODY"))
    assert loop.address < body.address


def test_a_line_without_code_names_the_nearest_and_does_not_slide(build_program: BuildProgram) -> None:
    program = build_program("line_copies", "-O0")
    with pytest.raises(StrobeError, match=r"no code at line_copies.cpp:1\.") as refused:
        places(program, "line_copies.cpp:1")
    assert refused.value.code == "NO_CODE_AT_LINE" and "The nearest line with code: 10 (in small)." in str(
        refused.value
    )
    blank = LINES["BODY"] + 4
    with pytest.raises(StrobeError, match=rf"nearest lines with code: {blank - 1} .in \w+. and {blank + 1}"):
        places(program, f"line_copies.cpp:{blank}")
    with pytest.raises(StrobeError, match=r"no code at line_copies.cpp:1-8\."):
        places(program, "line_copies.cpp:1-8")


def test_a_file_that_is_not_there_names_those_like_it(build_program: BuildProgram) -> None:
    program = build_program("line_copies", "-O0")
    with pytest.raises(StrobeError, match=r"line_copies\.cpp") as refused:
        places(program, "line_copy.cpp:10")
    assert refused.value.code == "NO_CODE_AT_LINE"


def test_copies_of_a_line_within_a_function_have_places_of_their_own(build_program: BuildProgram) -> None:
    """gcc makes two ends of a function whose first part it leaves early; what it has so is told as not exact."""
    source = programs.source_of("recursion").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "return below + levels" in text)
    (place,) = places(build_program("recursion", "-O0"), f"recursion.c:{line}")
    assert place.is_exact
    copies = places(build_program("recursion", "-O2"), f"recursion.c:{line}")
    assert len(copies) == 2 and not any(place.is_exact for place in copies)
    assert {(place.function.name, place.inlined, place.is_statement) for place in copies} == {("down", (), True)}
    without_marks = places(build_program("recursion", "-O2", "-gno-statement-frontiers"), f"recursion.c:{line}")
    assert len(without_marks) == 1


def test_the_head_of_a_loop_over_a_range_has_one_place(build_program: BuildProgram) -> None:
    """It begins, tests and goes on in one column."""
    program = build_program("tells", "-O2")
    source = programs.source_of("tells").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "for (const int number :" in text)
    assert len(places(program, f"tells.cpp:{line}")) == 1


ASSEMBLER = """\
    .globl main
    .type main, @function
main:
    lock
    incl -8(%rsp)
    rep
    movsb
    xorl %eax, %eax
    ret
    .size main, . - main
"""


def test_no_place_is_inside_an_instruction(tmp_path: Path) -> None:
    source, program = tmp_path / "prefixes.s", tmp_path / "prefixes"
    source.write_text(ASSEMBLER)
    subprocess.run([programs.require("gcc"), "-g", source, "-o", program], check=True, timeout=60)
    assert [place.line for place in places(program, "prefixes.s:1-10")] == [4, 6, 8, 9]
    with pytest.raises(
        StrobeError, match=r"no code at prefixes.s:5\. The nearest lines with code: 4 \(in main\) and 6"
    ):
        places(program, "prefixes.s:5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.cpp:42", SourceRange("a.cpp", 42, 42)),
        ("./src/a.cpp:42-57", SourceRange("src/a.cpp", 42, 57)),
        (" dir with blank/a.c : 7 ", SourceRange("dir with blank/a.c", 7, 7)),
        ("ns::f", None),
        ("ns::f:return", None),
        ("0x1234", None),
        ("a.cpp:", None),
    ],
)
def test_lines_are_parsed(text: str, expected: SourceRange | None) -> None:
    assert parsed_lines(text) == expected


@pytest.mark.parametrize("text", ["a.c:0", "a.c:9-3", "a.c:1-5000"])
def test_lines_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(StrobeError, match="VALIDATION_ERROR"):
        parsed_lines(text)
