"""Types of C++'s standard libraries by their content: what gdb's printers show, and memory that is no such type."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support import programs
from support.reads import ready, shown, value
from support.sessions import Launch
from support.short_form import short

from strobe.model import Enumerator
from strobe.session import Session
from strobe.values.decode import text as values_text
from strobe.values.model import Char, Mapping, Pairs, Record, Rows
from strobe.values.reading import ReadTarget
from strobe.values.write.writing import WriteTarget

SCRIPT = Path(__file__).resolve().parents[3] / "oracle" / "gdb_library.py"
STDLIB = ["g++ -O0", "g++ -O2", "clang++ -O2"]
LIBCXX = ["clang++ -O0 -stdlib=libc++", "clang++ -O2 -stdlib=libc++"]
long = partial(pytest.param, marks=pytest.mark.long)  # it takes ten seconds to build
AS_GDB = """
gEmptyText gText gLongText gZeroText gWideText gText16 gText32 gText8 gView gPart
gEmptyVector gVector gHundred gHundredOne gTexts gNested gPoints gBools gManyBools gNoBools
gDeque gEmptyDeque gLongDeque gWideDeque gTextDeque gList gEmptyList gLongList gTextList gAlignedList
gForward gEmptyForward gLongForward gMap gEmptyMap gMapOfVectors gLongMap gHundredMap gPointMap gColourMap gMultimap
gSet gCharSet gLongSet gEmptySet gMultiset gTable gEmptyTable gTextTable gHashSet gLongHashSet gTextSet
gPair gTuple gNoTuple gSpan gFixedSpan gInitializers
"""
SHOWN = {
    "gEmptyText": '""',
    "gText": '"short"',
    "gZeroText": '"a\\0b"',
    "gText8": '"\u00e48"',
    "gView": '"a view"',
    "gVector": "[1, 2, 3]",
    "gEmptyVector": "[]",
    "gTexts": f'["one", "two", "{40 * "l"}"]',
    "gNested": "[[1], [], [2, 3]]",
    "gPoints": "[{x = 1, y = 2}, {x = 3, y = 4}]",
    "gBools": "[true, false, true]",
    "gArray": "[7, 8, 9]",
    "gNoArray": "[]",
    "gTextArray": '["x", "y"]',
    "gTextDeque": '["p", "q"]',
    "gAlignedList": "[{value = 5}, {value = 6}]",
    "gForward": "[1, 2, 3]",
    "gMap": '{1: "a", 2: "b"}',
    "gEmptyMap": "{}",
    "gMapOfVectors": '{"k": ["v", "w"], "none": []}',
    "gPointMap": "{{x = 1, y = 2}: 'p'}",
    "gColourMap": "{red(0): true, green(1): false}",
    "gMultimap": "{1: 2, 1: 3}",
    "gSet": '["a", "b"]',
    "gTable": '{7: "seven"}',
    "gPair": '(1, "two")',
    "gTuple": '(1, "t", 2.5)',
    "gDeepTuple": "({x = 1, y = 2}, ('c',))",
    "gOptional": "5",
    "gNullopt": "nullopt",
    "gOptionalText": '"there"',
    "gNoText": "nullopt",
    "gVariant": '{std::string = "text"}',
    "gOtherVariant": "{int = 3}",
    "gUnique": "0x -> 5",
    "gNoUnique": "0x0",
    "gUniquePoint": "0x -> {x = 1, y = 2}",
    "gUniqueArray": "0x",
    "gFile": "0x0",
    "gShared": "0x -> {x = 3, y = 4}",
    "gNoShared": "0x0",
    "gWeak": "0x -> {x = 3, y = 4}",
    "gExpired": "expired",
    "gNoWeak": "0x0",
    "gSharedPoints": "[0x -> {x = 3, y = 4}, 0x0]",
    "gFunction": "0x <doubled>",
    "gFunctor": "Adder",
    "gNoFunction": "empty",
    "gMilliseconds": "250ms",
    "gHours": "2h",
    "gSeconds": "1.5s",
    "gDate": "2023-11-14T22:13:20.123456Z",
    "gSteady": "5000000000ns",
    "gAtomic": "4",
    "gFlag": "true",
    "gAtomicPointer": "0x0",
    "gAtomicDouble": "0.5",
    "gUnlocked": "unlocked",
    "gLocked": "locked by thread PID",
    "gNoThread": "no thread",
    "gSpan": "[1, 2, 3]",
    "gFixedSpan": "[1, 2]",
    "gBits": "0b000000000101",
    "gManyBits": f"0b{98 * '0'}11",
    "gComplex": "{re = 1.5, im = -2.0}",
    "gInitializers": "[4, 5]",
    "gReference": "1",
    "gNames.extra": "7",
    "gPackedSet": "[{first = '\\x01', second = 2}, {first = '\\x03', second = 4}]",
    "gPackedMap": "{'a': {first = '\\x05', second = 6}}",
    "gSmallMap": "{1: 'x', 2: 'y'}",
    "gShortSet": "[3, 4]",
    "gLongDoubleSet": "[1.5, 2.5]",
    "gAlignedForward": "[{value = 7}, {value = 8}]",
    "gAlignedMap": "{'a': {value = 9}}",
    "gAlignedTable": "{'a': {value = 10}}",
    "gQuads": "[[1.0, 2.0, 3.0, 4.0]]",
    "gPath": '"/tmp/a"',
    "gStack": "[4]",
    "gIterator": "0x -> 2",
    "gPlainMutex": "locked by thread PID",
    "gOnce": "false",
    "gFrames": "3 * 1/60 s",
    "gOwningPair": '("key", 0x0)',
    "gDeepOptional": "[1, nullopt]",
    "gMonostate": "{std::monostate = {}}",
    "gVectorVariant": "{std::vector<int> = [1]}",
    "gDeepMap": '{"a": {1: ["x", "y"]}}',
    "gNoVector": "<no valid std::vector>",
    "gWildMap": "<no valid std::map>",
    "gWildList": "<no valid std::list>",
}


@pytest.fixture
def library(request: pytest.FixtureRequest, build_program: Callable[..., Path], launch: Launch) -> Session:
    """The program, built by what the parameter says."""
    return ready(launch(built(request.param, build_program)))


def built(how: str, build_program: Callable[..., Path]) -> Path:
    compiler, *flags = how.split()
    if "-stdlib=libc++" in flags and not list(Path("/usr/lib").glob("llvm-*/include/c++/v1")):
        programs.lack("libc++ is not installed")
    return build_program("values_library", *flags, compiler=compiler)


def without_addresses(text: str, pid: int) -> str:
    return re.sub(r"0x[1-9a-f][0-9a-f]*", "0x", text).replace(f"thread {pid}", "thread PID")


@pytest.mark.parametrize("library", [STDLIB[0], *map(long, [*STDLIB[1:], *LIBCXX])], indirect=True)
def test_library_types_are_shown_by_their_content(library: Session) -> None:
    found = {name: without_addresses(shown(library, name, 2), library.pid) for name in SHOWN}
    assert found == SHOWN
    assert re.search(r"lambda\(int\)#1}$|^\(lambda at .*values_library.cpp:\d+:\d+\)$", shown(library, "gLambda"))
    assert shown(library, "gNames").endswith('vector = ["n"], extra = 7}')


@pytest.mark.parametrize("how", [STDLIB[0], *map(long, STDLIB[1:])])
def test_containers_are_those_of_gdb(
    how: str, build_program: Callable[..., Path], launch: Launch, tmp_path: Path
) -> None:
    program = built(how, build_program)
    names = AS_GDB.split()
    expected = asked_of_gdb(program, names, tmp_path)
    session = ready(launch(program))
    for name in names:
        assert as_gdb(value(session, name, 3)) == expected[name], name


def asked_of_gdb(program: Path, names: list[str], folder: Path) -> dict[str, Any]:
    request, answer = folder / "request.json", folder / "answer.json"
    request.write_text(json.dumps(names))
    environment = os.environ | {"STROBE_REQUEST": str(request), "STROBE_ANSWER": str(answer), "LC_ALL": "C.UTF-8"}
    gdb = [programs.require("gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", str(SCRIPT)]
    told = subprocess.run([*gdb, str(program)], env=environment, capture_output=True, text=True, timeout=60)
    assert answer.exists(), f"{told.stdout}\n{told.stderr}"
    found: dict[str, Any] = json.loads(answer.read_text())
    if "_M_impl" in str(found["gVector"]):
        programs.lack("gdb has no printers for libstdc++")
    return found


def as_gdb(found: Any) -> Any:
    if isinstance(found, (Mapping, Pairs)):
        entries = found.items() if isinstance(found, Mapping) else found
        return {"count": found.total, "items": [[as_gdb(key), as_gdb(content)] for key, content in entries]}
    if isinstance(found, (list, tuple)):
        count = found.total if isinstance(found, Rows) else len(found)
        return {"count": count, "items": [as_gdb(element) for element in found]}
    if isinstance(found, Record):
        return {name: as_gdb(field) for name, field in found}
    if isinstance(found, Char):
        return found.code
    return found.number if isinstance(found, Enumerator) else found


@pytest.mark.parametrize("library", ["g++ -O0"], indirect=True)
def test_values_are_plain_python(library: Session) -> None:
    mapped = value(library, "gMapOfVectors")
    assert mapped == {"k": ["v", "w"], "none": []}
    assert value(library, "gTuple")[1] == "t"
    assert value(library, "gPointMap", 2)[0][0].x == 1
    assert value(library, "gUnique").to == 5
    assert value(library, "gMilliseconds").number == 250
    assert value(library, "gBits") == 0b101
    assert (len(value(library, "gLongMap")), value(library, "gLongMap").total) == (100, 101)
    assert value(library, "gJustText") == "z" * 1024
    assert value(library, "gTooLongText") == "y" * 1024 + "\u2026"


@pytest.mark.parametrize("library", ["g++ -O0"], indirect=True)
def test_json_has_objects_where_keys_are_text_or_numbers(library: Session) -> None:
    plain = {name: values_text.plain(value(library, name, 2)) for name in ("gMap", "gPointMap", "gMultimap", "gTuple")}
    assert plain == {
        "gMap": {"1": "a", "2": "b"},
        "gPointMap": [[{"x": 1, "y": 2}, "'p'"]],
        "gMultimap": [[1, 2], [1, 3]],
        "gTuple": [1, "t", 2.5],
    }
    longest = values_text.plain(value(library, "gLongMap"))
    assert (longest["count"], len(longest["elements"])) == (101, 100)
    assert json.loads(json.dumps({"bits": values_text.plain(value(library, "gBits"))})) == {"bits": "0b000000000101"}


@pytest.mark.parametrize("library", ["g++ -O0"], indirect=True)
def test_depth_counts_the_structs_in_containers(library: Session) -> None:
    ada = '0x -> {name = "Ada", marks = [1, 2], friend_of = <circular ref to gPerson>}'
    assert [without_addresses(shown(library, "gPerson", depth), 0) for depth in (1, 5)] == [ada, ada]
    assert shown(library, "gPoints", 1) == "[{x = 1, y = 2}, {x = 3, y = 4}]"
    assert shown(library, "gCrowd", 1) == "{people = [<struct>], count = 1}"
    person = value(library, "gPerson", 3)
    assert person.to.friend_of == "<circular ref to gPerson>"
    assert person.name == "Ada"
    assert str(value(library, "gNames", 1)["std::vector"]) == "['n']"


def test_containers_that_the_program_changes_meanwhile(build_program: Callable[..., Path], launch: Launch) -> None:
    """Whatever is met halfway is told, never raised; what is not being changed is read while that goes on."""
    session = ready(launch(build_program("values_changing", "-O0")))
    names = [ReadTarget(name) for name in ("gMap", "gTable", "gList", "gDeque", "gVector", "gShared", "gStill")]
    before = value(session, "gRounds")
    for _ in range(short(60, 15)):
        results = session.reader.read(names, 3)
        assert [result.error for result in results] == [None] * len(names)
        assert results[-1].value == {number: 10 * number for number in range(100)}
        assert all(values_text.shown(result.value) for result in results)
        json.dumps([values_text.plain(result.value) for result in results])
    assert value(session, "gRounds") > before
    assert session.summary().status == "running"


@pytest.mark.parametrize("library", ["g++ -O0"], indirect=True)
def test_what_memory_holds_by_chance_is_never_followed_into_a_fault(library: Session) -> None:
    """Containers whose bytes are anything: pointers to anywhere, counts of any size."""
    chance = random.Random(5)
    places = library.reader.read([ReadTarget("gVector"), ReadTarget("gMap"), ReadTarget("gText"), ReadTarget("gList")])
    heap = [place.address for place in places if place.address is not None]
    for name in AS_GDB.split():
        (place,) = library.reader.read([ReadTarget(name)])
        assert place.address is not None
        for _ in range(short(6, 2)):
            words = [chance.choice((0, 1, 7, chance.choice(heap), chance.getrandbits(64))) for _ in range(10)]
            for at in range(0, (place.size or 0) - 7, 8):
                target = WriteTarget(address=place.address + at, type="u64", value=words[at // 8 % 10])
                (written,) = library.writer.write([target])
                assert written.error is None
            (result,) = library.reader.read([ReadTarget(name)], 3)
            assert result.error is None
            assert values_text.shown(result.value)
            json.dumps(values_text.plain(result.value))
    assert library.summary().status == "running"
