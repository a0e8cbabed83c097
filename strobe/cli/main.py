"""The `strobe` executable.

`strobe mcp` is started by clients that wait for its first answer before a model's first turn, so it is sent on before
click, or anything else that takes milliseconds, is imported.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps: that takes milliseconds to import
import sys

TYPE_CHECKING = False  # the name that type checkers take for true; importing typing costs milliseconds

if TYPE_CHECKING:
    from typing import NoReturn

# Ctrl-C ends this process like any other, without a traceback, until the command begins and after it has ended
if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> None:
    """Entry point; ends the process with the command's exit status."""
    from strobe.cli.output.streams import hold_standard_streams

    hold_standard_streams()
    if sys.argv[1:] == ["mcp"]:
        from strobe.mcp.proxy import main as pump

        sys.exit(pump())
    try:
        from strobe.cli.outcome import outcome_of
    except (ImportError, MemoryError, OSError) as error:  # no room, or no descriptor, for as much as that
        sys.exit(f"strobe: it cannot be loaded: {str(error) or 'there is not enough memory'}")
    _leave(outcome_of(_run))


def _leave(status: int) -> NoReturn:
    """Ends the process when all is written. The interpreter's own end would take everything apart first, Frida's
    objects above all: 40 ms."""
    import os
    import threading

    for thread in threading.enumerate():
        # one without a number was about to be started when Ctrl-C came
        if not thread.daemon and thread.ident is not None and thread is not threading.current_thread():
            thread.join()
    os._exit(status)


def _run() -> int | None:
    from strobe.low_descriptors import reserve

    reserve()  # before anything is opened
    # a program is stopped by it before its first step
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGTRAP])

    from strobe.cli import interrupts
    from strobe.cli.group import load, strobe

    load(sys.argv[1:])
    with interrupts.raised():
        status: object = strobe.main(standalone_mode=False)
    return status if isinstance(status, int) else None


if __name__ == "__main__":
    main()
