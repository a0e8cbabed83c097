"""A file that was replaced while it runs is not traced by its new addresses: that is said, and the program runs on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import processes
from support.programs import PROGRAMS, build, source_of
from support.sessions import Build, Launch, all_events, outcome, status, text, totals
from support.wait import wait_until

from strobe.capture.mapped_elf import MappedElf, mappings
from strobe.errors import Code, StrobeError
from strobe.model import EventFilter, LaunchSpec, LoadedModule, TextMatch, TraceRequest, Watch
from strobe.session import SessionManager
from strobe.session.modules import Modules
from strobe.symbols import ElfResolver
from strobe.values.reading import ReadTarget

Start = Callable[..., subprocess.Popen[str]]
NO_ID = "-Wl,--build-id=none"


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(program, "argument")`: it runs and has said so; what is still there at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(*command: Path | str) -> subprocess.Popen[str]:
        running.append(subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True))
        stdout = running[-1].stdout
        assert stdout is not None and stdout.readline() == "ready\n"
        return running[-1]

    yield start
    for process in running:
        processes.end(process)


def copied(build: Path, target: Path) -> Path:
    """A copy under a name of its own, by rename: what runs from there keeps the old file."""
    fresh = target.with_suffix(".new")
    shutil.copy2(build, fresh)
    return fresh.rename(target)


def ends_right(process: subprocess.Popen[str]) -> bool:
    process.send_signal(signal.SIGUSR1)
    return process.communicate(timeout=60)[0] == "right\n" and process.returncode == 0


def attach(manager: SessionManager, pid: int, *patterns: str, root: Path = PROGRAMS) -> None:
    manager.launch(LaunchSpec("", pid=pid, project_root=str(root)), TraceRequest(patterns))


@pytest.mark.parametrize(
    ("flags", "said"),
    [((), "build id "), ((NO_ID,), "other code in memory than on disk"), (("-fPIE", "-pie"), "build id ")],
    ids=["build-id", "without", "pie"],
)
def test_rebuilt_program_is_refused(
    manager: SessionManager, start: Start, build_program: Build, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    program = copied(build_program("steady", "-O1", *flags), tmp_path / "app")
    process = start(program)
    copied(build_program("steady", "-O1", "-DMOVED", *flags), program)
    for pattern in ("steady_*", "@usercode"):
        with pytest.raises(StrobeError) as caught:
            attach(manager, process.pid, pattern)
        assert caught.value.code is Code.ATTACH_FAILED
        assert f"'{program}' is no longer the file that process {process.pid} runs" in str(caught.value)
        assert said in str(caught.value)
    assert manager.list() == []
    assert ends_right(process)


def test_deleted_program_is_refused(
    manager: SessionManager, start: Start, build_program: Build, tmp_path: Path
) -> None:
    program = copied(build_program("steady", "-O1"), tmp_path / "app")
    process = start(program)
    program.unlink()
    with pytest.raises(StrobeError, match=r"no longer the file .* \(deleted\)"):
        attach(manager, process.pid, "*")
    assert ends_right(process)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no program"])
def test_program_whose_file_is_just_being_written_is_refused(
    manager: SessionManager, start: Start, build_program: Build, tmp_path: Path, content: bytes
) -> None:
    program = copied(build_program("steady", "-O1"), tmp_path / "app")
    process = start(program)
    program.unlink()
    program.write_bytes(content)
    with pytest.raises(StrobeError, match=r"no longer the file .* \(no program any more\)"):
        attach(manager, process.pid, "*")
    assert ends_right(process)


@pytest.mark.parametrize("flags", [(), (NO_ID,)], ids=["build-id", "without"])
def test_a_copy_of_the_same_build_does_as_well(
    manager: SessionManager, start: Start, build_program: Build, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    build = build_program("steady", "-O1", *flags)
    program = copied(build, tmp_path / "app")
    process = start(program)
    copied(build, program)
    attach(manager, process.pid, "steady_*")
    (session,) = (manager.get(summary.session_id) for summary in manager.list())
    wait_until(lambda: {"steady_two", "steady_three"} <= set(totals(session)), "calls")
    session.stop()
    assert ends_right(process)


def test_what_was_hooked_before_stays_and_nothing_comes_on_top(
    launch: Launch, build_program: Build, tmp_path: Path
) -> None:
    program = copied(build_program("steady", "-O1"), tmp_path / "app")
    session = launch(program, patterns=["steady_two"])
    copied(build_program("steady", "-O1", "-DMOVED"), program)
    with pytest.raises(StrobeError, match="is no longer the file"):
        session.trace(TraceRequest(add=["steady_three"]))
    answer = session.trace(TraceRequest(sampling="off"))
    assert (answer.active_patterns, answer.hooked_functions) == (["steady_two"], 1)
    assert any(f"No new hooks in {program} (build id " in warning for warning in answer.warnings)
    called = totals(session)["steady_two"].count
    wait_until(lambda: totals(session)["steady_two"].count > called, "calls go on")
    assert session.trace(TraceRequest(remove=["steady_two"])).hooked_functions == 0
    os.kill(session.pid, signal.SIGUSR1)
    assert outcome(session).stdout == "ready\nright\n"
    assert set(totals(session)) == {"steady_two"}


def test_a_program_that_becomes_another_has_gone(build_program: Build) -> None:
    """In that moment nothing is mapped where its code was, which is no other file."""
    program = build_program("execs_itself", "-fPIE", "-pie", NO_ID)
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready 1\n"
        own = [item for item in mappings(process.pid) if item.path == str(program)]
        module = LoadedModule(program.name, str(program), own[0].start, own[-1].end - own[0].start)
        modules = Modules(process.pid, ElfResolver())
        modules.check(module)
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "ready 2\n"
        for known in (modules, Modules(process.pid, ElfResolver())):
            with pytest.raises(ProcessLookupError):
                program.touch()  # what was compared before is compared anew
                known.check(module)
            assert known.of([module]) == []
            assert known.warnings() == []
    finally:
        processes.end(process)


def test_one_that_becomes_another_while_it_is_looked_at_has_gone(
    build_program: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two reads of one look: its header was there, its build id is not."""
    program = build_program("execs_itself", "-fPIE", "-pie")
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    read = MappedElf._read
    reads = 0

    def read_and_become(self: MappedElf, address: int, size: int) -> bytes:
        nonlocal reads
        content = read(self, address, size)
        reads += 1
        if reads == 2:  # header and program headers
            process.send_signal(signal.SIGUSR1)
            assert process.stdout is not None and process.stdout.readline() == "ready 2\n"
        return content

    try:
        assert process.stdout is not None and process.stdout.readline() == "ready 1\n"
        own = [item for item in mappings(process.pid) if item.path == str(program)]
        module = LoadedModule(program.name, str(program), own[0].start, own[-1].end - own[0].start)
        monkeypatch.setattr(MappedElf, "_read", read_and_become)
        modules = Modules(process.pid, ElfResolver())
        with pytest.raises(ProcessLookupError):
            modules.check(module)
        assert reads > 2
        assert modules.warnings() == []
    finally:
        processes.end(process)


def test_replaced_library_is_left_alone(
    manager: SessionManager, start: Start, build_program: Build, build_plugin: Build, tmp_path: Path
) -> None:
    library = copied(build_plugin(), tmp_path / "plugin.so")
    process = start(build_program("instances"), library)
    copied(build_plugin("-O2"), library)
    attach(manager, process.pid, "plugin_*")
    (session,) = (manager.get(summary.session_id) for summary in manager.list())
    answer = session.launch_answer
    assert answer is not None and answer.hooked_functions == 0
    assert any(f"No new hooks in {library} (build id " in warning for warning in answer.warnings)
    assert session.trace(TraceRequest(add=["main"], remove=["plugin_*"])).hooked_functions == 1
    session.stop()
    assert ends_right(process)


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("how", ["renamed over", "written into"])
def test_a_library_that_comes_back_rebuilt_is_read_by_its_new_types(
    launch: Launch,
    build_program: Build,
    tmp_path: Path,
    program_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    how: str,
) -> None:
    """At the same place, under the same name, of the same size: reads, prepared reads and watches."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    shared = ("-shared", "-fPIC")
    built: dict[type, Path] = {
        int: build(source_of("rebuilt_library"), shared, None, program_cache),
        float: build(
            source_of("rebuilt_library"), (*shared, "-DLEVEL_TYPE=double", "-DLEVEL=2.5"), None, program_cache
        ),
    }
    expected = {int: 11, float: 2.5}
    library = tmp_path / "library.so"

    copied(built[int], library)
    session = launch(build_program("reloads"), str(library), patterns=["step"], sampling="off")
    rounds: list[type] = [int, float, int, int, float]
    prepared = None
    for number, kind in enumerate(rounds, 1):
        wait_until(lambda number=number: len(text(session, "stdout").splitlines()) == number, f"round {number}")
        (now,) = session.reader.read([ReadTarget("level")])
        assert (now.error, now.value) == (None, expected[kind])
        if prepared is None:
            prepared = session.reader.repeated([ReadTarget("level")])
            assert session.trace(TraceRequest(watch=[Watch("level")])).active_watches == ["level"]
        assert [result.value for result in prepared.read()] == [expected[kind]]
        if number == len(rounds):
            break
        if how == "renamed over":
            copied(built[rounds[number]], library)
            (before,) = session.reader.read([ReadTarget("level")])  # what is mapped is the old file still
            assert before.value == expected[kind]
        else:
            os.kill(session.pid, signal.SIGSTOP)  # its code changes under its feet
            with library.open("r+b") as file:  # truncated, what the loader wrote would be lost
                file.write(built[rounds[number]].read_bytes())
        os.kill(session.pid, signal.SIGUSR1)
        os.kill(session.pid, signal.SIGCONT)
    os.kill(session.pid, signal.SIGTERM)
    assert status(session) == 0
    places = [line.split()[1] for line in text(session, "stdout").splitlines()]
    assert len(set(places)) < len(rounds)  # some came at the same place
    found = all_events(session, EventFilter(function=TextMatch(equals="step"), event_type="function_enter"))
    assert [(event.watch_values or {})["level"] for event in found if event.watch_values] == [
        expected[kind] for kind in rounds[1:]
    ]
