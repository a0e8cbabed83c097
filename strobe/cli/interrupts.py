"""Ctrl-C, SIGTERM and SIGHUP end a command by an exception on its main thread, so that it ends what it has started.

But never within an import: code of others fails there in ways of its own (the initialization of orjson crashes, that
of a pybind11 module is an ImportError, and a class body makes a RuntimeError of it). And where nobody can catch it, in
a finalizer or a callback of C, Python drops it: it is raised again behind that.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.01
_postponed: set[int] = set()
_due: set[int] = set()  # those whose thread is about to interrupt the main one
_main: list[int] = []


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """While it is entered, a signal that would end this process raises KeyboardInterrupt or SystemExit."""
    taken = [number for number in _NUMBERS if signal.getsignal(number) is signal.SIG_DFL]  # not under nohup
    hook = sys.unraisablehook
    _main[:] = [_thread.get_ident()]

    def on_dropped(dropped: UnraisableHookArgs) -> None:
        number = _number(dropped.exc_value)
        if number is None:
            hook(dropped)
        elif not _postpone(number):
            _due.add(number)

    try:
        sys.unraisablehook = on_dropped
        for number in taken:
            signal.signal(number, _on_signal)
        try:
            yield
        except SystemExit:  # also how a command gives its status
            _raise_late()
            raise
        _raise_late()
    finally:
        # the interpreter's own end takes time as well, and has nobody to catch an exception
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = hook
        _postponed.clear()


def is_importing(frame: FrameType | None) -> bool:
    """Whether `frame` runs within an import statement."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _on_signal(number: int, frame: FrameType | None) -> None:
    if is_importing(frame) and _postpone(number):
        return
    _due.discard(number)
    _raise(number)


def _raise_late() -> None:
    """Raises what came within the last import, where nothing was left to do behind it."""
    for number in (*_postponed, *_due):
        _raise(number)


def _raise(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _number(raised: BaseException | None) -> int | None:
    """Of the signal that `_raise` has raised it for."""
    if isinstance(raised, KeyboardInterrupt):
        return signal.SIGINT
    numbers = [number for number in _NUMBERS if isinstance(raised, SystemExit) and raised.code == 128 + number]
    return numbers[0] if numbers else None


def _postpone(number: int) -> bool:
    """False where the system gives no thread to wait on. Without `threading`, whose locks the main thread may hold."""
    if number not in _postponed:
        try:
            _thread.start_new_thread(_again, (number,))
        except RuntimeError:
            return False
        _postponed.add(number)
    return True


def _again(number: int) -> None:
    time.sleep(_AGAIN_S)
    if number not in _postponed:  # raised late
        return
    _due.add(number)
    _postponed.discard(number)
    signal.pthread_kill(_main[0], number)  # not interrupt_main: the main thread may wait in a system call
