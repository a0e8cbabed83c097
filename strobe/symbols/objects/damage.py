"""What reading a damaged file can raise.

Our own readers raise what says that a file is damaged: a value that cannot be, an index beyond the end. pyelftools
checks little, so there damage surfaces as whatever fails first inside of it, an AttributeError or an assertion, too.
Those are made a Damaged where they leave it, so that such an error of our own code is never taken for damage.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from elftools.common.exceptions import DWARFError, ELFError

P = ParamSpec("P")
R = TypeVar("R")


class Damaged(ValueError):
    """A file says what cannot be."""


UNREADABLE: tuple[type[Exception], ...] = (
    ValueError,  # Damaged, too
    LookupError,
    ArithmeticError,
    RecursionError,
    OSError,  # to seek beyond what any file can have
    MemoryError,  # to read it
    struct.error,
)
_OF_PYELFTOOLS = (ELFError, DWARFError, AttributeError, TypeError, AssertionError, NotImplementedError)


def of_pyelftools(method: Callable[P, R]) -> Callable[P, R]:
    """A function that does nothing but to call pyelftools raises one of UNREADABLE for damaged input."""

    @functools.wraps(method)
    def converted(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except _OF_PYELFTOOLS as error:
            raise Damaged(str(error) or type(error).__name__) from error

    return converted
