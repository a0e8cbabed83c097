"""Colour for what strobe prints: ANSI sequences on a terminal, nothing anywhere else."""

from __future__ import annotations

import os
from typing import IO


class Palette:
    """Paints by role. `enabled` False leaves every text as it is."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    @staticmethod
    def of(stream: IO[str]) -> Palette:
        """For `stream`: colour on a terminal that can, unless NO_COLOR is set (no-color.org: any value but empty)."""
        able = stream.isatty() and os.environ.get("TERM") != "dumb"
        return Palette(able and not os.environ.get("NO_COLOR"))

    def function(self, text: str) -> str:
        """A function's name."""
        return self._paint("1;36", text)

    def value(self, text: str) -> str:
        """A value of the program."""
        return self._paint("32", text)

    def time(self, text: str) -> str:
        """A time or duration."""
        return self._paint("33", text)

    def thread(self, text: str) -> str:
        """A thread's name."""
        return self._paint("35", text)

    def note(self, text: str) -> str:
        """What is said about the rest: less visible."""
        return self._paint("2", text)

    def warning(self, text: str) -> str:
        """A label that must be seen."""
        return self._paint("1;31", text)

    def changed(self, text: str) -> str:
        """A value that has just changed."""
        return self._paint("1;33", text)

    def heading(self, text: str) -> str:
        """A heading."""
        return self._paint("1", text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled and text else text
