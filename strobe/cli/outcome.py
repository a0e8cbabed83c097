"""What a command came to, as an exit status and at most one line on standard error; never a traceback.

0: done. 1: it failed, and the line says why. 2: it was called wrongly. 130: Ctrl-C. 141: nobody reads standard output
any more. 128 + N: signal N. `strobe run` has the program's status, or 125, 126, 127.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click

from strobe import threads
from strobe.cli.output import streams
from strobe.errors import StrobeError, failure, speak_to
from strobe.mcp import endpoint

FAILED, INTERRUPTED, UNREAD = 1, 130, 141
_NO_MEMORY = "there is not enough memory (ulimit -v, or the machine's)"


def outcome_of(command: Callable[[], int | None]) -> int:
    """Runs `command`; the exit status."""
    speak_to("cli")
    log = Path(endpoint.log_path(endpoint.home_path()))
    _log_to(log)
    try:
        status = command() or 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        status = _report(error, log)
    unwritten = streams.flush()
    if unwritten is None or status:
        return status
    return _report(unwritten, log)


def _report(error: BaseException, log: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        return _say(error, log)
    return FAILED


def _say(error: BaseException, log: Path) -> int:
    match error:
        case click.ClickException():
            error.show()
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case BrokenPipeError():
            streams.discard(1)
            return UNREAD
        case StrobeError():
            line = str(error)
        case MemoryError():
            line = _NO_MEMORY
        case OSError():
            line = _system(error)
        case ImportError():
            line = f"a part of it cannot be loaded: {error}"
        case RuntimeError() if "start new thread" in str(error):
            line = str(failure("no_threads", needed="one more thread"))
        case _:
            _note(error, log)
            line = str(failure("internal", reason=threads.reason(error), log=log))
    sys.stderr.write(f"strobe: {line}\n")
    sys.stderr.flush()
    return FAILED


def _system(error: OSError) -> str:
    """Where nothing but the error's own words is known, it was standard output: everything else says of what it is."""
    why = error.strerror or str(error)
    if error.filename is not None:
        return f"'{os.fsdecode(error.filename)}': {why}"
    about_output = error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT)
    is_bare = error.errno is not None and why == os.strerror(error.errno)
    return f"standard output could not be written: {why}" if about_output and is_bare else why


def _log_to(path: Path) -> None:
    """Warnings of this process go to the log, where there is a home for it, and not to the terminal."""
    logging.raiseExceptions = False  # a full disk
    handler: logging.Handler = logging.NullHandler()
    if os.path.isdir(path.parent):  # noqa: PTH112 - False, and no error, where the home cannot be looked at
        handler = _Log(path, delay=True, errors="replace")
        handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
        handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)


class _Log(logging.FileHandler):
    """What cannot be written there is missing there, and ends nothing: it is opened at the first warning."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):
            super().emit(record)


def _note(error: BaseException, log: Path) -> None:
    """The traceback, where it can be written."""
    text = "".join(traceback.format_exception(error))
    with contextlib.suppress(OSError), log.open("a") as file:
        file.write(f"{datetime.now().isoformat()} {os.getpid()} strobe failed:\n{text}")
