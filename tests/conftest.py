"""Fixtures of all tests: a home of its own for each, compiled programs, and nothing left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import leftovers, programs, short_form

LEAVE_SECONDS = 30.0


def pytest_configure(config: pytest.Config) -> None:
    short_form.choose(config.getoption("markexpr"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    short_form.mark_long(items)


@pytest.fixture(autouse=True)
def strobe_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """STROBE_HOME of this test alone; nothing is there yet."""
    home = tmp_path / "home"
    monkeypatch.setenv("STROBE_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def nothing_left_behind(strobe_home: Path) -> Iterator[None]:
    """Fail a test that leaves a process or a segment in /dev/shm: what it started must be gone soon after its end."""
    before = leftovers.observe(strobe_home)
    yield
    deadline = time.monotonic() + LEAVE_SECONDS
    while (found := leftovers.leftovers(before, strobe_home)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if found:
        leftovers.clear(before, strobe_home)
        pytest.fail("the test left behind:\n" + "\n".join(found), pytrace=False)


@pytest.fixture(scope="session")
def program_cache(pytestconfig: pytest.Config) -> Path:
    """Folder of compiled programs, kept between runs."""
    assert pytestconfig.cache is not None
    return pytestconfig.cache.mkdir("programs")


@pytest.fixture(scope="session")
def build_program(program_cache: Path) -> Callable[..., Path]:
    """`build_program("throws", "-O2", compiler="clang++")` compiles that one of tests/programs, returns the program."""

    def build(name: str, *flags: str, compiler: str | None = None) -> Path:
        return programs.build(programs.source_of(name), flags, compiler, program_cache)

    return build


@pytest.fixture(scope="session")
def build_many_functions(program_cache: Path) -> Callable[[int], Path]:
    """`build_many_functions(5000)` compiles a generated program of so many functions, which runs until SIGUSR1."""

    def build(count: int, *flags: str) -> Path:
        source = programs.generate(["many_functions.py", str(count)], program_cache)
        return programs.build(source, flags or ("-O1",), None, program_cache)

    return build


@pytest.fixture(scope="session")
def build_plugin(program_cache: Path) -> Callable[..., Path]:
    """The shared library that the program `dlopens` loads."""

    def build(*flags: str) -> Path:
        return programs.build(programs.source_of("plugin"), ("-shared", "-fPIC", *flags), None, program_cache)

    return build
