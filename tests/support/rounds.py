"""How often a scenario is run: a few times, a quarter of them in the short form.

With STROBE_SCENARIOS=1 1,000 times, or for ten minutes at most.

`make scenarios` runs all that are marked so, in their long form.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from support.short_form import short

MANY = 1000
LONGEST_S = 600.0
Test = TypeVar("Test", bound=Callable[..., Any])
IS_LONG = os.environ.get("STROBE_SCENARIOS") == "1"


def rounds(few: int) -> Iterator[int]:
    """Numbers from 0; the long form says at its end how far it came."""
    if not IS_LONG:
        yield from range(short(few, -(-few // 4)))
        return
    begun = time.monotonic()
    done = 0
    for number in range(MANY):
        if time.monotonic() - begun > LONGEST_S:
            break
        yield number
        done = number + 1
    print(f"{done} rounds in {time.monotonic() - begun:.0f} s")


def scenario(test: Test) -> Test:
    """Mark a test that has a long form."""
    timeout = pytest.mark.timeout(3600 if IS_LONG else 180)
    return timeout(pytest.mark.scenario(test))
