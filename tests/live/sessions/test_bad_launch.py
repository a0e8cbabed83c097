"""What cannot be started is refused with a clear error, and leaves no process, session or file."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from support.programs import PROGRAMS, source_of
from support.sessions import Build, Launch, outcome

from strobe.errors import Code, StrobeError
from strobe.model import ExitStatus, LaunchSpec, TraceRequest
from strobe.session import SessionManager

E_MACHINE = 18  # offset in an ELF header
EM_AARCH64 = 183


def refused(manager: SessionManager, spec: LaunchSpec, patterns: tuple[str, ...] = ()) -> StrobeError:
    """The error of a launch that must fail; nothing of it may be listed."""
    with pytest.raises(StrobeError) as caught:
        manager.launch(spec, TraceRequest(patterns))
    assert manager.list() == []
    return caught.value


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("no-such-program-here", Code.VALIDATION_ERROR, "No such program"),
        ("./no/such/program", Code.VALIDATION_ERROR, "No such program"),
        (str(PROGRAMS), Code.VALIDATION_ERROR, "is a directory"),
        (str(source_of("hello")), Code.VALIDATION_ERROR, "is not executable"),
        (str(PROGRAMS / "files/text_file"), Code.VALIDATION_ERROR, "neither an ELF program nor a script"),
        (str(PROGRAMS / "files/lost_interpreter.sh"), Code.VALIDATION_ERROR, "/nonexistent/interpreter"),
    ],
)
def test_files_that_are_no_programs(manager: SessionManager, path: str, code: Code, said: str) -> None:
    error = refused(manager, LaunchSpec(path))
    assert error.code is code
    assert said in str(error)


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static_programs(manager: SessionManager, build_program: Build, flag: str) -> None:
    error = refused(manager, LaunchSpec(str(build_program("hello", flag))))
    assert error.code is Code.ATTACH_FAILED
    assert "statically linked" in str(error)


@pytest.mark.parametrize("flag", ["", "-static-libtsan"])
def test_programs_with_thread_sanitizer(manager: SessionManager, build_program: Build, flag: str) -> None:
    error = refused(manager, LaunchSpec(str(build_program("hello", "-fsanitize=thread", *flag.split()))))
    assert error.code is Code.ATTACH_FAILED
    assert "built with ThreadSanitizer" in str(error)


def test_program_for_another_machine(manager: SessionManager, build_program: Build, tmp_path: Path) -> None:
    program = tmp_path / "hello"
    image = bytearray(build_program("hello").read_bytes())
    image[E_MACHINE : E_MACHINE + 2] = EM_AARCH64.to_bytes(2, "little")
    program.write_bytes(image)
    program.chmod(0o755)
    error = refused(manager, LaunchSpec(str(program)))
    assert "this machine runs" in str(error)


@pytest.mark.parametrize("size", [0, 3, 4, 40, 200])
def test_truncated_program(manager: SessionManager, build_program: Build, tmp_path: Path, size: int) -> None:
    program = tmp_path / "hello"
    program.write_bytes(build_program("hello").read_bytes()[:size])
    program.chmod(0o755)
    assert refused(manager, LaunchSpec(str(program))).code in (Code.VALIDATION_ERROR, Code.ATTACH_FAILED)


def test_missing_working_directory(manager: SessionManager, build_program: Build) -> None:
    error = refused(manager, LaunchSpec(str(build_program("hello")), cwd="/no/such/folder"))
    assert "working directory" in str(error)


def test_process_that_does_not_exist(manager: SessionManager) -> None:
    error = refused(manager, LaunchSpec("", pid=2**22 + 1))
    assert error.code is Code.ATTACH_FAILED
    assert "No process" in str(error)


@pytest.mark.parametrize("pattern", ["", "@nothing:x", "@file:", "@lib:"])
def test_bad_patterns(manager: SessionManager, build_program: Build, pattern: str) -> None:
    error = refused(manager, LaunchSpec(str(build_program("hello"))), (pattern,))
    assert error.code is Code.INVALID_PATTERN


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_unreadable_program_is_an_error_or_runs(launch: Launch, build_program: Build, tmp_path: Path) -> None:
    """Executable but not readable: root may start it; it then runs as any program."""
    program = tmp_path / "hello"
    shutil.copy(build_program("hello"), program)
    program.chmod(0o111)
    assert outcome(launch(program)).stdout == "hello world\n"


def test_bare_name_is_looked_up_in_path(launch: Launch) -> None:
    assert outcome(launch("true")).status == 0


@pytest.mark.parametrize("arguments", [("3",), ("0", "two words"), ()])
def test_script_runs_under_its_interpreter(launch: Launch, arguments: tuple[str, ...]) -> None:
    ended = outcome(launch(PROGRAMS / "files/script.sh", *arguments))
    assert ended.stdout == f"script {len(arguments)} arguments\n"
    assert ended.status == int(arguments[0] if arguments else 0)


def test_relative_path_counts_from_the_working_directory(launch: Launch, build_program: Build) -> None:
    program = build_program("hello")
    assert outcome(launch(f"./{program.name}", cwd=str(program.parent))).stdout == "hello world\n"


@pytest.mark.parametrize("delay_ms", range(0, 400, 25))
def test_program_that_is_killed_while_it_starts(
    launch: Launch, build_program: Build, caplog: pytest.LogCaptureFixture, delay_ms: int
) -> None:
    """Whenever that is: an error that says so, or a session that has it as its end."""
    program = build_program("stays")
    is_over = threading.Event()

    def kill() -> None:
        """Also one that is started once more, as the first has not got on."""
        while not is_over.wait(0.001):
            if pid := _process_of(program):
                time.sleep(delay_ms / 1000)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        session = launch(program, "ignores", patterns=["main"])
        assert session.wait(60) == ExitStatus(signal=signal.SIGKILL)
    except StrobeError as error:
        assert error.code is not Code.INTERNAL, error
        assert "unknown" not in error.message, error
    finally:
        is_over.set()
        killer.join()
    assert "failed" not in caplog.text


def _process_of(program: Path) -> int | None:
    for link in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if link.readlink() == program:
                return int(link.parent.name)
    return None
