"""Functions whose first bytes something else leads to are not hooked: what jumps there would find half of a jump."""

from __future__ import annotations

import platform

import pytest
from support.sessions import Build, Launch, outcome, totals, untraced

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is of x86-64")
_LEFT_ALONE = ["interprets", "leads", "parted", "switches"]


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("options", [(), ("-no-pie", "-fno-pie"), ("-Wl,-z,pack-relative-relocs",)])
def test_what_is_entered_elsewhere_is_left_alone(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, options: tuple[str, ...]
) -> None:
    """Addresses are in relocations, in the data itself, or where packed relocations say."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("enters_middles", "-Os", *options, compiler="gcc")
    session = launch(program, patterns=["*"])
    assert outcome(session) == untraced(program)
    told = [warning for warning in session.warnings if "leads, or may lead, into their first 5 bytes" in warning]
    assert len(told) == 1
    assert all(name in told[0] for name in _LEFT_ALONE)
    counted = {name: total.count for name, total in totals(session).items()}
    assert counted == {"main": 1, "again": 1000, "follows": 1000}
