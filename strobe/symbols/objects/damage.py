"""What reading a damaged file can raise."""

from __future__ import annotations

import struct

from elftools.common.exceptions import DWARFError, ELFError

# pyelftools checks little: damaged input surfaces as whatever fails first inside of it
UNREADABLE: tuple[type[Exception], ...] = (
    ELFError,
    DWARFError,
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    ArithmeticError,
    AssertionError,
    NotImplementedError,
    RecursionError,
    OSError,  # to seek beyond what any file can have
    MemoryError,  # to read it
    struct.error,
)
