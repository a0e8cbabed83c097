"""What commands print."""

from __future__ import annotations

import re
from typing import AnyStr

_PROGRESS = r"(?m)^strobe: [^\n]* \.\.\.\n"


def without_progress(stderr: AnyStr) -> AnyStr:
    """Without the lines that a command prints where it takes more than a second, as on a busy machine."""
    if isinstance(stderr, bytes):
        return re.sub(_PROGRESS.encode(), b"", stderr)
    return re.sub(_PROGRESS, "", stderr)
