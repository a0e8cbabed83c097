"""The program's descriptors are its own: those it has, the next one it opens, and what it does with them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from support.sessions import Build, Launch, Outcome, outcome, totals, untraced


def inherited() -> list[int]:
    """What a program gets from this process, whoever has left it open here; `untraced` gives it nothing."""
    found = []
    for number in range(3, 128):
        with suppress(OSError):
            if os.get_inheritable(number) and "/memfd:frida-" not in str(Path(f"/proc/self/fd/{number}").readlink()):
                found.append(number)
    return found


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("way", ["keeps", "closes"])
def test_as_untraced(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, way: str
) -> None:
    """Also where the program closes those of the agent: what it calls then is recorded."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    program = build_program("descriptors", "-O1")
    stdout = "".join(f"has {number}\n" for number in inherited()) if way == "keeps" else ""
    stdout += untraced(program, way).stdout
    for _ in range(2):  # the second has what Frida has opened here for the first
        session = launch(program, way, patterns=["work"], sampling="off")
        assert outcome(session) == Outcome(stdout, "", 0)
        assert totals(session)["work"].count == 200
