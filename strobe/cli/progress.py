"""A word on standard error about anything that takes longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

_PATIENCE_S = 1.0


@contextlib.contextmanager
def telling(what: str) -> Iterator[None]:
    """Says "strobe: `what` …" on standard error when the block has not ended after a second."""
    timer = threading.Timer(_PATIENCE_S, lambda: print(f"strobe: {what} ...", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
