"""Unions: members that cannot be what is there are left out, and a description names the one that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs import line_of
from support.reads import ready
from support.reads import shown as read_shown
from support.sessions import Build, Launch, all_events

from strobe.model import EventFilter, LaunchSpec, Probe, TraceRequest
from strobe.session import SessionManager
from strobe.values.decode.text import plain, shown

TAGGED = """
[[printer]]
type = "Value"
layout = "tagged"
tag = "kind"
members = { INTEGER = "as.number", REAL = "as.real", TEXT = "as.text", LINK = "as.node", NONE = "as.number" }

[[printer]]
type = "Cell"
layout = "tagged"
tag = "bits & 7"
members = { 0 = "whole", 1 = "part", 2 = "letters" }
"""
AT_END = f"unions.cpp:{line_of('unions.cpp', 'i < 3; i++')}"


def at_end(session_manager: SessionManager, program: Path, project: Path, *shows: str) -> dict[str, object]:
    probe = Probe(AT_END, show=shows, limit=1)
    session = session_manager.launch(LaunchSpec(str(program), project_root=str(project)), TraceRequest(probe=[probe]))
    assert session.wait(30) is not None
    (event,) = all_events(session, EventFilter(event_type="probe"))
    return event.watch_values or {}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_what_cannot_be_there_is_left_out(
    manager: SessionManager, build_program: Build, tmp_path: Path, compiler: str
) -> None:
    program = build_program("unions", "-O0", compiler=compiler)
    values = at_end(
        manager, program, tmp_path, *(f"gValues[{at}].as" for at in range(4)), "gCells[2]", "gBare", "gCells[1]"
    )
    integer, real, text, link, letters, bare, part = values.values()
    assert shown(integer) == "{number = 42}"
    assert dict(plain(real)) == {"number": 0x4004 << 48, "real": 2.5}
    assert plain(text)["text"] == "hello"
    assert set(plain(text)) == {"number", "text", "node"}
    assert set(plain(link)) == {"number", "node"}
    assert shown(letters) == '{bits = 66, whole = 6513249, letters = "abc"}'
    assert shown(bare) == "{bits = 5}"
    assert plain(part) == {"bits": 65, "whole": 0x3F000000, "part": 0.5, "letters": ""}
    # what is left out can still be asked for
    assert bare.f == pytest.approx(7e-45, rel=0.01)  # type: ignore[attr-defined]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_tag_says_which_is_there(
    manager: SessionManager, build_program: Build, tmp_path: Path, compiler: str
) -> None:
    (tmp_path / ".strobe").mkdir()
    (tmp_path / ".strobe" / "printers.toml").write_text(TAGGED)
    program = build_program("unions", "-O0", compiler=compiler)
    asked = [*(f"gValues[{at}]" for at in range(6)), *(f"gCells[{at}]" for at in range(3))]
    found = [shown(value) for value in at_end(manager, program, tmp_path, *asked).values()]
    assert found[:3] == [
        "{kind = INTEGER(0), number = 42}",
        "{kind = REAL(1), real = 2.5}",
        '{kind = TEXT(2), text = "hello"}',
    ]
    assert found[3].startswith("{kind = LINK(3), node = 0x")
    assert found[4] == "{kind = NONE(-1), number = 0}"
    assert found[5] == "{kind = 9, union = <no member for tag 9>}"
    assert found[6:] == ["{bits = 64, whole = 3}", "{bits = 65, part = 0.5}", '{bits = 66, letters = "abc"}']


def test_of_recorded_calls(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("unions", "-O0"), patterns=["take"], depth=3)
    assert session.wait(30) is not None
    calls = list(all_events(session, EventFilter(event_type="function_enter")))
    told = [{one.name: shown(one.value) for one in call.arguments or ()}["value"] for call in calls]
    assert "as = {number = 42}" in told[0]
    assert "real = 2.5" in told[1]
    assert 'text = "hello"' in told[2]
    assert "e-310" not in told[2]


def test_what_looks_odd_and_may_be_there(launch: Launch, build_program: Build) -> None:
    session = ready(launch(build_program("unions_odd", "-O0")))
    assert read_shown(session, "gPair", 1) == "{both = <struct>, half = 1.0}", "beyond the depth is not wrong"
    cycle = read_shown(session, "gFirst", 5)
    assert "next = <circular ref to " in cycle, cycle
    assert read_shown(session, "gNan").startswith("{whole = 9221120237041090560, real = nan")
    assert read_shown(session, "gNegative") == "{whole = -5}", "its bits are those of no NaN that is calculated"
    assert read_shown(session, "gMinusOne") == "{whole = -1}"
    assert read_shown(session, "gWild") == "{whole = 87960930226740}", "no text is there"
    assert read_shown(session, "gWild.text") == "0x500000001234"
