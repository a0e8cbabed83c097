"""Signals that `strobe run` gets are meant for the program, and strobe stays to say what happened."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType

_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Forwarding:
    """While it is entered, signals do not end this process; they go to the program once `begin` has named it.

    Ctrl-C reaches the program without us, being in the same process group; only one that left it is told.
    """

    def __init__(self) -> None:
        self.interrupts = 0
        self._pid: int | None = None
        self._early: list[int] = []
        self._before: dict[int, object] = {}

    def __enter__(self) -> Forwarding:
        # a handler that does nothing, and not SIG_IGN, which the program would inherit
        self._before = {number: signal.signal(number, self._on_signal) for number in _TAKEN}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def begin(self, pid: int) -> None:
        """What came while the program was being started is passed on now."""
        self._pid = pid
        for number in self._early:
            self._send(number)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self.interrupts += number == signal.SIGINT
        if self._pid is None:
            self._early.append(number)
            if self.interrupts > 1:  # whoever presses Ctrl-C twice does not want to wait for the start
                raise KeyboardInterrupt
        elif number != signal.SIGINT or not self._shares_group():
            self._send(number)

    def _shares_group(self) -> bool:
        try:
            return os.getpgid(self._pid or 0) == os.getpgrp()
        except ProcessLookupError:
            return True

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid or 0, number)
