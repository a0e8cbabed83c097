"""How often a scenario is run: a few times always; on demand 1,000 times, or for ten minutes if that is less."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

MANY = 1000
LONGEST_S = 600.0


def is_long(variable: str) -> bool:
    """Whether the environment variable asks for the long form."""
    return os.environ.get(variable) == "1"


def rounds(variable: str, few: int) -> Iterator[int]:
    """Numbers from 0; says at the end of the long form how far it came."""
    if not is_long(variable):
        yield from range(few)
        return
    begun = time.monotonic()
    for number in range(MANY):
        if time.monotonic() - begun > LONGEST_S:
            print(f"{number} rounds in {time.monotonic() - begun:.0f} s")
            return
        yield number
    print(f"{MANY} rounds in {time.monotonic() - begun:.0f} s")


def long_time(variable: str) -> pytest.MarkDecorator:
    """The time that a test with `rounds` may take."""
    return pytest.mark.timeout(900 if is_long(variable) else 180)
