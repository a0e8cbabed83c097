"""Variables of a running program: each kind of value, each kind of expression, each error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sessions import Launch, text
from support.wait import wait_until

from strobe.session import Session
from strobe.values import ReadTarget
from strobe.values import text as values_text

Show = Callable[..., str]


@pytest.fixture
def values(build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("values", "-O0")))


def ready(session: Session) -> Session:
    wait_until(lambda: "ready" in text(session, "stdout"), "the program to be ready")
    return session


def value(session: Session, variable: str, depth: int = 1) -> Any:
    (result,) = session.read([ReadTarget(variable)], depth)
    assert result.error is None, str(result.error)
    return result.value


def shown(session: Session, variable: str, depth: int = 1) -> str:
    return values_text.shown(value(session, variable, depth))


def error(session: Session, variable: str) -> str:
    (result,) = session.read([ReadTarget(variable)])
    assert result.error is not None, values_text.shown(result.value)
    return result.error.message


def test_a_global(values: Session) -> None:
    assert value(values, "gTempo") == 120
