"""Forked children are recorded as well, each under its own process id, in one timeline with their parent."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from support import namespaces
from support.programs import PROGRAMS
from support.sessions import Build, Launch, all_events, counts, outcome, status, text, totals, untraced
from support.wait import wait_until

from strobe.model import EventFilter, LaunchSpec, TextMatch, TraceRequest
from strobe.session import SessionManager


def test_children_and_grandchildren_are_recorded(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("many_children", "-O0"), "3", patterns=["*"], sampling="off")
    assert status(session) == 0
    assert {name: group.count for name, group in totals(session).items()} == {
        "main": 1,
        "forks": 4,
        "status_of": 4,
        "in_child": 3,
        "in_grandchild": 1,
    }
    calls = {name: list(all_events(session, _enters(name))) for name in ("main", "in_child", "in_grandchild")}
    pids = {event.pid for events in calls.values() for event in events}
    assert len(pids) == 5
    assert {event.pid for event in calls["main"]} == {session.pid}
    child = calls["in_child"][-1]
    assert [event.function for event in all_events(session, EventFilter(pid=child.pid))][:2] == ["in_child", "in_child"]
    assert child.depth == 0 and child.parent_event_id is None  # what was open is the parent's
    assert child.thread_id == child.pid


def test_the_parent_is_right_whatever_its_children_do(launch: Launch, build_program: Build) -> None:
    """Also with returns through calls that both have open, and another thread that goes on."""
    for name, *arguments in (["many_children", "20"], ["forks"], ["forks", "exec"]):
        program = build_program(name, "-O0")
        session = launch(program, *arguments, patterns=["*"])
        assert outcome(session) == untraced(program, *arguments)


def test_descendants_return_through_the_calls_of_their_ancestors(launch: Launch, build_program: Build) -> None:
    program = build_program("descends", "-O0")
    for arguments in (["5"], ["5", "throws"]):
        session = launch(program, *arguments, patterns=["*"], sampling="off")
        assert outcome(session) == untraced(program, *arguments)
        assert totals(session)["leaf"].count == (6 if len(arguments) == 1 else 12)  # where it is caught, too


def test_children_that_ended_leave_no_room_behind(
    launch: Launch, build_program: Build, settings: Callable[[dict[str, object]], None]
) -> None:
    """Each child takes a chunk, and there are far fewer chunks than children."""
    settings({"events.maxPerSession": 1000})
    session = launch(build_program("many_children", "-O0"), "300", patterns=["in_*"], sampling="off")
    assert outcome(session).stdout == "300 right\n"
    assert counts(session)["in_child"] == (300, 300, 0)
    assert session.timeline.loss().lost == 0
    until = session.timeline.loss().evicted_until_ns
    assert until is not None  # what came later is whole
    kept = [event for event in all_events(session, _enters("in_child")) if event.timestamp_ns >= until]
    values = [int(str(event.arguments[0].value)) for event in kept if event.arguments]
    assert values == list(range(300 - len(values), 300))
    absent = session.query(EventFilter(function=TextMatch(equals="in_grandchild"), time_from=1, time_to=until // 2))
    assert absent.total_count == 0  # the first child's, evicted
    assert absent.absence is not None and absent.absence.startswith("This does not prove"), absent.absence


def test_more_children_than_the_table_has_threads(
    launch: Launch, build_program: Build, settings: Callable[[dict[str, object]], None]
) -> None:
    """The chunks of those beyond the table are found as well, once they have ended."""
    settings({"events.maxPerSession": 1000})
    session = launch(build_program("many_children", "-O0"), "4500", patterns=["in_child"], sampling="off")
    assert outcome(session).stdout == "4500 right\n"
    assert session.timeline.loss().lost == 0
    assert counts(session)["in_child"] == (4500, 4500, 0)


def test_a_child_in_another_pid_namespace_does_not_affect_its_parent(
    launch: Launch, build_program: Build, settings: Callable[..., None]
) -> None:
    """It cannot see whether those live whose events are older than its own, and it fills all that there is."""
    settings({"events.maxPerSession": 20_000})
    with namespaces.entrance() as namespace:
        session = launch(
            build_program("other_namespace", "-O0"), str(namespace), patterns=["mine", "childs"], sampling="off"
        )
        assert status(session) == 0
    found = totals(session)
    assert (found["mine"].count, found["childs"].count) == (6, 300_000)
    assert found["childs"].evicted > 200_000
    values = [event.arguments[0].value for event in all_events(session, _enters("mine")) if event.arguments]
    assert values == [0, 1, 2, 3, 4, 5]


def test_a_handler_forks_in_the_middle_of_a_record(launch: Launch, build_program: Build) -> None:
    """What the child still does of it gets neither to the parent's record nor to its totals."""
    program = build_program("forks_at_each_step", "-O1")
    session = launch(program, patterns=["hit"], sampling="off")
    assert outcome(session) == untraced(program)
    own = session.timeline.totals(EventFilter(pid=session.pid), "function")
    assert [(group.key, group.count, group.completed) for group in own] == [("hit", 3, 3)]
    assert session.timeline.loss().lost > 0  # the children that were left unrecorded


def test_attaching_to_a_child_that_was_left_unrecorded(
    launch: Launch, manager: SessionManager, build_program: Build
) -> None:
    session = launch(build_program("forks_at_each_step", "-O1"), "150", patterns=["hit"], sampling="off")
    first, said = outcome(session).stdout.splitlines()
    child = int(first)
    try:
        assert (said, session.children) == ("many, right", ())
        attached = manager.launch(
            LaunchSpec("", pid=child, project_root=str(PROGRAMS)), TraceRequest(["hit"], sampling="off")
        )
        wait_until(lambda: "hit" in totals(attached) and totals(attached)["hit"].completed > 10, "its calls")
        assert len(list(all_events(attached, _enters("hit")))) > 10
        attached.stop()
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_child_that_may_not_read_the_clock(launch: Launch, build_program: Build) -> None:
    """The recording has ended in its parent."""
    session = launch(build_program("forks_without_clock", "-O1"), patterns=["*"])
    assert outcome(session).stdout == "0\n"
    assert totals(session)["hit"].count == 1


def _enters(name: str) -> EventFilter:
    return EventFilter(event_type="function_enter", function=TextMatch(equals=name))


def test_a_child_of_a_function_that_jumps_to_one_that_throws(launch: Launch, build_program: Build) -> None:
    """Its return is caught for the parent, in whose frame the child is as well."""
    program = build_program("forks_and_throws", "-O2")
    for patterns in (["*"], ["last", "forks"], ["last"]):
        session = launch(program, patterns=patterns, sampling="off")
        assert outcome(session) == untraced(program)
        assert totals(session)["last"].count == 4


def test_a_child_that_writes_over_a_hook(launch: Launch, build_program: Build) -> None:
    """Its calls are not recorded, so that they were not made is not said; of what it has left alone it is."""
    session = launch(build_program("patches_itself", "-O0"), patterns=["changed", "kept", "write_over"])
    wait_until(lambda: "ready" in text(session, "stdout"), "the child")

    def absence(name: str, pid: int | None = None) -> str:
        found = session.query(
            EventFilter(function=TextMatch(equals=name), pid=pid, thread_name=TextMatch(equals="nobody"))
        )
        assert found.total_count == 0
        return found.absence or ""

    wait_until(lambda: "written over the entry of changed" in absence("changed"), "a look at the child", 20)
    assert absence("changed").startswith("This does not prove that it did not happen.")
    assert absence("changed", session.pid).startswith("It did not happen.")
    assert "written over" not in absence("kept")
    assert any("a forked child, has written over the entry of changed" in one for one in session.warnings)
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0
