"""A traced program prints and ends as it does alone, whatever way its functions are left; and counts are right."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, all_events, counts, outcome, status, totals, untraced

from strobe.model import EventFilter
from strobe.session import Session

HANDLED = 600  # calls of the handler that tests/programs/signals/signals.c waits for

# Traced with everything of theirs, and with everything there is.
PROGRAMS = [
    "hello",
    "throws",
    "longjmps",
    "recursion",
    "signals",
    "coroutines",
    "pthread_exit",
    "tail_calls",
    "tiny",
    "entries",
    "arguments",
    "constructors",
    "forks",
    "forks exec",
    "exits return 7",
    "exits abort",
    "exits segv",
]


@pytest.fixture(params=["native", "portable"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The form of the recorder that a launch uses."""
    chosen: str = request.param
    monkeypatch.setenv("STROBE_RECORDER", chosen)
    return chosen


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("pattern", ["@usercode", "**"])
@pytest.mark.parametrize("command", PROGRAMS)
@pytest.mark.usefixtures("form")
def test_traced_program_does_the_same(
    launch: Launch, build_program: Build, command: str, pattern: str, flag: str
) -> None:
    name, *arguments = command.split()
    program = build_program(name, flag)
    session = launch(program, *arguments, patterns=[pattern])
    assert outcome(session) == untraced(program, *arguments)
    assert sum(group.count for group in totals(session).values()) > 0


@pytest.mark.parametrize("flag", ["-O1", "-O2"])
@pytest.mark.parametrize("name", ["throws", "pthread_exit", "longjmps", "tail_calls", "tiny", "recursion"])
def test_programs_of_clang_do_the_same(launch: Launch, build_program: Build, name: str, flag: str) -> None:
    compiler = "clang++" if name in ("throws", "pthread_exit") else "clang"
    program = build_program(name, flag, compiler=compiler)
    assert outcome(launch(program, patterns=["**"])) == untraced(program)


def test_functions_without_padding_between_them(launch: Launch, build_program: Build) -> None:
    program = build_program("tiny", "-O2", "-falign-functions=1")
    assert outcome(launch(program, patterns=["*"])) == untraced(program)


@pytest.mark.parametrize("arguments", [(), ("uncaught",)])
def test_rust_panics(launch: Launch, build_program: Build, arguments: tuple[str, ...]) -> None:
    program = build_program("panics", "-O")
    session = launch(program, *arguments, patterns=["@usercode"])
    assert outcome(session) == untraced(program, *arguments)
    assert totals(session)["panics::engine::checked"].count == 1000 + len(arguments)


def test_exceptions_leave_frames_that_are_counted_as_unwound(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("throws", "-O0"), patterns=["flow::*"], sampling="off")
    assert status(session) == 0
    # 5,003 exceptions; the last one is caught in main, and no traced call comes later
    assert counts(session) == {
        "flow::deepest": (10005, 5002, 5003),
        "flow::middle": (10005, 5002, 5003),
        "flow::upper": (10005, 5002, 5003),
        "flow::catches": (10003, 10003, 0),
        "flow::rethrows": (1, 0, 1),
        "flow::translates": (1, 1, 0),
    }


def test_destructors_are_called_once_each(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("throws", "-O0"), patterns=["flow::**"], sampling="off")
    assert status(session) == 0
    assert counts(session)["flow::Guard::~Guard"] == (20010, 20010, 0)


def test_longjmp_leaves_frames_that_are_counted_as_unwound(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("longjmps", "-O0"), patterns=["*"], sampling="off")
    assert status(session) == 0
    found = counts(session)
    assert found["lands"] == (10002, 10002, 0)
    assert found["begins"] == found["passes"] == found["jumps"] == (10002, 6667, 3335)


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
@pytest.mark.parametrize(
    ("how", "flags"),
    [
        ("throws", ()),
        ("jumps", ()),
        ("throws", ("-static-libstdc++",)),
        ("throws", ("-static-libgcc", "-static-libstdc++", "-no-pie")),
    ],
)
def test_what_is_called_after_it_is_not_within_what_was_left(
    launch: Launch, build_program: Build, how: str, flags: tuple[str, ...], level: str
) -> None:
    """Also where the next call is too far down on the stack to show it."""
    session = launch(build_program("comes_back", level, *flags), how, patterns=["comes_back", "leaves", "called_next"])
    assert outcome(session).stdout == "sum 9900\n"
    _check_next_calls(session, "")


@pytest.mark.parametrize("level", ["0", "1", "3"])
def test_what_is_called_after_a_panic_is_not_within_what_was_left(
    launch: Launch, build_program: Build, level: str
) -> None:
    program = build_program("comes_back_rust", f"-Copt-level={level}")
    session = launch(program, patterns=["comes_back_rust::**"])
    assert outcome(session).stdout == "sum 9900\n"
    _check_next_calls(session, "comes_back_rust::")


def _check_next_calls(session: Session, path: str) -> None:
    found = list(all_events(session, EventFilter(event_type="function_enter")))
    by_id = {event.id: event.function for event in found}
    after = [event for event in found if event.function == f"{path}called_next"]
    assert len(after) == 100
    callers = {by_id.get(event.parent_event_id or "") for event in after}
    assert len(callers) == 1 and callers <= {f"{path}comes_back", f"{path}between"}
    assert counts(session)[f"{path}leaves"] == (400, 0, 400)


def test_deep_recursion_is_counted(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("recursion", "-O0"), patterns=["down", "ping", "pong"], sampling="off")
    assert status(session) == 0
    groups = totals(session)
    assert {name: group.count for name, group in groups.items()} == {"down": 10204, "ping": 5104, "pong": 5100}
    for group in groups.values():
        assert (group.completed + group.exits_missed, group.unwound) == (group.count, 0)
    # 101 calls in each thread are well within what can be caught
    assert groups["down"].completed >= 2 * 101


def test_handlers_on_another_stack_are_counted(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("signals", "-O0"), patterns=["on_signal", "in_handler"])
    assert status(session) == 0
    groups = totals(session)
    assert groups["in_handler"].count == groups["on_signal"].count >= 600


def test_handlers_in_the_middle_of_recording_are_counted(launch: Launch, build_program: Build, form: str) -> None:
    """Threads that do nothing but call traced functions are interrupted in the recorder most of the time."""
    session = launch(build_program("signals", "-O0"), patterns=["*"])
    assert status(session) == 0
    groups = totals(session)
    assert groups["busy"].count == groups["inner"].count > 0
    assert groups["in_handler"].count == groups["on_signal"].count >= HANDLED


def test_coroutines_are_counted(launch: Launch, build_program: Build) -> None:
    session = launch(
        build_program("coroutines", "-O0"), patterns=["resume", "body", "step", "yield_from"], sampling="off"
    )
    assert status(session) == 0
    found = {name: group.count for name, group in totals(session).items()}
    assert found == {"resume": 3003, "body": 3, "step": 3000, "yield_from": 3000}


def test_jumps_in_tail_position_are_calls(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("tail_calls", "-O2"), patterns=["first", "second", "third"], sampling="off")
    assert status(session) == 0
    assert counts(session) == dict.fromkeys(["first", "second", "third"], (10000, 10000, 0))


def test_ended_threads_leave_frames_that_are_counted_as_unwound(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("pthread_exit", "-O0"), patterns=["leave", "middle", "start", "Guard::*"])
    assert status(session) == 0
    found = counts(session)
    assert found["leave"] == found["middle"] == found["start"] == (101, 0, 101)
    assert found["Guard::~Guard"] == (303, 303, 0)


def test_constructors_run_traced_before_main(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("constructors", "-O0"), patterns=["early::**"])
    assert status(session) == 0
    found = {name: group.count for name, group in totals(session).items()}
    assert found["early::compute"] >= 101
    assert found["early::Table::Table"] == found["early::attribute_constructor"] == 1


def test_functions_called_by_exit_are_traced(launch: Launch, build_program: Build) -> None:
    session = launch(build_program("constructors", "-O0"), patterns=["early::**"])
    assert status(session) == 0
    found = {name: group.count for name, group in totals(session).items()}
    assert found["early::compute"] == 102
    assert found["early::Table::~Table"] == found["early::at_exit"] == 1
