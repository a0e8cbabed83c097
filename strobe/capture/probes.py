"""From a function to the jump in its code: what is to be recorded of it (ProbeSpec, with the Plan that the recorder
follows: struct strobe_function_plan and its captures), where its calls go then (Trampoline), and what is written over
its entry (CodePatch, in code_patches.py). Why there is none: Refusal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from functools import lru_cache

from strobe import _abi
from strobe.dataclass import dataclass, replace
from strobe.model import Capture, CaptureKind, FunctionSymbol, Parameter, Sampling

_FEWEST_TEXT_WORDS = 2
_MOST_WORDS = 200  # of a record's 255
_R9 = _abi.SOURCE_RDI + _abi.REGISTERS - 1


class Returns(IntEnum):
    """Whether a function's return is recorded, which replaces its return address: STROBE_PLAN_*."""

    ALWAYS = 0
    NEVER = _abi.PLAN_ENTRY_ONLY
    TO_KNOWN_CODE = _abi.PLAN_CALLER  # that unwinders know


@dataclass(frozen=True, slots=True)
class Plan:
    """What the recorder does for a function. `captures`: struct strobe_capture of those at the entry, then of those at
    the return; `counts`: of the former, of the latter, and the most words that either gives."""

    flags: int  # STROBE_PLAN_*
    captures: bytes = b""
    counts: tuple[int, int, int] = (0, 0, 0)
    extras: int = 0  # the number of the set of what else is recorded, where the flags say that there is more

    @property
    def is_enabled(self) -> bool:
        """Whether calls of the function are recorded at present."""
        return bool(self.flags & _abi.PLAN_ENABLED)

    def disabled(self) -> Plan:
        """The same plan for a function whose calls are no longer recorded."""
        return replace(self, flags=self.flags & ~_abi.PLAN_ENABLED)


class CaptureTable:
    """Which captures the recorder of one process has, and where in its table: the same ones once. For several threads
    at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places = {b"": 0}
        self._used = 0
        self._new: list[bytes] = []

    def place(self, captures: bytes) -> int | None:
        """`captures`: struct strobe_capture each. The number of the first one; None where there is no room."""
        with self._lock:
            place = self._places.get(captures)
            count = len(captures) // _abi.CAPTURE.size
            if place is None and self._used + count <= _abi.CAPTURE_CAPACITY:
                place = self._places[captures] = self._used
                self._used += count
                self._new.append(captures)
            return place

    def write_new(self, write: Callable[[int, bytes], None]) -> None:
        """`write`: given the number of the first one, and those that the recorder has yet to get, which nothing names
        before; not called where there are none. Where it raises they are written the next time."""
        with self._lock:
            if self._new:
                new = b"".join(self._new)
                write(self._used - len(new) // _abi.CAPTURE.size, new)
                self._new = []


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """A function whose calls are to be recorded. `address`: where it lies in the process.

    `code`: the first bytes that must stand there, as many as are known; over other ones nothing is written.
    """

    function_id: int
    address: int
    size: int
    plan: Plan
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class Trampoline:
    """Made by the agent for the function at `entry`. `address`: where the jump leads. It lies `skip` bytes behind the
    entry; `displaced`: bytes of the instructions that it replaces; `copies`: where copies lie of those that begin one
    to four bytes behind its first, 0 where there is none. `mark`: an address, and the number that is there for as long
    as the trampoline is."""

    entry: int
    address: int
    skip: int
    displaced: int
    copies: tuple[int, int, int, int]
    mark: tuple[int, int]

    @property
    def start(self) -> int:
        """Where the jump lies."""
        return self.entry + self.skip

    @property
    def resume(self) -> int:
        """Where the copy of the first displaced instruction lies; those of the others: `copies`."""
        return self.address + _abi.TRAMPOLINE_HEAD


def recorded(function: FunctionSymbol, native: bool, text_words: int) -> FunctionSymbol:
    """The function with those captures alone that the recorder will make: what its events are decoded with.

    `native`: the form of the recorder that sees vector registers. `text_words`: what is kept of a text, less where a
    record has no room for all. Values beyond a record's size are left out.
    """
    given = [parameter.captures for parameter in function.parameters or ()]
    share = _text_share([capture for captures in given for capture in captures], text_words)
    left = _MOST_WORDS
    kept: list[Parameter] = []
    for parameter in function.parameters or ():
        captures = _with_room(parameter.captures, share)
        if captures is not parameter.captures:
            parameter = replace(parameter, captures=captures)
        words = _most_words(parameter.captures)
        fits = words <= left and _are_seen(parameter.captures, native)
        left -= words if fits else 0
        kept.append(parameter if fits else replace(parameter, captures=()))
    returned = function.return_captures if _are_seen(function.return_captures, native) else ()
    returned = _with_room(returned, text_words)
    parameters = None if function.parameters is None else tuple(kept)
    if parameters == function.parameters and returned == function.return_captures:
        return function
    return replace(function, parameters=parameters, return_captures=returned)


def without_values(function: FunctionSymbol) -> FunctionSymbol:
    """The function with nothing recorded of its arguments and its result."""
    parameters = function.parameters
    if parameters is not None:
        parameters = tuple(replace(parameter, captures=()) for parameter in parameters)
    return replace(function, parameters=parameters, return_captures=())


def plan_of(function: FunctionSymbol, sampling: Sampling, extras: int, returns: Returns) -> Plan:
    """Of a function as `recorded` gives it. `extras`: the number of its set, 0 for none."""
    enter = tuple(capture for parameter in function.parameters or () for capture in parameter.captures)
    plan = _plan(enter, function.return_captures, sampling)
    if returns is not Returns.ALWAYS:
        plan = replace(plan, flags=plan.flags & ~_abi.PLAN_WORDS | returns)
    return replace(plan, flags=plan.flags & ~_abi.PLAN_WORDS | _abi.PLAN_EXTRAS, extras=extras) if extras else plan


def with_returns(plan: Plan) -> Plan:
    """The same of a function whose returns have probes."""
    return replace(plan, flags=plan.flags & ~_abi.PLAN_WORDS)


def returns_only(plan: Plan, returns: Returns) -> Plan:
    """The same of a function of which only probes of its returns are recorded."""
    return replace(plan, flags=_abi.PLAN_ENABLED | _abi.PLAN_SITE | returns, extras=0)


@lru_cache(maxsize=1 << 12)  # of thousands of functions many have the same
def _plan(enter: tuple[Capture, ...], leave: tuple[Capture, ...], sampling: Sampling) -> Plan:
    flags = _abi.PLAN_ENABLED | (_abi.PLAN_SAMPLE if sampling == "auto" else 0)
    if (
        _are_words(enter, _abi.SOURCE_RDI, _R9)
        and _are_words(leave, _abi.SOURCE_RAX, _abi.SOURCE_RAX)
        and len(leave) <= 1
    ):
        flags |= _abi.PLAN_WORDS
    counts = len(enter), len(leave), max(_most_words(enter), _most_words(leave))
    return Plan(flags, b"".join(_packed(item) for item in (*enter, *leave)), counts)


def _text_share(captures: Sequence[Capture], text_words: int) -> int:
    """Words for each text."""
    texts = sum(capture.is_text for capture in captures)
    if not texts:
        return text_words
    fixed = _most_words([capture for capture in captures if not capture.is_text])
    return min(text_words, max(_FEWEST_TEXT_WORDS, (_MOST_WORDS - fixed) // texts - 1))


def _with_room(captures: tuple[Capture, ...], text_words: int) -> tuple[Capture, ...]:
    if not any(capture.is_text for capture in captures):
        return captures
    return tuple(replace(item, text_words=text_words) if item.is_text else item for item in captures)


def _are_seen(captures: Iterable[Capture], native: bool) -> bool:
    return native or not any(
        _abi.SOURCE_XMM0 <= source < _abi.SOURCE_ST0
        for item in captures
        for source in (item.source, item.second if item.kind is CaptureKind.PAIR else 0)
    )


def _are_words(captures: Iterable[Capture], first: int, last: int) -> bool:
    return all(item.kind is CaptureKind.WORD and first <= item.source <= last for item in captures)


def _most_words(captures: Sequence[Capture]) -> int:
    return sum(_words(item) for item in captures)


def _words(capture: Capture) -> int:
    if capture.kind is CaptureKind.BYTES:
        return 1 + (capture.other + 7) // 8
    if capture.is_text:
        return 1 + capture.text_words
    return 1 if capture.kind is CaptureKind.WORD else 2


def _packed(capture: Capture) -> bytes:
    return _abi.CAPTURE.pack(
        capture.source, capture.kind, capture.second, capture.text_words, capture.offset, capture.other
    )
