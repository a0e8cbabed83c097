"""Values that are read when somebody asks for them, by one thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """Something that is read when first asked for, under `lock`; asked again, it is the same object."""

    __slots__ = ("_lock", "_read", "_value")

    def __init__(self, read: Callable[[], T], lock: AbstractContextManager[Any]) -> None:
        self._read: Callable[[], T] | None = read
        self._lock = lock
        self._value: T

    def __call__(self) -> T:
        if self._read is not None:
            with self._lock:
                if self._read is not None:  # no other thread was faster
                    self._value = self._read()
                    self._read = None
        return self._value
