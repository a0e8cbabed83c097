"""The `strobe` executable.

`strobe mcp` is started by clients that wait for its first answer before a model's first turn, so it is sent on before
click, or anything else that takes milliseconds, is imported.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps: that takes milliseconds to import
import sys

TYPE_CHECKING = False  # typing takes 10 ms to import
if TYPE_CHECKING:
    from typing import NoReturn

# Ctrl-C during the imports below ends this process like any other, without a traceback
if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> None:
    """Entry point; ends the process with the command's exit status."""
    from strobe.cli.streams import hold_standard_streams

    hold_standard_streams()
    if sys.argv[1:] == ["mcp"]:
        from strobe.mcp.proxy import main as pump

        sys.exit(pump())
    try:
        from strobe.cli.outcome import outcome_of
    except (ImportError, MemoryError, OSError) as error:  # no room, or no descriptor, for as much as that
        sys.exit(f"strobe: it cannot be loaded: {str(error) or 'there is not enough memory'}")
    status = outcome_of(_run)
    # as at the beginning: the interpreter's own end takes time as well
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    sys.exit(status)


def _run() -> int | None:
    import signal

    from strobe.low_descriptors import reserve

    reserve()  # before anything is opened

    from strobe.cli.group import strobe

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _end)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    status: object = strobe.main(standalone_mode=False)
    return status if isinstance(status, int) else None


def _end(number: int, _: object) -> NoReturn:
    """What was started is ended on the way out, and no segment stays behind."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
