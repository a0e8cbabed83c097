"""Waiting for a condition, never longer than it is worth."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], what: str = "the condition", timeout: float = 60.0) -> T:
    """Return the first true value of `condition`; fail after `timeout` seconds, naming `what` did not come."""
    deadline = time.monotonic() + timeout
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s for {what}")
        time.sleep(0.01)
