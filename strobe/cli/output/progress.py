"""A word on standard error about anything that takes longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from strobe import threads

_PATIENCE_S = 1.0


@contextlib.contextmanager
def announced(what: str) -> Iterator[None]:
    """Says "strobe: `what` …" on standard error when the block has not ended after a second."""
    say = threads.guarded(
        "a word", lambda: print(f"strobe: {what} ...", file=sys.stderr, flush=True), threads.logged_only
    )
    timer = threading.Timer(_PATIENCE_S, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
