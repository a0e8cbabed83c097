"""Programs that fill their pages themselves (userfaultfd): a read of a page that is missing waits until they have."""

from __future__ import annotations

import subprocess

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build, Launch, all_events, outcome, totals, untraced

from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.session import SessionManager

FORMS = ["native", "portable"]
_NOT_PERMITTED = 77


@pytest.mark.parametrize("form", FORMS)
def test_a_page_that_is_missing_is_not_waited_for(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("fills_pages", "-O1")
    alone = untraced(program)
    if alone.status == _NOT_PERMITTED:
        pytest.skip("this system permits no userfaultfd")
    session = launch(program, patterns=["fill", "use"])
    assert outcome(session) == alone
    assert {name: total.count for name, total in totals(session).items()} == {"fill": 50, "use": 50}
    filled = list(all_events(session, EventFilter(function=TextMatch(equals="fill"), event_type="function_enter")))
    assert "bbbb" in str(filled[1].arguments)  # of the source, which is there
    used = list(all_events(session, EventFilter(function=TextMatch(equals="use"), event_type="function_enter")))
    assert not any("aaaa" in str(event.arguments) for event in used)


@pytest.mark.parametrize("form", FORMS)
def test_nor_where_the_program_did_so_before(
    build_program: Build, manager: SessionManager, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("fills_pages", "-O1")
    process = subprocess.Popen([program, "WAIT"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None and process.stdout is not None
        if process.stdout.readline() != "ready\n":
            pytest.skip("this system permits no userfaultfd")
        spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
        session = manager.launch(spec, TraceRequest(["fill", "use"]))
        output, _ = process.communicate("\n", 20)
        assert (process.returncode, output) == (0, untraced(program).stdout)
        assert totals(session)["fill"].count == 50
    finally:
        processes.end(process)
