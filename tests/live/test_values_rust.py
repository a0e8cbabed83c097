"""Every value of a Rust program is read as the program itself writes it with `{:?}`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import programs, rust_debug
from support.reads import ready
from support.sessions import Launch, text

from strobe.session import Session
from strobe.values import ReadTarget

ONCE_LOCK = (1, 70)  # where the library has it


def flags_of(level: int) -> list[str]:
    told = subprocess.run([programs.require("rustc"), "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in told.split()[1].split(".")[:2])
    return [f"-Copt-level={level}", *(["--cfg", "once_lock"] if version >= ONCE_LOCK else [])]


@pytest.fixture(params=[0, 2], ids=["O0", "O2"])
def program(request: pytest.FixtureRequest, build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("values_rust", *flags_of(request.param))))


def debugged(session: Session) -> dict[str, Any]:
    """Expressions and what the program wrote of each."""
    lines = (line.partition(" = ") for line in text(session, "stdout").splitlines() if " = " in line)
    return {name if "::" in name or name.isupper() else f"EVERYTHING.{name}": told for name, _, told in lines}


def test_values_are_what_debug_shows(program: Session) -> None:
    expected = debugged(program)
    assert len(expected) > 120
    names = list(expected)
    for first in range(0, len(names), 16):
        wanted = names[first : first + 16]
        for name, result in zip(wanted, program.read([ReadTarget(one) for one in wanted], 5), strict=True):
            assert result.error is None, f"{name}: {result.error}"
            found = rust_debug.of_ours(result.value)
            assert found == rust_debug.of_debug(expected[name]), f"{name} = {expected[name]}"
