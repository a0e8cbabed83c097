"""Files of coding agents, as text; a file that cannot be read or written is a cannot_edit that names it."""

from __future__ import annotations

from pathlib import Path

from strobe.errors import StrobeError, failure


def read(file: Path) -> str | None:
    """The text with its line ends as they are; None where there is no such file. Raises cannot_edit."""
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise failed(file, error) from error


def failed(file: Path, error: OSError | UnicodeDecodeError) -> StrobeError:
    """The cannot_edit for what the system has answered, or for bytes that are no text."""
    reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
    return cannot_edit(file, reason)


def cannot_edit(file: Path, reason: str) -> StrobeError:
    """`reason`: a clause without a full stop."""
    return failure("cannot_edit", file=file, reason=reason)
