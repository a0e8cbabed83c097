"""Questions about what probes show: decided natively and by decoding alike; of what others show nothing holds."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, outcome

from strobe.model import EventFilter, Probe, TraceRequest
from strobe.session import Session
from strobe.session.questions import question

SHOWN = (
    "size = key.size", "part = key.data[0..3]", "file->largest", "plain", "c = key.data[2]",
    "even = key.size % 2 == 0", "at = file", "name = file->name",
)  # fmt: skip
CONDITIONS = {
    "size == 9": 20,
    "size == 9 || size == 20": 30,
    "!(size == 9)": 70,
    "size + 1 == 11": 20,
    "part startswith 'arx'": 10,
    "part != plain": 60,
    "part == 'arx' && size > 9": None,
    "part < 'b' && !(part == 'arx')": 50,
    "size(part) == 3": 60,
    "`file->largest` contains '014'": 20,
    "`file->largest`[3] == 'i'": 60,
    "plain endswith '7'": 6,
    "name startswith 'arc' || size == 22": None,
    "c == 'x'": 10,
    "c == 120": 10,
    "even": 20,
    "!even": 40,
    "at == null": 0,
    "at != null": 60,
    "has(part)": 60,
    "!has(part)": 30,
    "even ? size == 10 : size == 9": None,
}


@pytest.fixture
def shown(launch: Launch, build_program: Build) -> Session:
    probes = [
        Probe("look", show=SHOWN, label="look"),
        Probe("look:return", where="$hit % 2 == 0", show=("size = key.size * 2",), label="returned"),
    ]
    session = launch(build_program("texts", "-O0"), check=lambda one: one.trace(TraceRequest(probe=probes)) and None)
    assert outcome(session).status == 0
    assert [one.recorded for one in session.timeline.probe_totals()] == [60, 30]
    return session


def test_natively_as_by_decoding(shown: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def ids(where: str) -> tuple[list[str], int | None]:
        page = shown.query(EventFilter(event_type="probe", where=where, limit=100))
        return [event.id for event in page.events], page.undecided

    natively = {where: ids(where) for where in CONDITIONS}
    monkeypatch.setattr(question, "can_sieve", lambda reader, sight: False)
    assert {where: ids(where) for where in CONDITIONS} == natively
    assert {where: undecided for where, (_, undecided) in natively.items() if undecided} == {}
    counts = {where: len(found) for where, (found, _) in natively.items() if CONDITIONS[where] is not None}
    assert counts == {where: count for where, count in CONDITIONS.items() if count is not None}


def test_what_was_kept_at_the_entry(launch: Launch, build_program: Build) -> None:
    """No function is traced: what returns are caught for does not make `$return` or `key` those of calls."""
    probe = Probe("visit:return", show=("$return", "asked = $entry(key)", "key"))
    session = launch(
        build_program("unreturned", "-O1"), "exit", check=lambda one: one.trace(TraceRequest(probe=[probe])) and None
    )
    assert outcome(session).status == 0
    for where in ("asked == 3", "key == 3", "$return == 6", "asked == 3 && $return == 6 && key == asked"):
        page = session.query(EventFilter(where=where))
        assert (page.total_count, page.checked, page.undecided) == (2, 37, 0), where
