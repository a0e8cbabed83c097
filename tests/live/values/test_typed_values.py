"""Events say of arguments and results what the program itself says that it was given and gave back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.sessions import Build, Launch, status
from support.typed import seen, told, unknown

from strobe.session import Session


@pytest.fixture(params=["native", "portable"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The form of the recorder that a launch uses."""
    chosen: str = request.param
    monkeypatch.setenv("STROBE_RECORDER", chosen)
    return chosen


def run(launch: Launch, program: Path, *patterns: str) -> Session:
    session = launch(program, patterns=patterns, sampling="off")
    assert status(session) == 0
    return session


# values that may stay open: vector registers in the portable form; what clang's optimized code leaves no evidence of
@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c(launch: Launch, build_program: Build, form: str, compiler: str, flag: str) -> None:
    session = run(launch, build_program("typed", flag, compiler=compiler), "t_*")
    left = unknown(told(session), seen(session))
    optimized_away = 30 if (compiler, flag) == ("clang", "-O2") else 0
    assert left <= optimized_away + (40 if form == "portable" else 0)


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_definitions_without_prototype(launch: Launch, build_program: Build, flag: str) -> None:
    session = run(launch, build_program("old_style", flag, "-w", compiler="gcc"), "t_*")
    assert seen(session) == ["> t_old(f=?, d=2.5, n=3)", "< t_old = 4.0"]


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_classes(launch: Launch, build_program: Build, form: str, compiler: str, flag: str) -> None:
    program = build_program("typed_classes", flag, compiler=compiler)
    session = run(launch, program, "typed::*", "typed::Synth::play", "typed::Synth::is_on")
    left = unknown(told(session), seen(session))
    assert left <= (6 if (compiler, flag) == ("clang++", "-O2") else 0) + (12 if form == "portable" else 0)


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O0", "-stdlib=libc++"], ["-O2", "-stdlib=libc++"]])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_library(launch: Launch, build_program: Build, form: str, compiler: str, flags: list[str]) -> None:
    if "-stdlib=libc++" in flags and (compiler == "g++" or not any(Path("/usr/lib").glob("llvm-*/include/c++/v1"))):
        pytest.skip("libc++ is not installed, or not of this compiler")
    session = run(launch, build_program("typed_library", *flags, compiler=compiler), "library::*")
    left = unknown(told(session), seen(session))
    # clang leaves out by -O0 what nothing uses; doubles are in vector registers
    assert left <= (6 if compiler == "clang++" else 2) + (3 if form == "portable" else 0)


@pytest.mark.parametrize(("bound", "kept"), [(8, 8), (20, 24), (1024, 1024)])
def test_how_much_of_a_text_is_kept(
    launch: Launch, build_program: Build, settings: Callable[[dict[str, object]], None], bound: int, kept: int
) -> None:
    settings({"events.textBytes": bound})
    program = build_program("typed_library", "-O0", compiler="g++")
    session = launch(program, "1200", patterns=["library::text*"], sampling="off")
    assert status(session) == 0
    results = [line for line in seen(session) if line.startswith("< text = ")]
    assert results == [f'< text = "{"x" * kept}…"']
    entries = [line for line in seen(session) if line.startswith("> texts(")]
    share = min(kept, 8 * ((200 - 4) // 3 - 1))  # three texts in one record
    assert f's="{"s" * share}…", r="{"r" * share}…", v="view"' in entries[0]


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
def test_pointers_to_functions_have_names(launch: Launch, build_program: Build, flag: str) -> None:
    session = run(launch, build_program("function_pointers", flag), "t_*", "on_note")
    assert unknown(told(session), [line for line in seen(session) if line[2:].startswith("t_")]) == 0


def test_rust(launch: Launch, build_program: Build, form: str) -> None:
    session = run(launch, build_program("typed_rust"), "typed_rust::typed::*")
    left = unknown(told(session), seen(session))
    assert left <= (4 if form == "portable" else 0)


def test_optimized_rust_shows_nothing_wrong(launch: Launch, build_program: Build, form: str) -> None:
    session = run(launch, build_program("typed_rust", "-O"), "typed_rust::typed::*")
    unknown(told(session), seen(session))


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.usefixtures("form")
def test_pointers_that_lead_to_no_text(launch: Launch, build_program: Build, compiler: str, flag: str) -> None:
    session = run(launch, build_program("bad_texts", flag, compiler=compiler), "bad::*")
    assert unknown(told(session), seen(session)) == 0


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("bound", [40, 256])
def test_texts_of_all_lengths_at_all_places(
    launch: Launch, build_program: Build, settings: Callable[[dict[str, object]], None], bound: int
) -> None:
    settings({"events.textBytes": bound})
    session = run(launch, build_program("text_places", "-O2"), "terminated", "endless")
    expected = []
    for length in range(73):
        letters = "".join(chr(ord("a") + (place + length) % 26) for place in range(length))
        shown = letters[:bound] + ("…" if length >= bound else "")
        expected += [f'> terminated(s="{shown}", length={length}, gap={gap})' for gap in range(8)]
        if length > 0:
            expected.append(f'> endless(s="{letters[:bound]}…", length={length})')
    assert [line for line in seen(session) if line.startswith(">")] == expected
