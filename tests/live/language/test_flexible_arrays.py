"""Arrays at the end of a struct that stand for more elements than they say, as C programs have them; and `void*`."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TraceRequest

SHOW = (
    "open->item[count - 1]",
    "open->item[3]",
    "none->item[count - 1]",
    "none->item[2]",
    "one->text[count - 1]",
    "one->text[0..count]",
    "first(i in 0..count: open->item[i] == 200)",
    "count(x in none->item[0..count]: x > 15)",
    "*(short*)(raw + 2)",
)
BUILDS = pytest.mark.parametrize(
    ("compiler", "level"), [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O2")]
)


@BUILDS
def test_they_have_as_many_elements_as_are_asked_for(
    launch: Launch, build_program: Build, compiler: str, level: str
) -> None:
    program = build_program("flexible", level, compiler=compiler)
    where = "all(i in 0..count: open->item[i] == 100 * i && one->text[i] == 97 + i)"
    where += " && any(x in none->item[0..count]: x == 30)"
    probes = [Probe("look", show=SHOW), Probe("look", where=where, label="holds", limit=0)]
    session = launch(program, check=lambda one: one.trace(TraceRequest(probe=probes)) and None)
    assert outcome(session) == untraced(program)
    found = list(all_events(session, EventFilter(event_type="probe")))
    assert len(found) == 8
    for count, event in enumerate(found, 4):
        values = [(event.watch_values or {}).get(name) for name in SHOW]
        text = "".join(chr(ord("a") + i) for i in range(count))
        read_as_short = ord("c") | ord("d") << 8
        assert values == [100 * (count - 1), 300, 10 * (count - 1), 20, text[-1], text, 2, count - 2, read_as_short]
    held = {one.label: (one.held, one.undecided) for one in session.timeline.probe_totals()}
    assert held["holds"] == (8, 0)


def test_others_have_as_many_as_they_say(launch: Launch, build_program: Build) -> None:
    program = build_program("flexible", "-O0")
    with pytest.raises(StrobeError, match=r"'none->fixed' has no element 2: it has 2"):
        launch(program, probe=["look : none->fixed[2]"])
    with pytest.raises(StrobeError, match="does not say how many there are"):
        launch(program, probe=["look if any(x in one->text: x == 1)"])
    with pytest.raises(StrobeError, match=r"it is void\*, which does not say how large an element is"):
        launch(program, probe=["look : raw[0..count]"])
    session = launch(program, probe=["look : none->fixed[count]"])
    outcome(session)
    [event, *_] = all_events(session, EventFilter(event_type="probe"))
    assert "no element" in str(event.watch_values)


def test_one_element_is_one_where_something_else_is_behind_it(launch: Launch, build_program: Build) -> None:
    program = build_program("one_at_the_end", "-O0")
    for wrong in ("row->inner.item[1]", "counted.item[1]", "many[0].item[1]", "many[0].item[number]"):
        probe = f"look : {wrong}"
        if "number" in wrong:  # which is known there alone
            session = launch(program, probe=[probe])
            outcome(session)
            [event] = all_events(session, EventFilter(event_type="probe"))
            assert "no element" in str(event.watch_values)
            continue
        with pytest.raises(StrobeError, match="has no element 1: it has 1"):
            launch(program, probe=[probe])
    with pytest.raises(StrobeError, match=r"'copy.item' has no element 1: it has 1"):
        launch(program, probe=["one_at_the_end.c:25 : copy.item[1]"])
    with pytest.raises(StrobeError, match="has no element -1: it has those from 0 on"):
        launch(program, probe=["look : list->item[-1]"])
    session = launch(program, probe=["look : list->item[3], last->inner.item[2], row->inner.item[0]"])
    outcome(session)
    [event] = all_events(session, EventFilter(event_type="probe"))
    assert list((event.watch_values or {}).values()) == [13, 13, 5]
