"""Texts that a calculated index leads to, names that are null, constants: as probes and traces have them, and as
questions about what was recorded do."""

from __future__ import annotations

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TraceRequest

BOOKED = f"orders.cpp:{line_of('orders.cpp', '// booked')}"
GIVEN = f"orders.cpp:{line_of('orders.cpp', '// given')}"
LEFT = f"orders.cpp:{line_of('orders.cpp', '// only the caller')}"
PLACES = pytest.mark.parametrize("place", ["book", BOOKED, "book:return"])
BUILDS = pytest.mark.parametrize(
    ("compiler", "level"), [("g++", "-O0"), ("g++", "-O1"), ("clang++", "-O0"), ("clang++", "-O1")]
)


@pytest.mark.parametrize(
    ("place", "compiler", "level"),
    [
        (BOOKED, "g++", "-O0"),
        (BOOKED, "clang++", "-O0"),
        *((place, compiler, "-O1") for place in ("book", "book:return") for compiler in ("g++", "clang++")),
    ],
)
def test_texts_by_an_index(launch: Launch, build_program: Build, place: str, compiler: str, level: str) -> None:
    program = build_program("orders", level, compiler=compiler)
    show = (
        *("orders[number].id", "orders[number % 3].reference", "orders[number % 3].note"),
        *("(orders + number)->id", "orders[number % 3].next->id", "orders[1 - number].id"),
    )
    session = launch(program, check=lambda one: one.trace(TraceRequest(probe=[Probe(place, show=show)])) and None)
    assert outcome(session) == untraced(program)
    found = [one.watch_values or {} for one in all_events(session, EventFilter(event_type="probe"))]
    texts = ["a-1", "a-2", "b-3", *["orders has no element [number]"] * 3]
    assert [str(one[show[0]]) for one in found] == texts
    assert [str(found[at][show[1]]) for at in (0, 2)] == ["a-1", "b-3"]
    assert getattr(found[1][show[1]], "address", None) == 0
    assert [str(one[show[2]]) for one in found[:3]] == ["a-1", "x" * 10 + "a-2", "x" * 20 + "b-3"]
    assert [str(one[show[3]]) for one in found[:3]] == ["a-1", "a-2", "b-3"]
    assert [str(one[show[4]]) for one in found[:3]] == ["a-2", "b-3", "Null pointer at orders[number%3].next"]
    assert [str(one[show[5]]) for one in found[:3]] == ["a-2", "a-1", "orders has no element [1-number]"]
    page = session.query(EventFilter(event_type="probe", where='`orders[number].id` == "b-3"'))
    assert page.total_count == 1


@PLACES
def test_constants(launch: Launch, build_program: Build, place: str) -> None:
    expected = {"2": 2, "-1": -1, "2.5": 2.5, '"x"': "x", "true": True, "0xffffffffffffffff": (1 << 64) - 1}
    expected |= {"sizeof(int)": 4, "sizeof(Order*)": 8, "sizeof(struct Order)": 64, "sizeof(Order)": 64}
    expected |= {"$function": "book", "k = 3": 3}
    probe = Probe(place, show=(*expected, "null", "'a'"))
    session = launch(build_program("orders", "-O0"), check=lambda one: one.trace(TraceRequest(probe=[probe])) and None)
    outcome(session)
    event = next(iter(all_events(session, EventFilter(event_type="probe"))))
    values = dict(event.watch_values or {})
    assert values.pop("null").address == 0
    assert str(values.pop("'a'")) == "a"
    assert values == {name.partition(" = ")[0]: value for name, value in expected.items()}


@BUILDS
def test_names_that_are_null(launch: Launch, build_program: Build, compiler: str, level: str) -> None:
    program = build_program("orders", level, compiler=compiler)
    asked = {"name == 0": 3, "0 != name": 3, "name == (const char*)0": 3, "!name": 3, "name != nullptr": 3}
    asked |= {"orders[number % 3].reference == 0": 2, "name == 0 && cents > 1": 2}
    probes = [Probe("book", where=where, label=where) for where in asked]
    probes.append(Probe("book", show=("name", "cents"), label="shown"))
    session = launch(program, patterns=["book"], check=lambda one: one.trace(TraceRequest(probe=probes)) and None)
    assert outcome(session) == untraced(program)
    counts = {one.label: (one.held, one.undecided) for one in session.timeline.probe_totals()}
    assert counts == {where: (held, 0) for where, held in asked.items()} | {"shown": (6, 0)}
    for where in ("name == 0", "0 != name", "name == (const char*)0", "name == 0 && cents > 1", "name == null"):
        for kind in ("function_enter", "probe"):
            of = where if kind == "function_enter" else f"$label == 'shown' && {where}"
            page = session.query(EventFilter(event_type=kind, where=of))
            assert (page.total_count, page.undecided) == (asked.get(where, 3), 0), (kind, where)


def test_what_only_the_entry_had_says_where_it_is(launch: Launch, build_program: Build) -> None:
    """And that is true."""
    program = build_program("orders", "-O1")
    for place, asked in ((GIVEN, "$entry.cents"), (LEFT, "cents")):
        with pytest.raises(StrobeError) as caught:
            launch(program, probe=[f"{place} : {asked}"])
        assert "in_euros:return" in str(caught.value)
    session = launch(program, probe=["in_euros : cents", "in_euros:return : $entry.cents, $return"])
    outcome(session)
    first, last = (one.watch_values for one in all_events(session, EventFilter(event_type="probe")))
    assert first is not None and last is not None
    assert first == {"cents": last["$entry.cents"]}
    assert (first["cents"] + 50) // 100 == last["$return"]
