"""Reads of variables, as tests ask for them."""

from __future__ import annotations

from typing import Any

from strobe.session import Session
from strobe.values.decode import text as values_text
from strobe.values.reading import ReadTarget
from support.sessions import text
from support.wait import wait_until


def ready(session: Session) -> Session:
    """The session once its program has set all variables."""
    wait_until(lambda: "ready" in text(session, "stdout"), "the program to be ready")
    return session


def value(session: Session, variable: str, depth: int = 1) -> Any:
    """The value, which must be readable."""
    (result,) = session.reader.read([ReadTarget(variable)], depth)
    assert result.error is None, str(result.error)
    return result.value


def shown(session: Session, variable: str, depth: int = 1) -> str:
    """As `strobe read` writes it on one line."""
    return values_text.shown(value(session, variable, depth))


def error(session: Session, variable: str) -> str:
    """The message of a read that must fail."""
    (result,) = session.reader.read([ReadTarget(variable)], 1)
    assert result.error is not None, values_text.shown(result.value)
    return result.error.message
