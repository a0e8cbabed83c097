"""Standard input, output and error when they are closed, or cannot be written."""

from __future__ import annotations

import os
import sys


def hold_standard_streams() -> None:
    """Where one is closed, its number is taken by something that can be neither read nor written.

    Else the next file that is opened would get it, and a message be written into the database. The program that
    `strobe run` starts inherits it: there, one of Frida's sockets would get the number.
    """
    for number, flags, name in ((0, os.O_WRONLY, "stdin"), (1, os.O_RDONLY, "stdout"), (2, os.O_RDONLY, "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest number that is free: this one
            stream = os.fdopen(number, "r" if number == 0 else "w", closefd=False)
            setattr(sys, name, stream)


def flush() -> OSError | None:
    """Writes what is still to be written to standard output; why that failed. Nothing is tried again at the end."""
    failed = None
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if stream is sys.stdout:
                failed = error
            discard(stream.fileno())
    return failed


def discard(number: int) -> None:
    """What is written to it from now on goes nowhere: the interpreter flushes at its end, and would complain."""
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, number, inheritable=False)
    os.close(null)
