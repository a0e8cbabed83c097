"""The `strobe` executable.

`strobe mcp` is started by clients that wait for its first answer before a model's first turn, so it is sent on before
click, or anything else that takes milliseconds, is imported.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing takes 10 ms to import
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> None:
    """Entry point; ends the process with the command's exit status."""
    if sys.argv[1:] == ["mcp"]:
        from strobe.mcp.proxy import main as pump

        sys.exit(pump())
    import signal

    from strobe.cli.group import strobe

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    strobe()


def _end(number: int, _: object) -> NoReturn:
    """What was started is ended on the way out, and no segment stays behind."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
