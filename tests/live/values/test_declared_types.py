"""Classes that a program's own debug information only declares: defined in a library, or known as std::string is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs
from support.reads import ready, shown
from support.sessions import Launch

from strobe.values.write.writing import WriteTarget

Build = Callable[..., Path]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_what_another_module_defines(compiler: str, program_cache: Path, build_program: Build, launch: Launch) -> None:
    source = programs.source_of("declared_library")
    library = programs.build(source, ("-shared", "-fPIC"), compiler, program_cache)
    linked = ("-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}")
    session = ready(launch(build_program("declared", *linked, compiler=compiler)))
    assert shown(session, "gShape->number") == "7"
    assert shown(session, "*gShape") == "{number = 7}"
    assert shown(session, "gHidden->value") == "31"
    assert shown(session, "gHidden->next->value") == "31"
    assert shown(session, "((Hidden*)gHidden)->value") == "31"
    results = session.writer.write([WriteTarget("gHidden->value", 5), WriteTarget("gShape->number", 8)])
    assert [result.previous for result in results] == [31, 7]
    assert [shown(session, name) for name in ("gHidden->value", "gShape->number")] == ["5", "8"]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_strings_that_nobody_describes(
    compiler: str, program_cache: Path, build_program: Build, launch: Launch
) -> None:
    source = programs.source_of("declared_library")
    library = programs.build(source, ("-shared", "-fPIC"), compiler, program_cache)
    linked = ("-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}")
    session = ready(launch(build_program("declared", *linked, compiler=compiler)))
    assert shown(session, "gText") == '"text"'
    assert shown(session, "gWide") == '"wide"'
    assert shown(session, "gNamed") == '{name = "a name", number = 4}'
    assert shown(session, "gTexts") == '["one", "a text that is longer than fifteen"]'
    (result,) = session.writer.write([WriteTarget("gNamed.name", "other")])
    assert (result.error, result.previous, shown(session, "gNamed.name")) == (None, "a name", '"other"')
    (result,) = session.writer.write([WriteTarget("gText", "sixteen letters.")])
    assert result.error is not None and "has room for 15" in result.error.message
