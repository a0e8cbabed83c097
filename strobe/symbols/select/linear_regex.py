"""Regular expressions of a user. RE2 takes time in proportion to the text, whatever the expression, and runs without
the GIL: one client's expression does not make another client wait."""

from __future__ import annotations

from strobe.limits import REGEX_CHARACTERS

_MAX_MEMORY_BYTES = 1 << 20  # of one compiled: what is larger (nested repetitions) is refused


class RegexError(ValueError):
    """An expression that RE2 does not take; the text says why."""


class LinearRegex:
    """One expression in RE2's syntax. For any thread."""

    def __init__(self, text: str) -> None:
        """Raises RegexError."""
        import re2  # a library of its own, that few commands need

        if len(text) > REGEX_CHARACTERS:
            raise RegexError(f"it is longer than {REGEX_CHARACTERS:,} characters")
        options = re2.Options()
        options.log_errors = False  # to standard error
        options.max_mem = _MAX_MEMORY_BYTES
        try:
            self._regex = re2.compile(_bytes(text), options)
        except re2.error as error:
            raise RegexError(_reason(error)) from error

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return int(self._regex.groups)

    def group_of(self, text: str) -> str | None:
        """What its first group matches at the first place where it matches in the text; None where it does not, or the
        group takes no part in it."""
        found = self._regex.search(_bytes(text))
        group = None if found is None else found.group(1)
        return None if group is None else group.decode(errors="replace")

    def finds(self, text: str) -> bool:
        """Whether it matches anywhere in the text."""
        return self._regex.search(_bytes(text)) is not None

    def fits(self, text: str) -> bool:
        """Whether it matches the whole text."""
        return self._regex.fullmatch(_bytes(text)) is not None


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")  # names and paths may hold bytes that are not UTF-8: each is a `?` here


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    if any(mark in text for mark in ("(?=", "(?!", "(?<")):
        return f"{text} (lookahead and lookbehind are not supported)"
    if text.rpartition("\\")[2][:1].isdecimal() and "\\" in text:
        return f"{text} (backreferences are not supported)"
    return text
