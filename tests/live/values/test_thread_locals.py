"""Thread-local variables of a given thread: of programs and of libraries, found without stopping any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs
from support.reads import ready
from support.sessions import Launch
from support.wait import wait_until

import strobe
from strobe import _core
from strobe.session import Session
from strobe.values.decode import text as values_text
from strobe.values.lookup.thread_blocks import GlibcThreads
from strobe.values.memory.process_memory import ProcessMemory
from strobe.values.reading import ReadTarget
from strobe.values.write.writing import WriteTarget

Build = Callable[..., Path]
PLUGIN = programs.source_of("thread_local_plugin")


def told(session: Session, variable: str, thread: int | None = None) -> str:
    """A value as it is shown, or why there is none."""
    (result,) = session.reader.read([ReadTarget(variable, thread=thread)])
    return values_text.shown(result.value) if result.error is None else result.error.message


def of_all(session: Session, variable: str) -> list[str]:
    """What the program's four threads, then the main one have."""
    (tids,) = session.reader.read([ReadTarget("gTids")])
    return [told(session, variable, thread) for thread in [*tids.value, None]]


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_each_thread_has_its_own(
    compiler: str, flags: str, build_program: Build, program_cache: Path, launch: Launch
) -> None:
    plugin = programs.build(PLUGIN, ("-shared", "-fPIC", flags), compiler, program_cache)
    session = ready(launch(build_program("thread_locals", flags, compiler=compiler), str(plugin)))
    assert of_all(session, "gLocal") == ["100", "101", "102", "103", "5"]
    assert of_all(session, "gPair.number") == ["0", "10", "20", "30", "1"]
    assert of_all(session, "gPair")[3:] == ['{number = 30, text = "thread"}', '{number = 1, text = "main"}']
    assert of_all(session, "gName") == ['"thread 0"', '"thread 1"', '"thread 2"', '"thread 3"', '"main"']
    assert of_all(session, "gZero") == ["0", "-1", "-2", "-3", "0"]
    assert of_all(session, "*(&gLocal)") == of_all(session, "gLocal")
    of_library = of_all(session, "plugin_local")
    assert of_library[0] == "700"
    assert all("is not allocated yet for thread" in text for text in of_library[1:])
    assert of_library[4].endswith(f"for thread {session.pid}, which has used no thread-local of {plugin.name} so far.")


def test_a_write_is_for_one_thread(build_program: Build, launch: Launch) -> None:
    session = ready(launch(build_program("thread_locals", "-O0")))
    (tids,) = session.reader.read([ReadTarget("gTids")])
    targets = [WriteTarget("gLocal", 1000 + at, thread=tid) for at, tid in enumerate(tids.value[:2])]
    results = session.writer.write(
        [*targets, WriteTarget("gLocal", 7), WriteTarget("gName", "written", thread=tids.value[3])]
    )
    assert [result.previous for result in results] == [100, 101, 5, "thread 3"]
    assert of_all(session, "gLocal") == ["1000", "1001", "102", "103", "7"]
    assert of_all(session, "gName")[2:] == ['"thread 2"', '"written"', '"main"']
    wait_until(lambda: of_all(session, "gSeen")[:4] == ["1000", "1001", "102", "103"], "the threads to see it")


def test_a_thread_that_is_not_there(build_program: Build, launch: Launch) -> None:
    session = ready(launch(build_program("thread_locals", "-O0")))
    assert told(session, "gLocal", 1) == f"Process {session.pid} has no thread 1."
    (result,) = session.reader.read([ReadTarget("gLocal", thread=1)])
    assert result.error is not None and str(session.pid) in result.error.next_step


def test_repeated_reads_find_it_anew(build_program: Build, launch: Launch) -> None:
    session = ready(launch(build_program("thread_locals", "-O0")))
    (tids,) = session.reader.read([ReadTarget("gTids")])
    repeated = session.reader.repeated([ReadTarget("gLocal", thread=tids.value[2]), ReadTarget("gTids[2]")])
    for _ in range(3):
        assert [result.value for result in repeated.read()] == [102, tids.value[2]]


def test_threads_are_where_the_kernel_says(build_program: Build, launch: Launch) -> None:
    """The control block of each, from the C library's lists, is what its thread pointer holds."""
    session = ready(launch(build_program("thread_locals", "-O0")))
    (tids,) = session.reader.read([ReadTarget("gTids")])
    session.reader.read([ReadTarget("gLocal")])
    reads = session.reader.reads()
    threads = GlibcThreads(ProcessMemory(session.pid), lambda: reads._mapped_now().modules)
    known = threads._find_structures()
    assert known is not None
    for tid in [*tids.value, session.pid]:
        assert threads._control_block(known, tid) == _core.thread_pointer(tid)


def test_a_thread_that_the_c_library_did_not_make(build_program: Build, launch: Launch) -> None:
    """It is asked of the kernel; this one was made with the main thread's block."""
    session = ready(launch(build_program("raw_thread", "-O0")))
    (tid,) = session.reader.read([ReadTarget("gTid")])
    assert tid.value not in (0, session.pid)
    assert told(session, "gLocal", tid.value) == told(session, "gLocal") == "6"


def test_a_library_that_was_loaded_again(build_program: Build, program_cache: Path, launch: Launch) -> None:
    """What a thread had of it before is not taken for what it has now."""
    plugin = programs.build(PLUGIN, ("-shared", "-fPIC"), None, program_cache)
    session = ready(launch(build_program("thread_locals", "-O0"), str(plugin), "again"))
    assert all("is not allocated yet for thread" in text for text in of_all(session, "plugin_local"))


def test_classes(build_program: Build, launch: Launch) -> None:
    session = ready(launch(build_program("thread_locals_classes", "-O0")))
    (tids,) = session.reader.read([ReadTarget("gTids")])

    def each(variable: str) -> list[str]:
        return [told(session, variable, thread) for thread in [*tids.value, None]]

    assert each("Clock::ticks") == ["30", "31", "3"]
    assert each("audio::level") == ["1.5", "2.5", "0.5"]
    assert each("counted::calls") == ["41", "42", "41"]
    results = session.writer.write([WriteTarget("audio::title", "one", thread=tids.value[0])])
    assert results[0].error is None
    assert [told(session, "audio::title._M_string_length", tid) for tid in tids.value] == ["3", "8"]


def test_rust(build_program: Build, launch: Launch) -> None:
    session = ready(launch(build_program("thread_locals_rust")))
    (tids,) = session.reader.read([ReadTarget("TIDS")])
    found = [told(session, "LOCAL", tid) for tid in [*tids.value, None]]
    assert ["100" in found[0], "101" in found[1], "5" in found[2]] == [True, True, True], found


def test_from_python(build_program: Build, strobe_home: Path) -> None:
    with strobe.launch([build_program("thread_locals", "-O0")], home=strobe_home) as program:
        ready(program._session)
        first = program.read("gTids")[0]
        assert (program.read("gLocal"), program.read("gLocal", thread=first)) == (5, 100)
        assert program.write("gLocal", 8, thread=first) == 100
        assert (program.read("gLocal"), program.read("gLocal", thread=first)) == (5, 8)
