"""Code that lies close together, or apart: functions without a gap, functions and stacks in several parts."""

from __future__ import annotations

import platform

import pytest
from support.sessions import Build, Launch, outcome, totals, untraced

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the programs are of x86-64")
FORMS = ["native", "portable"]


@pytest.mark.parametrize("form", FORMS)
def test_the_next_function_is_not_written_over(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Where it begins with what others are padded with, and where it lies within the one that is traced."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("crowded", "-O1")
    session = launch(program, patterns=["returns_only", "outer", "alone", "padded"], sampling="off")
    assert outcome(session) == untraced(program)
    assert {name: found.count for name, found in totals(session).items()} == {"alone": 1000, "padded": 1000}
    (warning,) = (text for text in session.warnings if text.startswith("Not hooked: "))
    assert "returns_only" in warning and "outer" in warning and "another function follows" in warning


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", ["-O2"]),
        ("gcc", ["-Os", "-falign-functions=1"]),
        ("clang", ["-O2", "-fbasic-block-sections=all"]),
        ("clang", ["-O2", "-fbasic-block-sections=all", "-fuse-ld=lld", "-gdwarf-4"]),
    ],
)
def test_functions_in_parts(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, compiler: str, flags: list[str]
) -> None:
    """clang's debug information lists the part that is called at last."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("split", *flags, compiler=compiler)
    session = launch(program, patterns=["*"], sampling="off")
    assert outcome(session) == untraced(program)
    found = {name: (total.count, total.completed) for name, total in totals(session).items()}
    assert found == {"main": (1, 1), "work": (3000, 3000), "rare": (6, 6)}


@pytest.mark.parametrize("form", FORMS)
def test_stacks_in_parts(launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("split_stacks", "-O1", "-fsplit-stack")
    session = launch(program, patterns=["**"], sampling="off")
    assert outcome(session) == untraced(program)
    found = {name: total.count for name, total in totals(session).items()}
    assert (found["run"], found["deep"], found["fill"]) == (2, 2 * 20 * 101, 2 * 20 * 2)
    assert not any("morestack" in name or "splitstack" in name for name in found)
