"""The programs do alone what tests of traced programs take for granted, with and without optimisation."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import build, require

Build = Callable[..., Path]

# program and arguments -> (standard output, exit status; negative: signal)
EXPECTED = {
    "throws": ("caught -3, passed 7\ntranslated 9\nsum 10000, destroyed 20008\nmain caught odd\n", 0),
    "terminates": ("", -signal.SIGABRT),
    "longjmps": ("sum 16668332, jumped -7, returned 9\n", 0),
    "recursion": (
        "main: 5050 12502500\nmain: 151 7501\nother: 5050 12502500\nother: 151 7501\n",
        0,
    ),
    "signals": ("handled\n", 0),
    "coroutines": ("499500 999000 1498500\n", 0),
    "forks": ("".join(f"child {2 * number + 2}\n" for number in range(10)), 0),
    "forks exec": ("child 0\n" * 10, 0),
    "pthread_exit": ("exited: 300\ncancelled: 3\n", 0),
    "tail_calls": ("100030000 2500 -99990000 200010000\n", 0),
    "tiny": ("3001000\n", 0),
    "arguments": ("42 -5 3294967296 1 6\nhello 1 10 2 1\n60 -55\n", 0),
    "constructors": ("main 328350 49\nat exit 9\ndestroyed 328350\n", 0),
    "churn": ("22500\n", 0),
    "million": ("125001000000\n", 0),
    "hello": ("hello world\n", 0),
    "threads3 20": ("ready\n", 0),
    "exits return 7": ("here\n", 7),
    "exits thread-last 5": ("here\n", 5),
    "exits quick_exit 3": ("here\n", 3),
    "exits abort": ("here\n", -signal.SIGABRT),
    "exits segv": ("here\n", -signal.SIGSEGV),
    "exits fpe": ("here\n", -signal.SIGFPE),
    "exits kill 9": ("here\n", -signal.SIGKILL),
}


def run(program: Path, *arguments: str) -> tuple[str, int]:
    result = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    return result.stdout, result.returncode


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("command", EXPECTED)
def test_program_does_the_same_at_every_optimisation(build_program: Build, command: str, flag: str) -> None:
    name, *arguments = command.split()
    assert run(build_program(name, flag), *arguments) == EXPECTED[command]


def test_many_functions_check_themselves(build_many_functions: Build) -> None:
    with subprocess.Popen([build_many_functions(50)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR1)
        assert process.communicate(timeout=60)[0] == "right\n"
    assert process.returncode == 0


def test_rust_panics_are_caught_or_end_the_program(build_program: Build) -> None:
    program = build_program("panics", "-O")
    assert run(program) == ("249000 42 3\n", 0)
    assert run(program, "uncaught")[1] == 101


def test_plugin_is_loaded_three_times(build_program: Build, build_plugin: Build) -> None:
    assert run(build_program("dlopens"), str(build_plugin())) == ("right\n", 0)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-fuse-ld=nothing"], "-fuse-ld=nothing"),
        (["-fsanitize=address", "-resource-dir", "/nonexistent"], "libclang_rt.asan"),
    ],
)
def test_what_a_compiler_lacks_is_skipped_with_the_reason(
    flags: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("clang")  # a skip for another reason than the one that is looked for
    monkeypatch.delenv("CI", raising=False)
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(pytest.skip.Exception, match=said):
        build(source, flags, "clang", tmp_path)


def test_what_does_not_compile_fails(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return nothing; }\n")
    with pytest.raises(pytest.fail.Exception, match="does not compile"):
        build(source, [], "gcc", tmp_path)
