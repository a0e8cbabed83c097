"""What is known of the moment: who has called, the process, the function and the line."""

from __future__ import annotations

import pytest
from support.programs import line_of
from support.sessions import Build, Launch, all_events, status, text

from strobe.errors import StrobeError
from strobe.model import EventFilter, Probe, TraceRequest
from strobe.session import Session

LINE = line_of("moments.c", "/* at this line */")
BUILDS = pytest.mark.parametrize(
    ("compiler", "flags"),
    [("gcc", ("-O0",)), ("gcc", ("-O2",)), ("clang", ("-O0",)), ("clang", ("-O2", "-fno-omit-frame-pointer"))],
)


@BUILDS
@pytest.mark.parametrize("place", [f"moments.c:{LINE}", "leaf", "leaf:return"])
@pytest.mark.parametrize("is_traced", [False, True])
def test_who_has_called(
    launch: Launch, build_program: Build, compiler: str, flags: tuple[str, ...], place: str, is_traced: bool
) -> None:
    """Where the function is traced as well its return address is a stub's."""
    wheres = {
        '$caller == "first"': 50,
        '$caller == "second"': 100,
        '$caller != "first"': 100,
        '$caller == "*st"': 50,
        '$function == "leaf"': 150,
        '$function contains "eaf" && $caller == "first"': 50,
        '$function == "other"': 0,
        '$file endswith "moments.c"': 150,
        f"$line == {LINE}": 150 if ".c:" in place else 0,
        "$line < 1": 0,
        "$pid == $pid && $pid > 1": 150,
    }
    probes = [Probe(place, where=where, label=where, limit=0) for where in wheres]
    probes.append(Probe(place, show=("$pid", "$line", "$caller"), label="shown", limit=1))

    def change(session: Session) -> None:
        session.trace(TraceRequest(probe=probes, add=["leaf"] if is_traced else []))

    session = launch(build_program("moments", *flags, compiler=compiler), check=change)
    assert status(session) == 0
    found = {one.label: one for one in session.timeline.probe_totals()}
    assert {where: (one.held, one.undecided) for where, one in found.items() if where in wheres} == {
        where: (count, 0) for where, count in wheres.items()
    }
    [event] = [one for one in all_events(session, EventFilter(event_type="probe")) if one.label == "shown"]
    values = event.watch_values or {}
    assert values["$pid"] == int(text(session, "stdout").split()[0])
    assert isinstance(values["$line"], int)
    assert "first" in str(values["$caller"]) or "0x" in str(values["$caller"])


def test_what_is_refused(launch: Launch, build_program: Build) -> None:
    program = build_program("moments", "-O0")
    for asked, said in {
        "leaf if $caller == 'nobody'": "no function of the program is called 'nobody'",
        "leaf if $caler == 3": r"'\$caler' is not known here.*\$caller",
        "leaf if $function < 'x'": "a text is compared with a text",
    }.items():
        with pytest.raises(StrobeError, match=said):
            launch(program, probe=[asked])


def test_texts_that_are_the_same_each_time_are_shown(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("moments", "-O0"), probe=["leaf : $function, $line"])
    assert status(session) == 0
    shown = [event.watch_values or {} for event in all_events(session, EventFilter(event_type="probe"))]
    assert len(shown) == 150
    assert {str(one["$function"]) for one in shown} == {"leaf"}
