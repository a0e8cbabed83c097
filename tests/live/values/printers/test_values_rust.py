"""Every value of a Rust program is read as the program itself writes it with `{:?}`."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import programs, rust_debug
from support.reads import error, ready, shown, value
from support.sessions import Launch, text

from strobe.session import Session
from strobe.symbols import ElfResolver
from strobe.values.decode import text as values_text
from strobe.values.reading import ReadTarget

LIBRARY_TYPE = re.compile(r"(?:std|alloc|core|hashbrown)::[\w:<>, ]{1,200}")
ONCE_LOCK = (1, 70)  # where the library has it


def flags_of(level: int) -> list[str]:
    told = subprocess.run([programs.require("rustc"), "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in told.split()[1].split(".")[:2])
    return [f"-Copt-level={level}", *(["--cfg", "once_lock"] if version >= ONCE_LOCK else [])]


@pytest.fixture(params=[pytest.param(0, id="O0"), pytest.param(2, id="O2", marks=pytest.mark.long)])  # seconds to build
def program(request: pytest.FixtureRequest, build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("values_rust", *flags_of(request.param))))


def debugged(session: Session) -> dict[str, Any]:
    """Expressions and what the program wrote of each."""
    lines = (line.partition(" = ") for line in text(session, "stdout").splitlines() if " = " in line)
    return {name if "::" in name or name.isupper() else f"EVERYTHING.{name}": told for name, _, told in lines}


def test_values_are_what_debug_shows(program: Session) -> None:
    expected = debugged(program)
    assert len(expected) > 120
    names = list(expected)
    for first in range(0, len(names), 16):
        wanted = names[first : first + 16]
        for name, result in zip(wanted, program.reader.read([ReadTarget(one) for one in wanted], 5), strict=True):
            assert result.error is None, f"{name}: {result.error}"
            found = rust_debug.of_ours(result.value)
            assert found == rust_debug.of_debug(expected[name]), f"{name} = {expected[name]}"


def test_what_debug_does_not_say(program: Session) -> None:
    unsaid = value(program, "EVERYTHING.unsaid", 5)
    assert (len(unsaid.many), unsaid.many.total, unsaid.many[99]) == (100, 250, 99)
    assert unsaid.long_text == "y" * 1024 + "…"
    assert (list(unsaid.many_in_tree.items()), unsaid.many_in_tree.total) == ([(at, at + 1) for at in range(100)], 500)
    assert (len(unsaid.many_in_map), unsaid.many_in_map.total) == (100, 500)
    assert all(content == key + 1 for key, content in unsaid.many_in_map.items())
    assert [unsaid.speaker.symbol, unsaid.borrowed_speaker.symbol] == ["values_rust::Dog", "values_rust::Dog"]
    assert "closure_env" in unsaid.closure.symbol
    assert unsaid.function.symbol == "values_rust::twice"
    assert (unsaid.bits.real, unsaid.unsafe_cell, unsaid.lent.to, unsaid.null.address) == (1.5, -38, 39, 0)
    point = {"x": 31, "y": 32}
    assert [dict(unsaid.raw.to), dict(unsaid.atomic_pointer.to), dict(unsaid.by_reference.to.to)] == [point] * 3
    assert [dict(unsaid.weak.to), dict(unsaid.weak_owner.to)] == [{"x": 34, "y": 35}] * 2
    assert unsaid.no_weak == "expired"


def test_what_refers_to_each_other_ends(program: Session) -> None:
    family = value(program, "EVERYTHING.unsaid.family", 5)
    assert family.name == "parent"
    assert family.children[0].number == 36
    assert family.children[0].parent == "<circular ref to EVERYTHING.unsaid.family>"


def test_shown_as_rust_writes_it(program: Session) -> None:
    expected = {
        "single": "(5,)",
        "pair": '(1, "one")',
        "nothing": "()",
        "metres": "Metres(2.5)",
        "shape_circle": "Circle(1.5)",
        "shape_line": "Line(-1, 2)",
        "shape_named": 'Named {name = "box", sides = 4}',
        "shape_nothing": "Nothing",
        "nested_options": "Some(Some(Some(9)))",
        "bad": 'Err("bad")',
        "mode": "Below(-3)",
        "map_of_points": "{{x = 1, y = 2}: Loop(5)}",
        "tree_of_texts": '{"a": {x = 3, y = 4}, "b": {x = 1, y = 2}}',
        "duration": "1.5s",
        "path": '"/tmp/a b"',
        "mutex": "21",
        "atomic_flag": "true",
    }
    assert {name: shown(program, f"EVERYTHING.{name}", 2) for name in expected} == expected


def test_in_json(program: Session) -> None:
    expected = {
        "shape_circle": {"Circle": 1.5},
        "shape_line": {"Line": [-1, 2]},
        "shape_named": {"Named": {"name": "box", "sides": 4}},
        "no_option": "None",
        "pair": [1, "one"],
        "tree_of_texts": {"a": {"x": 3, "y": 4}, "b": {"x": 1, "y": 2}},
        "map_of_points": [[{"x": 1, "y": 2}, "Loop(5)"]],
        "ring": [1, 2, 3, 4],
    }
    found = {name: values_text.plain(value(program, f"EVERYTHING.{name}", 2)) for name in expected}
    assert found == expected


def test_depth_counts_structs_and_no_containers(program: Session) -> None:
    names = ("vector_of_points", "map_of_points", "generic", "list", "shared_cell")
    assert [shown(program, f"EVERYTHING.{name}", 1) for name in names[:3]] == [
        "[{x = 7, y = 8}, {x = 9, y = -1}]",
        "{{x = 1, y = 2}: Loop(5)}",
        "{first = 1, second = <struct>}",
    ]
    assert value(program, "EVERYTHING.list", 2).next.Some.next.Some.to is None
    assert value(program, "EVERYTHING.list", 3).next.Some.next.Some.next == "None"
    assert dict(value(program, "EVERYTHING.shared_cell", 1).to) == {"x": 19, "y": 20}


def test_expressions(program: Session) -> None:
    expected = {
        "crate::audio::GAIN": "0.75",
        "values_rust::audio::mixer::GAIN": "0.25",
        "mixer::GAIN": "0.25",
        "values_rust.rs::CONSTANT": "-7",
        "counted::CALLS": "42",
        "INSTANCE": "43",
        "EVERYTHING.triple.1.0": "true",
        "EVERYTHING.triple.2[1]": "-4",
        "EVERYTHING.points[1].y": "4",
        "(*EVERYTHING).point.x": "-1",
        "EVERYTHING.boxed_point.y": "13",
        "(*EVERYTHING.boxed_point).x": "12",
        "*EVERYTHING.boxed": "11",
        "EVERYTHING.option.Some.0": "-5",
        "EVERYTHING.nested_options.Some.0.Some.0.Some.0": "9",
        "EVERYTHING.list.next.Some.value": "2",
        "EVERYTHING.list.next.Some.0.next.Some.value": "3",
        "EVERYTHING.shape_named.Named.name": '"box"',
        "EVERYTHING.shape_line.Line.1": "2",
        "EVERYTHING.only_one.Here.1": "true",
        "EVERYTHING.generic.second.second.Some.x": "1",
        "EVERYTHING.vector[1]": "2",
        "EVERYTHING.vector.len": "3",
        "EVERYTHING.vector_of_vectors[2][1]": "3",
        "EVERYTHING.vector_of_points[1].y": "-1",
        "EVERYTHING.slice[1]": "8",
        "EVERYTHING.ring[0]": "1",
        "EVERYTHING.ring[3]": "4",
        "EVERYTHING.counted_point.x": "15",
        "*EVERYTHING.counted": "14",
        "EVERYTHING.shared_cell.y": "20",
        "EVERYTHING.shared_mutex[0]": '"locked"',
        "audio::NAMES[0]": '"first"',
        "EVERYTHING.unsaid.weak.x": "34",
    }
    assert {name: shown(program, name) for name in expected} == expected


def test_names_that_are_not_clear(program: Session) -> None:
    assert error(program, "GAIN").startswith("'GAIN' is ambiguous: 2 variables.")
    assert error(program, "audio::NONE").startswith("Variable 'audio::NONE' not found")
    assert error(program, "EVERYTHING.pair.2").startswith("(i32, &str) has no field")


def test_memory_of_other_types_is_no_danger(build_program: Callable[..., Path], launch: Launch) -> None:
    """Every type of the library that the program has, over memory that holds something else."""
    path = build_program("values_rust", *flags_of(0))
    session = ready(launch(path))
    details = ElfResolver().details(str(path))
    assert details is not None
    named = [name for name in dict.fromkeys(details.types.names()) if LIBRARY_TYPE.fullmatch(name)]
    assert len(named) > 300
    start, chance, good = int(value(session, "&EVERYTHING.small")), random.Random(9), 0
    for name in named:
        (result,) = session.reader.read([ReadTarget(f"*({name}*){start + 8 * chance.randrange(500):#x}")], 3)
        assert result.error is not None or values_text.shown(result.value)
        good += result.error is None
    assert good > 100
    assert value(session, "EVERYTHING.small") == -128


@pytest.mark.parametrize("level", [0, 2])
def test_types_that_are_only_called_as_those_of_the_library(
    level: int, build_program: Callable[..., Path], launch: Launch
) -> None:
    session = ready(launch(build_program("namesakes", f"-Copt-level={level}", "--crate-name=alloc")))
    assert shown(session, "VECTOR") == "{content = 5, len = 1099511627776}"
    assert shown(session, "TEXT") == "{vec = 6}"
    assert shown(session, "alloc::COUNTED") == "{ptr = 7}"


def test_what_is_not_there_is_reported(program: Session) -> None:
    assert error(program, "EVERYTHING.no_option.Some.0") == "EVERYTHING.no_option is not Some."
    assert error(program, "EVERYTHING.shape_named.Circle.0") == "EVERYTHING.shape_named is not Circle."
    assert error(program, "EVERYTHING.foreign.Number.0") == "EVERYTHING.foreign is not Number."
    assert error(program, "EVERYTHING.vector[3]") == "EVERYTHING.vector has no element 3."
    assert error(program, "EVERYTHING.vector[-1]") == "EVERYTHING.vector has no element -1."
    assert error(program, "EVERYTHING.ring[4]") == "EVERYTHING.ring has no element 4."
    assert error(program, "EVERYTHING.unsaid.no_weak.x") == "EVERYTHING.unsaid.no_weak has no value."
    assert "which cannot be indexed" in error(program, "EVERYTHING.map[0]")
