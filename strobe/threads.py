"""Threads of the host, and callbacks that others' threads make. Each has an owner, to whom any exception is reported.

A thread that dies in silence leaves somebody waiting for ever: for the end of a program, for an answer, for a row in
the database. So none is started but here (a test looks), and none without saying what its failure means.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import ParamSpec

from strobe.errors import StrobeError, failure

log = logging.getLogger(__name__)

P = ParamSpec("P")
Failed = Callable[[BaseException], object]


def start(name: str, work: Callable[[], object], failed: Failed, *, daemon: bool = True) -> threading.Thread:
    """Runs `work` on a thread of its own. Whatever it raises is logged and handed to `failed`, on that thread.

    Raises no_threads."""
    thread = threading.Thread(target=guarded(name, work, failed), name=name, daemon=daemon)
    begin(thread)
    return thread


def begin(thread: threading.Thread) -> None:
    """Raises no_threads."""
    try:
        thread.start()
    except RuntimeError as error:
        raise failure("no_threads", needed="one more thread") from error


def guarded(name: str, work: Callable[P, object], failed: Failed) -> Callable[P, None]:
    """`work` as a callback that never raises: what it raises is logged and handed to `failed`."""

    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            work(*arguments, **options)
        except BaseException as error:
            log.error("%s failed", name, exc_info=error)
            try:
                failed(error)
            except BaseException:
                log.exception("the failure of %s could not be handled", name)

    return run


def reason(error: BaseException) -> str:
    """What an exception says, in a sentence without its full stop; its type where that is all it says."""
    if isinstance(error, StrobeError):
        return error.message.rstrip(". ")
    text = str(error).split("\n")[0].rstrip(". ")
    if not text:
        return type(error).__name__
    return text if isinstance(error, OSError) else f"{type(error).__name__}: {text}"


def logged_only(_: BaseException) -> None:
    """For work that nobody waits for, and without which nothing is missing: the log has it."""
